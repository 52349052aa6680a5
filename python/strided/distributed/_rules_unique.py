"""Rules of unique and unique_consecutive: a line, sorted over the ranks or as it is, of which each rank keeps the first
of equal neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ..autograd.grad_mode import no_grad
from . import _move
from ._layout import Spec
from ._rules_order import _line_sorted, _Runs, keys, line_axes
from ._rules_reduce import cut
from ._sharded import bind, indices, placed, refuse, rule, without_terms, wrap
from .placement import Shard

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions


@rule("unique unique_consecutive")
def _unique(func: Any, args: Any, kwargs: Any) -> Any:
    """Values, where each element went, and how many there were of each; cut as chunks."""
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if values["dim"] is not None and x.ndim != 1:
        raise refuse(func, args, "along an axis (dim=)")
    shape = x.shape
    x = x.detach().reshape(-1)
    spec = x._spec
    axes, in_order = cut(spec, (0,)), func.__name__ == "unique_consecutive"
    if axes and line_axes(spec) is None:
        raise refuse(func, args, "some of the axes of the mesh cut the line")
    named = {"return_inverse": values["return_inverse"], "return_counts": values["return_counts"]}
    if not axes:
        result = func(x._local, **named)
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
        made = [wrap(t, spec.with_(shape=t.shape)) for t in parts]
        if named["return_inverse"]:
            made[1] = made[1].reshape(shape)
        return tuple(made) if isinstance(result, (tuple, list)) else made[0]
    with no_grad():
        if any(spec.placements[a] != Shard(0) for a in axes):
            x = placed(x, [Shard(0) if p.is_shard() else p for p in spec.placements])
            spec = x._spec
        return _of_line(x, spec, in_order, shape, named)


def _of_line(x, spec, in_order, shape, named):
    mesh, (comm, rank_of) = spec.mesh, line_axes(spec)
    value, place = (x._local, indices(spec, 0)) if in_order else (t._local for t in _line_sorted(x, False))
    n = value.numel()
    # NaN equals nothing: each one counts for itself, as it does in one process.
    new = _f["ones"](n, dtype=_C.bool)
    if n:
        new[1:] = value[1:] != value[:-1]
    ends = comm.all_gather_object([int(keys(value[-1:])), bool((value[-1:] != value[-1:]).any())] if n else None)
    before = [e for e in ends[: comm.rank] if e is not None]
    if n and before:
        last, was_nan = before[-1]
        new[0] = was_nan or int(keys(value[:1])) != last
    counts = comm.all_gather_object(int(new.sum()))
    total, start = sum(counts), sum(counts[: comm.rank])
    starts = [sum(counts[:r]) for r in range(comm.size)]
    made = Spec(mesh, spec.placements, (total,))
    runs = {c: [(starts[r], starts[r] + counts[r])] if counts[r] else [] for c, r in rank_of.items()}
    src = _Runs(made, runs)
    found = [wrap(_move.exchange(value[new], src, made), made)]
    number = new.cumsum(0) + (start - 1)  # of the unique element that each sorted element is
    if named["return_inverse"]:
        # Each goes back to where it came from: ranks own ranges of places.
        order = _f["argsort"](place)
        own = [ranges for _, ranges in sorted({r: spec.ranges(c)[0] for c, r in rank_of.items()}.items())]
        given = [int(((place >= r[0][0]) & (place < r[0][1])).sum()) if r else 0 for r in own]
        wanted = [row[comm.rank] for row in comm.all_gather_object(given)]
        places, numbers = (
            _line(comm, t[order], given, wanted) for t in (place, number)
        )  # fmt: skip
        local = _f["empty"](x._local.shape, dtype=_C.int64)
        if local.numel():
            local[places - int(indices(spec, 0)[0])] = numbers
        found.append(wrap(local, spec).reshape(shape))
    if named["return_counts"]:
        # Where the runs begin in the sorted line, and so how long they are: the next one may begin on another rank.
        first = int(indices(spec, 0)[0]) if n else 0
        begins = new.nonzero().flatten() + first
        firsts = comm.all_gather_object(int(begins[0]) if begins.numel() else None)
        following = next((f for f in firsts[comm.rank + 1 :] if f is not None), x.numel())
        stops = _f["cat"]([begins[1:], _f["full"]((min(begins.numel(), 1),), following)])
        found.append(wrap(_move.exchange(stops - begins, src, made), made))
    return tuple(found) if len(found) > 1 else found[0]


def _line(comm, t, given, wanted):
    made = t.new_empty(sum(wanted))
    _move._tell(comm, "elements to the ranks they came from")
    comm.all_to_all(list(made.split(wanted)), list(t.contiguous().split(given)))
    return made
