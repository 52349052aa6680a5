"""Rules of functions that move elements: axes are renumbered; along a cut axis elements go where they belong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C
from . import _move
from ._layout import Layout, Moved, Spec
from ._rules_elementwise import moved_to
from ._rules_reduce import axes_of
from ._sharded import (
    ShardedTensor,
    bind,
    by_calls,
    first_sharded,
    indices,
    part_of,
    placed,
    refuse,
    rule,
    sharded,
    without_terms,
    wrap,
)
from .placement import Partial, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any
    from ._layout import Ranges

Tensor = _C.Tensor
_f = _C.functions


def sizes_of(given: Any) -> Any:
    """Arguments that may stand one by one or in one list."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else tuple(given)


# ---------------------------------------------------------------- axes in another order


@rule("transpose permute movedim moveaxis swapdims swapaxes t adjoint")
def _permuted(func, args, kwargs):
    x, *rest = args
    n = x.ndim
    probe = func(_f["empty"]([2] * n), *rest, **kwargs)
    order = [n - 1 - s.bit_length() + 1 for s in probe.stride()]  # of probe's axes, which of x each was
    to = {old: new for new, old in enumerate(order)}
    found = [moved_to(p, to[p.dim]) if p.is_shard() else p for p in x._spec.placements]
    made = wrap(func(x._local, *rest, **kwargs), Spec(x._spec.mesh, tuple(found), [x.shape[d] for d in order]))
    return part_of(x, made, False, lambda value: x.copy_(value.permute([to[d] for d in range(n)])))


