"""Blocked Householder QR on block-cyclic matrices, and least squares.

Right-looking (ScaLAPACK's pdgeqrf); the reflectors of a panel come from its tall-skinny QR (`_tsqr.py`), so a panel
costs a logarithmic number of messages instead of two for each column.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..._objects.typeinfo import finfo
from ...linalg import LinAlgError
from ._in_place import with_room
from ._layout import Matrix, same_grid
from ._matmul import column_panel
from ._solve import diagonal
from ._transfer import adjoint, all_numbers, all_reduce, broadcast
from ._triangular import triangular_inplace
from ._tsqr import reflectors, signed_lu, tsqr_parts
from ._update import subtract_product

if TYPE_CHECKING:
    from ..._typing import Tensor

_f = _C.functions
_solve = _f["linalg.solve_triangular"]


class Reflectors:
    """Q and R of a matrix (m, n), which is overwritten: R above, the vectors of the reflectors below.

    Q = H_1 H_2 ..., H_k = I - Y_k T_k Y_k^H for each block column.
    """

    def __init__(self, A: Matrix) -> None:
        self.A = A.with_local(A.local.detach())
        self.k = min(A.shape)
        self.steps = A.cols.steps(self.k)
        self.T: list[Tensor] = []
        for step in self.steps:
            Y = self._factor(*step)
            self._reflect(A, Y, self.T[-1].mH, step[0], A.first_col(step[1]))

    def _factor(self, first: int, end: int, column: int) -> Tensor:
        """Factors a block column: its reflectors' vectors, on every process of the row of the grid."""
        A, grid, width = self.A, self.A.grid, end - first
        begin, owner = A.first_row(first), A.rows.owner(first)
        height = A.local.shape[0] - begin
        message = A.local.new_empty((width + height, width))
        if grid.column == column:
            left = A.cols.local(first)
            panel = A.local[begin:, left : left + width]
            heights = [A.rows.count(r) - A.rows.before(r, first) for r in range(grid.rows)]
            Q, R = tsqr_parts(grid.column_comm, panel.contiguous(), heights)
            block = A.local.new_empty((width + 1, width))
            if grid.row == owner:
                block[:width], block[width] = signed_lu(Q[:width], end == A.shape[0])
            broadcast(grid.column_comm, block, owner)
            LU, signs = block[:width], block[width]
            Y1, message[:width] = reflectors(LU, signs)
            rest = message[width:]
            if grid.row == owner:
                panel[:width] = (R * signs[:, None]).triu() + Y1.tril(-1)
                rest[:width], rest, panel, Q = Y1, rest[width:], panel[width:], Q[width:]
            if rest.shape[0]:
                rest.copy_(_solve(LU, Q, upper=True, left=False))
                panel.copy_(rest)
        broadcast(grid.row_comm, message, column)
        self.T.append(message[:width].clone())
        return message[width:]

    def _reflect(self, C: Matrix, Y: Tensor, T: Tensor, first: int, left: int) -> None:
        """C -= Y T Y^H C in the columns of the piece from `left` on."""
        part = C.local[C.first_row(first) :, left:]
        W = all_reduce(C.grid.column_comm, Y.mH @ part)
        if part.numel():
            subtract_product(part, Y, T @ W)

    def _vectors(self, first: int, end: int, column: int) -> Tensor:
        A, width = self.A, end - first
        Y = column_panel(A, first, end, column, slice(A.first_row(first), None))
        if A.grid.row == A.rows.owner(first):
            Y[:width] = Y[:width].tril(-1) + _f["eye"](width, dtype=Y.dtype, device=Y.device)
        return Y

    def apply(self, C: Matrix, *, adjoint: bool = False, leading: bool = False) -> None:
        """C := Q C, or Q^H C.  leading: C begins as columns of the identity."""
        pairs = list(zip(self.steps, self.T, strict=True))
        for step, T in pairs if adjoint else pairs[::-1]:
            left = C.first_col(step[0]) if leading else 0
            self._reflect(C, self._vectors(*step), T.mH if adjoint else T, step[0], left)

    def Q(self, columns: int | None = None) -> Matrix:
        """The first columns (min(m, n) by default) of Q."""
        C = self.A.eye(self.A.shape[0], self.k if columns is None else columns)
        self.apply(C, leading=True)
        return C

    def form(self) -> None:
        """Q, with as many columns as A, in A's memory, where R and the reflectors are lost.  A has no fewer rows than
        columns."""
        A = self.A
        rows = A.row_indices()[:, None]
        for (first, end, column), T in zip(self.steps[::-1], self.T[::-1], strict=True):
            Y = self._vectors(first, end, column)
            if A.grid.column == column:
                left = A.cols.local(first)
                here = A.local[:, left : left + end - first].zero_()
                here.masked_fill_(rows == _f["arange"](first, end, device=here.device), 1)
            self._reflect(A, Y, T, first, A.first_col(first))

    def top(self, C: Matrix, rows: int | None = None) -> Matrix:
        """The first rows (min(m, n) by default) of C, in C's memory."""
        rows = self.k if rows is None else rows
        return Matrix(C.local[: C.first_row(rows)], (rows, C.shape[1]), C.block, C.grid)

    def R(self, rows: int | None = None) -> Matrix:
        """R, with min(m, n) rows by default."""
        top = self.top(self.A, rows)
        at, to = top.row_indices()[:, None], top.col_indices()
        made = with_room(top.local, top.local.shape, top.grid, top.block)
        return top.with_local(made.copy_(top.local).masked_fill_(at > to, 0))


