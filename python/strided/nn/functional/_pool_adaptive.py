"""Pooling to a size that is given; and the way back from maxima to their places."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING

import strided
from strided._functions.checks import every_sample

from ... import _C
from ..._calls.overrides import shown_as
from .._tuples import _ints
from ._compiled import compiled
from ._order import in_order_of, in_order_of_lines, in_rows
from ._pool import _avg_pool, _max_pool

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


_steady = _C.functions["_with_steady_gradient"]


def _windows(n, out, device):
    """Starts and ends of the windows of an axis of n elements: they cover it, and overlap where out does not divide n.

    Tensors, as a list of so many windows as a hostile output_size asks for would fill the memory unasked.
    """
    i = strided.arange(out, device=device)
    return i * n // max(out, 1), -(-(i + 1) * n // max(out, 1))


def _even_windows(input, size):
    """The shape of the windows where all are alike and none overlap, else None."""
    if input.numel() and all(o and n % o == 0 for n, o in zip(input.shape[-len(size) :], size)):
        return tuple(n // o for n, o in zip(input.shape[-len(size) :], size))
    return None


def _target(name, input, output_size, axes):
    if axes > 1 and isinstance(output_size, (list, tuple)) and input.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got {list(input.shape)}")
    given = tuple(output_size) if isinstance(output_size, Iterable) else (output_size,) * axes
    if len(given) != axes:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(given)})"
            if axes == 1
            else f"{name}(): internal error: output_size.size() must be {axes}"
            if "max" in name
            else f"{name}: output_size must be {axes}"
        )
    if wrong := next((o for o in given if o is not None and not hasattr(o, "__index__")), None):
        raise TypeError(f"{name}(): argument 'output_size' must be tuple of ints, but found {type(wrong).__name__}")
    size = [n if o is None else operator.index(o) for o, n in zip(given, input.shape[-axes:])]
    if min(size) < 0 and "max" in name:
        made = [*input.shape[:-axes], *size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {made}")
    if min(size) < 0:
        raise RuntimeError("elements of output_size must be greater than or equal to 0")
    kept = input.shape[1:] if "max" in name else input.shape[-axes:]
    if 0 in kept:
        empty = input.ndim - len(kept) + kept.index(0)
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(input.shape)} with dimension {empty} being empty"
        )
    # As PyTorch, whose means of lines and planes do not look at the dtype where there is nothing to compute.
    empty = "avg" in name and axes < 3 and 0 in (*input.shape[:-axes], *size)
    if not (input.dtype.is_floating_point or empty):
        kernel = name.replace("1d", "2d") + ("_cpu" if axes == 3 else "")  # as PyTorch calls it
        kind = input.type().rpartition(".")[2].removesuffix("Tensor")
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")
    return size


# What PyTorch calls the nodes.
_NODES = {1: "SqueezeBackward1", 2: "AdaptiveAvgPool2DBackward0", 3: "AdaptiveAvgPool3DBackward0"}


def _adaptive_avg_pool(axes, input, output_size):
    name = f"adaptive_avg_pool{axes}d"
    whole = output_size in (1, (1,) * axes, [1] * axes)
    if whole and input.ndim in (axes + 1, axes + 2):
        made = input.mean(list(range(-axes, 0)), keepdim=True)  # of nothing: NaN
        return in_order_of(made, input) if axes > 1 else _C._shown_as("SqueezeBackward1", made)
    size = _target(name, input, output_size, axes)
    if kernel := _even_windows(input, size):
        return _C._shown_as(_NODES[axes], _avg_pool(name, axes, input, kernel, None, 0, False, True))
    # The mean of a window is the mean along one axis after the other: products with a matrix for each axis.
    given = input
    for i, out in enumerate(size):
        axis, n = input.ndim - axes + i, input.shape[input.ndim - axes + i]
        start, end = _windows(n, out, input.device)
        row = strided.arange(n, device=input.device).unsqueeze(1)
        weights = ((row >= start) & (row < end)).to(input.dtype) / (end - start)
        input = input.movedim(axis, -1).matmul(weights.to(input.dtype)).movedim(-1, axis)
    made = input.contiguous()
    made = in_order_of_lines(made, given) if axes == 1 else in_order_of(made, given, volumes=False)
    return _C._shown_as(_NODES[axes], made, given)


@compiled
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows over the last axis, so many that output_size come out."""
    return _adaptive_avg_pool(1, input, output_size)


@compiled
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows over the last two axes; a size of None is that of the input."""
    return _adaptive_avg_pool(2, input, output_size)


@compiled
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows over the last three axes; a size of None is that of the input."""
    return _adaptive_avg_pool(3, input, output_size)


