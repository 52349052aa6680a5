"""Rules of indexing: each rank finds what it has; along an axis that is cut the results are terms of a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from . import _move
from ._layout import Moved, Spec
from ._rules_elementwise import moved_to
from ._rules_reduce import axes_of
from ._rules_shape import chosen, part
from ._sharded import (
    ShardedTensor,
    bind,
    indices,
    placed,
    refuse,
    rule,
    without_terms,
    wrap,
)
from .placement import Partial, Replicate

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions


def everywhere(t: Any, like: ShardedTensor) -> Tensor:
    """An index as a plain tensor, whole on every rank."""
    if isinstance(t, ShardedTensor):
        return placed(t, (Replicate(),) * like._spec.mesh.ndim)._local
    return t if isinstance(t, Tensor) else _C.tensor_from_object(t, _C.int64)


def _positions(spec, dim, index):
    """Where this rank has the elements with these indices along an axis; behind the last where it has them not."""
    own = indices(spec, dim)
    n = own.numel()
    if n == 0:
        return _f["zeros_like"](index)
    at = _f["searchsorted"](own, index).clamp(max=n - 1)
    return _f["where"](own[at] == index, at, n)


def _with_zero(local, dim):
    """The shard with one more slice, of zeros, behind it."""
    shape = [1 if d == dim else n for d, n in enumerate(local.shape)]
    return _f["cat"]([local, _f["zeros"](shape, dtype=local.dtype)], dim)


def _terms_of(spec, axes, dtype):
    found = list(spec.placements)
    for a in axes:
        found[a] = Partial("bor" if dtype is _C.bool else "sum")
    return found


def _check_index(index, n):
    if index.numel() and not bool(((index >= -n) & (index < n)).all()):
        raise IndexError("index out of range in self")


@rule("index_select")
def _index_select(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if x.ndim == 0:
        raise refuse(func, args, "a tensor without axes")
    (dim,) = axes_of(values["dim"], x.ndim)
    return _selected(x, dim, everywhere(values["index"], x))


def _selected(x, dim, index):
    """x with the axis replaced by those of the index: the terms of a sum where the axis is cut."""
    n = x.shape[dim]
    _check_index(index, n)
    index = _f["where"](index < 0, index + n, index)
    spec = x._spec
    axes, k = spec.cuts(dim), index.ndim
    shape = [*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]]
    placements = _terms_of(spec, axes, x.dtype)
    placements = [moved_to(p, p.dim + (k - 1) * (p.dim > dim)) if p.is_shard() else p for p in placements]
    local = _with_zero(x._local, dim) if axes else x._local
    at = _positions(spec, dim, index) if axes else index
    made = Spec(spec.mesh, tuple(placements), shape)
    taken = local.index_select(dim, at.reshape(-1))
    return wrap(taken.reshape(*taken.shape[:dim], *index.shape, *taken.shape[dim + 1 :]), made)


@rule("gather take_along_dim")
def _gather(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    index = values["index"] if "index" in values else values["indices"]
    if values["dim"] is None or x.ndim == 0:
        raise refuse(func, args, "without an axis")
    (dim,) = axes_of(values["dim"], x.ndim)
    if not isinstance(index, ShardedTensor):
        index = wrap(index, Spec(x._spec.mesh, (Replicate(),) * x._spec.mesh.ndim, index.shape))
    # Lines are whole in the index; along other axes x and the index are cut alike.
    for d in range(x.ndim):
        if d != dim and index.shape[d] != x.shape[d] and x._spec.cuts(d):
            raise refuse(func, args, f"the index has another size along the axis {d}, which is cut")
    axes = x._spec.cuts(dim)
    wanted = [Replicate() if p.is_shard(dim) else p for p in x._spec.placements]
    index = placed(index, wanted)
    _check_index(index._local, x.shape[dim])
    where = _f["where"](index._local < 0, index._local + x.shape[dim], index._local)
    spec = Spec(x._spec.mesh, tuple(_terms_of(x._spec, axes, x.dtype)), index.shape)
    if not axes:
        return wrap(x._local.gather(dim, where), spec)
    return wrap(_with_zero(x._local, dim).gather(dim, _positions(x._spec, dim, where)), spec)


def _parsed(x, key):
    """Steps [(kind, axis, what)] that make x[key]: slices and numbers, at most one tensor or list."""
    key = key if isinstance(key, tuple) else (key,)
    for k in key:
        if isinstance(k, (bool, str)) or (isinstance(k, Tensor) and k.dtype in (_C.bool, _C.uint8)):
            raise refuse("indexing", (x,), "a mask selects as many elements as it has True ones")
    used = sum(1 for k in key if k is not None and k is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    if not any(k is Ellipsis for k in key):
        key = (*key, Ellipsis)
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    return (*key[:at], *(slice(None),) * (x.ndim - used), *key[at + 1 :])


@rule("__getitem__")
def _getitem(func, args, kwargs):
    x, key = args
    if not isinstance(x, ShardedTensor):
        raise refuse("indexing", args, "a plain tensor with a sharded index")
    dim, tensors = 0, 0
    for k in _parsed(x, key):
        if k is None:
            x = x.unsqueeze(dim)
            dim += 1
        elif isinstance(k, slice):
            n = x.shape[dim]
            start, stop, step = k.indices(n)
            if step < 0:
                many = len(range(start, stop, step))
                x = x.flip(dim)
                start, step = n - 1 - start, -step
                stop = start + (many - 1) * step + 1 if many else start
            if (start, max(stop, start), step) != (0, n, 1):
                x = part(without_terms(x), dim, start, max(stop, start), step)
            dim += 1
        elif isinstance(k, int) and not isinstance(k, bool):
            n = x.shape[dim]
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {n}")
            x = chosen(x, dim, k % n)
        else:
            index = everywhere(k, x) if isinstance(k, (Tensor, list)) else None
            tensors += 1
            if index is None or index.dtype in (_C.bool, _C.uint8) or tensors > 1:
                raise refuse("indexing", args, "there are rules for numbers, slices, None and one tensor of indices")
            x = _selected(without_terms(x), dim, index)
            dim += index.ndim
    return x if x is not args[0] else wrap(x._local.view_as(x._local), x._spec)


@rule("__setitem__")
def _setitem(func, args, kwargs):
    """Values go to the ranks that have the elements, and are written there."""
    x, key, value = args
    if not isinstance(x, ShardedTensor):
        raise refuse("assignment to an index", args[2:], "a plain tensor takes no sharded values")
    spec = x._spec
    if spec.is_partial:
        raise refuse("assignment to an index", args, "a sum of terms cannot be written into")
    steps = _parsed(x, key)
    if any(not (k is None or isinstance(k, slice) or (isinstance(k, int) and not isinstance(k, bool))) for k in steps):
        raise refuse("assignment to an index", args[:1], "there are rules for numbers and slices")
    lines, kept, shape = [], [], []  # slices of x; which axes the value has; the shape of the part
    for k in (k for k in steps if k is not None):
        n = x.shape[len(lines)]
        if isinstance(k, int):
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for dimension {len(lines)} with size {n}")
            lines.append((k % n, k % n + 1, 1))
        else:
            start, stop, step = k.indices(n)
            lines.append((start, max(stop, start), step))
            kept.append(len(lines) - 1)
        a, b, step = lines[-1]
        shape.append(-(-(b - a) // step))
    places = []
    for d, (a, b, step) in enumerate(lines):
        own = indices(spec, d)
        inside = (own >= a) & (own < b) & ((own - a) % step == 0)
        places.append(inside.nonzero().flatten())
    if isinstance(value, ShardedTensor):
        value = value.expand([shape[d] for d in kept]) if value.ndim <= len(kept) else value
        for d in range(len(shape)):
            if d not in kept:
                value = value.unsqueeze(d)

        def by(d, ranges):
            a, b, step = lines[d]
            found = [(max(0, -(-(i - a) // step)), min(shape[d], -(-(j - a) // step))) for i, j in ranges]
            return [(i, j) for i, j in found if i < j]

        value = _move.moved(value._local, value._spec, Moved(spec, shape, by)).to(x.dtype)
    elif isinstance(value, Tensor) and value.numel() != 1:
        raise refuse("assignment to an index", args[:1], "the value is a plain tensor: distribute it")
    grid = tuple(p.reshape([-1 if i == d else 1 for i in range(x.ndim)]) for d, p in enumerate(places))
    x._local[grid if x.ndim else ()] = value
    return None


@rule("masked_select nonzero argwhere unique_consecutive bincount nonzero_static histc")
def _dynamic(func, args, kwargs):
    raise refuse(func, args, "the shape of its result depends on the values")
