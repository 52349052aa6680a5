"""LU with row pivoting on block-cyclic matrices, with look-ahead.

Right-looking (ScaLAPACK's pdgetrf).  The panel goes along rows of the grid in a ring that nobody waits for; the column
that has the next panel updates that one first, factors it, sends it, and then catches up with its share of the update
(look-ahead of one panel; R. C. Agarwal and F. G. Gustavson, "A parallel implementation of matrix multiplication and LU
factorization on the IBM 3090", 1989).  The swap of rows and the broadcast of the block row are one exchange: a pivot
row goes straight to everybody who multiplies by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor
from . import _panel
from ._layout import Matrix
from ._transfer import Ring, panel_buffers
from ._update import subtract_product

if TYPE_CHECKING:
    from ..._typing import Tensor

_f = _C.functions
_solve = _f["linalg.solve_triangular"]
_BASE = 4096  # row numbers travel beside the panel as two digits of this base, which every dtype holds exactly
_PIECES = 4  # of the update behind a panel that is under way, so that the transport moves on in between


def lu_inplace(A: Matrix, pivoting: str = "partial") -> tuple[list[int], int]:
    """A := L and U in one, as linalg.lu_factor has them: (pivots, info), the same on every rank.

    pivots[i]: the row, from 0, that step i swapped with row i; info: 0, or the number, from 1, of the first column
    without a pivot.
    """
    if pivoting not in ("partial", "tournament"):
        raise ValueError(f'lu: pivoting must be "partial" or "tournament", got {pivoting!r}')
    m, n = A.shape
    steps = A.cols.steps(min(m, n))
    pivots: list[int] = []
    info = 0
    buffers = panel_buffers(A, 2 * A.block)
    ring, message = _send(A, steps[0], pivoting, buffers[0]) if steps else (None, None)
    for at, (first, end, _) in enumerate(steps):
        ring.pass_on(message)
        top, below, chosen = _unpacked(A, message, first, end)
        done = ring
        if info == 0:
            zeros = (top.diagonal() == 0).tolist()
            info = first + zeros.index(True) + 1 if True in zeros else 0
        pivots += chosen
        rows = swap_rows(A, chosen, first, A.first_col(first), A.first_col(end), sends_right=True)
        rows = _solve(top, rows, upper=False, unitriangular=True)
        begin, width = A.first_col(end), rows.shape[1]
        if A.rows.owner(first) == A.grid.row:
            A.local[A.first_row(first) : A.first_row(end), begin:] = rows
        target = A.local[A.first_row(end) :, begin:]
        ahead = 0
        if at + 1 < len(steps):
            following = steps[at + 1]
            if following[2] == A.grid.column:
                ahead = A.first_col(following[1]) - begin
                subtract_product(target[:, :ahead], below, rows[:, :ahead])
            ring, message = _send(A, following, pivoting, buffers[(at + 1) % 2])
        if ahead < width:
            step = width - ahead if ring is done or ring.last else -(-(width - ahead) // _PIECES)
            for left in range(ahead, width, step):
                subtract_product(target[:, left : left + step], below, rows[:, left : left + step])
                ring.progress()
        done.finish()
    return pivots, info


def _send(A: Matrix, step: tuple[int, int, int], pivoting: str, buffer: Tensor) -> tuple[Ring, Tensor]:
    """Factors the panel where it is and starts its way in the buffer; elsewhere the part of it that it comes to."""
    first, end, column = step
    width, height = end - first, A.local.shape[0] - A.first_row(end)
    message = buffer[: width * width + height * width + 2 * width]
    if A.grid.column == column:
        top, pivots = _factor(A, first, end, pivoting)
        at = A.cols.local(first)
        message[: width * width].view(width, width).copy_(top)
        message[width * width : -2 * width].view(height, width).copy_(A.local[A.first_row(end) :, at : at + width])
        message[-2 * width :] = A.local.new_tensor([float(d) for p in pivots for d in divmod(p, _BASE)])
    ring = Ring(A.grid.row_comm, column, first // A.block % 64)
    if A.grid.column == column:
        ring.start(message)
    return ring, message


def _unpacked(A: Matrix, message: Tensor, first: int, end: int) -> tuple[Tensor, Tensor, list[int]]:
    width = end - first
    top = message[: width * width].view(width, width)
    below = message[width * width : message.numel() - 2 * width].view(-1, width)
    digits = message[message.numel() - 2 * width :].real.tolist()
    return top, below, [int(h) * _BASE + int(d) for h, d in zip(digits[::2], digits[1::2], strict=True)]


def _factor(A: Matrix, first: int, end: int, pivoting: str) -> tuple[Tensor, list[int]]:
    """Factors the panel first : end, on the processes of its column: (its triangle of factors, pivots)."""
    grid, comm = A.grid, A.grid.column_comm
    left, begin, width = A.cols.local(first), A.first_row(first), end - first
    owner = A.rows.owner(first)
    rows = A.rows.indices(grid.row)[begin:]
    panel = A.local[begin:, left : left + width]
    if pivoting == "partial" or comm.size == 1:
        work = panel if comm.size == 1 else panel.clone().contiguous()
        top, pivots = _panel.partial(comm, work, rows, first, owner)
        if work is not panel:
            panel.copy_(work)
        return top, pivots
    held = [A.rows.count(r) - A.rows.before(r, first) for r in range(comm.size)]
    top, pivots = _panel.tournament(comm, panel.contiguous(), rows, first, held)
    swap_rows(A, pivots, first, left, left + width, inner=True)
    below = panel[width:] if grid.row == owner else panel
    if grid.row == owner:
        panel[:width] = top
    if below.shape[0]:
        below.copy_(right_solve(top, below))
    return top, pivots


def right_solve(top: Tensor, X: Tensor) -> Tensor:
    """X U^-1; a zero on U's diagonal counts as 1, as LU leaves a column without a pivot as it is."""
    diagonal = top.diagonal()
    if bool((diagonal == 0).any()):
        top = top.clone()
        top.diagonal().masked_fill_(diagonal == 0, 1)
    return _solve(top, X, upper=True, left=False)


