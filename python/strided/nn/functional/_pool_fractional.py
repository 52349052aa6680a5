"""Maxima of windows at places that are drawn (B. Graham, "Fractional Max-Pooling", 2014)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import strided

from ... import _C
from ..._calls.overrides import shown_as
from .._tuples import _ints

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]  # fmt: skip


_steady = _C.functions["_with_steady_gradient"]
_in_one_step = _C.functions["_fractional_max_pool"]


def _starts(u, n, out, kernel):
    """Where windows begin along an axis of n elements: u (batch, channels) between 0 and 1 shifts the steps."""
    alpha = (n - kernel) / (out - 1) if out > 1 else 0.0
    i = strided.arange(out, dtype=u.dtype, device=u.device)
    u = u.unsqueeze(-1)
    found = ((i + u) * alpha).long() - (u * alpha).long()
    found[..., out - 1] = n - kernel
    return found


def _numbers(name, what, given, axes):
    """One number for each axis: a number, or so many in a sequence."""
    made = tuple(given) if isinstance(given, Iterable) else (given,) * axes
    if len(made) != axes:
        many = "Ints" if axes == 2 else "three Ints"
        raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {many}")
    return made


def _sizes(name, shape, output_size, output_ratio, axes):
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        return list(_numbers(name, "output_size", output_size, axes))
    if isinstance(output_ratio, Iterable) and len(tuple(output_ratio)) > axes:
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    ratios = _ints(axes)(output_ratio)
    if any(not 0 < r < 1 for r in ratios):
        raise ValueError(f"{name}: output_ratio must be between 0 and 1, got {output_ratio}")
    return [int(n * r) for n, r in zip(shape, ratios)]


_AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _check(name, axes, input, kernel, out):
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got: {list(input.shape)}")
    if 0 in input.shape[1:]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{list(input.shape)} with dimension {input.shape.index(0, 1)} being empty."
        )
    for n, k, o, axis in zip(input.shape[-axes:], kernel, out, _AXES[axes]):
        if o < 0 or k < 1 or o + k - 1 > n:
            raise RuntimeError(f"{name}(): pool {axis} {k} too large relative to input {axis} {n}")


def _check_samples(samples, x, axes):
    if samples.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.size(0) < x.size(0):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.size(1) != x.size(1):
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.size(2) != axes:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {axes}; got {samples.size(2)}.")


def _pool(name, axes, input, kernel_size, output_size, output_ratio, samples):
    out = _sizes(name, input.shape[-axes:], output_size, output_ratio, axes)
    kernel = _numbers(name, "kernel_size", kernel_size, axes)
    _check(name, axes, input, kernel, out)
    x = input if input.ndim == axes + 2 else input.unsqueeze(0)
    lead = x.shape[:2]
    if samples is None:
        samples = strided.rand(*lead, axes, dtype=x.dtype, device=x.device)
    else:
        _check_samples(samples, x, axes)
        samples = samples[: x.size(0)]
    if 0 in out:  # no window at all
        made = x.flatten(2)[..., :0].reshape(*lead, *out)
        places = strided.empty(made.shape, dtype=strided.int64, device=x.device)
        return (made, places) if input.ndim == axes + 2 else (made.squeeze(0), places.squeeze(0))
    if type(x) is strided.Tensor:  # in one step, where the device has it
        best, places = _in_one_step(x, samples, out, kernel)
        if best is not None:
            return (best, places) if input.ndim == axes + 2 else (best.squeeze(0), places.squeeze(0))
    # PyTorch's numbers: in two dimensions the first number is that of the last axis.
    order = (1, 0) if axes == 2 else (0, 1, 2)
    with strided.no_grad():
        places = None
        for i in range(axes):
            start = _starts(samples[..., order[i]], x.size(i + 2), out[i], kernel[i])
            at = start.unsqueeze(-1) + strided.arange(kernel[i], device=x.device)
            shape = [1] * (2 * axes)
            shape[i], shape[axes + i] = out[i], kernel[i]
            at = at.view(*lead, *shape)
            places = at if places is None else places * x.size(i + 2) + at
        places = places.reshape(*lead, math.prod(out), math.prod(kernel))
        planes = x.detach().flatten(2)
        values = planes.gather(2, places.flatten(2)).view(places.shape)
        best = values.max(-1, keepdim=True).indices
        places = places.gather(-1, best).squeeze(-1)
    made = _steady(x).flatten(2).gather(2, places).view(*lead, *out)
    places = places.view(*lead, *out)
    return (made, places) if input.ndim == axes + 2 else (made.squeeze(0), places.squeeze(0))


@shown_as("FractionalMaxPool2DBackward0")
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """fractional_max_pool2d and the positions of the maxima in their planes."""
    return _pool("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)


@shown_as("FractionalMaxPool3DBackward0")
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """fractional_max_pool3d and the positions of the maxima in their volumes."""
    return _pool("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)


@shown_as("FractionalMaxPool2DBackward0")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of windows of kernel_size over the last two axes, at places whose steps are drawn for each plane.

    Args:
        output_size, output_ratio: how many windows, or how many for each element; one of them.
        return_indices: the positions of the maxima too.

    >>> strided.nn.functional.fractional_max_pool2d(strided.ones(1, 1, 6, 6), 2, output_size=3).shape
    torch.Size([1, 1, 3, 3])
    """
    made = fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return made if return_indices else made[0]


@shown_as("FractionalMaxPool3DBackward0")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The same over the last three axes."""
    made = fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return made if return_indices else made[0]
