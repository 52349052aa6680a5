"""Sparse tensors in coordinate form: the places that hold values, and the values (``torch.sparse_coo``).

A tensor of this layout keeps ``nnz`` values and a matrix of indices, one row for each sparse axis. Dense axes may
follow: then the values have shape ``(nnz, *dense)``. Every function here is made of functions of dense tensors, so
gradients reach the values and dense operands. A function that is not in ``_FUNCTIONS`` says that it is missing.

>>> s = strided.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 5.], (2, 3))
>>> s @ strided.ones(3, 1)
tensor([[3.],
        [9.]])
>>> s.t().to_dense()
tensor([[0., 4.],
        [0., 0.],
        [3., 5.]])
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from .base import SparseTensor, as_part, base, part, registry, text

if TYPE_CHECKING:
    from .._typing import Any, Tensor


class COOTensor(SparseTensor):
    """A tensor of layout ``torch.sparse_coo``; ``sparse_coo_tensor`` makes them."""

    _at: Tensor  # int64, (sparse_dim, nnz)
    _sole: bool  # no place twice, and in order

    def _with(self, values: Tensor) -> COOTensor:
        return _like(self, values)

    def _moved(self, values: Tensor) -> COOTensor:
        return _make(self._at.to(values.device), values, self.shape, self._sole)

    def _merged(self) -> COOTensor:
        return coalesce(self)

    layout = property(lambda self: strided.sparse_coo)
    is_sparse = True

    def _parts(self) -> dict[str, Tensor]:
        return {"Sparse COO indices": self._at, "Sparse COO values": self._own}

    def _saved(self) -> tuple[Any, ...]:
        return self._at, self._own.detach(), self.shape, self._sole

    def _text(self) -> str:
        return text(self, [part("indices", self._at), part("values", self._own)], True)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _make, (self._at, self._own, tuple(self.shape), self._sole)


def _make(indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> COOTensor:
    made = base(COOTensor, size, values.dtype)
    made._at, made._own, made._sole = indices, values, coalesced
    return made


def _like(s: COOTensor, values: Tensor) -> COOTensor:
    """Other values at the same places."""
    return _make(s._at, values, s.shape, s._sole)


def make(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    is_coalesced: bool | None = None,
    **options: Any,
) -> COOTensor:
    """What ``sparse_coo_tensor`` does."""
    if values is None:  # sparse_coo_tensor(size)
        size = tuple(indices)
        values = strided.empty(0, dtype=dtype, device=device, requires_grad=requires_grad)
        return _make(strided.empty((len(size), 0), dtype=strided.int64, device=device), values, size, True)
    values = as_part(values, dtype, device)
    indices = as_part(indices, None, values.device).to(strided.int64)
    if requires_grad:
        values = values.detach().requires_grad_()
    elif values.requires_grad:
        values = values.view_as(values)  # the tensor is made of them, and so no leaf
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {tuple(indices.shape)}")
    rank, nnz = indices.shape
    if values.ndim == 0:
        values = values.expand(nnz) if nnz != 1 else values.reshape(1)
    if values.shape[0] != nnz:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{nnz}, nnz from values: {values.shape[0]}"
        )
    low, high = (indices.amin(1).tolist(), indices.amax(1).tolist()) if nnz else ([0] * rank, [-1] * rank)
    if size is None:
        size = [h + 1 for h in high] + list(values.shape[1:])
    size = tuple(size)
    if len(size) != rank + values.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {rank}, dense_dim = {values.ndim - 1}"
        )
    for d in range(rank):
        if low[d] < 0:
            raise RuntimeError(f"found negative index {low[d]} for dim {d}")
        if high[d] >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high[d]}"
            )
    if tuple(values.shape[1:]) != size[rank:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *size[rank:]]}, got {list(values.shape)}")
    return _make(indices, values, size, bool(is_coalesced) or nnz < 2)


def of_rows(size: Any, at: Tensor, rows: Tensor) -> COOTensor:
    """Rows of a matrix, by their numbers (int64, within the matrix: nothing is checked)."""
    return _make(at.unsqueeze(0), rows, size)


def from_dense(t: Tensor, sparse_dim: int | None = None) -> COOTensor:
    """``to_sparse`` of a dense tensor: the elements, or the subtensors of the first axes, that are not zero."""
    if t.is_sparse:
        return t
    rank = t.ndim if sparse_dim is None else sparse_dim
    if not min(t.ndim, 1) <= rank <= t.ndim:
        raise RuntimeError(f"sparse_dim must be in {min(t.ndim, 1)} ... {t.ndim}, got {rank}")
    filled = t.detach() != 0
    for _ in range(t.ndim - rank):
        filled = filled.any(-1)
    at = filled.nonzero()
    return _make(at.t().contiguous(), t[at.unbind(1)] if rank else t.reshape(1)[filled.reshape(1)], t.shape, True)


# ------------------------------------------------------------ parts


_function = registry(COOTensor)
_FUNCTIONS = COOTensor._functions


@_function
def _indices(s):
    return s._at


@_function
def _values(s):
    return s._own


@_function
def _nnz(s):
    return s._at.shape[1]


@_function
def indices(s):
    return _of_coalesced(s, "indices")._at


@_function
def values(s):
    return _of_coalesced(s, "values")._own


def _of_coalesced(s, what):
    if not s._sole:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")
    return s


@_function
def is_coalesced(s):
    return s._sole


@_function
def _coalesced_(s, coalesced):
    """PyTorch's name: what the caller says is not looked at."""
    s._sole = coalesced
    return s


