"""Cholesky on block-cyclic matrices.

Right-looking (ScaLAPACK's pdpotrf).  After the panel has gone along the rows of the grid, each column of the grid
collects the blocks that stand on the right of its products from its own processes, so that no transposed copy is sent.
Look-ahead as in `_lu.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...linalg import LinAlgError
from ._layout import Matrix, square
from ._transfer import Ring, broadcast, panel_buffers
from ._update import subtract_product

if TYPE_CHECKING:
    from ..._typing import Tensor

_f = _C.functions
_PIECES = 16  # of an update: what each has above the diagonal is computed for nothing
_factor, _solve = _f["linalg.cholesky_ex"], _f["linalg.solve_triangular"]


def cholesky_inplace(A: Matrix) -> int:
    """The lower triangle of A := L with A = L L^H; what is above the diagonal is not read, and is anything afterwards.
    info: 0, or the order of the minor that is not positive-definite."""
    n = square("linalg.cholesky", A)
    steps = A.cols.steps(n)
    buffers = panel_buffers(A, 1)
    ring, message = _send(A, steps[0], buffers[0]) if steps else (None, None)
    for at, (first, end, _) in enumerate(steps):
        ring.pass_on(message)
        info = int(message[-1].real.item())
        if info:
            ring.finish()
            return first + info
        width = end - first
        panel = message[:-1].view(-1, width)
        right, done = _on_the_right(A, panel, end), ring
        begin, top = A.first_col(end), A.first_row(end)
        ahead = 0
        if at + 1 < len(steps):
            following = steps[at + 1]
            if following[2] == A.grid.column:
                ahead = A.first_col(following[1]) - begin
                _update(A, panel, right, end, begin, 0, ahead, top)
            ring, message = _send(A, following, buffers[(at + 1) % 2])
        step = max(A.block, -(-(right.shape[0] - ahead) // _PIECES))
        for left in range(ahead, right.shape[0], step):
            _update(A, panel, right, end, begin, left, min(left + step, right.shape[0]), top)
            ring.progress()
        done.finish()
    return 0


def _update(A: Matrix, panel: Tensor, right: Tensor, end: int, begin: int, left: int, stop: int, top: int) -> None:
    """Columns left : stop behind the panel, from their own first row on."""
    if left >= stop:
        return
    row = A.first_row(A.cols.place(A.grid.column, begin + left))
    subtract_product(A.local[row:, begin + left : begin + stop], panel[row - top :], right[left:stop].mH)


def _send(A: Matrix, step: tuple[int, int, int], buffer: Tensor) -> tuple[Ring, Tensor]:
    """Factors the block column where it is, and starts its way in the buffer."""
    (first, end, column), grid = step, A.grid
    width, below = end - first, A.first_row(end)
    height = A.local.shape[0] - below
    ring = Ring(grid.row_comm, column, first // A.block % 64)
    message = buffer[: height * width + 1]
    if grid.column == column:
        left, owner = A.cols.local(first), A.rows.owner(first)
        block = A.local.new_empty(width * width + 1)
        if grid.row == owner:
            at = A.rows.local(first)
            diagonal = A.local[at : at + width, left : left + width]
            L, info = _factor(diagonal.contiguous())
            block[:-1], block[-1] = L.flatten(), float(info.item())
            diagonal.copy_(L)
        broadcast(grid.column_comm, block, owner)
        panel = A.local[below:, left : left + width]
        message[-1] = block[-1]
        if height and block[-1].real.item() == 0:
            panel.copy_(_solve(block[:-1].view(width, width).mH, panel, upper=True, left=False))
        message[:-1].view(height, width).copy_(panel)
        ring.start(message)
    return ring, message


def _on_the_right(A: Matrix, panel: Tensor, end: int) -> Tensor:
    """The rows of the panel that are this process's columns, which the processes of its column have in parts."""
    grid = A.grid
    cols = A.cols.place(grid.column, _f["arange"](A.first_col(end), A.local.shape[1], device=panel.device))
    owner, base = A.rows.owner(cols), A.first_row(end)
    at = [(owner == r).nonzero().flatten() for r in range(grid.rows)]
    mine = panel.index_select(0, A.rows.local(cols[at[grid.row]]) - base)
    if grid.rows == 1:
        return mine
    parts = [mine.new_empty((places.numel(), panel.shape[1])) for places in at]
    grid.column_comm.all_gather(parts, mine)
    right = panel.new_empty((cols.numel(), panel.shape[1]))
    for places, part in zip(at, parts, strict=True):
        right[places] = part
    return right


def failed(info: int) -> LinAlgError:
    """The error for a matrix that is not positive-definite, with the order of the minor as `info`."""
    error = LinAlgError(
        f"linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order {info} is not positive-definite)."
    )
    error.info = info  # type: ignore[attr-defined]
    return error