def _uneven_max_pool(axes, input, size):
    """Maxima and their places in windows that are made equally long by repeating their last element."""
    lead, planes = input.shape[:-axes], input.shape[-axes:]
    places, lengths = None, []
    for i, (n, out) in enumerate(zip(planes, size)):
        start, end = _windows(n, out, input.device)
        rest = n % max(out, 1)
        longest = max(n // max(out, 1) + (rest > 0) + (rest > math.gcd(n, out)), 1)
        at = (start.unsqueeze(1) + strided.arange(longest, device=input.device)).clamp(max=(end - 1).unsqueeze(1))
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = out, longest
        at = at.view(shape)
        places = at if places is None else places * n + at
        lengths.append(longest)
    flat = places.reshape(math.prod(size), math.prod(lengths))
    every = input.reshape(*lead, math.prod(planes))
    with strided.no_grad():  # the gradient goes to the maxima alone
        position = every.index_select(-1, flat.reshape(-1)).view(*lead, *flat.shape).argmax(-1, keepdim=True)
        at = flat.expand(*lead, *flat.shape).gather(-1, position).squeeze(-1)
    return _steady(every).gather(-1, at).view(*lead, *size), at.view(*lead, *size)


def _adaptive_max_pool(axes, input, output_size):
    """Maxima and their places."""
    size = _target(f"adaptive_max_pool{axes}d", input, output_size, axes)
    if kernel := _even_windows(input, size):
        made = _max_pool(f"max_pool{axes}d", input, kernel, None, 0, 1, False, True)
    else:
        made = _uneven_max_pool(axes, input, size)
    if axes == 3:
        return tuple(in_rows(part) for part in made)
    return tuple((in_order_of_lines if axes == 1 else in_order_of)(part, input) for part in made)


def _define(axes):
    name = f"adaptive_max_pool{axes}d"

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        return _adaptive_max_pool(axes, input, output_size)

    def pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        made = _adaptive_max_pool(axes, input, output_size)
        return made if return_indices else made[0]

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"Maxima of windows over the last {axes} axes, so many that output_size come out."
    with_indices.__name__ = with_indices.__qualname__ = name + "_with_indices"
    with_indices.__doc__ = f"{name} and the positions of the maxima in their planes."
    shown_as("SqueezeBackward1" if axes == 1 else f"AdaptiveMaxPool{axes}DBackward0")(pool)
    return compiled(pool), with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _define(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _define(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _define(3)


def _unpooled(axes, input, indices, kernel_size, stride, padding, output_size):
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Input to max_unpooling{axes}d should be a {axes + 1}d or {axes + 2}d Tensor, but got a tensor with {input.ndim} dimensions."
        )
    many = _ints(axes)
    kernel, padding = many(kernel_size), many(padding)
    stride = many(stride) if stride not in (None, (), []) else kernel
    if indices.dtype != strided.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    for name, given in (("kernel_size", kernel), ("stride", stride), ("padding", padding)):
        if len(given) != axes:
            raise RuntimeError(f"max_unpool{axes}d: expected {axes} numbers as {name}, but got {len(given)}")
    default = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-axes:], stride, kernel, padding)]
    size = default
    if output_size is not None:
        size = list(output_size)[-axes:]
        if len(output_size) not in (axes, axes + 2):
            raise ValueError(
                f"output_size should be a sequence containing {axes} or {axes + 2} elements, but it has a length of '{len(output_size)}'"
            )
        for i, (n, d, s) in enumerate(zip(size, default, stride)):
            if not d - s < n < d + s:
                raise ValueError(f'invalid output_size "{output_size}" (dim {i} must be between {d - s} and {d + s})')
    lead, plane = input.shape[:-axes], math.prod(size)
    flat, at = input.flatten(len(lead)), indices.flatten(len(lead))
    low, high = (int(i) for i in every_sample(at).aminmax()) if at.numel() else (0, -1)
    if low < 0 or high >= plane:
        raise RuntimeError(f"Found an invalid max index: {high} (output volumes are of size {'x'.join(map(str, size))}")
    made = strided.zeros(*lead, plane, dtype=input.dtype, device=input.device).scatter(-1, at, flat)
    return in_order_of(made.view(*lead, *size), input, volumes=False)


@shown_as("SqueezeBackward1")
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima that max_pool1d gave, at their places; zeros elsewhere."""
    return _unpooled(1, input, indices, kernel_size, stride, padding, output_size)


@shown_as("MaxUnpool2DBackward0")
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima that max_pool2d gave, at their places; zeros elsewhere."""
    return _unpooled(2, input, indices, kernel_size, stride, padding, output_size)


@shown_as("MaxUnpool3DBackward0")
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima that max_pool3d gave, at their places; zeros elsewhere."""
    return _unpooled(3, input, indices, kernel_size, stride, padding, output_size)
