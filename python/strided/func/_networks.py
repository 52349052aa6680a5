"""Batching rules of convolutions and pooling, whose first axis can hold the batch of vmap as well, and of Fourier
transforms."""

from __future__ import annotations

import functools
import inspect
import math
from typing import TYPE_CHECKING

from .. import _C
from ._batched import BatchedTensor, again, batched, expanded, negative, union
from ._rules import COMPOSED, along, bind, by_calls, elementwise, rule

if TYPE_CHECKING:
    from .._typing import Any

rule("celu selu nn.functional.gelu nn.functional.softshrink nn.functional.relu6 nn.functional.softsign")(elementwise)


@by_calls("prelu")
def _prelu(input, weight):
    if weight.numel() == 1:
        weight = weight.reshape(())
    elif input.ndim > 1:
        weight = weight.reshape([-1 if d == 1 else 1 for d in range(input.ndim)])
    return _C.functions["where"](input > 0, input, weight * input)


# ---------------------------------------------------------------- the batch in the first axis


@functools.lru_cache(None)
def _signature(function):
    return inspect.signature(function)


def _given(func, args, kwargs):
    bound = _signature(func.__wrapped__).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def folded(func: Any, args: Any, kwargs: Any, axes: int) -> Any:
    """func(x, ...) of x with one axis for samples, one for channels and `axes` more: the batch joins the samples."""
    x, *rest = args
    if type(x) is not BatchedTensor or union((*rest, *kwargs.values())):
        raise RuntimeError(f"vmap: {func.__name__} has no batching rule for what varies besides its input")
    levels, value = x._levels, x._value
    k, single = len(levels), x.ndim == axes + 1
    front = value.shape[:k] if single else value.shape[: k + 1]
    result = func(value.reshape(-1, *value.shape[len(front) :]), *rest, **kwargs)
    return again(result, levels, lambda t: t.reshape(*front, *t.shape[1:]))


for _axes in (1, 2, 3):
    rule(
        " ".join(
            name.format(_axes)
            for name in (
                "max_pool{}d", "avg_pool{}d", "lp_pool{}d", "adaptive_avg_pool{}d", "adaptive_max_pool{}d",
                "max_pool{}d_with_indices", "adaptive_max_pool{}d_with_indices",
            )
        ),
        COMPOSED,
    )(functools.partial(folded, axes=_axes))  # fmt: skip


rule("unfold", COMPOSED)(functools.partial(folded, axes=2))
rule("fold", COMPOSED)(functools.partial(folded, axes=1))


@rule("local_response_norm interpolate", COMPOSED)
def _any_axes(func, args, kwargs):
    return folded(func, args, kwargs, args[0].ndim - 2)


def convolution(func: Any, args: Any, kwargs: Any, axes: int) -> Any:
    """One convolution for the batch: samples of one weight, or groups for weights that differ."""
    given = dict(_given(func, args, kwargs))
    x, weight, bias = given.pop("input"), given.pop("weight"), given.pop("bias")
    if type(weight) is not BatchedTensor and type(bias) is not BatchedTensor:
        return folded(lambda t: func(t, weight, bias, **given), (x,), {}, axes)
    levels = union([x, weight])
    if levels:
        made = _by_groups(func, x, weight, given, levels, axes)
    else:
        made = func(x, weight, None, **given)
    return made if bias is None else made + bias.reshape(-1, *[1] * axes)


def _by_groups(func, x, weight, given, levels, axes):
    if type(weight) is not BatchedTensor:
        return folded(lambda t: func(t, weight, None, **given), (x,), {}, axes)
    single = x.ndim == axes + 1
    value = expanded(x.unsqueeze(0) if single else x, levels)
    k, many = len(levels), math.prod(level.size for level in levels)
    value = value.reshape(many, *value.shape[k:]).movedim(0, 1)  # (samples, batch, channels, ...)
    value = value.reshape(value.shape[0], -1, *value.shape[3:])
    kernel = expanded(weight, levels)
    kernel = kernel.reshape(-1, *kernel.shape[k + 1 :])
    made = func(value, kernel, None, **{**given, "groups": given["groups"] * many})
    made = made.reshape(made.shape[0], many, -1, *made.shape[2:]).movedim(1, 0)
    made = made.reshape(*(level.size for level in levels), *made.shape[1:])
    return batched(made.squeeze(k) if single else made, levels)


for _axes in (1, 2, 3):
    rule(f"conv{_axes}d conv_transpose{_axes}d", COMPOSED)(functools.partial(convolution, axes=_axes))


@rule("pad", COMPOSED)
def _pad(func, args, kwargs):
    given = dict(_given(func, args, kwargs))
    x, widths = given.pop("input"), given["pad"]
    if given["mode"] == "constant":  # counts from the last axis
        return batched(func(x._value, **given), x._levels)
    return folded(lambda t: func(t, **given), (x,), {}, len(widths) // 2)


# ---------------------------------------------------------------- by other functions


def _normalised(x, axes, eps):
    mean = x.mean(axes, keepdim=True)
    off = x - mean
    return off * (off.square().mean(axes, keepdim=True) + eps).rsqrt()


@by_calls("layer_norm", COMPOSED)
def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    made = _normalised(input, list(range(-len(normalized_shape), 0)), eps)
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


@by_calls("group_norm", COMPOSED)
def _group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    n, c = input.shape[:2]
    of_group = input.shape[1:].numel() // num_groups
    made = _normalised(input.reshape(n, num_groups, of_group), [-1], eps).reshape(input.shape)
    along_channels = (c, *[1] * (input.ndim - 2))
    made = made if weight is None else made * weight.reshape(along_channels)
    return made if bias is None else made + bias.reshape(along_channels)


def _class_loss(log_p, target, weight, ignore_index, reduction):
    axis, f = min(1, log_p.ndim - 1), _C.functions
    counts = target != ignore_index
    safe = f["where"](counts, target, 0)
    picked = -log_p.gather(axis, safe.unsqueeze(axis)).squeeze(axis)
    share = counts.to(log_p.dtype) if weight is None else weight[safe] * counts
    loss = picked * share
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / share.sum()


@rule("nll_loss", COMPOSED)
def _nll_loss(func, args, kwargs):
    given = _given(func, args, kwargs)
    return _class_loss(given["input"], given["target"], given["weight"], given["ignore_index"], given["reduction"])


@rule("cross_entropy", COMPOSED)
def _cross_entropy(func, args, kwargs):
    given = _given(func, args, kwargs)
    x, target = given["input"], given["target"]
    if target.is_floating_point() or given["label_smoothing"]:
        return func.__wrapped__(*args, **kwargs)
    log_p = _C.functions["log_softmax"](x, min(1, x.ndim - 1))
    return _class_loss(log_p, target, given["weight"], given["ignore_index"], given["reduction"])


# ---------------------------------------------------------------- Fourier transforms

_ONE_AXIS = "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft"
rule(_ONE_AXIS)(along)


@rule(" ".join(name + end for name in _ONE_AXIS.split() for end in ("2", "n")) + " fft.fftshift fft.ifftshift")
def _several_axes(func, args, kwargs):
    _, values = bind(func, args, kwargs)
    x, s, dim = values["input"], values.get("s"), values["dim"]
    if dim is None:
        dim = range(-(x.ndim if s is None else len(s)), 0)
    values["dim"] = [negative(d, x.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    values["input"] = x._value
    return batched(func(**values), x._levels)
