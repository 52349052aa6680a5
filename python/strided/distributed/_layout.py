"""Which indices of a tensor each rank holds, as arithmetic on ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._C import Size
from .placement import BlockCyclic, Partial, Placement, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any

    Ranges = list[tuple[int, int]]


_MOST_PIECES = 1 << 24  # which are written out one by one


def length(ranges: Ranges) -> int:
    """How many indices there are in ranges [(start, stop), ...]."""
    return sum(b - a for a, b in ranges)


def dealt(ranges: Ranges, block: int, size: int, rank: int) -> Ranges:
    """The part of a rank when indices (in order) are dealt to `size` ranks in blocks."""
    if size == 1:
        return list(ranges)
    n = length(ranges)
    found: Ranges = []
    if n // (block * size) > _MOST_PIECES:
        raise ValueError(
            f"{n} indices in blocks of {block} are more than {_MOST_PIECES} blocks on each of {size} ranks: larger blocks "
            "are required"
        )
    i, before = 0, 0  # the range that is looked at, and how many indices there are before it
    for start in range(rank * block, n, block * size):
        stop = min(start + block, n)
        while start < stop:
            a, b = ranges[i]
            if start >= before + b - a:
                before += b - a
                i += 1
                continue
            end = min(stop, before + b - a)
            piece = (a + start - before, a + end - before)
            if found and found[-1][1] == piece[0]:
                found[-1] = (found[-1][0], piece[1])
            else:
                found.append(piece)
            start = end
    return found


def common(mine: Ranges, theirs: Ranges) -> list[tuple[int, int, int]]:
    """What two sorted lists of ranges share: (position in mine, position in theirs, how many), in order."""
    found: list[tuple[int, int, int]] = []
    i = j = at_i = at_j = 0
    while i < len(mine) and j < len(theirs):
        (a, b), (c, d) = mine[i], theirs[j]
        start, stop = max(a, c), min(b, d)
        if start < stop:
            piece = (at_i + start - a, at_j + start - c, stop - start)
            last = found[-1] if found else None
            if last and last[0] + last[2] == piece[0] and last[1] + last[2] == piece[1]:
                found[-1] = (last[0], last[1], last[2] + piece[2])
            else:
                found.append(piece)
        if b <= d:
            at_i += b - a
            i += 1
        else:
            at_j += d - c
            j += 1
    return found


class Layout:
    """Shape and placements over a mesh; what each rank holds of each axis.

    shape: of the whole tensor; placements: for each axis of the mesh; ranges(coordinate): for each axis of the tensor
    the indices that the rank there holds, in order.
    """

    mesh: Any
    placements: tuple[Placement, ...]
    shape: Size

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        raise NotImplementedError

    def __repr__(self) -> str:  # the same on every rank: it stands in the headers of calls
        return f"{tuple(self.shape)} {list(self.placements)}, by parts"

    def dual(self) -> Layout:
        """The layout of the gradient: Note [Gradients of sharded tensors]."""
        raise NotImplementedError

    def local_shape(self, coordinate: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """The shape of the shard of a rank; of this one for None."""
        at = self.mesh._coordinate if coordinate is None else coordinate
        return tuple(length(r) for r in self.ranges(at))


class Spec(Layout):
    """A Layout that placements say all about."""

    __slots__ = ("mesh", "placements", "shape", "_known", "_results", "dims", "is_partial")

    def __init__(self, mesh: Any, placements: tuple[Placement, ...], shape: Any) -> None:
        self.mesh, self.placements, self.shape = mesh, placements, Size(shape)
        self._known: dict[tuple[int, ...], list[Ranges]] = {}
        self._results: dict[Any, Spec] = {}  # layouts that calls of one tensor have made of this one (_rules_reduce.py)
        # For each mesh axis the axis of the tensor that it cuts, or None.
        self.is_partial = any(isinstance(p, Partial) for p in placements)
        self.dims = tuple(p.dim if isinstance(p, (Shard, BlockCyclic)) else None for p in placements)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Spec)
            and self.placements == other.placements
            and self.shape == other.shape
            and self.mesh == other.mesh
        )

    def __hash__(self) -> int:
        return hash((self.placements, tuple(self.shape)))

    def __repr__(self) -> str:
        return f"{tuple(self.shape)} {list(self.placements)}"

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        found = self._known.get(coordinate)
        if found is None:
            found = [[(0, n)] if n else [] for n in self.shape]
            for axis, (p, size, at) in enumerate(zip(self.placements, self.mesh.shape, coordinate)):
                dim = self.dims[axis]
                if dim is not None:
                    n = length(found[dim])
                    block = p.block if isinstance(p, BlockCyclic) else max(-(-n // size), 1)
                    found[dim] = dealt(found[dim], block, size, at)
            self._known[coordinate] = found
        return found

    def dual(self) -> Spec:
        return self.with_(dual(self.placements)) if self.is_partial else self

    def cuts(self, dim: int) -> list[int]:
        """The mesh axes that cut the axis `dim`."""
        return [a for a, d in enumerate(self.dims) if d == dim]

    def with_(self, placements: Any = None, shape: Any = None) -> Spec:
        """The same with other placements or another shape: one object for each, as long as the mesh keeps it."""
        key = (
            tuple(placements) if placements is not None else self.placements,
            self.shape if shape is None else Size(shape),
        )
        known = self.mesh._specs
        found = known.get(key)
        if found is None:
            if len(known) > 1000:
                known.clear()
            found = known[key] = Spec(self.mesh, *key)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether every rank has everything."""
        return all(isinstance(p, Replicate) for p in self.placements)


class Moved(Layout):
    """A Layout whose ranks hold the indices that `by(dim, ranges)` makes of those of another one."""

    def __init__(self, of: Layout, shape: Any, by: Any) -> None:
        self.mesh, self.placements, self.shape = of.mesh, of.placements, Size(shape)
        self._of, self._by = of, by

    def __repr__(self) -> str:
        return f"{tuple(self.shape)} moved from {self._of!r}"

    def dual(self) -> Moved:
        return Moved(self._of.dual(), self.shape, self._by)

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        return [self._by(dim, r) for dim, r in enumerate(self._of.ranges(coordinate))]


def dual(placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """The placements of the gradient of a tensor with these: that of a term of a sum is the sum's, on every rank."""
    return tuple(Replicate() if isinstance(p, Partial) else p for p in placements)