def final_rows(pivots: list[int], first: int) -> tuple[list[int], dict[int, int]]:
    """Where rows come from when pivots[i] was swapped with first + i in turn: those of first, first + 1, ..., and, for
    each row below that changes, which of these it gets."""
    row: dict[int, int] = {}
    for i, p in enumerate(pivots):
        a = first + i
        row[a], row[p] = row.get(p, p), row.get(a, a)
    end = first + len(pivots)
    return [row[first + i] for i in range(len(pivots))], {p: row[p] for p in sorted(row) if p >= end}


def swap_rows(
    A: Matrix, pivots: list[int], first: int, left: int, right: int, *, sends_right: bool = False, inner: bool = False
) -> Tensor:
    """Swaps rows of the piece in its columns before `left` and from `right` on (inner: in those between).

    sends_right: the new rows first, first + 1, ... right of the panel are not stored, but given to every process of the
    column of the grid, in order: the result.
    """
    grid, comm = A.grid, A.grid.column_comm
    top, moved = final_rows(pivots, first)
    X, home = A.local, A.rows.owner(first)
    parts = [X[:, left:right]] if inner else [X[:, :left], X[:, right:]]
    given = [len(parts) - 1] if sends_right else []  # the parts whose top rows everybody gets
    if comm.size == 1:
        return _swap_here(parts, given, top, moved, first)
    owners = [A.rows.owner(g) for g in top]
    owned = [_rows(part, [A.rows.local(g) for g, r in zip(top, owners) if r == grid.row]) for part in parts]
    ranks = range(comm.size)
    down: list[list[tuple[int, int]]] = [[] for _ in ranks]
    for q, g in moved.items():
        down[A.rows.owner(q)].append((q, g))
    outgoing, incoming = [], []
    for r in ranks:
        pieces = [o.flatten() for i, o in enumerate(owned) if r == home or i in given]
        if grid.row == home and down[r]:
            pieces += [_rows(part, [A.rows.local(g) for _, g in down[r]]).flatten() for part in parts]
        outgoing.append(_f["cat"](pieces) if pieces else X.new_empty(0))
        theirs = owners.count(r)
        width = sum(p.shape[1] for i, p in enumerate(parts) if grid.row == home or i in given) * theirs
        if r == home:
            width += sum(p.shape[1] for p in parts) * len(down[grid.row])
        incoming.append(X.new_empty(width))
    comm.all_to_all(incoming, outgoing)
    result = X.new_empty((len(top), parts[-1].shape[1]))
    for r, data in zip(ranks, incoming, strict=True):
        theirs = [i for i, owner in enumerate(owners) if owner == r]
        at = 0
        for i, part in enumerate(parts):
            if grid.row != home and i not in given:
                continue
            size = len(theirs) * part.shape[1]
            piece = data[at : at + size].view(len(theirs), part.shape[1])
            at += size
            if i in given:
                _put_rows(result, theirs, piece)
            else:
                _put_rows(part, [A.rows.local(first + t) for t in theirs], piece)
        if r == home and down[grid.row]:
            for part in parts:
                size = len(down[grid.row]) * part.shape[1]
                piece = data[at : at + size].view(len(down[grid.row]), part.shape[1])
                at += size
                _put_rows(part, [A.rows.local(q) for q, _ in down[grid.row]], piece)
    return result


def _swap_here(parts: list[Tensor], given: list[int], top: list[int], moved: dict[int, int], first: int) -> Tensor:
    """swap_rows where one process has all rows: a row's number is its place."""
    count = len(top)
    sources = _tensor([*top, *moved.values()], dtype=_C.int64, device=parts[0].device)
    below = _tensor(list(moved), dtype=_C.int64, device=parts[0].device)
    taken = parts[-1]
    for i, part in enumerate(parts):
        taken = part.index_select(0, sources)
        if i not in given:
            part[first : first + count] = taken[:count]
        if moved and part.shape[1]:
            part[below] = taken[count:]
    return taken[:count]


def row_order(pivots: list[int], m: int) -> list[int]:
    """The row of A that each row of L U is: P^T A = A[order] for pivots that were swapped in turn."""
    order = list(range(m))
    for i, p in enumerate(pivots):
        order[i], order[p] = order[p], order[i]
    return order


def _rows(part: Tensor, places: list[int]) -> Tensor:
    return part.index_select(0, _tensor(places, dtype=_C.int64, device=part.device))


def _put_rows(part: Tensor, places: list[int], piece: Tensor) -> None:
    if places and part.shape[1]:
        part[_tensor(places, dtype=_C.int64, device=part.device)] = piece
