"""Constructors and products of sparse tensors. There is one sparse layout, coordinates: `_sparse_coo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._overrides import overridable, overridable_method

if TYPE_CHECKING:
    from ._typing import Any, Device, DType, Tensor

__all__ = [
    "dsmm", "hspmm", "smm", "spmm",
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor",
]  # fmt: skip


def refuse(name: str) -> Any:
    """Raises the error of a layout that is missing."""
    raise NotImplementedError(f"{name}: strided has sparse tensors of layout sparse_coo only")


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor: `values` at the places that the columns of `indices` name, zero elsewhere.

    Args:
        indices: integers of shape ``(sparse_dim, nnz)``; with one argument only it is the size, and all is zero.
        values: shape ``(nnz, *dense sizes)``. Values of the same place are summed.
        size: the shape; without it the smallest that has room.
        dtype, device, requires_grad: of the values.
        pin_memory, check_invariants: accepted; places are always compared with the size.
        is_coalesced: True promises that the places are in order and none is there twice.

    Raises:
        RuntimeError: numbers of indices and values differ, or a place is not within the size.

    >>> strided.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 5.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    from . import _sparse_coo

    if indices is None:
        if size is None or values is not None:
            raise TypeError("sparse_coo_tensor(): indices and values, or a size, are required")
        indices, size = size, None
    return _sparse_coo.make(
        indices, values, size, dtype=dtype, device=device, requires_grad=requires_grad, is_coalesced=is_coalesced
    )


def _convert_indices_from_coo_to_csr(
    input: Tensor,  # noqa: A002
    size: int,
    *,
    out_int32: bool = False,
) -> Tensor:
    """Where the elements of each row begin, and the last ones end: of rows in order, int64 (int32 if `out_int32`).

    >>> strided._convert_indices_from_coo_to_csr(strided.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    from . import bincount, int32, zeros

    made = zeros(size + 1, dtype=int32 if out_int32 else input.dtype, device=input.device)
    made[1:] = bincount(input, minlength=size).cumsum(0)
    return made


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Rows and columns of the elements, of shape (2, nnz), from where the rows begin; columns first if `transpose`.

    >>> strided._convert_indices_from_csr_to_coo(strided.tensor([0, 2, 2, 3]), strided.tensor([1, 2, 0]))
    tensor([[0, 0, 2],
            [1, 2, 0]])
    """
    from . import arange, int32, stack

    rows = arange(crow_indices.numel() - 1, device=crow_indices.device).repeat_interleave(crow_indices.diff())
    dtype = int32 if out_int32 else crow_indices.dtype
    parts = [rows.to(dtype), col_indices.to(dtype)]
    return stack(parts[::-1] if transpose else parts)


def _product(name: str, doc: str) -> Any:
    def product(input: Tensor, mat2: Tensor) -> Tensor:  # noqa: A002
        from . import _sparse_coo

        if not input.is_sparse and not mat2.is_sparse:
            if name in ("smm", "hspmm"):
                raise RuntimeError(f"{name}: expected a sparse matrix")
            return input.mm(mat2)
        return _sparse_coo._FUNCTIONS[name](input, mat2)

    product.__name__ = product.__qualname__ = name
    product.__doc__ = doc
    return overridable(product)


dsmm = _product("dsmm", "``mm`` of a sparse matrix with a dense or sparse one.")
spmm = _product("spmm", "``mm`` of a sparse matrix with a dense or sparse one.")
smm = _product("smm", "``mm`` of a sparse matrix with a dense one, as a sparse tensor.")
hspmm = _product("hspmm", "``mm`` of a sparse matrix with a dense one: sparse rows of dense values.")


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_csr_tensor")


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_csc_tensor")


def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_bsr_tensor")


def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_bsc_tensor")


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, **options: Any
) -> Any:
    """NotImplementedError."""
    refuse("sparse_compressed_tensor")


# ------------------------------------------------------------ methods of dense tensors


def to_sparse(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """The sparse tensor of the elements that are not zero; ``to_sparse(n)`` of the first n axes.

    >>> strided.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    from . import _sparse_coo

    return _sparse_coo.from_dense(self, *args, **options)


def to_sparse_coo(self: Tensor) -> Tensor:
    """``to_sparse()``."""
    return to_sparse(self)


def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """A tensor with an element in memory for each place: the tensor itself if it is dense."""
    return self if dtype is None else self.to(dtype)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor, as a sparse tensor."""
    from . import _sparse_coo

    return _sparse_coo.sparse_mask(self, mask)


def sparse_dim(self: Tensor) -> int:
    """How many axes are sparse."""
    return 0


def dense_dim(self: Tensor) -> int:
    """How many axes are dense."""
    return self.ndim


def _only_sparse(name: str) -> Any:
    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Of a sparse tensor; RuntimeError for others."
    return method


def _smm(self: Tensor, mat: Tensor) -> Tensor:
    """``mm`` of a sparse matrix with a dense one, as a sparse tensor."""
    return smm(self, mat)


_smm.__name__ = _smm.__qualname__ = "smm"


def install(Tensor: Any) -> None:
    """Puts the methods onto the Tensor type."""
    for function in (to_sparse, to_sparse_coo, to_dense, sparse_mask, sparse_dim, dense_dim, _smm):
        setattr(Tensor, function.__name__, overridable_method(function))
    for name in ("coalesce", "is_coalesced", "indices", "values", "_indices", "_values", "_nnz"):
        setattr(Tensor, name, overridable_method(_only_sparse(name)))