@_function
def sparse_dim(s):
    return s._at.shape[0]


@_function
def dense_dim(s):
    return s._own.ndim - 1


def _of_compressed(name, kind):
    def made(s):
        raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got Sparse")

    made.__name__ = name
    return made


for _name, _kind in (
    ("crow_indices", "row"), ("col_indices", "row"), ("ccol_indices", "column"), ("row_indices", "column"),
):  # fmt: skip
    _function(_of_compressed(_name, _kind))


def _keys(indices, sizes):
    """One number for each column of indices, in the order of the places."""
    if not indices.shape[0]:
        return strided.zeros(indices.shape[1], dtype=strided.int64, device=indices.device)
    made, *rows = indices.unbind(0)
    for row, n in zip(rows, sizes[1:]):
        made = made * n + row
    return made


@_function
def coalesce(s):
    """Each place once, in order; values of the same place are summed."""
    if s._sole:
        return s
    keys, inverse = _keys(s._at, s.shape).unique(return_inverse=True)
    first = strided.full(keys.shape, s._nnz(), dtype=strided.int64, device=keys.device)
    first = first.scatter_reduce(0, inverse, strided.arange(s._nnz(), device=keys.device), "amin")
    own = s._own
    if own.dtype is strided.bool:
        summed = own.new_zeros((len(keys), *own.shape[1:]), dtype=strided.int64).index_add(0, inverse, own.long()) > 0
    else:
        summed = own.new_zeros((len(keys), *own.shape[1:])).index_add(0, inverse, own)
    return _make(s._at[:, first], summed, s.shape, True)


@_function
def to_dense(s, dtype=None, *, masked_grad=None):
    n = s._at.shape[0]
    own = s._own if dtype is None else s._own.to(dtype)
    if n == 0:
        return own.any(0) if own.dtype is strided.bool else own.sum(0, dtype=own.dtype)
    flat = own.new_zeros((math.prod(s.shape[:n]), *s.shape[n:]))
    at = _keys(s._at, s.shape)
    return flat.index_put_((at,), own, accumulate=not s._sole).reshape(s.shape)


@_function
def to_sparse(s, *args, layout=None, blocksize=None, dense_dim=None):
    if layout is None and blocksize is None:
        return s
    return _to_layout(s, layout, blocksize, dense_dim)


def _to_layout(*args):
    from .compressed import to_layout

    return to_layout(*args)


@_function
def to_sparse_csr(s, dense_dim=None):
    return _to_layout(s, strided.sparse_csr, None, dense_dim)


@_function
def to_sparse_csc(s, dense_dim=None):
    return _to_layout(s, strided.sparse_csc, None, dense_dim)


@_function
def to_sparse_bsr(s, blocksize, dense_dim=None):
    return _to_layout(s, strided.sparse_bsr, blocksize, dense_dim)


@_function
def to_sparse_bsc(s, blocksize, dense_dim=None):
    return _to_layout(s, strided.sparse_bsc, blocksize, dense_dim)


@_function
def to_sparse_coo(s):
    return s


@_function
def sparse_mask(t, mask):
    """The elements of a tensor at the places of another."""
    if t.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but mask has size {list(mask.shape)}"
        )
    if t.is_sparse:
        t = coalesce(t)
        have, want = _keys(t._at, t.shape), _keys(mask._at, mask.shape)
        if not len(have):
            return _like(mask, t._own.new_zeros((len(want), *t._own.shape[1:])))
        at = strided.searchsorted(have, want).clamp(max=len(have) - 1)
        there = (have[at] == want).reshape(-1, *[1] * (t._own.ndim - 1))
        return _like(mask, t._own[at].masked_fill(~there, 0))
    return _like(mask, t[mask._at.unbind(0)])


# ------------------------------------------------------------ copies


@_function
def clone(s, *, memory_format=None):
    return _make(s._at.clone(), s._own.clone(), s.shape, s._sole)


def _empty(s, size, rank, dtype, device, requires_grad):
    own = s._own.new_empty((0, *size[rank:]), dtype=dtype, device=device)
    made = _make(s._at.new_empty((rank, 0), device=device), own, size, True)
    return made.requires_grad_() if requires_grad else made


@_function
def zeros_like(s, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
    if memory_format not in (None, strided.preserve_format):
        raise RuntimeError("memory format option is only supported by strided tensors")
    if layout is strided.strided:
        return strided.zeros(s.shape, dtype=dtype or s.dtype, device=device or s.device, requires_grad=requires_grad)
    return _empty(s, s.shape, s.sparse_dim(), dtype, device, requires_grad)


_function(zeros_like, "empty_like")


@_function
def new_zeros(s, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return _empty(s, tuple(size), len(size), dtype, device, requires_grad)


_function(new_zeros, "new_empty")


@_function
def new(s, *args, device=None):
    """The old way to make one: of indices, values and a size, or of a size alone."""
    if args and isinstance(args[0], strided.Tensor):
        return make(*args, dtype=s.dtype, device=device or s.device)
    return new_zeros(s, *args, device=device) if args else new_zeros(s, 0, device=device)


@_function
def is_nonzero(s):
    if s.numel() != 1:
        many = "more than one value" if s.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool((coalesce(s)._own != 0).any())


@_function
def type_(s, dtype=None, non_blocking=False):
    if dtype is None:
        return s._own.type().replace("torch.", "torch.sparse.", 1)
    return _like(s, s._own.type(dtype))


COOTensor.type = type_  # type: ignore[assignment]
_FUNCTIONS["type"] = type_
