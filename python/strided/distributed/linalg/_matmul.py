"""Products of distributed matrices by outer products of panels.

SUMMA (R. van de Geijn and J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", Concurrency: Practice
and Experience 9, 1997): what stays in place is the result for A B, and the larger operand for A^H B and A B^H; the
panels of the others are broadcast along rows and columns of the grid, and partial results are summed along them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ._layout import Matrix, same_grid
from ._transfer import broadcast, reduce
from ._update import add_product

if TYPE_CHECKING:
    from ..._typing import Tensor


_cat = _C.functions["cat"]
# Panels are collected up to this width, and a sixteenth of this rank's share, before they are multiplied: each product
# reads and writes all of the result.
_INNER = 256


def product(A: Matrix, B: Matrix, *, adjoint: str = "") -> Matrix:
    """A B; A^H B with adjoint="left"; A B^H with adjoint="right".  Not recorded: `matmul` is."""
    check_product(A, B, adjoint)
    return {"": _plain, "left": _left, "right": _right}[adjoint](A, B)


def check_product(A: Matrix, B: Matrix, adjoint: str) -> None:
    """RuntimeError or ValueError for operands that do not fit together."""
    same_grid("matmul", A, B)
    inner = {"": (A.shape[1], B.shape[0]), "left": (A.shape[0], B.shape[0]), "right": (A.shape[1], B.shape[1])}[adjoint]
    if inner[0] != inner[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({A.shape[0]}x{A.shape[1]} and {B.shape[0]}x{B.shape[1]}"
            f"{', adjoint=' + adjoint if adjoint else ''})"
        )


def column_panel(A: Matrix, first: int, end: int, owner: int, rows: slice = slice(None)) -> Tensor:
    """A[rows of the piece, first : end] on every process of the row: a copy."""
    grid = A.grid
    height = len(range(*rows.indices(A.local.shape[0])))
    if grid.column == owner:
        at = A.cols.local(first)
        panel = A.local[rows, at : at + end - first].clone()
        panel = panel if panel.is_contiguous() else panel.contiguous()
    else:
        panel = A.local.new_empty((height, end - first))
    return broadcast(grid.row_comm, panel, owner)


def row_panel(A: Matrix, first: int, end: int, owner: int) -> Tensor:
    """A[first : end] of the columns of the piece, on every process of the column: a copy."""
    grid = A.grid
    if grid.row == owner:
        at = A.rows.local(first)
        panel = A.local[at : at + end - first].clone()
        panel = panel if panel.is_contiguous() else panel.contiguous()
    else:
        panel = A.local.new_empty((end - first, A.local.shape[1]))
    return broadcast(grid.column_comm, panel, owner)


def _plain(A: Matrix, B: Matrix) -> Matrix:
    C = A.new((A.shape[0], B.shape[1]))
    steps = list(zip(A.cols.steps(), B.rows.steps(), strict=True))
    together = max(1, min(_INNER // A.block, len(steps) // (16 * max(A.grid.rows, A.grid.columns))))
    for at in range(0, len(steps), together):
        group = steps[at : at + together]
        left = [column_panel(A, first, end, column) for (first, end, column), _ in group]
        right = [row_panel(B, first, end, row) for _, (first, end, row) in group]
        pair = (_cat(left, 1), _cat(right, 0)) if len(group) > 1 else (left[0], right[0])
        add_product(C.local, *pair)
    return C


def _left(A: Matrix, B: Matrix) -> Matrix:
    grid, C = A.grid, A.new((A.shape[1], B.shape[1]), None)
    for (first, end, column), (_, _, row) in zip(A.cols.steps(), C.rows.steps(), strict=True):
        part = column_panel(A, first, end, column).mH @ B.local
        reduce(grid.column_comm, part, row)
        if grid.row == row:
            at = C.rows.local(first)
            C.local[at : at + end - first] = part
    return C


def _right(A: Matrix, B: Matrix) -> Matrix:
    grid, C = A.grid, A.new((A.shape[0], B.shape[0]), None)
    for (first, end, row), (_, _, column) in zip(B.rows.steps(), C.cols.steps(), strict=True):
        part = A.local @ row_panel(B, first, end, row).mH
        reduce(grid.row_comm, part, column)
        if grid.column == column:
            at = C.cols.local(first)
            C.local[:, at : at + end - first] = part
    return C
