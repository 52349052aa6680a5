"""Automatic differentiation: switching it on and off, and running it (``strided.autograd``)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .. import _C
from .._as_torch.places import modules_of, names_of_modules
from .._calls.overrides import overridable
from . import anomaly_mode, forward_ad, function, functional, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = [
    "Function", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad",
    "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_inference_mode_enabled", "is_multithreading_enabled", "no_grad", "profiler", "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


__getattr__ = modules_of("autograd")


def __dir__() -> list[str]:
    return sorted(globals().keys() | names_of_modules("autograd"))


_run, _zeros_like = _C.functions["_backward"], _C.functions["zeros_like"]


def _list(x):
    """Tensors, or places in the graph, as a list of tensors."""
    x = [x] if isinstance(x, (_C.Tensor, graph.GradientEdge)) else list(x)
    return [_C.functions["_at_edge"](t.node, t.output_nr) if isinstance(t, graph.GradientEdge) else t for t in x]


def _inputs(x):
    """The same of what gradients are asked for."""
    x = _list(x)
    for t in x:
        if not isinstance(t, _C.Tensor):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    return x


class _VariableMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor)


class _Engine:
    """What libraries ask of PyTorch's engine."""

    @staticmethod
    def queue_callback(callback: Any) -> None:
        """Calls callback() when the running backward pass has ended; RuntimeError where none runs."""
        _C.functions["_queue_callback"](callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether the running pass adds to the .grad of all leaves."""
        return _C.functions["_pass_fills_leaves"]()


class Variable(metaclass=_VariableMeta):
    """The name that tensors with gradients had before PyTorch 0.4: ``Variable(t, requires_grad)`` is t's memory as a
    tensor."""

    _execution_engine = _Engine()

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Any:
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = data.detach()
        made.requires_grad = bool(requires_grad)
        return made


_is_checkpoint_valid = _Engine.is_checkpoint_valid  # as libraries with a checkpoint of their own call it


def _given(grads, n):
    grads = [None] * n if grads is None else [grads] if isinstance(grads, _C.Tensor) else list(grads)
    if len(grads) < n:
        raise RuntimeError(f"got {n} tensors and {len(grads)} gradients")
    return grads[:n]  # more are not read, as in PyTorch


@overridable
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of `tensors` (or of GradientEdges) to the ``.grad`` of the leaves they were computed from.

    Raises RuntimeError for a tensor of several elements without a gradient, and for a graph that was already freed.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    tensors = _list(tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _run(tensors, _given(grad_tensors, len(tensors)), keep, create_graph, [])
        return
    inputs = _inputs(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _run(tensors, _given(grad_tensors, len(tensors)), keep, create_graph, inputs, True)


@overridable
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, as a tuple (for a dict of inputs, a dict); ``.grad`` is not
    touched.

    outputs and inputs may be GradientEdges of ``autograd.graph`` too.
    allow_unused: None, in place of a RuntimeError, for an input that the outputs do not depend on. materialize_grads:
        zeros there.
    is_grads_batched: grad_outputs have an axis more, in front, and so have the results.

    >>> x = strided.tensor(3., requires_grad=True)
    >>> strided.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if type(inputs) is dict:
        given = (grad_outputs, retain_graph, create_graph, True, allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, grad(outputs, list(inputs.values()), *given)))
    inputs = [inputs] if isinstance(inputs, (_C.Tensor, graph.GradientEdge)) else list(inputs)
    is_edge = [isinstance(x, graph.GradientEdge) for x in inputs]
    outputs, inputs = _list(outputs), _inputs(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    # Tangents of gradients go through the graph of the gradients.
    is_dual = bool(forward_ad._levels and forward_ad._levels[-1])
    keep = is_dual or (create_graph if retain_graph is None else retain_graph)
    given = _given(grad_outputs, len(outputs))
    if is_grads_batched:
        from ..func._backward import run_batch as run
    elif any(hasattr(type(g), "_as_gradient") for g in given):
        from ..func._backward import run
    else:
        run = _run
    grads = run(outputs, given, keep, create_graph or is_dual, inputs)
    if materialize_grads:
        if any(g is None and edge for g, edge in zip(grads, is_edge)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        grads = [_zeros_like(x, requires_grad=create_graph) if g is None else g for x, g in zip(inputs, grads)]
    missing = [i for i, g in enumerate(grads) if g is None]
    if missing and not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {missing[0]} appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return tuple(grads)
