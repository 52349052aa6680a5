"""Results whose axes lie in memory in the order of the input's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import Any, Tensor


def order_of(x: Tensor) -> Any:
    """channels_last or channels_last_3d if the tensor, or what it is a slice of, lies so and not in the usual order;
    else None."""
    if x.ndim not in (4, 5) or x.is_contiguous():
        return None
    order = strided.channels_last if x.ndim == 4 else strided.channels_last_3d
    return order if x.is_contiguous(memory_format=order) or _strides_are_so(x) else None


def _strides_are_so(x: Tensor) -> bool:
    """Whether each stride, from channels to the batch, is at least what the axes before it span."""
    strides, span = x.stride(), 0
    if strides[1] <= 0:
        return False
    for axis in (1, *range(x.ndim - 1, 1, -1), 0):
        stride, size = strides[axis], x.size(axis)
        if size == 0 or stride < span or (axis == 0 and span == strides[1]):  # at last: either order
            return False
        span = stride * max(size, 1)
    return True


def in_order_of(made: Tensor, x: Tensor, volumes: bool = True) -> Tensor:
    """The same numbers, in channels_last where x is; in channels_last_3d only if `volumes`: as PyTorch."""
    order = order_of(x) if volumes or x.ndim == 4 else None
    return made if order is None else made.to(memory_format=order)


def in_rows(made: Tensor) -> Tensor:
    """The same numbers with the strides of a new tensor, also for axes of one element, whose strides say nothing."""
    usual = strided.empty(made.shape, device="meta").stride()
    return made if made.stride() == usual else made.clone(memory_format=strided.contiguous_format)


def in_order_of_lines(made: Tensor, x: Tensor) -> Tensor:
    """As in_order_of for a batch of lines, which PyTorch takes for planes of one row: (batch, channels, 1, length)."""
    return in_order_of(made.unsqueeze(-2), x.unsqueeze(-2)).squeeze(-2) if x.ndim == 3 else made
