"""LU of one block column, which the processes of one column of the grid hold.

Partial pivoting makes one exchange for each column: every process sends its candidate row, and the row to be displaced
comes with it (A. Petitet et al., "HPL: panel factorization", 2018).  Tournament pivoting makes one for each panel: each
process brings its best rows, and the best of these win (L. Grigori, J. W. Demmel, H. Xiang, "CALU: a communication
optimal LU factorization algorithm", SIAM J. Matrix Anal. Appl. 32, 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

_f = _C.functions
_lu = _f["linalg.lu_factor_ex"]
_BASE = 4096  # row numbers travel as two digits of this base, which every dtype holds exactly


def partial(comm: Any, P: Tensor, rows: list[int], first: int, owner: int) -> tuple[Tensor, list[int]]:
    """Factors the panel in place: (its first block of factors, pivots).

    P: the rows of the panel from `first` on that this process has; `rows`: their numbers in the matrix, ascending;
    `owner`: the process that has the rows first, first + 1, ...; pivots: the row that step i swaps with row first + i.
    """
    width = P.shape[1]
    if comm.size == 1:
        factors, pivots, _ = _lu(P)
        P.copy_(factors)
        return factors[:width], [first + p - 1 for p in pivots.tolist()]
    top, chosen = P.new_empty((width, width)), []
    mine = comm.rank == owner
    for i in range(width):
        begin = i if mine else 0
        best = int(P[begin:, i].abs().argmax().item()) + begin if P.shape[0] > begin else -1
        message = P.new_zeros(width + 2 + (width if mine else 0))
        if best >= 0:
            message[:width] = P[best]
            message[width], message[width + 1] = rows[best] // _BASE + 1, rows[best] % _BASE
        if mine:
            message[width + 2 :] = P[i]
        received = [P.new_empty(width + 2 + (width if r == owner else 0)) for r in range(comm.size)]
        comm.all_gather(received, message)
        heads = _f["stack"]([r[[i, width, width + 1]] for r in received])
        sizes, numbers = heads[:, 0].abs().tolist(), heads[:, 1:].real.tolist()
        best_rank, pivot = -1, -1
        for rank, (size, (high, low)) in enumerate(zip(sizes, numbers, strict=True)):
            place = (int(high) - 1) * _BASE + int(low)
            if high == 0:
                continue
            ahead = best_rank < 0 or size > sizes[best_rank] or (size != size and sizes[best_rank] == sizes[best_rank])
            if ahead or (size == sizes[best_rank] and place < pivot):
                best_rank, pivot = rank, place
        row = received[best_rank][:width]
        top[i] = row
        if best_rank == comm.rank and pivot != first + i:
            P[best] = received[owner][width + 2 :]
        if mine:
            P[i] = row
            begin += 1
        chosen.append(pivot)
        below = P[begin:]
        if sizes[best_rank] != 0 and below.shape[0]:
            below[:, i] /= row[i]
            if i + 1 < width:
                below[:, i + 1 :].sub_(below[:, i : i + 1] * row[i + 1 :])
    return top, chosen


def tournament(comm: Any, P: Tensor, rows: list[int], first: int, held: list[int]) -> tuple[Tensor, list[int]]:
    """The rows that win a tournament of one round: (the factors of the winners, pivots).  P keeps its rows.

    `held`: how many rows of the panel each process has.
    """
    width = P.shape[1]
    block, numbers, _ = _winners(P, _tensor(rows, dtype=_C.int64, device=P.device), width)
    counts = [min(width, n) for n in held]
    blocks = [P.new_empty((n, width)) for n in counts]
    all_numbers = [numbers.new_empty(n) for n in counts]
    comm.all_gather(blocks, block)
    comm.all_gather(all_numbers, numbers)
    _, numbers, top = _winners(_f["cat"](blocks), _f["cat"](all_numbers), width)
    pivots, order = [], {}
    for i, row in enumerate(numbers.tolist()):  # swaps, one after the other, that bring the winners to the top
        at = next((p for p, r in order.items() if r == row), row)
        pivots.append(at)
        order[first + i], order[at] = row, order.get(first + i, first + i)
    return top, pivots


def _winners(P: Tensor, numbers: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """The rows that partial pivoting brings to the top, their numbers and their factors."""
    order = list(range(P.shape[0]))
    factors, pivots, _ = _lu(P)
    for i, p in enumerate(pivots.tolist()):
        order[i], order[p - 1] = order[p - 1], order[i]
    best = _tensor(order[:width], dtype=_C.int64, device=P.device)
    return P.index_select(0, best).contiguous(), numbers.index_select(0, best), factors[:width].clone()