def least_squares(A: Matrix, B: Matrix, *, overwrite: bool = False) -> tuple[Matrix, Tensor]:
    """(X, residuals): the least |A X - B|, or the least |X| with A X = B where A has more columns than rows."""
    same_grid("linalg.lstsq", A, B)
    m, n = A.shape
    if B.shape[0] != m:
        raise RuntimeError(f"linalg.lstsq: B must have A's {m} rows, got {B.shape[0]} x {B.shape[1]}")
    if m >= n:
        F = Reflectors(A if overwrite else A.writable())
        full_rank(F.top(F.A), max(m, n))
        C = B.writable()
        F.apply(C, adjoint=True)
        rest = C.local[C.first_row(n) :].abs().square().sum(0)
        X = F.top(C, n)
        X = X.with_local(X.local.clone())
        residuals = _over_columns(C, rest) if m > n else rest.new_empty(0)
        triangular_inplace(F.top(F.A, n), X, upper=True)
        return X, residuals
    F = Reflectors(adjoint(A))
    full_rank(F.top(F.A), max(m, n))
    X = A.new((n, B.shape[1]))
    top = F.top(X, m)
    top.local.copy_(B.local)
    triangular_inplace(F.top(F.A, m), top, upper=True, adjoint=True)
    F.apply(X)
    return X, X.local.abs().new_empty(0)


def _over_columns(C: Matrix, values: Tensor) -> Tensor:
    """The sums over process columns of one number for each column of the piece, in the order of C's columns."""
    total = values.new_zeros(C.shape[1])
    total[C.col_indices()] = values
    return all_reduce(C.grid.comm, total)


def full_rank(R: Matrix, rows: int) -> None:
    """LinAlgError, on every rank, where an element on R's diagonal is no more than rounding of a matrix of so many rows
    or columns."""
    mine = diagonal(R).abs()
    low, high = (mine.min().item(), mine.max().item()) if mine.numel() else (math.inf, 0.0)
    comm = R.grid.comm
    (low,), (high,) = all_numbers(comm, [low], "min"), all_numbers(comm, [high], "max")
    if low <= high * rows * finfo(R.dtype).eps and min(R.shape):
        raise LinAlgError("linalg.lstsq: the matrix does not have full rank")
