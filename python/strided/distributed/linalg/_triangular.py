"""Systems with a distributed triangular matrix.

Two schedules.  With many right-hand sides these stay in place, and column panels of the triangle are broadcast along
rows (ScaLAPACK's pdtrsm).  With fewer right-hand sides than fill the columns of the grid the triangle stays in place,
and the solved blocks and partial sums travel, which are smaller (M. T. Heath and C. H. Romine, "Parallel solution of
triangular systems on distributed-memory multiprocessors", SIAM J. Sci. Stat. Comput. 9, 1988: the fan-in scheme).  No
transposed copy is made for T^H: its block rows are the block columns of T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ._layout import Matrix, same_grid, square
from ._matmul import column_panel
from ._transfer import broadcast, reduce
from ._update import subtract_product

if TYPE_CHECKING:
    from ..._typing import Tensor

_solve = _C.functions["linalg.solve_triangular"]


def solve_block(T: Tensor, B: Tensor, upper: bool, adjoint: bool, unit: bool) -> Tensor:
    """T^-1 B, or T^-H B, of local tensors; the other triangle of T is not read."""
    if adjoint:
        return _solve(T.mH, B, upper=not upper, unitriangular=unit)
    return _solve(T, B, upper=upper, unitriangular=unit)


def triangular_inplace(T: Matrix, B: Matrix, *, upper: bool, adjoint: bool = False, unit: bool = False) -> None:
    """B := T^-1 B, or T^-H B.  The triangle that `upper` does not name is not read."""
    same_grid("solve_triangular", T, B)
    n = square("solve_triangular", T)
    if B.shape[0] != n:
        raise RuntimeError(f"linalg.solve_triangular: B must have A's {n} rows, got {B.shape[0]} x {B.shape[1]}")
    if T.local.numel() and (T.local.requires_grad or B.local.requires_grad):
        T, B = T.with_local(T.local.detach()), B.with_local(B.local.detach())
    if B.shape[1] < B.block * T.grid.columns and T.grid.columns > 1:
        for first, end, column in B.cols.steps():
            _thin(T, B, first, end, column, upper, adjoint, unit)
    else:
        _wide(T, B, upper, adjoint, unit)


def _order(T: Matrix, upper: bool, adjoint: bool):
    steps = T.rows.steps()
    return steps if upper == adjoint else steps[::-1]


def _wide(T: Matrix, B: Matrix, upper: bool, adjoint: bool, unit: bool) -> None:
    grid, n = T.grid, T.shape[0]
    for first, end, row in _order(T, upper, adjoint):
        column = T.cols.owner(first)
        # The block column with its diagonal block, as far as the triangle reaches.
        here = slice(0, T.first_row(end)) if upper else slice(T.first_row(first), None)
        panel = column_panel(T, first, end, column, here)
        mine, size = grid.row == row, end - first
        if upper:
            off, rest = (panel[:-size] if mine else panel), slice(0, T.first_row(first))
        else:
            off, rest = (panel[size:] if mine else panel), slice(T.first_row(end), None)
        some = first > 0 if upper else end < n
        at = slice(B.first_row(first), B.first_row(end))
        if adjoint:
            if some:
                sums = reduce(grid.column_comm, off.mH @ B.local[rest], row)
                if mine:
                    B.local[at] -= sums
            if mine:
                B.local[at] = solve_block(panel[-size:] if upper else panel[:size], B.local[at], upper, True, unit)
            continue
        if mine:
            solved = solve_block(panel[-size:] if upper else panel[:size], B.local[at], upper, False, unit)
            solved = solved.contiguous()
            B.local[at] = solved
        else:
            solved = B.local.new_empty((size, B.local.shape[1]))
        if some:
            broadcast(grid.column_comm, solved, row)
            subtract_product(B.local[rest], off, solved)


def _thin(T: Matrix, B: Matrix, left: int, right: int, home: int, upper: bool, adjoint: bool, unit: bool) -> None:
    """The columns left : right of B, one block, which the processes of column `home` have."""
    grid, n, width = T.grid, T.shape[0], right - left
    at_home = grid.column == home
    cols = slice(B.first_col(left), B.first_col(right))
    if adjoint:  # the solved blocks are wanted in whole rows of the grid
        held = broadcast(grid.row_comm, _own(B.local[:, cols], B, width, at_home, None), home)
    else:  # each column of the grid sums what its columns of T take off; the sums meet where a block is solved
        held = _own(B.local[:, cols], B, width, at_home, 0)
    for first, end, row in _order(T, upper, adjoint):
        column = T.cols.owner(first)
        rest = slice(0, T.first_row(first)) if upper else slice(T.first_row(end), None)
        at = slice(B.first_row(first), B.first_row(end))
        mine, size = slice(T.first_col(first), T.first_col(end)), end - first
        some = first > 0 if upper else end < n
        block = held[at].clone()
        if adjoint:
            if grid.column == column and some:
                block_sum = reduce(grid.column_comm, T.local[rest, mine].mH @ held[rest], row)
                if grid.row == row:
                    block -= block_sum
        elif grid.row == row:
            reduce(grid.row_comm, block, column)
        if grid.row == row and grid.column == column:
            block = solve_block(T.local[at, mine], block, upper, adjoint, unit).contiguous()
        if adjoint:
            if grid.row == row:
                held[at] = broadcast(grid.row_comm, block, column)
            continue
        if grid.column == column and some:
            solved = block if grid.row == row else B.local.new_empty((size, width))
            broadcast(grid.column_comm, solved, row)
            subtract_product(held[rest], T.local[rest, mine], solved)
        if grid.row == row:
            if column == home:
                if at_home:
                    held[at] = block
            elif grid.column == column:
                grid.row_comm.send(block, home)
            elif at_home:
                grid.row_comm.recv(block, column)
                held[at] = block
    if at_home:
        B.local[:, cols] = held


def _own(part: Tensor, B: Matrix, width: int, at_home: bool, fill: float | None) -> Tensor:
    if at_home:
        return part.contiguous().clone()
    made = B.local.new_empty((B.local.shape[0], width))
    return made if fill is None else made.fill_(fill)
