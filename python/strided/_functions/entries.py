"""Products with matrices that are given by their entries, in one operation where the device has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .. import _C

if TYPE_CHECKING:
    from .._typing import Tensor

_sparse_product = _C.functions["_sparse_product"]


def have_kernel(dense: Tensor, *others: Tensor | None) -> bool:
    """Whether `times_dense` is one operation for these tensors: of no class of their own, and dense float32 or
    float64."""
    if dense.dtype not in (_C.float32, _C.float64):
        return False
    for t in (dense, *others):
        kind = type(t)
        if not (kind is _C.Tensor or t is None or kind is strided.nn.Parameter):
            return False
    return True


def times_dense(rows: int, row: Tensor, column: Tensor, values: Tensor | None, dense: Tensor) -> Tensor:
    """(rows, n): the matrix with these entries times dense, (columns, n).

    Args:
        row, column: int64, where each entry stands; an entry in a negative row counts for nothing, if `have_kernel`.
        values: the entries, of dense's dtype; None for ones.
    """
    if have_kernel(dense, row, column, values) and (values is None or values.dtype is dense.dtype):
        return _sparse_product(rows, row, column, values, dense)
    terms = dense.index_select(0, column)
    terms = terms if values is None else values[:, None] * terms
    return terms.new_zeros((rows, dense.shape[1])).index_add(0, row, terms)
