"""Products of compressed sparse tensors; `compressed` has the layouts."""

from __future__ import annotations

import strided

from .._calls.arguments import check_tensor
from .._functions.entries import times_dense
from . import (
    coo,
    coo_functions,  # noqa: F401  (it fills the table of coo, which is read here)
)
from .base import SparseTensor, put
from .compressed import (  # fmt: skip
    _FUNCTIONS,
    CSR,
    CompressedTensor,
    _check,
    _function,
    entries,
    from_coo,
    grid_of,
    places_of,
    summed,
    type_name,
    with_entries,
)
from .compressed_functions import add, coordinates, sub, transpose


def _places(s, g, dense):
    """For entries of a matrix, and a dense (batch, columns, n): the rows they add to, and the rows they multiply, both
    counted through all matrices."""
    batch, row, column = places_of(s)
    _check(not g.dense, "a sparse matrix of numbers is required, got one with dense dimensions")
    if s.shape[-1] != dense.shape[-2]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({s.shape[-2]}x{s.shape[-1]} and {dense.shape[-2]}x{dense.shape[-1]})"
        )
    if s.dtype != dense.dtype:
        raise RuntimeError(f"expected scalar type {type_name(s._own)} but found {type_name(dense)}")
    if not g.batch:
        return row, column
    return batch * g.rows + row, batch * g.columns + column


def _products(s, dense):
    """The rows that entries, or blocks, add to, and what they add."""
    g = grid_of(s)
    row, column = _places(s, g, dense)
    block, n = g.block, dense.shape[-1]
    if block == (1, 1):
        return row, entries(s).reshape(-1, 1) * dense.reshape(-1, n).index_select(0, column)
    return row, entries(s) @ dense.reshape(-1, block[1], n).index_select(0, column)


def _times_dense(s, dense):
    g = grid_of(s)
    if dense.ndim == 2 and g.batch:
        dense = dense.expand(*g.batch, *dense.shape)
    if g.batch != tuple(dense.shape[:-2]):
        raise NotImplementedError(
            f"matmul of layout {s.layout}: strided has no product of shapes {tuple(s.shape)} and {tuple(dense.shape)}"
        )
    if g.block == (1, 1):
        row, column = _places(s, g, dense)
        made = times_dense(g.count * g.rows, row, column, s._own.reshape(-1), dense.reshape(-1, dense.shape[-1]))
    else:
        made = summed(*reversed(_products(s, dense)), g.count * g.rows)
    return made.reshape(*g.batch, s.shape[-2], dense.shape[-1])


@_function
def mm(a, b):
    if not isinstance(b, SparseTensor):
        return _times_dense(a, b)
    if not isinstance(a, SparseTensor):
        return _times_dense(transpose(b, -2, -1), a.mT).mT
    if a.ndim > 2 or b.ndim > 2:
        raise NotImplementedError(
            f"matmul: strided has no product of batches of sparse matrices, of layouts {a.layout} and {b.layout}"
        )
    return from_coo(CSR, coo._FUNCTIONS["mm"](coordinates(a), coordinates(b)))


_function(mm, "spmm", "dsmm", "_sparse_mm", "bmm")


@_function
def mv(a, b):
    _check(b.ndim == 1 and a.shape[-1] == len(b), f"size mismatch, got input ({a.shape[-2]}), mat "
           f"({a.shape[-2]}x{a.shape[-1]}), vec ({b.shape[0]})")  # fmt: skip
    return mm(a, b[:, None])[..., 0]


@_function
def matmul(a, b):
    for position, (name, x) in enumerate((("input", a), ("other", b)), 1):
        check_tensor("matmul", name, position, x)
    if b.ndim == 1 and not isinstance(b, SparseTensor):
        return mv(a, b)
    if a.ndim == 1 and not isinstance(a, SparseTensor):
        return mv(transpose(b, -2, -1), a)
    return mm(a, b)


_function(matmul, "__matmul__")
CompressedTensor.__radd__ = lambda self, other: add(other, self)
CompressedTensor.__rsub__ = lambda self, other: sub(other, self)
CompressedTensor.__rmatmul__ = lambda self, other: matmul(other, self)


@_function
def addmm(mat, a, b, *, beta=1, alpha=1):
    product = matmul(a, b)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    mat = mat if beta == 1 else mat * beta
    if isinstance(mat, SparseTensor) and isinstance(product, SparseTensor):
        return add(mat, product)
    return strided.add(mat.to_dense(), product.to_dense())


_function(addmm, "addmv", "baddbmm")


@_function
def linear(x, weight, bias=None):
    made = matmul(x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x, weight.transpose(0, 1))
    made = made.reshape(*x.shape[:-1], weight.shape[0]) if x.ndim > 2 else made
    return made if bias is None else made + bias


def mm_reduce(s, dense, reduce):
    """The product with another reduction than the sum; rows without entries are zero."""
    _check(reduce in ("sum", "prod", "mean", "amax", "amin", "max", "min"),
           f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")  # fmt: skip
    if not isinstance(s, CompressedTensor) or s._form.blocked or isinstance(dense, SparseTensor) or s.ndim != 2:
        raise NotImplementedError(
            f"sparse.mm: strided has reduction {reduce!r} of sparse_csr or sparse_csc matrices with dense ones only, "
            f"got layouts {s.layout} and {dense.layout}"
        )
    rows, terms = _products(s, dense)
    start = terms.new_zeros((s.shape[0], dense.shape[1]))
    return start.scatter_reduce(0, rows[:, None].expand(terms.shape), terms, reduce, include_self=False)


def sampled_addmm(s, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``alpha * (mat1 @ mat2)`` at the places of a matrix, plus ``beta`` times its values."""
    for position, (name, x) in enumerate((("input", s), ("mat1", mat1), ("mat2", mat2)), 1):
        check_tensor("sampled_addmm", name, position, x)
    if not isinstance(s, CompressedTensor):
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {s.layout}")
    g = grid_of(s)
    batch, row, column = places_of(s)
    wanted = (*mat1.shape[:-1], mat2.shape[-1])
    _check(tuple(s.shape) == wanted and mat1.shape[-1] == mat2.shape[-2],
           f"sampled_addmm: shapes {tuple(mat1.shape)} and {tuple(mat2.shape)} do not give {tuple(s.shape)}")  # fmt: skip
    k = mat1.shape[-1]
    left = mat1.reshape(-1, g.block[0], k).index_select(0, batch * g.rows + row)
    right = mat2.mT.reshape(-1, g.block[1], k).index_select(0, batch * g.columns + column)
    own = (left * right).sum(-1)[:, :, None] if g.block == (1, 1) else left @ right.mT
    made = own if alpha == 1 else own * alpha
    return with_entries(s, made if beta == 0 else made + entries(s) * beta)


# ------------------------------------------------------------ with tensors in coordinates


def _shared(name):
    """A function of coordinates that hands operands of compressed layouts to the one here."""
    here, there = _FUNCTIONS[name], coo._FUNCTIONS[name]

    def made(*args, **options):
        compressed = any(isinstance(a, CompressedTensor) for a in args)
        return (here if compressed else there)(*args, **options)

    made.__name__ = there.__name__
    return made


for _name in (
    "add", "__add__", "sub", "__sub__", "subtract", "mul", "__mul__", "__rmul__", "multiply", "add_", "__iadd__",
    "sub_", "__isub__", "mul_", "__imul__", "copy_", "mm", "spmm", "dsmm", "_sparse_mm", "bmm", "matmul", "__matmul__",
    "addmm", "linear", "sparse_mask",
):  # fmt: skip
    put(coo.COOTensor, _name, _shared(_name))
