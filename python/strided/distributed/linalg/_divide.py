"""Singular values and vectors of real bidiagonal matrices, by divide and conquer, in the memory of the vectors.

M. Gu and S. C. Eisenstat, "A divide-and-conquer algorithm for the bidiagonal SVD", SIAM J. Matrix Anal. Appl. 16, 1995.
A matrix is cut into two and a row between them.  In the vectors of the two, what is left is a diagonal below one row z:
its singular values s are the roots of 1 + sum z_i^2 / (d_i^2 - s^2), and its vectors follow from the differences
d_i - s.  `Divided` finds all values first, and keeps a few vectors for each step; `vectors` then makes the vectors, of
either side, step by step in place: a step multiplies rows of the last vectors by a matrix that is computed as it is
needed.  Roots, z and norms are shared among the ranks, so that all have the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor
from ...linalg import LinAlgError
from ._transfer import all_reduce, broadcast

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor
    from ._layout import Matrix

_f = _C.functions
_svd, _cat, _where = _f["linalg.svd"], _f["cat"], _f["where"]
_EPS = 2.0**-52
LEAF = 32  # pieces up to this size are factored whole


class _Leaf:
    """A piece that one rank factors: U, Vh are there only."""

    def __init__(self, start: int, n: int, more: int) -> None:
        self.start, self.n, self.more = start, n, more
        self.owner = 0
        self.d: list[float] = []
        self.U: Tensor | None = None
        self.V: Tensor | None = None


class _Step:
    """What joins two pieces: positions are those of columns before it; U has the row between them at `middle`."""

    def __init__(self, start: int, n: int, more: int, middle: int) -> None:
        self.start, self.n, self.more, self.middle = start, n, more, middle
        self.mix = (1.0, 0.0)  # of the two null vectors of V
        self.turns: list[tuple[int, int, float, float]] = []
        self.kept: Tensor
        self.poles: Tensor
        self.z: Tensor
        self.origins: Tensor
        self.shifts: Tensor
        self.norms: dict[str, Tensor] = {}
        self.columns: Tensor  # for each new column: a root, or roots + a position
        self.d: list[float] = []


class Divided:
    """The singular values of the bidiagonal matrix with this diagonal and what is right of it, and how its vectors are
    made.  All ranks of `comm` call it with the same numbers.

    values: ascending, float64.  room: how many elements a rank may have for a while, to the first order; sides: which
    vectors will be made.
    """

    def __init__(
        self,
        comm: Any,
        diagonal: Sequence[float],
        right: Sequence[float],
        device: Any,
        *,
        leaf: int,
        room: int,
        sides: str = "UV",
    ) -> None:
        self.comm, self.device, self.room, self.sides = comm, device, max(1, room), sides
        size = max((abs(x) for x in (*diagonal, *right)), default=0.0)
        self.diagonal, self.right = ([x / (size or 1.0) for x in numbers] for numbers in (diagonal, right))
        self.steps: list[_Leaf | _Step] = []
        self.leaves: list[_Leaf] = []
        n = len(self.diagonal)
        self.leaf = max(3, leaf)
        self._plan(0, n, 0)
        self._factor_leaves()
        edges: dict[tuple[int, int], tuple[list[float], Any, Any]] = {}
        for step in self.steps:
            edges[step.start, step.n] = self._leaf_edges(step) if isinstance(step, _Leaf) else self._join(step, edges)
        found = self.steps[-1].d if n else []
        self.order = sorted(range(n), key=lambda i: found[i])
        self.values = self._tensor([found[i] * size for i in self.order])

    def _tensor(self, numbers: Sequence[float]) -> Tensor:
        return _tensor(list(numbers), dtype=_C.float64, device=self.device)

    def _index(self, numbers: Sequence[int]) -> Tensor:
        return _tensor(list(numbers), dtype=_C.int64, device=self.device)

    def _plan(self, start: int, n: int, more: int) -> None:
        if n <= self.leaf:
            made = _Leaf(start, n, more)
            self.leaves.append(made)
            self.steps.append(made)
            return
        middle = n // 2
        self._plan(start, middle, 1)
        self._plan(start + middle + 1, n - middle - 1, more)
        self.steps.append(_Step(start, n, more, middle))

    def _factor_leaves(self) -> None:
        for i, leaf in enumerate(self.leaves):
            leaf.owner = i % self.comm.size
            if leaf.owner == self.comm.rank:
                a, b = leaf.start, leaf.start + leaf.n
                B = self._tensor(self.diagonal[a:b]).diag()
                if leaf.more:
                    B = _cat([B, B.new_zeros((leaf.n, 1))], 1)
                above = self.right[a : b - 1 + leaf.more]
                for k, x in enumerate(above):
                    B[k, k + 1] = x
                U, d, Vh = _svd(B, full_matrices=True)
                leaf.d, leaf.V, leaf.U = d.tolist(), Vh.mT, U if "U" in self.sides else None

    def _leaf_edges(self, leaf: _Leaf) -> tuple[list[float], Tensor, Tensor]:
        """(d, first row of V, last row of V)."""
        wide = leaf.n + leaf.more
        if leaf.V is not None:
            known = _cat([self._tensor(leaf.d), leaf.V[0], leaf.V[-1]])
        else:
            known = self._tensor([0.0] * (leaf.n + 2 * wide))
        broadcast(self.comm, known, leaf.owner)
        leaf.d = known[: leaf.n].tolist()
        if not self.sides:
            leaf.V = None
        return leaf.d, known[leaf.n : leaf.n + wide], known[leaf.n + wide :]

    # ------------------------------------------------------------ one step

    def _join(self, step: _Step, edges: Any) -> tuple[list[float], Tensor, Tensor]:
        nl, n, more = step.middle, step.n, step.more
        left, first_l, last_l = edges.pop((step.start, nl))
        right, first_r, last_r = edges.pop((step.start + nl + 1, n - nl - 1))
        alpha, beta = self.diagonal[step.start + nl], self.right[step.start + nl]
        zl, zr = (last_l * alpha).tolist(), (first_r * beta).tolist()
        d = [*left, 0.0, *right]
        tolerance = 8 * _EPS * max(abs(alpha), abs(beta), max(d))
        tolerance = max(tolerance, 2.0**-60)  # of the scale, which is 1
        head, other = zl[nl], zr[n - nl - 1] if more else 0.0
        size = math.sqrt(head * head + other * other)
        if more and size > tolerance:
            step.mix, head = (head / size, other / size), size
        if abs(head) <= tolerance:
            head = tolerance
        z = [*zl[:nl], head, *zr[: n - nl - 1]]
        kept, gone = self._deflated(step, d, z, tolerance)
        step.kept = self._index(kept)
        poles = [0.0, *(d[i] for i in kept[1:])]
        if len(poles) > 1:
            poles[1] = max(poles[1], tolerance / 2)
        step.poles, step.z = self._tensor(poles), self._tensor([z[i] for i in kept])
        self._roots(step)
        self._refine(step)
        roots = (step.poles[step.origins] + step.shifts).tolist()
        k = len(kept)
        found = [*((s, i) for i, s in enumerate(roots)), *((d[i], k + i) for i in gone)]
        found.sort()
        step.d, chosen = [s for s, _ in found], [i for _, i in found]
        step.columns = self._index(chosen + ([k + n] if more else []))
        ends = _f["zeros"](2, n + more, dtype=_C.float64, device=self.device)
        ends[0, : nl + 1], ends[1, nl + 1 :] = first_l, last_r
        new = self._turned(step, "V", ends, range(self.comm.rank, n + more, self.comm.size))
        all_reduce(self.comm, new)
        return step.d, new[0], new[1]

    def _turned(self, step: _Step, side: str, rows: Tensor, places: Any) -> Tensor:
        """The rows after the step, in these columns; 0 in others."""
        places = self._index(places)
        result = rows.new_zeros(rows.shape)
        if places.numel():
            result[:, places] = self._columns(step, side, rows.mT.contiguous(), step.columns[places])
        return result

    @staticmethod
    def _deflated(step: _Step, d: list[float], z: list[float], tolerance: float) -> tuple[list[int], list[int]]:
        """(positions whose values the step changes, in ascending order, the middle first; the others)."""
        kept, gone, last = [step.middle], [], -1
        for j in sorted((i for i in range(step.n) if i != step.middle), key=lambda i: d[i]):
            if abs(z[j]) <= tolerance:
                gone.append(j)
                continue
            if last >= 0 and d[j] - d[last] <= tolerance:
                s, c = z[last], z[j]
                size = math.sqrt(c * c + s * s)
                c, s = c / size, -s / size
                z[j], z[last] = size, 0.0
                step.turns.append((last, j, c, s))
                gone.append(last)
            elif last >= 0:
                kept.append(last)
            last = j
        if last >= 0:
            kept.append(last)
        return kept, gone

    def _mine(self, count: int) -> tuple[int, int]:
        share = -(-count // self.comm.size)
        return min(count, self.comm.rank * share), min(count, (self.comm.rank + 1) * share)

    def _chunks(self, count: int) -> list[Tensor]:
        """The numbers below `count` that are this rank's, a few at a time."""
        begin, end = self._mine(count)
        size = max(1, self.room // (8 * max(1, count)))
        every = _f["arange"](begin, end, device=self.device)
        return list(every.split(size)) if begin < end else []

    def _roots(self, step: _Step) -> None:
        k = step.z.shape[0]
        found = _f["zeros"](2, k, dtype=_C.float64, device=self.device)
        for chosen in self._chunks(k):
            origins, shifts = roots(step.poles, step.z, chosen)
            found[0, chosen], found[1, chosen] = origins.to(_C.float64), shifts
        all_reduce(self.comm, found)
        step.origins, step.shifts = found[0].to(_C.int64), found[1]

    def _refine(self, step: _Step) -> None:
        """The z of which the computed values are exact ones: vectors are orthogonal then, however close values are."""
        k = step.z.shape[0]
        new = _f["zeros"](k, dtype=_C.float64, device=self.device)
        base, shifts, poles = step.poles[step.origins], step.shifts, step.poles
        every = _f["arange"](k, device=self.device)
        for chosen in self._chunks(k):
            mine = poles[chosen][:, None]
            over = ((base - mine) + shifts) * ((base + mine) + shifts)
            which = _where(every < chosen[:, None], every, (every + 1).clamp_max(k - 1))
            under = (poles[which] - mine) * (poles[which] + mine)
            ratio = _where(every == k - 1, over, over / under)
            new[chosen] = ratio.prod(1).abs().sqrt()
        all_reduce(self.comm, new)
        step.z = new.copysign(step.z)
        norms = _f["zeros"](2, k, dtype=_C.float64, device=self.device)
        for chosen in self._chunks(k):
            quotients = self._quotients(step, chosen)
            for row, factors in enumerate((step.z, step.z * poles)):
                weighed = quotients * factors[:, None]
                if row:
                    weighed[0] = -1
                norms[row, chosen] = 1 / _f["linalg.vector_norm"](weighed, dim=0)
        all_reduce(self.comm, norms)
        step.norms = {"V": norms[0], "U": norms[1]}

    @staticmethod
    def _quotients(step: _Step, chosen: Tensor) -> Tensor:
        """1 / (d_i^2 - s^2) for these roots s."""
        base, shifts = step.poles[step.origins[chosen]], step.shifts[chosen]
        poles = step.poles[:, None]
        result = (poles - base).sub_(shifts)
        result.mul_((poles + base).add_(shifts))
        return result.reciprocal_()

    def _columns(self, step: _Step, side: str, panel: Tensor, chosen: Tensor) -> Tensor:
        """Rows after the step in some of its columns, from the same rows before it; panel: their transpose, whole,
        which is overwritten."""
        if side == "V" and step.more:
            c, s = step.mix
            x, y = panel[step.middle].clone(), panel[step.n]
            panel[step.middle], panel[step.n] = c * x + s * y, c * y - s * x
        for i, j, c, s in step.turns:
            x, y = panel[i].clone(), panel[j].clone()
            panel[i], panel[j] = c * x + s * y, c * y - s * x
        k = step.z.shape[0]
        result = panel.new_empty((panel.shape[1], chosen.shape[0]))
        same = (chosen >= k).nonzero().flatten()
        if same.numel():
            result[:, same] = panel[chosen[same] - k].mT
        other = (chosen < k).nonzero().flatten()
        if not other.numel():
            return result
        factors = step.z if side == "V" else step.z * step.poles
        rows = panel[step.kept]
        if side == "U":
            factors[0] = -1
        rows.mul_(factors[:, None].to(rows.dtype))
        size = max(8, self.room // (4 * k))
        for at in other.split(size):
            which = chosen[at]
            quotients = self._quotients(step, which)
            if side == "U":
                quotients[0] = 1
            quotients.mul_(step.norms[side][which])
            result[:, at] = rows.mT @ quotients.to(rows.dtype)
        return result

    # ------------------------------------------------------------ vectors

    def vectors(self, side: str, C: Matrix, *, descending: bool = False) -> None:
        """Writes the left ("U") or right ("V") vectors into C, which is zero there: real parts of its first n rows and
        columns."""
        local, grid = C.local.real if C.local.is_complex() else C.local, C.grid
        rows, cols = C.row_indices(), C.col_indices()
        for step in self.steps:
            a = step.start
            size = step.n + (step.more if side == "V" else 0)
            top, bottom, left, right = C.first_row(a), C.first_row(a + size), C.first_col(a), C.first_col(a + size)
            i, j = rows[top:bottom] - a, cols[left:right] - a
            if step is self.steps[-1]:
                order = self.order[::-1] if descending else self.order
                j = self._index(order)[j]
            if isinstance(step, _Leaf):
                made = step.U if side == "U" else step.V
                full = (self._tensor([0.0] * (size * size)) if made is None else made.reshape(-1).clone()).view(
                    size, size
                )
                broadcast(self.comm, full, step.owner)
                if bottom > top and right > left:
                    local[top:bottom, left:right] = full[i[:, None], j].to(local.dtype)
                continue
            if side == "U":
                here = (rows[top:bottom] - a == step.middle).nonzero().flatten()
                there = (cols[left:right] - a == step.middle).nonzero().flatten()
                if here.numel() and there.numel():
                    local[top + int(here.item()), left + int(there.item())] = 1
            every = [self._index([p - a for p in C.cols.indices(q) if a <= p < a + size]) for q in range(grid.columns)]
            chosen = step.columns[j]
            height = max(1, C.block)
            for at in range(top, bottom, height):
                part = local[at : min(at + height, bottom), left:right]
                pieces = [part.new_empty((part.shape[0], p.shape[0])) for p in every]
                if grid.columns > 1:
                    grid.row_comm.all_gather(pieces, part.contiguous())
                else:
                    pieces = [part]
                panel = part.new_empty((size, part.shape[0]))
                for where, piece in zip(every, pieces, strict=True):
                    panel[where] = piece.mT
                del pieces
                if right > left:
                    part.copy_(self._columns(step, side, panel, chosen))


def roots(poles: Tensor, z: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """(o, t): the root s of 1 + sum z_i^2 / (d_i^2 - s^2) behind the pole d_k is poles[o] + t, for each k in `chosen`.

    poles d: ascending, the first one 0.  o is the nearer of the two poles, so that d_i - s has few roundings.  Rational
    interpolation of the parts on either side of the root (R.-C. Li, "Solving secular equations stably and efficiently",
    1993), between bounds.
    """
    k, squares = poles.shape[0], z * z
    last = chosen == k - 1
    after = (chosen + 1).clamp_max(k - 1)
    d, e = poles[chosen], poles[after]
    rest = squares.sum()
    top = (poles[-1] * poles[-1] + rest).sqrt()
    gap = _where(last, rest / (top + poles[-1]), e - d)

    def sums(base: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        quotients = (poles - base[:, None]).sub_(shift[:, None])
        quotients.mul_((poles + base[:, None]).add_(shift[:, None])).reciprocal_()
        terms = quotients * squares
        below = terms.clamp_max(0).sum(1)
        above = terms.clamp_min(0).sum(1)
        terms.mul_(quotients)
        slope_below = (terms * (quotients < 0)).sum(1)
        return below, above, slope_below, terms.sum(1) - slope_below

    below, above, _, _ = sums(d, gap / 2)
    f = 1 + below + above
    upper = (f < 0) & ~last
    origin = _where(upper, after, chosen)
    base = poles[origin]
    low, high = _where(upper, -gap / 2, 0.0), _where(upper, 0.0, _where(last, gap, gap / 2))
    # A start: the two poles around the root, and what the others are in the middle.
    span = (e - d) * (e + d)
    zd, ze = squares[chosen], squares[after]
    middle = d + gap / 2
    others = f - zd / (-(gap / 2) * (d + middle)) - ze / ((gap / 2) * (e + middle))
    a = others * span + _where(upper, -1.0, 1.0) * (zd + ze)
    b = _where(upper, -ze, zd) * span
    disc = (a * a - 4 * others * b).abs().sqrt()
    start = _where(a >= 0, 2 * b / (a + disc), (a - disc) / (2 * others))
    other = _where(a <= 0, 2 * b / (a - disc), (a + disc) / (2 * others))
    start = _where(upper, other, start)
    start = start / (base + (base * base + start).sqrt())
    shift = _where((start > low) & (start < high), start, (low + high) / 2)
    shift = _where(last & (shift <= 0), gap / 2, shift)
    active = _f["arange"](chosen.shape[0], device=poles.device)
    for _ in range(200):
        here = shift[active]
        of, pole, end = base[active], d[active], e[active]
        below, above, slope_below, slope_above = sums(of, here)
        f = 1 + below + above
        lo, hi = _where(f < 0, here, low[active]), _where(f < 0, high[active], here)
        low[active], high[active] = lo, hi
        to_pole = ((pole - of) - here) * ((pole + of) + here)
        to_end = ((end - of) - here) * ((end + of) + here)
        slope = slope_below + slope_above
        c = f - to_pole * slope_below - to_end * slope_above
        a = (to_pole + to_end) * f - to_pole * to_end * slope
        b = to_pole * to_end * f
        disc = (a * a - 4 * b * c).abs().sqrt()
        move = _where(a <= 0, (a - disc) / (2 * c), 2 * b / (a + disc))
        free = f - slope_below * to_pole
        move = _where(last[active], to_pole + slope_below * to_pole * to_pole / free, move)
        newton = -f / slope
        move = _where((f * move < 0) & move.isfinite(), move, newton)
        s = of + here
        new = here + move / (s + (s * s + move).sqrt())
        geometric = (lo * hi).sqrt().copysign(lo + hi)
        between = _where((lo * hi > 0) & ((lo + hi).abs() > 20 * lo.abs().minimum(hi.abs())), geometric, (lo + hi) / 2)
        new = _where((new > lo) & (new < hi), new, between)
        enough = f.abs() <= 4 * _EPS * (1 + above - below)
        enough |= (new - here).abs() <= _EPS * here.abs()
        enough |= (new <= lo) | (new >= hi)
        shift[active] = _where(enough, here, new)
        active = active[~enough]
        if not active.numel():
            return origin, shift
    raise LinAlgError("linalg.svd: The algorithm failed to converge: a root of the secular equation was not found")