@rule("unsqueeze")
def _unsqueeze(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = values["input"]
    dim = axes_of(values["dim"], x.ndim + 1)[0]
    found = [moved_to(p, p.dim + (p.dim >= dim)) if p.is_shard() else p for p in x._spec.placements]
    shape = [*x.shape[:dim], 1, *x.shape[dim:]]
    made = wrap(x._local.unsqueeze(dim), Spec(x._spec.mesh, tuple(found), shape))
    return part_of(x, made, False, lambda value: x.copy_(value.squeeze(dim)))


@rule("squeeze")
def _squeeze(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = values["input"]
    dims = [d for d in axes_of(values.get("dim"), x.ndim) if x.shape[d] == 1]
    whole, x = x, _uncut(x, dims)
    found = [moved_to(p, p.dim - sum(d < p.dim for d in dims)) if p.is_shard() else p for p in x._spec.placements]
    spec = Spec(x._spec.mesh, tuple(found), [n for d, n in enumerate(x.shape) if d not in dims])
    made = wrap(x._local.reshape(spec.local_shape()), spec)
    return part_of(whole, made, x is not whole, lambda value: whole.copy_(reshape(value, whole.shape)))


def _uncut(x, dims):
    """x with these axes (of one element) on every rank."""
    return placed(x, [Replicate() if p.is_shard() and p.dim in dims else p for p in x._spec.placements])


@rule("expand broadcast_to expand_as")
def _expand(func, args, kwargs):
    x, *rest = args
    shape = rest[0].shape if func.__name__ == "expand_as" else sizes_of(rest or list(kwargs.values()))
    if not hasattr(x, "_spec"):  # of a sharded tensor beside it the shape alone is asked
        return x.expand(shape)
    added = len(shape) - x.ndim
    shape = [x.shape[d - added] if n == -1 else n for d, n in enumerate(shape)]
    _f["empty"](x.shape, device="meta").expand(shape)  # raises where they do not fit
    x = _uncut(x, [d for d in range(x.ndim) if x.shape[d] != shape[d + added]])
    found = tuple(moved_to(p, p.dim + added) if p.is_shard() else p for p in x._spec.placements)
    spec = Spec(x._spec.mesh, found, shape)
    fresh = {d for d in range(len(shape)) if d < added or x.shape[d - added] != shape[d]}
    local = [n if d in fresh else m for d, (n, m) in enumerate(zip(shape, spec.local_shape()))]
    return wrap(x._local.expand(local), spec)


# ---------------------------------------------------------------- reshape


def _view_dtype(x, dtype):
    if dtype.itemsize != x.dtype.itemsize:
        raise refuse("view", (x,), "a dtype of another size")
    x = without_terms(x)
    return wrap(x._local.view(dtype), x._spec)


class _Grouped(Layout):
    """A layout whose axes are groups of axes of another one, of which the first may be cut."""

    def __init__(self, of: Spec, groups: Any) -> None:
        self.mesh, self.placements, self._of, self._groups = of.mesh, of.placements, of, groups
        self.shape = [math.prod(of.shape[d] for d in g) for g in groups]  # type: ignore[assignment]

    def dual(self):
        return _Grouped(self._of.dual(), self._groups)

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        of, found = self._of.ranges(coordinate), []
        for g in self._groups:
            inner = math.prod(self._of.shape[d] for d in g[1:])
            found.append([(a * inner, b * inner) for a, b in of[g[0]]] if g and inner else [(0, 1)] if not g else [])
        return found


def _groups(old, new):
    """Pairs of lists of axes with the same number of elements: how one shape becomes another."""
    found, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        a, b = [], []
        m = n = 1
        while True:
            if (m <= n and i < len(old) or j >= len(new)) and i < len(old) and (m < n or not a):
                m *= old[i]
                a.append(i)
                i += 1
            elif j < len(new) and (n < m or not b):
                n *= new[j]
                b.append(j)
                j += 1
            elif m == n:
                break
            elif m < n:
                m *= old[i]
                a.append(i)
                i += 1
            else:
                n *= new[j]
                b.append(j)
                j += 1
        found.append((a, b))
    return found


def _wanted_shape(x, shape):
    return tuple(_f["empty"](x.shape, device="meta").reshape(shape).shape)


@by_calls("view view_as")
def _view(x, *shape, **named):
    return _reshaped(x, shape, named, True)


@by_calls("reshape reshape_as")
def reshape(x: Any, *shape: Any, **named: Any) -> Any:
    """Shards are cut anew where an axis that is cut is joined with others or taken apart. What moved is a copy: whether
    a plain tensor would have been copied depends on its strides, which a whole has not."""
    return _reshaped(x, shape, named, False)


def _reshaped(x, shape, named, is_view):
    """is_view: writes into the result reach x."""
    given = named.get("shape", shape[0] if len(shape) == 1 else shape)
    if isinstance(given, _C.dtype):
        return _view_dtype(x, given)
    if isinstance(given, Tensor):
        given = given.shape
    shape = _wanted_shape(x, sizes_of((given,) if isinstance(given, (tuple, list)) else (tuple([given]),)))
    if not isinstance(x, ShardedTensor):
        return _f["reshape"](x, shape)
    spec = x._spec
    mesh = spec.mesh
    if 0 in shape:
        parts = [Partial() if p.is_partial() else Replicate() for p in spec.placements]
        return wrap(x._local.reshape(shape), Spec(mesh, tuple(parts), shape))
    pairs = _groups(x.shape, shape)
    if any(not a or not b for a, b in pairs):
        # Axes of one element that stand alone: they come or go first.
        return _with_ones(x, shape, is_view)
    before, after = list(spec.placements), list(spec.placements)
    for axis, p in enumerate(spec.placements):
        if p.is_shard():
            a, b = next(pair for pair in pairs if p.dim in pair[0])
            if len(a) == len(b) == 1:
                after[axis] = moved_to(p, b[0])
            else:
                first = next((d for d in a if x.shape[d] != 1), a[0])
                if p.dim != first or a[0] != first:
                    before[axis] = (
                        Shard(a[0]) if a[0] == first else Replicate() if x.shape[p.dim] == 1 else Shard(first)
                    )
                after[axis] = Shard(b[0]) if shape[b[0]] > 1 or all(shape[d] == 1 for d in b) else Shard(
                    next(d for d in b if shape[d] > 1))  # fmt: skip
    whole, x = x, placed(x, before)
    # Axes of one element in front of a cut one are left out of its group.
    src_groups = [_lead(a, x.shape) for a, _ in pairs]
    dst = Spec(mesh, tuple(after), shape)
    dst_groups = [_lead(b, shape) for _, b in pairs]
    old, new = _Grouped(x._spec, src_groups), _Grouped(dst, dst_groups)
    local = x._local.reshape(old.local_shape())
    moves = any(old.ranges(c) != new.ranges(c) for c in mesh.coordinates)
    if moves:
        local = _move.moved(local, old, new)
    made = wrap(local.reshape(dst.local_shape()), dst)
    if not is_view:
        return made
    return part_of(whole, made, moves or x is not whole, lambda value: whole.copy_(reshape(value, whole.shape)))


def _lead(group, shape):
    rest = [d for d in group if shape[d] != 1]
    return rest or group[:1]


def _with_ones(x, shape, is_view):
    for d in reversed(range(x.ndim)):
        if x.shape[d] == 1 and x.ndim > 1:
            x = x.squeeze(d)
    if x.ndim == 1 and x.shape[0] == 1:
        x = _uncut(x, [0])
        return wrap(x._local.reshape(shape), x._spec.with_(shape=shape))
    if x.ndim == 0:
        return wrap(x._local.reshape(shape), x._spec.with_(shape=shape))
    core = [n for n in shape if n != 1]
    x = _reshaped(x, (core,), {}, is_view) if tuple(core) != tuple(x.shape) else x
    for d, n in enumerate(shape):
        if n == 1:
            x = x.unsqueeze(d)
    return x


@by_calls("flatten ravel")
def _flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.unsqueeze(0)
    a, b = axes_of(start_dim, x.ndim)[0], axes_of(end_dim, x.ndim)[0]
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return reshape(x, (*x.shape[:a], x.shape[a : b + 1].numel(), *x.shape[b + 1 :]))


@by_calls("unflatten")
def _unflatten(x, dim, sizes):
    d = axes_of(dim, x.ndim)[0]
    sizes = list(sizes)
    if -1 in sizes:
        known = -math.prod(sizes)
        sizes[sizes.index(-1)] = x.shape[d] // max(known, 1)
    return reshape(x, (*x.shape[:d], *sizes, *x.shape[d + 1 :]))


# ---------------------------------------------------------------- along one axis


def part(x: ShardedTensor, dim: int, start: int, stop: int, step: int = 1) -> ShardedTensor:
    """x[start:stop:step] along an axis, with 0 <= start, stop <= n; cut as x is."""
    n = max(0, -(-(stop - start) // step))
    shape = [n if d == dim else m for d, m in enumerate(x.shape)]
    spec = x._spec
    every = (slice(None),) * dim + (slice(None, None, step),)
    if not spec.cuts(dim):
        local = x._local.narrow(dim, start, max(stop - start, 0))
        return wrap(local if step == 1 else local[every], spec.with_(shape=shape))

    def by(d, ranges):
        if d != dim:
            return ranges
        found: Any = []
        for a, b in ranges:
            low, high = max(0, -(-(a - start) // step)), min(n, -(-(b - start) // step))
            if low < high:
                found.append((low, high))
        return found

    pieces, at = [], 0
    for a, b in spec.ranges(spec.mesh._coordinate)[dim]:
        low, high = max(0, -(-(a - start) // step)), min(n, -(-(b - start) // step))
        if low < high:
            first, last = start + low * step, start + (high - 1) * step
            piece = x._local.narrow(dim, at + first - a, last - first + 1)
            pieces.append(piece if step == 1 else piece[every])
        at += b - a
    local = x._local.narrow(dim, 0, 0) if not pieces else pieces[0] if len(pieces) == 1 else _f["cat"](pieces, dim)
    dst = spec.with_(shape=shape)
    return wrap(_move.moved(local, Moved(spec, shape, by), dst), dst)


def chosen(x: ShardedTensor, dim: int, index: int) -> ShardedTensor:
    """x.select(dim, index): where the axis is cut, the term of a sum to which only the owner adds something."""
    spec = x._spec
    axes = spec.cuts(dim)
    found = [moved_to(p, p.dim - (p.dim > dim)) if p.is_shard() and p.dim != dim else p for p in spec.placements]
    shape = [n for d, n in enumerate(x.shape) if d != dim]
    if not axes:
        return wrap(x._local.select(dim, index), Spec(spec.mesh, tuple(found), shape))
    x = without_terms(x)
    for a, p in enumerate(x._spec.placements):
        if p.is_replicate():
            found[a] = p
    is_bool = x.dtype is _C.bool
    for a in axes:
        found[a] = Partial("bor" if is_bool else "sum")
    here = (indices(spec, dim) == index).nonzero().flatten().tolist()
    piece = x._local.narrow(dim, here[0], 1) if here else x._local.narrow(dim, 0, 0)
    local = piece.any(dim) if is_bool else piece.sum(dim, dtype=x.dtype)
    return wrap(local, Spec(spec.mesh, tuple(found), shape))


def _part_at(x, made, dim, key):
    """made = x[:, ..., key], the key along dim."""
    place = (*[slice(None)] * dim, key)
    return part_of(x, made, bool(x._spec.cuts(dim)), lambda value: x.__setitem__(place, value))


@rule("select")
def _select(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, index = values["input"], values["index"]
    dim = axes_of(values["dim"], x.ndim)[0]
    n = x.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    return _part_at(x, chosen(x, dim, index % n), dim, index % n)


@rule("narrow narrow_copy")
def _narrow(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, start, n = values["input"], values["start"], values["length"]
    dim = axes_of(values["dim"], x.ndim)[0]
    start = int(start) + x.shape[dim] * (start < 0)
    if not 0 <= start <= start + n <= x.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({n}) exceeds dimension size ({x.shape[dim]}).")
    made = part(x, dim, start, start + n)
    return made if func.__name__ == "narrow_copy" else _part_at(x, made, dim, slice(start, start + n))


@by_calls("split split_with_sizes unsafe_split")
def _split(x, size, dim=0):
    d = axes_of(dim, x.ndim)[0]
    n = x.shape[d]
    if isinstance(size, int):
        if size < 0 or n and not size:
            raise RuntimeError(f"split expects sizes above 0, but got split_size={size} for {n} elements")
        sizes = [min(size, n - i) for i in range(0, n, max(size, 1))] or [0]
    else:
        sizes = list(size)
        if min(sizes, default=0) < 0:
            raise RuntimeError(f"split_with_sizes expects sizes of 0 or more, but got split_sizes={sizes}")
        if sum(sizes) != n:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n}, but got {sizes}")
    found, at = [], 0
    for m in sizes:
        found.append(_part_at(x, part(x, d, at, at + m), d, slice(at, at + m)))
        at += m
    return tuple(found)


@by_calls("chunk unsafe_chunk")
def _chunk(x, chunks, dim=0):
    n = x.shape[axes_of(dim, x.ndim)[0]]
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return _split(x, max(-(-n // chunks), 1), dim)


@by_calls("unbind")
def _unbind(x, dim=0):
    d = axes_of(dim, x.ndim)[0]
    return tuple(_part_at(x, chosen(x, d, i), d, i) for i in range(x.shape[d]))


@rule("flip fliplr flipud")
def _flip(func, args, kwargs):
    x, *rest = args
    named = func.__name__
    dims = {"fliplr": (1,), "flipud": (0,)}.get(named) or axes_of(sizes_of(rest or list(kwargs.values())), x.ndim)
    x = without_terms(x)
    spec = x._spec

    def by(d, ranges):
        n = x.shape[d]
        return [(n - b, n - a) for a, b in reversed(ranges)] if d in dims else ranges

    local = x._local.flip(dims)
    if not any(spec.cuts(d) for d in dims):
        return wrap(local, spec)
    return wrap(_move.moved(local, Moved(spec, x.shape, by), spec), spec)


@by_calls("roll")
def _roll(x, shifts, dims=None):
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    if dims is None or dims == () or dims == []:
        return _roll(reshape(x, (-1,)), shifts, (0,)).reshape(x.shape)
    for shift, d in zip(shifts, axes_of(dims, x.ndim)):
        n = x.shape[d]
        if n and shift % n:
            cut = n - shift % n
            x = joined([part(x, d, cut, n), part(x, d, 0, cut)], d)
    return x


# ---------------------------------------------------------------- joining


class _Joined(Layout):
    """Layouts behind one another along an axis."""

    def __init__(self, specs: list[Spec], dim: int) -> None:
        self.mesh, self.placements, self._specs, self._dim = specs[0].mesh, specs[0].placements, specs, dim
        shape = list(specs[0].shape)
        shape[dim] = sum(s.shape[dim] for s in specs)
        self.shape = shape  # type: ignore[assignment]

    def dual(self):
        return _Joined([s.dual() for s in self._specs], self._dim)

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        found = list(self._specs[0].ranges(coordinate))
        row: Ranges = []
        at = 0
        for s in self._specs:
            row += [(a + at, b + at) for a, b in s.ranges(coordinate)[self._dim]]
            at += s.shape[self._dim]
        found[self._dim] = row
        return found


def joined(tensors: list[ShardedTensor], dim: int) -> ShardedTensor:
    """cat along an axis, in the layout of the largest."""
    like = max(tensors, key=lambda t: t.numel())
    placements = without_terms(like)._spec.placements
    tensors = [placed(t, placements) for t in tensors]
    local = _f["cat"]([t._local for t in tensors], dim)
    src = _Joined([t._spec for t in tensors], dim)
    dst = Spec(src.mesh, placements, src.shape)
    return wrap(_move.moved(local, src, dst) if dst.cuts(dim) else local, dst)


@rule("cat concat concatenate")
def _cat(func, args, kwargs):
    values = bind(func, args, kwargs)
    tensors = values["tensors"]
    like = first_sharded([tensors])
    tensors = [sharded(t, like, func) for t in tensors if t.ndim != 1 or t.shape[0] or like.ndim == 1]
    if len({t.ndim for t in tensors}) > 1:
        raise RuntimeError("Tensors must have same number of dimensions")
    dim = axes_of(values.get("dim", 0), tensors[0].ndim)[0]
    for t in tensors:
        if any(a != b for d, (a, b) in enumerate(zip(t.shape, tensors[0].shape)) if d != dim):
            raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}.")
    dtypes = {t.dtype for t in tensors}
    if len(dtypes) > 1:
        dtype = _f["cat"]([_f["empty"](0, dtype=t.dtype) for t in tensors]).dtype
        tensors = [t.to(dtype) for t in tensors]
    return joined(tensors, dim)


@rule("stack")
def _stack(func, args, kwargs):
    values = bind(func, args, kwargs)
    like = first_sharded([values["tensors"]])
    tensors = [sharded(t, like, func) for t in values["tensors"]]
    if len({t.shape for t in tensors}) > 1:
        raise RuntimeError("stack expects each tensor to be equal size")
    dim = axes_of(values.get("dim", 0), like.ndim + 1)[0]
    return joined([t.unsqueeze(dim) for t in tensors], dim)


# ---------------------------------------------------------------- by place


@rule("tril triu tril_ triu_")
def _triangle(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = values["input"] if "input" in values else values["self"]
    name, in_place = func.__name__.rstrip("_"), func.__name__.endswith("_")
    if in_place and x._spec.is_partial:
        raise refuse(func, args, "a sum of terms cannot be written into")
    source = without_terms(x)
    spec, n = source._spec, source.ndim
    if n < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = indices(spec, n - 2).unsqueeze(-1), indices(spec, n - 1)
    away = columns - rows
    diagonal = values.get("diagonal", 0)
    keeps = away <= diagonal if name == "tril" else away >= diagonal
    local = _f["where"](keeps, source._local, _f["zeros"]((), dtype=x.dtype))
    if in_place:
        x._local.copy_(local)
        return x
    return wrap(local, spec)


@rule("trace")
def _trace(func, args, kwargs):
    x = args[0]
    if x.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    x = without_terms(x)
    spec = x._spec
    on = indices(spec, 0).unsqueeze(-1) == indices(spec, 1)
    return wrap(_f["where"](on, x._local, _f["zeros"]((), dtype=x.dtype)), spec).sum()
