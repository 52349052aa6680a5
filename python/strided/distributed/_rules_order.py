"""Rules of functions along axes, and of indexing.

A function along an axis that is cut works on whole lines: the cut goes to another axis, and back afterwards, in two
exchanges of one share each.  A tensor of one axis has no other: scans, sort and topk have ways of their own, others
raise NotImplementedError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ..autograd.function import Function
from . import _move
from ._layout import Layout, Spec
from ._rules_elementwise import again
from ._rules_reduce import axes_of, cut, lowest, reduced, stacked
from ._sharded import (
    ShardedTensor,
    bind,
    indices,
    placed,
    refuse,
    rule,
    to_spec,
    without_terms,
    wrap,
)
from .placement import BlockCyclic, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any
    from ._layout import Ranges

Tensor = _C.Tensor
_f = _C.functions


def aside(x: ShardedTensor, dims: Any) -> ShardedTensor | None:
    """x with whole lines along some axes on each rank: their cuts go to the longest other axis; None without one."""
    x = without_terms(x)
    axes = cut(x._spec, dims)
    if not axes:
        return x
    others = [d for d in range(x.ndim) if d not in dims]
    found = list(x._spec.placements)
    for a in axes:
        if x._spec.mesh.shape[a] == 1:
            found[a] = Replicate()
        elif not others:
            return None
        else:
            free = [d for d in others if not any(p.is_shard(d) for p in found)] or others
            found[a] = Shard(max(free, key=lambda d: x.shape[d]))
    return placed(x, found)


def back(t: ShardedTensor, like: ShardedTensor) -> ShardedTensor:
    """A result of aside, cut as its origin was."""
    return placed(t, without_terms(like)._spec.placements) if t.ndim == like.ndim else t


def _axes_in(values, n):
    for name in ("dim", "dims", "axis"):
        if values.get(name) is not None:
            return axes_of(values[name], n)
    return None


def along(func: Any, args: Any, kwargs: Any) -> Any:
    """Functions of whole lines along axes."""
    values = bind(func, args, kwargs)
    key = "input" if "input" in values else "self"
    x = values[key]
    if any(isinstance(v, ShardedTensor) for k, v in values.items() if k != key):
        raise refuse(func, args)
    dims = _axes_in(values, x.ndim)
    if dims is None:
        dims = _DEFAULT.get(func.__name__, tuple(range(x.ndim)))
        dims = axes_of(dims, x.ndim)
    moved = aside(x, dims)
    if moved is None:
        raise refuse(func, args, "it works on whole lines along all axes of the tensor, which are cut")
    result = func(moved._local, **{("input" if k == "self" else k): v for k, v in values.items() if k != key})
    many = isinstance(result, (tuple, list))
    made = []
    for t in result if many else [result]:
        shape = list(moved.shape)
        if t.ndim == x.ndim:
            for d in dims:
                shape[d] = t.shape[d]
            made.append(back(wrap(t, moved._spec.with_(shape=shape)), x))
        else:
            made.append(wrap(t, reduced(moved._spec, dims, False, Replicate())))
    if not many:
        return made[0]
    return tuple.__new__(type(result), made) if isinstance(result, tuple) else made


_DEFAULT = {"sort": (-1,), "argsort": (-1,), "topk": (-1,), "kthvalue": (-1,), "mode": (-1,), "diff": (-1,),
            "msort": (0,), "renorm": ()}  # fmt: skip

rule(
    "softmax log_softmax special.softmax special.log_softmax cummax cummin diff argsort kthvalue mode "
    "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft"
)(along)
for _name in ("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.hfft", "fft.ihfft"):
    _DEFAULT[_name.removeprefix("fft.")] = (-1,)
_DEFAULT.update(fft=(-1,), ifft=(-1,), rfft=(-1,), irfft=(-1,), hfft=(-1,), ihfft=(-1,))


# ---------------------------------------------------------------- scans


_SCANS = {"cumsum": ("sum", "add", 0), "cumprod": ("prod", "mul", 1),
          "logcumsumexp": ("logsumexp", "logaddexp", float("-inf"))}  # fmt: skip


@rule("cumsum cumprod logcumsumexp")
def _scan(func, args, kwargs):
    """Each rank scans its shard, and adds what the ranks before it have: one number for each line."""
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    (dim,) = axes_of(values["dim"], x.ndim) or (None,)
    if dim is None or not x._spec.cuts(dim):
        return wrap(func(x._local, **{k: v for k, v in values.items() if k != "input"}), x._spec)
    origin = x._spec
    if any(isinstance(origin.placements[a], BlockCyclic) for a in origin.cuts(dim)):
        x = placed(x, [Shard(dim) if p.is_shard(dim) else p for p in origin.placements])
    spec = x._spec
    axes = spec.cuts(dim)
    reduce, combine, neutral = _SCANS[func.__name__]
    if values.get("dtype") is not None:
        x = x.to(values["dtype"])
    local = func(x._local, dim)
    whole = x._local
    if whole.shape[dim] == 0:
        shape = [1 if d == dim else n for d, n in enumerate(whole.shape)]
        whole = _f["cat"]([whole, _f["full"](shape, neutral, dtype=whole.dtype)], dim)
    total = _f[reduce](whole, dim, True).to(local.dtype)
    many, _ = stacked(total, reduced(spec, (dim,), True, Replicate()), axes)
    many = _move.spread(many, spec.mesh, axes)
    before = 0
    for a in axes:
        before = before * spec.mesh.shape[a] + spec.mesh._coordinate[a]
    first = _f["full_like"](many[:1], neutral)
    offset = func(_f["cat"]([first, many[: many.shape[0] - 1]]), 0)[before]
    return to_spec(wrap(_f[combine](local, offset), spec), origin)


# ---------------------------------------------------------------- sort


def keys(t: Tensor) -> Tensor:
    """Integers in the order of the elements: NaN last, -0.0 equal to 0.0."""
    dtype = t.dtype
    if dtype.is_complex:
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    if dtype.is_floating_point:
        t = t if dtype in (_C.float32, _C.float64) else t.to(_C.float32)
        t = _f["where"](_f["isnan"](t), float("nan"), t + 0.0).contiguous()
        bits = t.view(_C.int32 if t.dtype is _C.float32 else _C.int64)
        return _f["where"](bits < 0, bits ^ (0x7FFFFFFF if bits.dtype is _C.int32 else _LONG), bits)
    if dtype is _C.uint64:
        return t.contiguous().view(_C.int64) ^ (-1 - _LONG)
    return t.to(_C.int64)


_LONG = (1 << 63) - 1


class _Runs(Layout):
    """A line that is cut at given places: for each rank one range."""

    def __init__(self, of: Spec, ranges: dict[tuple[int, ...], Ranges]) -> None:
        self.mesh, self.placements, self.shape, self._ranges = of.mesh, of.placements, of.shape, ranges

    def dual(self):
        return self

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        return [self._ranges[coordinate]]


class _Exchange(Function):
    """Pieces of a line to other ranks, in the order of ranks."""

    @staticmethod
    def forward(ctx, local, comm, given, wanted):
        ctx.comm, ctx.given, ctx.wanted = comm, given, wanted
        made = local.new_empty(sum(wanted))
        _move._tell(comm, "runs to the ranks they belong to")
        comm.all_to_all(list(made.split(wanted)), list(local.split(given)))
        return made

    @staticmethod
    def backward(ctx, grad):
        return _Exchange.apply(grad, ctx.comm, ctx.wanted, ctx.given), None, None, None


def line_axes(spec: Spec) -> tuple[Any, dict[tuple[int, ...], int]] | None:
    """(communicator, the rank in it of each coordinate) of the mesh axes that cut a line: one of them, or all."""
    axes = spec.cuts(0)
    if len(axes) == 1:
        return spec.mesh._axes[axes[0]], {c: c[axes[0]] for c in spec.mesh.coordinates}
    if axes and len(axes) == spec.mesh.ndim:
        return spec.mesh.comm, {c: r for r, c in enumerate(spec.mesh.coordinates)}
    return None


def _line_sorted(x, descending):
    """(values, indices) of a line that is cut, as line_axes says: each rank sorts, ranks agree on splitters (regular
    samples), each gets one run from every other rank, and the runs come to the places of the shards.

    Parallel sorting by regular sampling (Shi, Schaeffer 1992); equal elements are told apart by their index.
    """
    origin = x._spec
    mesh, (comm, rank_of) = origin.mesh, line_axes(origin)
    size, own = comm.size, indices(origin, 0)
    key = keys(x._local.detach())
    if descending:
        key = -1 - key
    order = _f["argsort"](key, stable=True)
    key, place, value = key[order].to(_C.int64), own[order], x._local[order]
    n = key.numel()
    at = [(n * (i + 1)) // (size + 1) for i in range(size)] if n else []
    samples = [[int(key[i]), int(place[i])] for i in at]
    everything = sorted(tuple(s) for part in comm.all_gather_object(samples) for s in part)
    m = len(everything)
    splitters = [everything[(m * (i + 1)) // size] for i in range(size - 1)] if m else []
    ends = []
    for k, p in splitters:
        low = int(_f["searchsorted"](key, k))
        high = int(_f["searchsorted"](key, k, right=True))
        ends.append(low + int((place[low:high] < p).sum()))
    ends = [0, *ends, n]
    given = [b - a for a, b in zip(ends, ends[1:])] if splitters else [n] + [0] * (size - 1)
    everyone = comm.all_gather_object(given)
    wanted = [row[comm.rank] for row in everyone]
    key = _Exchange.apply(key, comm, given, wanted)
    place = _Exchange.apply(place, comm, given, wanted)
    value = _Exchange.apply(value, comm, given, wanted)
    # Runs arrive in the order of ranks; among equal elements the index decides.
    by_place = _f["argsort"](place, stable=True)
    order = by_place[_f["argsort"](key[by_place], stable=True)]
    counts = [sum(row[r] for row in everyone) for r in range(size)]
    starts = [sum(counts[:r]) for r in range(size)]
    runs = {}
    for c in mesh.coordinates:
        r = rank_of[c]
        runs[c] = [(starts[r], starts[r] + counts[r])] if counts[r] else []
    src = _Runs(origin, runs)
    return tuple(wrap(_move.moved(t[order], src, origin), origin) for t in (value, place))


@rule("sort msort")
def _sort(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if func.__name__ == "msort":
        return _f["sort"](x, 0).values
    if x.ndim == 1 and line_axes(x._spec) is not None:
        kind = type(func(_f["zeros"](1)))
        return tuple.__new__(kind, _line_sorted(x, bool(values["descending"])))
    return along(func, args, kwargs)


@rule("argsort")
def _argsort(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if x.ndim == 1 and line_axes(x._spec) is not None:
        return _line_sorted(x, bool(values["descending"]))[1]
    return along(func, args, kwargs)


@rule("topk")
def _topk(func, args, kwargs):
    """Each rank gives its k largest; the largest of these are found everywhere."""
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    dim = axes_of(-1 if values["dim"] is None else values["dim"], x.ndim)
    axes = cut(x._spec, dim)
    k, largest = int(values["k"]), bool(values["largest"])
    if not axes or x.ndim == 0:
        result = func(x._local, k, dim[0] if dim else -1, largest, values["sorted"])
        shape = [k if d in dim else n for d, n in enumerate(x.shape)]
        return again(result, x._spec.with_(shape=shape))
    (d,) = dim
    if not 0 <= k <= x.shape[d]:
        raise RuntimeError("selected index k out of range")
    local, own = x._local, indices(x._spec, d)
    short = k - local.shape[d]
    if short > 0:
        shape = [short if i == d else n for i, n in enumerate(local.shape)]
        filler = _f["full"](shape, lowest(x.dtype, not largest), dtype=x.dtype)
        local, own = _f["cat"]([local, filler], d), _f["cat"]([own, _f["full"]((short,), _LONG)])
    value, at = func(local, k, d, largest, True)
    place = own[at]
    kept = reduced(x._spec, dim, True, Replicate())
    kept = kept.with_(shape=[k if i == d else n for i, n in enumerate(kept.shape)])
    many, _ = stacked(value, kept, axes)
    places, _ = stacked(place, kept, axes)
    flat = [t.movedim(0, d).flatten(d, d + 1) for t in (many, places)]
    order = _f["argsort"](flat[1], d, stable=True)  # fillers come last, so that no equal element gives way to them
    flat = [t.gather(d, order) for t in flat]
    chosen_, at = flat[0].sort(dim=d, descending=largest, stable=True)
    kind = type(func(_f["zeros"](1), 1))
    parts = (chosen_.narrow(d, 0, k), flat[1].gather(d, at.narrow(d, 0, k)))
    return tuple.__new__(kind, [wrap(t, kept) for t in parts])
