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

_solve, _cat = _C.functions["linalg.solve_triangular"], _C.functions["cat"]


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
            (_thin_adjoint if adjoint else _thin)(T, B, first, end, column, upper, unit)
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


def _thin(T: Matrix, B: Matrix, left: int, right: int, home: int, upper: bool, unit: bool) -> None:
    """T^-1 B for the columns left : right of B, one block, which the processes of column `home` have."""
    grid, n, width = T.grid, T.shape[0], right - left
    cols = slice(B.first_col(left), B.first_col(right))
    # Every column of the grid keeps the solved blocks that its columns of T are multiplied by. So a block row is
    # multiplied by all of them at once, everywhere in its row of the grid, and the sums meet where it is solved.
    solved = B.local.new_empty((T.local.shape[1], width))
    for first, end, row in _order(T, upper, False):
        column = T.cols.owner(first)
        at = slice(B.first_row(first), B.first_row(end))
        mine, size = slice(T.first_col(first), T.first_col(end)), end - first
        block = B.local.new_zeros((size, width))
        if grid.row == row:
            if grid.column == home:
                block.copy_(B.local[at, cols])
            before = slice(mine.stop, None) if upper else slice(0, mine.start)
            subtract_product(block, T.local[at, before], solved[before])
            reduce(grid.row_comm, block, column)
        if grid.column == column:
            if grid.row == row:
                block = solve_block(T.local[at, mine], block, upper, False, unit).contiguous()
            if first > 0 if upper else end < n:
                broadcast(grid.column_comm, block, row)
            solved[mine] = block
    _bring_home(T, B, cols, solved, home)


def _thin_adjoint(T: Matrix, B: Matrix, left: int, right: int, home: int, upper: bool, unit: bool) -> None:
    """The same for T^-H B: the solved blocks are wanted in whole rows of the grid."""
    grid, n, width = T.grid, T.shape[0], right - left
    cols = slice(B.first_col(left), B.first_col(right))
    part = B.local[:, cols]
    held = part.contiguous().clone() if grid.column == home else B.local.new_empty((B.local.shape[0], width))
    held = broadcast(grid.row_comm, held, home)
    for first, end, row in _order(T, upper, True):
        column = T.cols.owner(first)
        rest = slice(0, T.first_row(first)) if upper else slice(T.first_row(end), None)
        at = slice(B.first_row(first), B.first_row(end))
        mine = slice(T.first_col(first), T.first_col(end))
        block = held[at].clone()
        if grid.column == column and (first > 0 if upper else end < n):
            sums = reduce(grid.column_comm, T.local[rest, mine].mH @ held[rest], row)
            if grid.row == row:
                block -= sums
        if grid.row == row:
            if grid.column == column:
                block = solve_block(T.local[at, mine], block, upper, True, unit).contiguous()
            held[at] = broadcast(grid.row_comm, block, column)
    if grid.column == home:
        part.copy_(held)


def _bring_home(T: Matrix, B: Matrix, cols: slice, solved: Tensor, home: int) -> None:
    """The solved blocks, each from the process that has it on its diagonal, go to column `home` of the grid.

    One message from each process, after the last step, so that no step waits for them.
    """
    grid = T.grid
    steps: list[list[tuple[int, int]]] = [[] for _ in range(grid.columns)]
    for first, end, row in T.rows.steps():
        if row == grid.row:
            steps[T.cols.owner(first)].append((first, end))
    if grid.column != home:
        if steps[grid.column]:
            blocks = [solved[T.first_col(first) : T.first_col(end)] for first, end in steps[grid.column]]
            grid.row_comm.send(_cat(blocks), home)
        return
    for column, theirs in enumerate(steps):
        if column != home and theirs:
            got = solved.new_empty((sum(end - first for first, end in theirs), solved.shape[1]))
            grid.row_comm.recv(got, column)
        at = 0
        for first, end in theirs:
            block = solved[T.first_col(first) : T.first_col(end)] if column == home else got[at : at + end - first]
            B.local[B.first_row(first) : B.first_row(end), cols] = block
            at += end - first
