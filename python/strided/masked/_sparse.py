"""Reductions of sparse tensors, of whose elements those count that are stored and that a mask names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

if TYPE_CHECKING:
    from .._typing import Tensor

_REDUCE = {"sum": "sum", "prod": "prod", "amax": "amax", "amin": "amin"}  # names of scatter_reduce
_LAYOUTS = (strided.sparse_coo, strided.sparse_csr)


def reduced(
    name: str,
    input: Any,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **options: Any,
) -> Any:
    """A reduction of a sparse tensor: a sparse tensor of what is left, without places in whose rows nothing counts.

    Args:
        name: the function of ``strided.masked``. input: ``sparse_coo`` or ``sparse_csr``. dim, keepdim, dtype, mask: as
        for dense tensors.
    """
    if name not in (*_REDUCE, "mean") or input.layout not in _LAYOUTS or options:
        raise ValueError(f"masked {name} expects strided tensor (got {input.layout} tensor)")
    if mask is None and name in ("prod", "amax", "amin"):
        raise ValueError(f"masked {name} expects explicit mask for {input.layout} tensor input")
    own = dtype or input.dtype
    if name in ("sum", "prod") and dtype is None and not (own.is_floating_point or own.is_complex):
        own = strided.int64
    if name == "mean" and not (own.is_floating_point or own.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {own}"
        )
    layout, data = input.layout, counting(input, mask).to(own)
    total = _along(_REDUCE.get(name, "sum"), data, dim, keepdim)
    if name == "mean":
        ones = data._with(strided.ones_like(data._own, dtype=data._own.abs().dtype))
        total = total._with(total._own / _along("sum", ones, dim, keepdim)._own)
    return total.to_sparse_csr() if layout == strided.sparse_csr and total.dim() == 2 else total


def counting(input: Any, mask: Any) -> Any:
    """The elements that a mask names, those that are not stored too, as ``sparse_coo``; without one all that are."""
    made = input.to_sparse_coo().coalesce()
    if mask is None:
        return made
    if mask.shape != input.shape:
        mask = (mask if mask.layout == strided.strided else mask.to_dense()).expand(input.shape)
    if made.dense_dim():
        raise NotImplementedError("masked reductions of sparse tensors whose elements have axes, with a mask")
    named = mask.to_sparse_coo().coalesce()
    places = named.indices()[:, named.values() != 0]
    there = strided.ones(places.shape[1], dtype=strided.bool, device=places.device)
    return made.sparse_mask(strided.sparse_coo_tensor(places, there, input.shape, is_coalesced=True))


def _along(name: str, data: Any, dim: Any, keepdim: bool) -> Tensor:
    """Elements of equal places, but for the axes `dim`, made one by scatter_reduce."""
    n, split = max(data.dim(), 1), data.sparse_dim()
    axes = tuple(range(data.dim())) if dim is None or dim in ((), []) else dim if isinstance(dim, tuple) else (dim,)
    axes = tuple(sorted({d % n for d in axes})) if data.dim() else ()
    values = data.values()
    inner = [d - split + 1 for d in axes if d >= split]  # of the elements themselves
    for d in reversed(inner):
        values = values.prod(d, keepdim) if name == "prod" else getattr(values, name)(d, keepdim)
    gone = [d for d in axes if d < split]
    left = [d for d in range(split) if d not in gone]
    places = data.indices()
    if gone:
        rows = places[left] if left else places.new_zeros((1, places.shape[1]))
        rows, group = strided.unique(rows, dim=1, return_inverse=True)
        shape = (rows.shape[1], *values.shape[1:])
        index = group.reshape(-1, *(1,) * (values.dim() - 1)).expand(values.shape)
        made = values.new_zeros(shape).scatter_reduce(0, index, values, name, include_self=False)
        if keepdim or not left:
            whole = rows.new_zeros((split if keepdim else 0, rows.shape[1]))
            for i, d in enumerate(left if keepdim else ()):
                whole[d] = rows[i]
            rows = whole
        places, values = rows, made
    size = [1 if d in axes else m for d, m in enumerate(data.shape) if keepdim or d not in axes]
    if not keepdim and not left and not size:
        return strided.sparse_coo_tensor(places.new_zeros((0, values.shape[0])), values, (), is_coalesced=True)
    return strided.sparse_coo_tensor(places, values, size, is_coalesced=True)
