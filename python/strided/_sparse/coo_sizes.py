"""What changes a sparse tensor in coordinates where it stands: its size, its values; and parts of its axes."""

from __future__ import annotations

import strided

from .. import _C
from .base import UNARY, take
from .coo import COOTensor, _function, _like, _make, coalesce
from .coo_functions import _axes, add, index_select, mm, transpose


def _in_place(name):
    def made(s, *args, **options):
        if not s._sole and name not in ("neg_", "negative_"):
            raise RuntimeError(f"{name} requires coalesced input")
        getattr(s._own, name)(*args, **options)
        return s

    made.__name__ = name
    return made


for _name in UNARY:
    if hasattr(_C.Tensor, _name + "_"):
        _function(_in_place(_name + "_"))


def _resized(s, size, sparse_dim, dense_dim, cleared):
    size = tuple(size)
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
        )
    if cleared or not s._nnz():
        own = s._own.detach().new_empty((0, *size[sparse_dim:]))
        return take(s, _make(s._at.new_empty((sparse_dim, 0)), own, size, True), own)
    rest = "on a non-empty sparse tensor is not supported."
    for what, before, now in (("sparse", s.sparse_dim(), sparse_dim), ("dense", s.dense_dim(), dense_dim)):
        if before != now:
            raise RuntimeError(f"changing the number of {what} dimensions (from {before} to {now}) {rest}")
    before, now = list(s.shape), list(size)
    for what, part in (("sparse", slice(0, sparse_dim)), ("dense", slice(sparse_dim, None))):
        if any(a > b for a, b in zip(before[part], now[part])):
            raise RuntimeError(f"shrinking the size of {what} dimensions (from {before[part]} to {now[part]}) {rest}")
    own = s._own
    if own.shape[1:] != size[sparse_dim:]:
        wider = own.new_zeros((len(own), *size[sparse_dim:]))
        wider[tuple(slice(n) for n in own.shape)] = own
        own = wider
    return take(s, _make(s._at, own, size, s._sole), own)


@_function
def sparse_resize_(s, size, sparse_dim, dense_dim):
    return _resized(s, size, sparse_dim, dense_dim, False)


@_function
def sparse_resize_and_clear_(s, size, sparse_dim, dense_dim):
    return _resized(s, size, sparse_dim, dense_dim, True)


@_function
def narrow_copy(s, dim, start, length):
    n, dim = s.sparse_dim(), _axes(s, dim)[0]
    if not 0 <= start <= start + length <= s.shape[dim]:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {s.shape[dim]})."
        )
    if dim < n:
        return index_select(s, dim, strided.arange(start, start + length, device=s.device))
    size = [length if d == dim else k for d, k in enumerate(s.shape)]
    return _make(s._at, s._own.narrow(dim - n + 1, start, length).clone(), size, s._sole)


@_function
def floor_divide(s, other):
    if not isinstance(s, COOTensor) or (isinstance(other, _C.Tensor) and (other.is_sparse or other.ndim)):
        raise RuntimeError("Sparse floor division requires a scalar or zero-dim dense tensor divisor")
    s = coalesce(s)
    return _like(s, s._own // other)


_function(floor_divide, "__floordiv__")


@_function
def floor_divide_(s, other):
    made = floor_divide(s, other)
    return take(s, made, made._own)


_function(floor_divide_, "__ifloordiv__")


@_function
def transpose_(s, dim0, dim1):
    made = transpose(s, dim0, dim1)
    return take(s, made, made._own)


_function(transpose_, "swapdims_", "swapaxes_")


@_function
def t_(s):
    return transpose_(s, 0, 1) if s.ndim == 2 else s


@_function
def resize_as_sparse_(s, other):
    return _resized(s, other.shape, other.sparse_dim(), other.dense_dim(), False)


_function(resize_as_sparse_, "resize_as_")


@_function
def sspaddmm(s, a, b, *, beta=1, alpha=1):
    """The product has an entry for each element of a row that is not empty."""
    if not (s.is_sparse and a.is_sparse) or b.is_sparse:
        raise RuntimeError("sspaddmm: expected sparse matrices in coordinates, and a dense second factor")
    return add(s * beta, mm(a, b).to_sparse(), alpha=alpha)
