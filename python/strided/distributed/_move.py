"""Movement of shards between layouts, with gradients.

Note [Gradients of sharded tensors]
A shard is a tensor that records its own graph; every rank's graph has the same nodes.  The gradient of a tensor has its
placements, but that of a Partial one is Replicate: each term has the gradient of the sum.  So the gradient of a move
from S to D is the move back, from the gradient's layout of D to that of S.  A tensor that all ranks have and that each
uses for another part of the result (a factor that is Replicate beside one that is cut) is `spread`: the identity,
whose gradient is the sum over the ranks.  In second derivatives a gradient that is given for a sum of terms is spread
over the terms, and one that is found for terms is given to the program as that of the first (`of_terms`).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from typing import TYPE_CHECKING

from .. import _C
from ..autograd.function import Function
from ..autograd.grad_mode import no_grad
from . import _comm
from ._layout import Layout, Spec, common
from ._reductions import combine
from .placement import Partial, Replicate

if TYPE_CHECKING:
    from .._typing import Any, Iterator, Tensor

_f = _C.functions
_has_record = _f["_has_record"]
recording = _f["is_grad_enabled"]


# ---------------------------------------------------------------- what is told about transfers

_LIMIT = 1 << 30
_ROUND = 1 << 25  # bytes of a shard that are on their way at once


def set_gather_limit(nbytes: int | None) -> None:
    """From so many bytes on a rank, a move that gives every rank the whole of a tensor warns (1 GiB; None: never)."""
    if nbytes is not None and (isinstance(nbytes, bool) or not isinstance(nbytes, (int, float))):
        raise TypeError(f"set_gather_limit: a number of bytes or None is required, got {nbytes!r}")
    if nbytes is not None and not nbytes >= 0:
        raise ValueError(f"set_gather_limit: a number of bytes is 0 or more, got {nbytes}")
    _comm.rank_state()["gather_limit"] = math.inf if nbytes is None else nbytes


def gather_limit() -> float:
    """The number of bytes that set_gather_limit has set."""
    return _comm.rank_state().get("gather_limit", _LIMIT)


class _CallState:
    """The name of the function that runs, and whether plain tensors count as the same on every rank."""

    def __init__(self):
        self.function, self.replicates = "", False


def call_state() -> _CallState:
    """The state of this rank."""
    state = _comm.rank_state()
    if "call_state" not in state:
        state["call_state"] = _CallState()
    return state["call_state"]


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """Context in which a plain tensor beside a sharded one counts as Replicate: the same on every rank.  Elsewhere that
    is an error, because nothing could tell that it differs."""
    state = call_state()
    before, state.replicates = state.replicates, True
    try:
        yield
    finally:
        state.replicates = before


def _tell(comm, what):
    """Puts into the header of the next call what is moved, for errors, and keeps it for listeners (explain)."""
    function = call_state().function
    comm.purpose = f"{function}: {what}" if function else what
    comm.why = function, what


def _warn_of_gather(src, dst, itemsize):
    nbytes = math.prod(dst.local_shape()) * itemsize
    limit = gather_limit()
    if nbytes > limit and nbytes > 2 * math.prod(src.local_shape()) * itemsize:
        function = call_state().function or "redistribute"
        warnings.warn(
            f"{function} gathers {nbytes} bytes on every rank ({src!r} -> {dst!r}); the limit is "
            f"{limit} (strided.distributed.set_gather_limit)",
            stacklevel=2,
        )


# ---------------------------------------------------------------- blocks


def _take(t, pieces):
    """The elements of t at positions [(start, length), ...] of each axis."""
    for dim, parts in enumerate(pieces):
        if len(parts) == 1:
            start, n = parts[0]
            if n != t.shape[dim]:
                t = t.narrow(dim, start, n)
        else:
            t = _f["cat"]([t.narrow(dim, start, n) for start, n in parts], dim)
    return t


def _put(t, pieces, value):
    """Writes value to the same positions."""
    many = [dim for dim, parts in enumerate(pieces) if len(parts) > 1]
    for dim, parts in enumerate(pieces):
        if len(parts) == 1:
            t = t.narrow(dim, *parts[0])
    for choice in itertools.product(*(_placed(pieces[dim]) for dim in many)):
        into, source = t, value
        for dim, (start, at, n) in zip(many, choice):
            into, source = into.narrow(dim, start, n), source.narrow(dim, at, n)
        into.copy_(source)


def _placed(parts):
    """(position, position in the packed value, length) of each part."""
    at = 0
    for start, n in parts:
        yield start, at, n
        at += n


def _shared(mine, theirs):
    """Positions in mine and in theirs of what two ranks have in common, for each axis; None for nothing."""
    a, b = [], []
    for x, y in zip(mine, theirs):
        pieces = common(x, y)
        if not pieces:
            return None
        a.append([(i, n) for i, _, n in pieces])
        b.append([(j, n) for _, j, n in pieces])
    return a, b


# ---------------------------------------------------------------- one move


def _matches(axis_kinds, src, dst):
    """Does the rank at src send to that at dst?  Along axes where all sources have the same, only its own row does."""
    return all(kind != "own" or s == d for kind, s, d in zip(axis_kinds, src, dst))


def _planned(src, dst):
    """What one move is made of, from the layouts alone: (operations, communicator or None,
    coordinates of its ranks, what this rank gives to each, where it puts what it gets from each, a key for each that
    terms of one sum share, a bound of a shard's elements)."""
    mesh = src.mesh
    ops = {p.reduce_op for p, q in zip(src.placements, dst.placements) if isinstance(p, Partial) and p != q}
    assert len(ops) <= 1, "one operation at a time"
    kinds = []
    for p, q in zip(src.placements, dst.placements):
        # A term, or a part of what becomes a term, stays in its row; so does what every row has.
        own = isinstance(p, Replicate) or (isinstance(q, Partial) and not (isinstance(p, Partial) and p != q))
        kinds.append("own" if own else "sum" if isinstance(p, Partial) else "cut")
    axes = [a for a, kind in enumerate(kinds) if kind != "own"]
    me = mesh._coordinate
    mine, wanted = src.ranges(me), dst.ranges(me)
    if len(axes) == 1 and mesh.ndim > 1:
        comm = mesh._axes[axes[0]]
        (axis,) = axes
        at = [(*me[:axis], i, *me[axis + 1 :]) for i in range(mesh.shape[axis])]
    else:
        comm, at = mesh.comm, mesh.coordinates
    if not axes:
        at, comm = [me], None
    gives, places = [], []
    for other in at:
        give = _matches(kinds, me, other) and _shared(mine, dst.ranges(other))
        gives.append(give[0] if give else None)
        get = _matches(kinds, other, me) and _shared(src.ranges(other), wanted)
        places.append(get[1] if get else None)
    keys = [tuple(-1 if kind == "sum" else c for kind, c in zip(kinds, other)) for other in at]
    most = math.prod(src.shape)  # enough to know where all of it is on its way at once
    if most * 16 > _ROUND:
        most = max(math.prod(layout.local_shape(c)) for layout in (src, dst) for c in mesh.coordinates)
    return ops, comm, at, gives, places, keys, most


def _plan(src, dst):
    """The plan of a move; the mesh keeps those between layouts that compare, because programs repeat them."""
    if type(src) is not Spec or type(dst) is not Spec:
        return _planned(src, dst)
    plans = src.mesh._moves
    found = plans.get((src, dst))
    if found is None:
        if len(plans) > 500:
            plans.clear()
        found = plans[src, dst] = _planned(src, dst)
    return found


def _within(pieces, r, rounds):
    """The positions of the part of a block that round `r` moves: it cuts the longest axis."""
    if pieces is None or rounds == 1:
        return pieces
    sizes = [sum(n for _, n in parts) for parts in pieces]
    dim = sizes.index(max(sizes))
    first, last = (sizes[dim] * i // rounds for i in (r, r + 1))
    found = []
    for start, at, n in _placed(pieces[dim]):
        low, high = max(first, at), min(last, at + n)
        if low < high:
            found.append((start + low - at, high - low))
    return [*pieces[:dim], found, *pieces[dim + 1 :]] if found else None


def _count(pieces):
    return math.prod(sum(n for _, n in parts) for parts in pieces)


def _region(t, pieces):
    """The elements of t at these positions, where they are one block of memory; else None."""
    if any(len(parts) != 1 for parts in pieces):
        return None
    for dim, ((start, n),) in enumerate(pieces):
        t = t.narrow(dim, start, n)
    return t if t.is_contiguous() else None


def exchange(local: Tensor, src: Layout, dst: Layout) -> Tensor:
    """The shard of this rank in the layout dst of the tensor whose shards in src are `local`; elements that src does
    not have are 0.  Both have one shape.  Only what a rank lacks travels, from one rank that has it: into its place
    where that is one block of memory, and through copies of 32 MiB at most elsewhere."""
    ops, comm, at, gives, places, keys, most = _plan(src, dst)
    position = at.index(src.mesh._coordinate)
    rounds = 1 if comm is None else max(1, -(-most * local.itemsize // _ROUND))  # as many on every rank
    sizes = {key: _count(place) for key, place in zip(keys, places) if place is not None}
    terms = [keys.count(key) > 1 and sum(p is not None for k, p in zip(keys, places) if k == key) > 1 for key in keys]
    n = mesh_terms(src, dst) if ops == {"avg"} else 1
    empty, shape = local.new_empty(0), dst.local_shape()
    made = _f["empty"] if sum(sizes.values()) == math.prod(shape) else _f["zeros"]
    result = made(shape, dtype=local.dtype, device=local.device)
    for r in range(rounds):
        # What goes to others, and where what comes from them is put: into the result itself where nothing is added.
        given = [_within(give, r, rounds) for give in gives]
        wanted = [_within(place, r, rounds) for place in places]
        inputs = [
            empty if give is None or i == position else _take(local, give).contiguous() for i, give in enumerate(given)
        ]
        outputs, direct = [], []
        for i, place in enumerate(wanted):
            region = None
            if place is not None and i != position:
                region = None if terms[i] or n > 1 else _region(result, place)
                outputs.append(result.new_empty(_count(place)) if region is None else region.view(-1))
            else:
                outputs.append(empty)
            direct.append(region is not None)
        if comm is not None:
            _tell(comm, f"{src!r} -> {dst!r}")
            comm.all_to_all(outputs, inputs)
        del inputs
        values: dict[Any, list[Tensor]] = {}
        where: dict[Any, Any] = {}
        for i, (key, place) in enumerate(zip(keys, wanted)):
            if place is not None and not direct[i]:
                mine = i == position
                value = _take(local, given[i]) if mine else outputs[i].view([sum(m for _, m in p) for p in place])
                values.setdefault(key, []).append(value)
                where[key] = place
        for key, parts in values.items():
            value = parts[0] if len(parts) == 1 else combine(parts, *ops)
            _put(result, where[key], value / n if len(parts) == 1 and n > 1 else value)
    return result


def exchange_all(moves: list[tuple[Tensor, Layout, Layout]]) -> list[Tensor]:
    """exchange of several tensors of a mesh: with one message for each pair of ranks where tensors are small and of one
    dtype, each by itself else."""
    found: list[Any] = [None] * len(moves)
    groups: dict[Any, list[Any]] = {}
    for i, (local, src, dst) in enumerate(moves):
        plan = _plan(src, dst)
        if plan[1] is None or plan[-1] * local.itemsize > _ROUND or "avg" in plan[0]:
            found[i] = exchange(local, src, dst)
        else:
            groups.setdefault((id(plan[1]), local.dtype, local.device), []).append((i, local, src, dst, plan))
    for group in groups.values():
        if len(group) == 1:
            i, local, src, dst, _ = group[0]
            found[i] = exchange(local, src, dst)
            continue
        comm, at = group[0][-1][1:3]
        position = at.index(group[0][2].mesh._coordinate)
        inputs, outputs = [], []
        for r in range(len(at)):
            given = [
                _take(local, plan[3][r]).reshape(-1)
                for _, local, _, _, plan in group
                if r != position and plan[3][r] is not None
            ]
            inputs.append(_f["cat"](given) if given else group[0][1].new_empty(0))
            counts = [_count(plan[4][r]) for *_, plan in group if r != position and plan[4][r] is not None]
            outputs.append(inputs[-1].new_empty(sum(counts)))
        _tell(comm, f"{group[0][2]!r} -> {group[0][3]!r} and {len(group) - 1} more")
        comm.all_to_all(outputs, inputs)
        starts = [0] * len(at)
        for i, local, _, dst, (ops, _, _, gives, places, keys, _) in group:
            values: dict[Any, list[Tensor]] = {}
            where: dict[Any, Any] = {}
            for r, (key, place) in enumerate(zip(keys, places)):
                if place is None:
                    continue
                if r == position:
                    value = _take(local, gives[r])
                else:
                    n = _count(place)
                    value = outputs[r][starts[r] : starts[r] + n].view([sum(m for _, m in p) for p in place])
                    starts[r] += n
                values.setdefault(key, []).append(value)
                where[key] = place
            shape = dst.local_shape()
            made = _f["empty"] if sum(map(_count, where.values())) == math.prod(shape) else _f["zeros"]
            result = found[i] = made(shape, dtype=local.dtype, device=local.device)
            for key, parts in values.items():
                _put(result, where[key], parts[0] if len(parts) == 1 else combine(parts, *ops))
    return found


def mesh_terms(src: Layout, dst: Layout) -> int:
    """How many terms a sum has that a move makes."""
    return math.prod(
        n for n, p, q in zip(src.mesh.shape, src.placements, dst.placements) if isinstance(p, Partial) and p != q
    )


class _Move(Function):
    """Shards in one layout to shards in another one."""

    @staticmethod
    def forward(ctx, local, src, dst):
        ctx.src, ctx.dst = src, dst
        return exchange(local, src, dst)

    @staticmethod
    def backward(ctx, grad):
        src, dst = ctx.src, ctx.dst
        back = _Move.apply(grad, dst.dual(), src.dual())
        terms = [a for a, (p, q) in enumerate(zip(src.placements, dst.placements)) if isinstance(p, Partial) and p != q]
        if any(src.placements[a].reduce_op == "avg" for a in terms):
            back = back / mesh_terms(src, dst)
        return spread(back, src.mesh, terms), None, None


class _AllReduce(Function):
    """The sum over the ranks along some mesh axes, for each of them."""

    @staticmethod
    def forward(ctx, local, mesh, axes, op, what):
        ctx.mesh, ctx.axes, ctx.op = mesh, axes, op
        # Not clone(): an expanded tensor without elements stays expanded in it, and is not written into.
        total = local.new_empty(local.shape).copy_(local)
        for axis in axes:
            _tell(mesh._axes[axis], what)
            mesh._axes[axis].all_reduce(total, op)
        return total

    @staticmethod
    def backward(ctx, grad):
        if ctx.op == "avg":
            grad = grad / math.prod(ctx.mesh.shape[a] for a in ctx.axes)
        return spread(grad, ctx.mesh, ctx.axes), None, None, None, None


class _Spread(Function):
    """The identity; the gradient is the sum over the ranks along some mesh axes."""

    @staticmethod
    def forward(ctx, local, mesh, axes):
        ctx.mesh, ctx.axes = mesh, axes
        return local.view_as(local)

    @staticmethod
    def backward(ctx, grad):
        return _AllReduce.apply(grad, ctx.mesh, ctx.axes, "sum", "gradient of what every rank has"), None, None


def spread(local: Tensor, mesh: Any, axes: Any) -> Tensor:
    """See Note [Gradients of sharded tensors]."""
    axes = [a for a in axes if mesh.shape[a] > 1]
    if axes and recording() and _has_record(local):
        return _Spread.apply(local, mesh, axes)
    return local


class _FirstOnly(Function):
    """What every rank has, as terms of a sum: the first rank along the axes keeps it, others have 0."""

    @staticmethod
    def forward(ctx, local, is_first):
        return local.clone() if is_first else _f["zeros_like"](local)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class _OfTerms(Function):
    """The gradients of terms, which are the same on every rank, as one tensor that all ranks have: the identity. Its
    own gradient goes to one of them."""

    @staticmethod
    def forward(ctx, local, is_first):
        ctx.is_first = is_first
        return local.view_as(local)

    @staticmethod
    def backward(ctx, grad):
        return _FirstOnly.apply(grad, ctx.is_first), None


def of_terms(local: Tensor, mesh: Any, axis: int) -> Tensor:
    """The gradient of a term of a sum along a mesh axis as a tensor that the ranks along it have."""
    if recording() and _has_record(local):
        return _OfTerms.apply(local, mesh._coordinate[axis] == 0)
    return local


def moved(local: Tensor, src: Layout, dst: Layout) -> Tensor:
    """exchange, with its gradient."""
    return _Move.apply(local, src, dst)


class _UsedAs(Function):
    """A move after which each rank goes on by itself; `back` is the layout that their gradients have."""

    @staticmethod
    def forward(ctx, local, src, dst, back):
        ctx.src, ctx.back = src, back
        return redistribute(local, src, dst) if src != dst else local.view_as(local)

    @staticmethod
    def backward(ctx, grad):
        return redistribute(grad, ctx.back, ctx.src.dual()), None, None, None


def used_as(local: Tensor, src: Spec, dst: Spec, back: Spec) -> Tensor:
    """The shard in placements dst, for computations of which each rank does its own part: their gradients are what
    `back` says (terms of a sum, where every rank has the whole and uses it for another part of the data)."""
    return _UsedAs.apply(local, src, dst, back)


def redistribute(local: Tensor, src: Spec, dst: Spec) -> Tensor:
    """The shard in placements dst of the tensor with shards `local` in src, with its gradient."""
    if src == dst:
        return local
    mesh = src.mesh
    # Sums that every rank gets, and all but one of different operations, are made first.
    now = list(src.placements)
    pending = [a for a, (p, q) in enumerate(zip(now, dst.placements)) if isinstance(p, Partial) and p != q]
    if any(now[a].reduce_op not in ("sum", "avg") for a in pending) and recording() and _has_record(local):
        raise NotImplementedError(f"the gradient of a sum of terms by {[now[a] for a in pending]} is not implemented")
    reduced = [a for a in pending if not dst.placements[a].is_shard()]
    rest = [a for a in pending if a not in reduced]
    reduced += [a for a in rest[1:] if now[a] != now[rest[0]]]
    stays = all(p == q or not p.is_shard() for p, q in zip(now, dst.placements))
    if rest and reduced and stays and len({now[a] for a in pending}) == 1:
        # Sums in pieces first, so that those that every rank gets are of pieces.
        first = src.with_([q if a in rest else p for a, (p, q) in enumerate(zip(now, dst.placements))])
        return redistribute(_Move.apply(local, src, first), first, dst)
    for a in reduced:
        local = _AllReduce.apply(local, mesh, [a], now[a].reduce_op, f"{src!r} -> {dst!r}")
        now[a] = Replicate()
    src = src.with_(now)
    if src == dst:
        return local
    # Replicate to Partial needs no transfer; the gradient of a term is the whole.
    for a, (p, q) in enumerate(zip(now, dst.placements)):
        if isinstance(p, Replicate) and isinstance(q, Partial):
            if q.reduce_op == "sum":
                local = _FirstOnly.apply(local, mesh._coordinate[a] == 0)
            elif q.reduce_op not in ("avg", "min", "max", "band", "bor"):
                raise NotImplementedError(f"redistribute: {p} -> {q}")
            now[a] = q
        elif p.is_shard() and isinstance(q, Partial) and q.reduce_op != "sum":
            raise NotImplementedError(f"redistribute: {p} -> {q}")
    src = src.with_(now)
    if src == dst:
        return local
    with no_grad():
        _warn_of_gather(src, dst, local.itemsize)
    return _Move.apply(local, src, dst)
