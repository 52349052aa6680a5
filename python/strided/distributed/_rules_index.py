"""Rules of indexing: each rank finds what it has; along an axis that is cut the results are terms of a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from . import _move
from ._layout import Moved, Spec
from ._rules_elementwise import moved_to
from ._rules_masks import check_mask, chosen_by, mask_of, scattered
from ._rules_reduce import axes_of
from ._rules_shape import chosen, part
from ._sharded import (
    ShardedTensor,
    bind,
    indices,
    missing,
    part_of,
    placed,
    refuse,
    rule,
    sharded,
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
        return missing(func)(func, args, kwargs)
    (dim,) = axes_of(values["dim"], x.ndim)
    return selected(x, dim, everywhere(values["index"], x))


def selected(x: ShardedTensor, dim: int, index: Tensor) -> ShardedTensor:
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
    if x.ndim == 0:
        return missing(func)(func, args, kwargs)
    if values["dim"] is None:
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


@rule("take")
def _take(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if not isinstance(x, ShardedTensor):
        raise refuse(func, args, "a plain tensor with a sharded index")
    return selected(x.reshape(-1), 0, everywhere(values["index"], x))


def _parsed(x, key):
    """Steps [(kind, axis, what)] that make x[key]: slices and numbers, at most one tensor or list."""
    key = key if isinstance(key, tuple) else (key,)
    for k in key:
        if isinstance(k, (bool, str)) or (isinstance(k, Tensor) and k.dtype in (_C.bool, _C.uint8)):
            raise refuse("indexing", (x,), "there are rules for a mask of the first axes beside whole axes")
    used = sum(1 for k in key if k is not None and k is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    if not any(k is Ellipsis for k in key):
        key = (*key, Ellipsis)
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    return (*key[:at], *(slice(None),) * (x.ndim - used), *key[at + 1 :])


class _Joined:
    """Tensors of indices of neighbouring axes, as one index of these axes joined."""

    def __init__(self, x: ShardedTensor, parts: list[Any], dim: int) -> None:
        self.many = len(parts)
        self.index: Tensor = _f["zeros"]((), dtype=_C.int64)
        for d, one in enumerate(parts, dim):
            index, n = everywhere(one, x), x.shape[d]
            _check_index(index, n)
            self.index = self.index * n + _f["where"](index < 0, index + n, index)


def _joined(x, steps):
    """Steps in which two or more tensors of indices side by side are one."""
    at = [i for i, k in enumerate(steps) if isinstance(k, (Tensor, list))]
    if len(at) < 2 or at[-1] - at[0] != len(at) - 1 or any(k is None for k in steps):
        return steps
    if any(everywhere(steps[i], x).dtype in (_C.bool, _C.uint8) for i in at):
        return steps
    dim = at[0]  # every step before it takes one axis; numbers drop theirs later
    return (*steps[:dim], _Joined(x, [steps[i] for i in at], dim), *steps[at[-1] + 1 :])


@rule("__getitem__")
def _getitem(func, args, kwargs):
    x, key = args
    if not isinstance(x, ShardedTensor):
        raise refuse("indexing", args, "a plain tensor with a sharded index")
    mask = mask_of(x, key)
    if mask is not None:
        return chosen_by(x, mask)
    dim, tensors, moved = 0, 0, False
    for k in _joined(x, _parsed(x, key)):
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
                moved |= x._spec.is_partial or bool(x._spec.cuts(dim))
                x = part(without_terms(x), dim, start, max(stop, start), step)
            dim += 1
        elif isinstance(k, int) and not isinstance(k, bool):
            n = x.shape[dim]
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {n}")
            moved |= bool(x._spec.cuts(dim))
            x = chosen(x, dim, k % n)
        else:
            if isinstance(k, _Joined):
                x = without_terms(x).flatten(dim, dim + k.many - 1)
                k = k.index
            index = everywhere(k, x) if isinstance(k, (Tensor, list)) else None
            tensors += 1
            if index is None or index.dtype in (_C.bool, _C.uint8) or tensors > 1:
                raise refuse("indexing", args, "there are rules for numbers, slices, None and one tensor of indices")
            x = selected(without_terms(x), dim, index)
            dim += index.ndim
    if x is args[0]:
        x = wrap(x._local.view_as(x._local), x._spec)
    whole = args[0]
    return x if tensors else part_of(whole, x, moved, lambda value: whole.__setitem__(key, value))


@rule("__setitem__")
def _setitem(func, args, kwargs):
    """Values go to the ranks that have the elements, and are written there."""
    x, key, value = args
    if not isinstance(x, ShardedTensor):
        raise refuse("assignment to an index", args[2:], "a plain tensor takes no sharded values")
    spec = x._spec
    if spec.is_partial:
        raise refuse("assignment to an index", args, "a sum of terms cannot be written into")
    mask = mask_of(x, key)
    if mask is not None:
        check_mask(x, mask)
        if not isinstance(mask, ShardedTensor):  # the same on every rank, as indices are
            mask = wrap(mask, Spec(spec.mesh, (Replicate(),) * spec.mesh.ndim, mask.shape))
        if not isinstance(value, Tensor) or value.numel() == 1:
            value = value.reshape(()) if isinstance(value, Tensor) else value
            x.masked_fill_(mask.reshape([*mask.shape, *[1] * (x.ndim - mask.ndim)]), value)
            return None
        value = sharded(value, x, "assignment to a mask")
        if value.shape[1:] != x.shape[mask.ndim :] or value.shape[0] == 1:
            raise refuse("assignment to a mask", (x, value), "the values are rows, one for each that the mask chooses")
        made = scattered(x, mask, value, "assignment to a mask", exactly=True)
        x._local.copy_(placed(made, spec.placements)._local)
        return None
    steps = _parsed(x, key)
    if sum(isinstance(k, (Tensor, list)) for k in steps) == 1 and all(
        isinstance(k, (Tensor, list)) or (isinstance(k, slice) and k == slice(None)) for k in steps):  # fmt: skip
        return assign(x, next(d for d, k in enumerate(steps) if isinstance(k, (Tensor, list))), steps, value)
    if any(not (k is None or isinstance(k, slice) or (isinstance(k, int) and not isinstance(k, bool))) for k in steps):
        raise refuse(
            "assignment to an index", args[:1], "there are rules for numbers, slices, and one tensor of indices"
        )
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


def assign(x: ShardedTensor, dim: int, steps: Any, value: Any, adds: bool = False) -> None:
    """Assignment to the places that one tensor names along an axis: each rank takes the values of its own.

    adds: whether values are added to what is there."""
    index, spec, n = everywhere(steps[dim], x), x._spec, x.shape[dim]
    if index.dtype in (_C.bool, _C.uint8):
        raise refuse("assignment to an index", (x,), "there are rules for a mask of the first axes beside whole axes")
    _check_index(index, n)
    index = _f["where"](index < 0, index + n, index)
    at = _positions(spec, dim, index.reshape(-1)) if spec.cuts(dim) else index.reshape(-1)
    mine = (at < x._local.shape[dim]).nonzero().flatten()
    place = (*(slice(None),) * dim, at[mine])
    if isinstance(value, Tensor) and value.numel() != 1:
        shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
        value = sharded(value, x, "assignment to an index").expand(shape)
        axes = spec.cuts(dim)
        more = index.ndim - 1
        wanted = [Replicate() if a in axes or p.is_replicate() else moved_to(p, p.dim + more * (p.dim > dim))
                  for a, p in enumerate(spec.placements)]  # fmt: skip
        local = _move.spread(placed(value, wanted)._local, spec.mesh, axes).to(x.dtype)
        rows = local.reshape(*local.shape[:dim], index.numel(), *local.shape[dim + index.ndim :])
        value = rows.index_select(dim, mine)
    elif isinstance(value, ShardedTensor):
        value = everywhere(value, x).reshape(())
    if not adds:
        x._local[place] = value
    else:  # also where nothing is mine: all ranks record the same
        shape = [mine.numel() if d == dim else n for d, n in enumerate(x._local.shape)]
        value = value if isinstance(value, Tensor) else _f["full"]((), value, dtype=x.dtype)
        x._local.index_add_(dim, at[mine], value.expand(shape))
