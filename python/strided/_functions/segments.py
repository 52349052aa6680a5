"""Reductions of pieces of an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Number, Tensor

_f = _C.functions

__all__ = ["segment_reduce"]

# name: (the reduction that index_reduce has; what it starts from)
_REDUCTIONS = {
    "sum": (None, 0),
    "mean": (None, 0),
    "prod": ("prod", 1),
    "max": ("amax", -math.inf),
    "amax": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "amin": ("amin", math.inf),
}


def _checked_lengths(data, lengths, offsets, axis, unsafe):
    """The lengths, whether some piece is empty, and whether the pieces fill the axis."""
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = offsets if lengths is None else lengths
    if given.is_floating_point() or given.is_complex():
        raise NotImplementedError(f"\"segment_reduce\" not implemented for '{given.dtype}'")
    if axis != given.ndim - 1 or axis >= data.ndim:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    if given.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): Expected lengths of shape {tuple(data.shape[:axis])} before the axis, got "
            f"{tuple(given.shape)}"
        )
    if lengths is None:
        if offsets.size(axis) == 0:
            raise RuntimeError("segment_reduce(): Expected offsets to have at least one element along the axis")
        if not unsafe and (bool((offsets.select(axis, 0) != 0).any())):
            raise RuntimeError("segment_reduce(): Expected the first offset to be 0")
        lengths = offsets.diff(dim=axis)
    fewest = int(lengths.min()) if lengths.numel() else 1
    if fewest < 0:
        raise RuntimeError("lengths contains negative value!")
    n = data.size(axis)
    totals = lengths.sum(axis).reshape(-1).tolist() or [n]
    least, most = min(totals), max(totals)
    if most > n or (least != n and not unsafe and offsets is None):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            "!unsafe."
        )
    return lengths.to(_C.int64), fewest == 0, least == n


def _reduced(start, numbers, values, name):
    """index_reduce, which would warn."""
    return start.scatter_reduce(0, numbers.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape), values, name)


def _product_with_nan(start, numbers, values):
    """The products, and for the only NaN of a piece the product of the others as its gradient, which a quotient of the
    result by the value is not."""
    nan = values.isnan()
    others = _reduced(start, numbers, values.masked_fill(nan, 1), "prod")
    count = start.new_zeros(start.shape).index_add(0, numbers, nan.to(values.dtype))
    those = start.new_zeros(start.shape).index_add(0, numbers, values.masked_fill(~nan, 0))
    those = those * _f["where"](count > 1, math.nan, 1.0).to(values.dtype)
    return others * those.masked_fill(count == 0, 1)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Reduces consecutive pieces of an axis of data, a float tensor.

    Args:
        reduce: 'sum', 'mean', 'max', 'min' or 'prod'.
        lengths: of the pieces, of shape (*data.shape[:axis], pieces); their sum is the length of the axis.
        offsets: where they begin and the last one ends, in place of lengths.  indices: not supported.
        unsafe: the pieces need not fill the axis.
        initial: what each reduction starts from, and the result for an empty piece (by default 0, 1 or an infinity; NaN
            for 'mean').

    RuntimeError for arguments that do not fit.

    >>> x = strided.tensor([1., 2., 3., 4.])
    >>> strided.segment_reduce(x, "sum", lengths=strided.tensor([3, 1]))
    tensor([6., 4.])
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if not data.is_floating_point():
        raise NotImplementedError(f"\"segment_reduce\" not implemented for '{data.dtype}'")
    if -data.ndim <= axis < 0:
        axis += data.ndim
    lengths, some_empty, all_taken = _checked_lengths(data, lengths, offsets, axis, unsafe)

    lead, rest, pieces, n = data.shape[:axis], data.shape[axis + 1 :], lengths.size(axis), data.size(axis)
    rows = math.prod(lead)
    flat, each = (data, lengths) if axis == 0 else (data.reshape(rows * n, *rest), lengths.reshape(-1))
    if not all_taken:
        taken = _f["arange"](n, device=data.device) < lengths.reshape(rows, pieces).sum(1, keepdim=True)
        flat = flat[taken.reshape(-1)]
    numbers = _f["arange"](rows * pieces, device=data.device).repeat_interleave(each)

    name, start = _REDUCTIONS[reduce]
    shape = (rows * pieces, *rest)
    out = _f["full"](shape, start if initial is None else initial, dtype=data.dtype, device=data.device)
    if name == "prod" and data.requires_grad and bool(flat.isnan().any()):
        out = _product_with_nan(out, numbers, flat)
    else:
        out = out.index_add(0, numbers, flat) if name is None else _reduced(out, numbers, flat, name)
    if reduce == "mean":
        count = each.reshape(-1, *[1] * len(rest))
        if some_empty:
            empty = math.nan if initial is None else initial
            out = (out / count.clamp(min=1)).masked_fill(count == 0, empty)
        else:
            out = out / count
    return _C._shown_as("SegmentReduceBackward0", out if axis == 0 else out.reshape(*lead, pieces, *rest))


_segment_reduce = segment_reduce  # PyTorch has it under both names
