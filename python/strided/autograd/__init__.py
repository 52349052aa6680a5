"""Automatic differentiation: switching it on and off, and running it (``strided.autograd``)."""

from __future__ import annotations

from .. import _C
from . import anomaly_mode, forward_ad, function, functional, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function",
    "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip

_run = _C.functions["_backward"]


def _list(x):
    return [x] if isinstance(x, _C.Tensor) else list(x)


class _VariableMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor)


class Variable(metaclass=_VariableMeta):
    """The name that tensors with gradients had before PyTorch 0.4: ``Variable(t, requires_grad)`` is t's memory as a tensor."""

    def __new__(cls, data, requires_grad=False, volatile=None):
        made = data.detach()
        made.requires_grad = bool(requires_grad)
        return made


def _given(grads, n):
    grads = [None] * n if grads is None else [grads] if isinstance(grads, _C.Tensor) else list(grads)
    if len(grads) != n:
        raise RuntimeError(f"got {n} tensors and {len(grads)} gradients")
    return grads


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds the gradients of `tensors` to the ``.grad`` of the leaves they were computed from.

    Raises RuntimeError for a tensor of several elements without a gradient, and for a graph that was already freed.
    """
    tensors = _list(tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _run(tensors, _given(grad_tensors, len(tensors)), keep, create_graph, [])
        return
    inputs = _list(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _run(tensors, _given(grad_tensors, len(tensors)), keep, create_graph, inputs, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` with respect to `inputs`, as a tuple; ``.grad`` is not touched.

    >>> x = strided.tensor(3., requires_grad=True)
    >>> strided.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched=True is not implemented")
    outputs, inputs = _list(outputs), _list(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    grads = _run(outputs, _given(grad_outputs, len(outputs)), keep, create_graph, inputs)
    if materialize_grads:
        return tuple(_C.functions["zeros_like"](x) if g is None else g for x, g in zip(inputs, grads))
    missing = [i for i, g in enumerate(grads) if g is None]
    if missing and not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {missing[0]} appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return tuple(grads)
