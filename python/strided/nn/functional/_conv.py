"""Convolution. What is computed, and how, is in csrc/ops/linalg/convolution.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..._calls.once import warn_once_of
from .._tuples import _ints
from ._compiled import compiled
from ._padding import plain_pad as pad

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip

_f = strided._C.functions


def _same(input, kernel, dilation):
    """Padding that keeps the size; the odd element is put behind."""
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    more = [t % 2 for t in total]
    if any(more):
        warn_once_of(
            "padding='same'",
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
            "created",
            3,
        )
        input = pad(input, [v for m in reversed(more) for v in (0, m)])
    return input, [t // 2 for t in total]


def _conv(axes, input, weight, bias, stride, padding, dilation, groups):
    if isinstance(padding, str):
        if padding == "same":
            if groups <= 0:
                raise RuntimeError("non-positive groups is not supported")
            if max(_ints(axes)(stride)) > 1:
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            if weight.ndim == axes + 2:  # else the compiled function says so
                input, padding = _same(input, weight.shape[2:], _ints(axes)(dilation))
        elif padding != "valid":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        padding = 0 if isinstance(padding, str) else padding
    return _f[f"_conv{axes}d"](input, weight, bias, stride, padding, dilation, groups)


@compiled
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, length) with weight (out, channels / groups, kernel).

    Args:
        padding: zeros on both sides; 'same' keeps the size, 'valid' is none.

    >>> strided.nn.functional.conv1d(strided.arange(4.).view(1, 1, 4), strided.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


@compiled
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, height, width) with weight (out, channels / groups, height, width)."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


@compiled
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, depth, height, width)."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


@compiled
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv1d: weight has shape (channels, out / groups, kernel)."""
    return _f["_conv_transpose1d"](input, weight, bias, stride, padding, output_padding, groups, dilation)


@compiled
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv2d: weight has shape (channels, out / groups, height, width)."""
    return _f["_conv_transpose2d"](input, weight, bias, stride, padding, output_padding, groups, dilation)


@compiled
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv3d."""
    return _f["_conv_transpose3d"](input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d of (length, batch, channels) with weight (kernel, channels, out)."""
    made = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1).contiguous()
