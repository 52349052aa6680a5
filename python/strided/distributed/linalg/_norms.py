"""Sums over the elements of a matrix, as numbers that every rank gets alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ._transfer import all_numbers, all_reduce

if TYPE_CHECKING:
    from ..._typing import Tensor
    from ._layout import Matrix

_f = _C.functions
_norm = _f["linalg.vector_norm"]


def frobenius(A: Matrix) -> float:
    """The root of the sum of squares, without overflow on the way; inf for elements that are not finite."""
    pieces = [A.local[i : i + A.block] for i in range(0, A.local.shape[0], A.block)] if A.local.numel() else []
    sizes = [_norm(p, math.inf).item() for p in pieces]
    here = math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)
    largest = all_numbers(A.grid.comm, [math.inf if math.isnan(here) else here], "max")[0]
    if largest == 0 or math.isinf(largest):
        return largest
    # The scale is a power of 2, so that dividing by it rounds nothing.
    scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
    squares = sum((_norm(p / scale).item()) ** 2 for p in pieces)
    return scale * math.sqrt(all_numbers(A.grid.comm, [squares])[0])


def sums(A: Matrix, dim: int) -> Tensor:
    """The sums of sizes of this process's columns (dim=0) or rows (dim=1)."""
    total = A.local.abs().sum(dim)
    return all_reduce(A.grid.column_comm if dim == 0 else A.grid.row_comm, total)
