"""Moving a matrix to another layout in its own memory.

A rank that gives its piece away strip by strip needs no second piece for what it gets: strips that have come stand
where strips that have gone were.  So a result comes back to the placements of its operand in the memory that it was
computed in, and some strips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._transfer import _first_owners, _put, _take

if TYPE_CHECKING:
    from ..._typing import Any, Tensor
    from ._transfer import Where

_ALIGNED = 16  # elements


class Strips:
    """How a matrix goes from one layout to another in strips of the rows of the target, the last ones first.

    source_at, target_at: the rows and columns that a rank has, in the order of its piece; those of two ranks in the
    target are the same, or have nothing in common.  limit: about how many elements a strip has.
    """

    def __init__(self, comm: Any, source_at: Where, target_at: Where, limit: int) -> None:
        self.comm, ranks = comm, range(comm.size)
        self.sources = _first_owners([source_at(r) for r in ranks])
        self.targets = [target_at(r) for r in ranks]
        self.count = max(1, *(-(-len(rows) * len(cols) // limit) for rows, cols in self.targets))
        self.rows, self.cols = source_at(comm.rank)
        strip_of: dict[int, int] = {}
        for at in {rows[0]: t for t, (rows, _) in enumerate(self.targets) if rows}.values():
            for k in range(self.count):
                strip_of.update(dict.fromkeys(self.strip(at, k), k))
        strips = [strip_of.get(g, 0) for g in self.rows]
        self.order = sorted(range(len(self.rows)), key=strips.__getitem__)
        self.given = [0] * self.count  # rows of the source that are free after each strip
        for k in strips:
            self.given[k] += 1

    def strip(self, rank: int, k: int) -> list[int]:
        """Rows of a strip of the target on a rank."""
        rows = self.targets[rank][0]
        return rows[len(rows) * k // self.count : len(rows) * (k + 1) // self.count]

    def room(self) -> int:
        """How many elements the memory of the source needs, so that the target fits into it."""
        mine, (rows, cols) = len(self.cols), self.targets[self.comm.rank]
        room, free, taken = len(self.rows) * mine, 0, 0
        whole = room
        for k in reversed(range(self.count)):
            free += self.given[k] * mine
            taken += len(self.strip(self.comm.rank, k)) * len(cols)
            room = max(room, whole + taken - free)
        return max(room, len(rows) * len(cols)) + _ALIGNED

    def move(self, source: Tensor) -> Tensor:
        """The piece of the target, in the memory of the source where it has room, which holds nothing else then."""
        (rows, cols), me = self.targets[self.comm.rank], self.comm.rank
        n = len(rows) * len(cols)
        memory = source.untyped_storage().nbytes() // source.itemsize
        own = source.is_contiguous() and source.storage_offset() == 0
        if own and self.room() <= memory:
            first = (memory - n) // _ALIGNED * _ALIGNED
            target = source.as_strided((len(rows), len(cols)), (max(len(cols), 1), 1), first)
        else:
            target = source.new_empty((len(rows), len(cols)))
            source = source.contiguous()
        _reorder(source, self.order)
        at_row = {self.rows[i]: place for place, i in enumerate(self.order)}
        at_col = {c: place for place, c in enumerate(self.cols)}
        to_col = {c: place for place, c in enumerate(cols)}
        gives = [[at_col[c] for c in theirs if c in at_col] for _, theirs in self.targets]
        if not self.sources[me][0]:
            gives = [[]] * self.comm.size
        gets = [[to_col[c] for c in cols if c in theirs] for theirs in (set(of) for _, of in self.sources)]
        have = [set(of) for of, _ in self.sources]
        for k in reversed(range(self.count)):
            outgoing = [
                _take(source, [at_row[g] for g in self.strip(t, k) if g in at_row], columns)
                for t, columns in enumerate(gives)
            ]
            before = len(rows) * k // self.count
            wanted = [[before + i for i, g in enumerate(self.strip(me, k)) if g in of] for of in have]
            incoming = [source.new_empty((len(r), len(c))) for r, c in zip(wanted, gets, strict=True)]
            if self.comm.size > 1:
                self.comm.all_to_all(incoming, outgoing)
            else:
                incoming = outgoing
            for piece, r, c in zip(incoming, wanted, gets, strict=True):
                if r and c:
                    _put(target, r, c, piece)
        return target


def with_room(like: Tensor, shape: tuple[int, ...], grid: Any, block: int) -> Tensor:
    """Memory of a piece that usually has room for the matrix in another layout: some blocks more."""
    m, n = shape
    return like.new_empty(m * n + m + (grid.rows + 1) * block * (n + block))[: m * n].view(m, n)


def _reorder(t: Tensor, order: list[int]) -> None:
    """t becomes t[order], in place: along the cycles of the permutation."""
    order = list(order)
    for start in range(len(order)):
        if order[start] == start:
            continue
        saved, place = t[start].clone(), start
        while order[place] != start:
            following = order[place]
            t[place] = t[following]
            order[place], place = place, following
        t[place] = saved
        order[place] = place
