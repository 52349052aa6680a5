"""Constructors and products of sparse tensors: `_sparse` has the layouts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .._calls.overrides import overridable, overridable_method, seen_by_modes

if TYPE_CHECKING:
    from .._typing import Any, Device, DType, Tensor

__all__ = [
    "ccol_indices_copy", "col_indices_copy", "crow_indices_copy", "dsmm", "hspmm", "indices_copy", "row_indices_copy",
    "hsmm", "native_norm", "smm", "spmm", "sspaddmm", "values_copy",
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor",
]  # fmt: skip


@functools.cache
def _layouts() -> Any:
    """The modules of the layouts, which the first call loads: an import in each call would take a microsecond."""
    from .._sparse import compressed, coo

    return compressed, coo


@seen_by_modes
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
    if indices is None:
        if size is None or values is not None:
            raise TypeError("sparse_coo_tensor(): indices and values, or a size, are required")
        indices, size = size, None
    return _layouts()[1].make(
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
    from .. import bincount, int32, zeros

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
    from .. import arange, int32, stack

    rows = arange(crow_indices.numel() - 1, device=crow_indices.device).repeat_interleave(crow_indices.diff())
    dtype = int32 if out_int32 else crow_indices.dtype
    parts = [rows.to(dtype), col_indices.to(dtype)]
    return stack(parts[::-1] if transpose else parts)


def _product(name: str, doc: str) -> Any:
    def product(input: Tensor, mat2: Tensor) -> Tensor:  # noqa: A002
        if not input.is_sparse and not mat2.is_sparse:
            if name in ("smm", "hspmm", "hsmm"):
                raise RuntimeError(f"{name}: expected a sparse matrix")
            return input.mm(mat2)
        return _layouts()[1]._FUNCTIONS[name](input, mat2)

    product.__name__ = product.__qualname__ = name
    product.__doc__ = doc
    return overridable(product)


dsmm = _product("dsmm", "``mm`` of a sparse matrix with a dense or sparse one.")
spmm = _product("spmm", "``mm`` of a sparse matrix with a dense or sparse one.")
smm = _product("smm", "``mm`` of a sparse matrix with a dense one, as a sparse tensor.")
hsmm = _product("hsmm", "``hspmm``.")
hspmm = _product("hspmm", "``mm`` of a sparse matrix with a dense one: sparse rows of dense values.")


@seen_by_modes
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of layout ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.

    Args:
        compressed_indices: int32 or int64, ``(*batch, n + 1)``: where the values of each of n rows (csr), columns
            (csc), rows of blocks (bsr) or columns of blocks (bsc) begin, and the number of values at the end.
        plain_indices: ``(*batch, nnz)``: the other index of each value.
        values: ``(*batch, nnz, *dense)``; of blocked layouts ``(*batch, nnz, block rows, block columns, *dense)``.
        size: ``(*batch, rows, columns, *dense)``; without it the smallest that has room.
        layout: one of the four. dtype, device, requires_grad: of the values. pin_memory: accepted.
        check_invariants: True compares everything; else only what would read outside of the values is an error.

    Raises:
        RuntimeError: another layout, shapes that do not go together, or indices that are not within the size.

    >>> strided.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.], layout=strided.sparse_csr).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    from .. import sparse_coo, strided

    compressed = _layouts()[0]
    if layout not in compressed.FORMS:
        name = {None: "none", strided: "Strided", sparse_coo: "Sparse"}.get(layout, layout)
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {name}")
    return compressed.construct(
        layout, compressed_indices, plain_indices, values, size, dtype=dtype, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def _of_layout(name: str, layout: Any, *parts: Any, **options: Any) -> Tensor:
    compressed = _layouts()[0]
    wanted = compressed.LAYOUTS[name]
    if layout is not None and layout != wanted:
        names = {form.layout: form.name for form in compressed.FORMS.values()}
        raise RuntimeError(f"{name}: layout must be {names[wanted]} but got {names.get(layout, layout)}")
    return compressed.construct(wanted, *parts, **options)


@seen_by_modes
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """``sparse_compressed_tensor`` of layout ``sparse_csr``: rows are compressed.

    >>> strided.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.])
    tensor(crow_indices=tensor([0, 1, 3]),
           col_indices=tensor([2, 0, 2]),
           values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,
           layout=torch.sparse_csr)
    """
    return _of_layout(
        "sparse_csr_tensor", layout, crow_indices, col_indices, values, size, dtype=dtype, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


@seen_by_modes
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """``sparse_compressed_tensor`` of layout ``sparse_csc``: columns are compressed.

    >>> strided.sparse_csc_tensor([0, 1, 2], [1, 0], [3., 4.]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return _of_layout(
        "sparse_csc_tensor", layout, ccol_indices, row_indices, values, size, dtype=dtype, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


@seen_by_modes
def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """``sparse_compressed_tensor`` of layout ``sparse_bsr``: rows of blocks are compressed.

    >>> strided.sparse_bsr_tensor([0, 1], [1], [[[3., 4.]]]).to_dense()
    tensor([[0., 0., 3., 4.]])
    """
    return _of_layout(
        "sparse_bsr_tensor", layout, crow_indices, col_indices, values, size, dtype=dtype, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


@seen_by_modes
def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """``sparse_compressed_tensor`` of layout ``sparse_bsc``: columns of blocks are compressed.

    >>> strided.sparse_bsc_tensor([0, 1], [1], [[[3., 4.]]]).to_dense()
    tensor([[0., 0.],
            [3., 4.]])
    """
    return _of_layout(
        "sparse_bsc_tensor", layout, ccol_indices, row_indices, values, size, dtype=dtype, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


# ------------------------------------------------------------ methods of dense tensors


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The sparse tensor of the elements that are not zero, in coordinates; ``to_sparse(n)`` of the first n axes.

    Args:
        sparse_dim: how many of the first axes are sparse (all).
        layout: another sparse layout. blocksize: two sizes, of the layouts with blocks.
        dense_dim: how many of the last axes are dense (0).

    >>> strided.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    >>> strided.eye(2).to_sparse(layout=strided.sparse_csr).crow_indices()
    tensor([0, 1, 2])
    """
    if layout is None and blocksize is None and dense_dim is None:
        return _layouts()[1].from_dense(self, sparse_dim)
    if sparse_dim is not None:
        raise RuntimeError("to_sparse: sparse_dim goes with no other argument")
    return _compress(self, layout, blocksize, dense_dim)


def _compress(*args: Any) -> Tensor:
    from .._sparse.compressed import to_layout

    return to_layout(*args)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The elements that are not zero, rows compressed; the last `dense_dim` axes are dense.

    >>> strided.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    from .. import sparse_csr

    return _compress(self, sparse_csr, None, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The elements that are not zero, columns compressed; the last `dense_dim` axes are dense."""
    from .. import sparse_csc

    return _compress(self, sparse_csc, None, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The blocks of a size that are not zero, rows of blocks compressed; the last `dense_dim` axes are dense.

    >>> strided.eye(4).to_sparse_bsr((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    from .. import sparse_bsr

    return _compress(self, sparse_bsr, blocksize, dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The blocks of a size that are not zero, columns of blocks compressed; the last `dense_dim` axes are dense."""
    from .. import sparse_bsc

    return _compress(self, sparse_bsc, blocksize, dense_dim)


def to_sparse_coo(self: Tensor) -> Tensor:
    """``to_sparse()``."""
    return to_sparse(self)


def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """A tensor with an element in memory for each place: the tensor itself if it is dense."""
    return self if dtype is None else self.to(dtype)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor, as a sparse tensor."""
    raise RuntimeError(f"sparse_mask: expected a sparse mask, got layout {mask.layout}")


def sparse_dim(self: Tensor) -> int:
    """How many axes are sparse."""
    return 0


def dense_dim(self: Tensor) -> int:
    """How many axes are dense."""
    return self.ndim


def _only_sparse(name: str, kind: str) -> Any:
    def method(self: Tensor) -> Any:
        layout = "Sparse" if self.is_sparse else "Strided"
        raise RuntimeError(f"{name} expected sparse {kind}tensor layout but got {layout}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Of a sparse tensor; RuntimeError for others."
    return method


def _smm(self: Tensor, mat: Tensor) -> Tensor:
    """``mm`` of a sparse matrix with a dense one, as a sparse tensor."""
    return smm(self, mat)


_smm.__name__ = _smm.__qualname__ = "smm"


@overridable
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:  # noqa: A002
    """``beta * input + alpha * (mat1 @ mat2)`` of sparse matrices and a dense `mat2`, in coordinates.

    RuntimeError if `input` or `mat1` is dense.

    >>> s = strided.eye(2).to_sparse()
    >>> strided.sspaddmm(s, s, strided.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    raise RuntimeError("sspaddmm: expected sparse matrices in coordinates")


def _sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * self + alpha * (mat1 @ mat2)`` of sparse matrices and a dense `mat2`."""
    return sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


_sspaddmm.__name__ = _sspaddmm.__qualname__ = "sspaddmm"


@overridable
def native_norm(
    input: Tensor,  # noqa: A002
    p: Any = 2,
    dim: Any = (),
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """``norm`` over all elements of a sparse tensor in coordinates, of shape ``()``.

    Args:
        input: of any shape; elements at the same place are summed first.
        p: the order of the norm.
        dim: no axes, or all of them.
        keepdim: False.
        dtype: of the result; without it that of the elements, real for complex ones.

    Raises:
        NotImplementedError: `input` is dense or compressed; `dim` leaves axes out; `keepdim`.

    >>> strided.native_norm(strided.tensor([[0., 3.], [4., 0.]]).to_sparse())
    tensor(5.)
    """
    raise NotImplementedError(f"native_norm: expected a sparse tensor in coordinates, got layout {input.layout}")


def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Changes the size of a sparse tensor; RuntimeError for others."""
    raise RuntimeError("sparse_resize_ expected sparse coordinate tensor layout but got Strided")


def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Changes the size of a sparse tensor, and takes its values away; RuntimeError for others."""
    raise RuntimeError("sparse_resize_and_clear_ expected sparse coordinate tensor layout but got Strided")


def _copied(name: str) -> Any:
    def function(input: Tensor) -> Tensor:  # noqa: A002
        return getattr(input, name)().clone()

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"A copy of ``input.{name}()``, of a sparse tensor."
    return overridable(function)


indices_copy, values_copy = _copied("indices"), _copied("values")
crow_indices_copy, col_indices_copy = _copied("crow_indices"), _copied("col_indices")
ccol_indices_copy, row_indices_copy = _copied("ccol_indices"), _copied("row_indices")


def install(Tensor: Any) -> None:
    """Puts the methods onto the Tensor type."""
    for function in (to_sparse, to_sparse_coo, to_dense, sparse_mask, sparse_dim, dense_dim, _smm,
                     to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc,
                     _sspaddmm, sparse_resize_, sparse_resize_and_clear_):  # fmt: skip
        setattr(Tensor, function.__name__, overridable_method(function))
    for kind, names in (
        ("coordinate ", ("coalesce", "is_coalesced", "indices", "_indices", "_values", "_nnz")),
        ("", ("values",)),
        ("row compressed ", ("crow_indices", "col_indices")),
        ("column compressed ", ("ccol_indices", "row_indices")),
    ):
        for name in names:
            setattr(Tensor, name, overridable_method(_only_sparse(name, kind)))
