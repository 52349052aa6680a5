"""Pooling: maxima and means of windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..._calls.arguments import wholes
from ..._calls.out import into as _into
from ..._calls.overrides import shown_as
from .._tuples import _ints
from ._compiled import compiled

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
]  # fmt: skip


_f = _C.functions


def _max_pool(name, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    kernel_size, padding = wholes(name, "kernel_size", 2, kernel_size), wholes(name, "padding", 4, padding)
    stride = None if stride is None else wholes(name, "stride", 3, stride)
    dilation = wholes(name, "dilation", 5, dilation)
    pool = _f[f"_{name}_with_indices" if return_indices else f"_{name}"]
    return pool(input, kernel_size, stride, padding, dilation, bool(ceil_mode))


def _define_max_pool(axes):
    name = f"max_pool{axes}d"

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return _max_pool(name, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _max_pool(name, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""The maximum of each window of kernel_size over the last {axes} axes.

    Args:
        input: shape (batch, channels, ...) or (channels, ...). stride: kernel_size if None. padding: by minus infinity.
        ceil_mode: a last window may hang over the end. return_indices: the positions of the maxima too.
    """
    with_indices.__name__ = with_indices.__qualname__ = name + "_with_indices"
    with_indices.__doc__ = f"{name} and the positions of the maxima in their planes."
    if axes == 1:
        shown_as("SqueezeBackward1")(pool)
    return compiled(pool), compiled(with_indices)


max_pool1d, max_pool1d_with_indices = _define_max_pool(1)
max_pool2d, max_pool2d_with_indices = _define_max_pool(2)
max_pool3d, max_pool3d_with_indices = _define_max_pool(3)


# ---------------------------------------------------------------- means


def _avg_pool(name, axes, input, kernel_size, stride, padding, ceil_mode, count_include_pad, *divisor):
    kernel_size, padding = wholes(name, "kernel_size", 2, kernel_size), wholes(name, "padding", 4, padding)
    stride = None if stride is None else wholes(name, "stride", 3, stride)
    return _f[f"_avg_pool{axes}d"](
        input, kernel_size, stride, padding, bool(ceil_mode), bool(count_include_pad), *divisor
    )


@compiled
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of kernel_size over the last axis."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@compiled
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of kernel_size over the last two axes.

    Args:
        count_include_pad: zeros of the padding count. divisor_override: what sums are divided by.
    """
    made = _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _into("avg_pool2d", made, out)


@compiled
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of kernel_size over the last three axes."""
    made = _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _into("avg_pool3d", made, out)


def _lp_pool(axes, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = _ints(axes)(kernel_size)
    powers = input.pow(norm_type)
    mean = _f[f"_avg_pool{axes}d"](powers, kernel, stride, 0, bool(ceil_mode))
    return (mean.sign() * mean.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-th root of the sum of powers of each window over the last axis."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-th root of the sum of powers of each window over the last two axes."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-th root of the sum of powers of each window over the last three axes."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
