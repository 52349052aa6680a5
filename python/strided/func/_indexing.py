"""Batching rules of indexing.

A key is taken in two steps, as the compiled core takes it: what is basic (ints, slices, None, ...) makes a view, where
the axes of the batch stay in front; then index tensors are taken with the axes they index brought to the front, and an
arange for each axis of the batch that the indexed tensor has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ._batched import BatchedTensor, OnlyOne, Tensor, aligned, batched, expanded, negative, union
from ._rules import _own, by_calls, missing, rule

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions
_ALL = slice(None)


def _parts(x, key):
    """(basic key, index tensors by the axis of the view that the basic key leads to)."""
    key = list(key) if isinstance(key, (tuple, list)) and not _is_index_list(key) else [key]
    key = [_plain_number(_as_tensor(k)) for k in key]
    wide = sum(1 if not _is_mask(k) else k.ndim for k in key if k is not None and k is not Ellipsis)
    if wide > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    missing_axes = [_ALL] * (x.ndim - wide)
    at = next((i for i, k in enumerate(key) if k is Ellipsis), None)
    key = [*key, *missing_axes] if at is None else [*key[:at], *missing_axes, *key[at + 1 :]]
    basic: list[Any] = []
    tensors: dict[int, Any] = {}
    axis = 0
    for k in key:
        if isinstance(k, Tensor):
            for index in _indices_of(k):
                tensors[axis] = index
                basic.append(_ALL)
                axis += 1
            continue
        basic.append(k)
        axis += 0 if isinstance(k, int) else 1
    return tuple(basic), tensors


def _is_index_list(key):
    return isinstance(key, list) and not any(
        k is None or k is Ellipsis or isinstance(k, (slice, Tensor, list, tuple)) for k in key
    )


def _is_mask(k):
    return isinstance(k, Tensor) and k.dtype in (_C.bool, _C.uint8)


def _as_tensor(k):
    """A key; the index tensor that a list or an array stands for."""
    if isinstance(k, (list, range)) or (getattr(k, "ndim", 0) and not isinstance(k, Tensor)):
        made = _C.tensor_from_object(list(k) if isinstance(k, range) else k, None)
        # Without elements a list has no dtype of its own.
        return made if made.numel() or not isinstance(k, (list, range)) else made.to(_C.int64)
    return k


def _plain_number(k):
    """A key that is a number of one tensor is that number, unless it differs from sample to sample."""
    if isinstance(k, bool):
        raise RuntimeError("vmap: True and False as indices have no batching rule")
    if isinstance(k, Tensor) and k.ndim == 0 and type(k) is not BatchedTensor and k.dtype is not _C.bool:
        return int(k)
    return k.__index__() if hasattr(k, "__index__") and not isinstance(k, (int, Tensor)) else k


def _indices_of(k):
    if not _is_mask(k):
        return [k]
    if type(k) is BatchedTensor:
        raise OnlyOne(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
            "with a boolean mask that differs from sample to sample: use where()."
        )
    return list(_f["nonzero"](k, as_tuple=True))


def _indexed(x, tensors):
    """(x with the axes of the index tensors behind those of its batch, index for these and those of its batch, axes of
    the broadcast index, where the function under vmap expects them)."""
    axes = list(tensors)
    own = x._levels if type(x) is BatchedTensor else ()
    value = x._value if own else x
    k = len(own)
    value = value.movedim([k + a for a in axes], [k + i for i in range(len(axes))])
    wide = max(t.ndim for t in tensors.values())
    batch = []
    if any(type(t) is BatchedTensor for t in tensors.values()):
        of_levels = union(tensors.values())
        every = [*of_levels, *(level for level in own if level not in of_levels)]
        every.sort(key=lambda level: level.number)
        every = tuple(every)
        for level in own:
            place = [1] * (len(every) + wide)
            place[every.index(level)] = level.size
            batch.append(_f["arange"](level.size).reshape(place))
        index = [aligned(t, every, wide).to(_C.int64) for t in tensors.values()]
    else:
        every = own
        batch = [_ALL] * k
        index = [t.reshape([1] * (wide - t.ndim) + list(t.shape)) for t in tensors.values()]
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    return value, tuple(batch + index), every, wide, axes[0] if adjacent else 0


@by_calls("__getitem__")
def getitem(x: Any, key: Any) -> Any:
    """x[key]"""
    basic, tensors = _parts(x, key)
    if type(x) is BatchedTensor:
        view = batched(x._value[(*[_ALL] * len(x._levels), *basic)], x._levels)
    else:
        view = x[basic] if basic else x
    if not tensors:
        return view
    value, index, levels, wide, place = _indexed(view, tensors)
    result = value[index]
    k = len(levels)
    if place:
        result = result.movedim(list(range(k, k + wide)), list(range(k + place, k + place + wide)))
    return batched(result, levels)


@by_calls("__setitem__")
def setitem(x: Any, key: Any, given: Any) -> None:
    """x[key] = given"""
    keys = key if isinstance(key, tuple) else (key,)
    levels = union([x, given, *keys])
    _own("__setitem__", x, levels)
    if len(keys) == 1 and _is_mask(keys[0]) and keys[0].shape == x.shape and getattr(given, "ndim", 0) == 0:
        x.masked_fill_(keys[0], given)
        return
    basic, tensors = _parts(x, key)
    view = batched(x._value[(*[_ALL] * len(x._levels), *basic)], x._levels)
    if not isinstance(given, Tensor):
        given = _C.tensor_from_object(given, x.dtype)
    if not tensors:
        while given.ndim > view.ndim and given.shape[0] == 1:
            given = given.squeeze(0)
        view.copy_(given)
        return
    _put(view, tensors, given.to(x.dtype), False)


def _put(view, tensors, given, accumulate):
    value, index, levels, wide, place = _indexed(view, tensors)
    k = len(levels)
    rest = value.ndim - len(view._levels) - len(tensors)
    source = expanded(given, levels, max(given.ndim, wide + rest))
    if place:  # the axes of the index stand at `place`; here they come first
        source = source.movedim(list(range(k + place, k + place + wide)), list(range(k, k + wide)))
    if any(i is _ALL for i in index):  # one index for all samples
        index = [None] * k + list(index[k:])
        value.index_put_(index, source.to(value.dtype), accumulate)
    else:
        value.index_put_(list(index), source.to(value.dtype), accumulate)


@by_calls("index_put_")
def _index_put_(self, indices, values, accumulate=False):
    _own("index_put_", self, union([self, values, *indices]))
    tensors, axis = {}, 0
    for index in indices:
        for part in _indices_of(index) if index is not None else [None]:
            if part is not None:
                tensors[axis] = part
            axis += 1
    _put(self, tensors, values, accumulate)
    return self


@by_calls("index_put")
def _index_put(input, indices, values, accumulate=False):
    levels = union([input, values, *(i for i in indices if i is not None)])
    return _index_put_(batched(expanded(input, levels).clone(), levels), indices, values, accumulate)


def _of_a_row(rule):
    """One number counts as a row of one."""

    def run(input, dim, index, *args, **kwargs):
        if input.ndim:
            return rule(input, dim, index, *args, **kwargs)
        args = [a.reshape(1) if isinstance(a, Tensor) else a for a in args]
        return rule(input.unsqueeze(0), dim, index.reshape(index.numel()), *args, **kwargs).reshape(())

    return run


@by_calls("index_select")
@_of_a_row
def _index_select(input, dim, index):
    if type(index) is not BatchedTensor:
        return batched(_f["index_select"](input._value, negative(dim, input.ndim), index), input._levels)
    index = index if index.ndim else index.unsqueeze(0)
    return getitem(input, (*[_ALL] * (negative(dim, input.ndim) + input.ndim), index))


def _full_index(dim, index, shape):
    """index, of one axis, for each element of `shape` along dim."""
    d = negative(dim, len(shape)) + len(shape)
    return index.reshape([-1 if i == d else 1 for i in range(len(shape))]).expand(shape)


@by_calls("index_add")
@_of_a_row
def _index_add(input, dim, index, source, *, alpha=1):
    source = source if alpha == 1 else alpha * source
    return _f["scatter_add"](input, dim, _full_index(dim, index, source.shape), source)


@by_calls("index_copy")
@_of_a_row
def _index_copy(input, dim, index, source):
    return _f["scatter"](input, dim, _full_index(dim, index, source.shape), source)


@by_calls("index_reduce")
def _index_reduce(input, dim, index, source, reduce, *, include_self=True):
    if not input.ndim:
        made = _index_reduce(input.unsqueeze(0), 0, index, source.reshape(-1), reduce, include_self=include_self)
        return made.reshape(())
    levels = union([input, index, source])
    if type(index) is BatchedTensor:
        # The samples one after the other along the axis.
        d, n, count = negative(dim, input.ndim), input.shape[dim], len(levels)
        x, rows = (expanded(t.movedim(d, 0), levels) for t in (input, source))
        at = expanded(index.reshape(-1), levels).reshape(-1, index.numel())
        at = (at + n * _f["arange"](at.shape[0], device=at.device).unsqueeze(1)).flatten()
        whole, parts = x.flatten(0, count), rows.flatten(0, count)
        made = _f["index_reduce"](whole, 0, at, parts, reduce, include_self=include_self)
        return batched(made.reshape(x.shape), levels).movedim(0, d)
    both = [expanded(t, levels) for t in (input, source)]
    options = {"include_self": include_self}
    return batched(_f["index_reduce"](both[0], negative(dim, input.ndim), index, both[1], reduce, **options), levels)


@by_calls("index_fill")
@_of_a_row
def _index_fill(input, dim, index, value):
    shape = list(input.shape)
    shape[dim] = index.numel()
    places = _full_index(dim, _counted(index, input.shape[dim]), shape)
    if not isinstance(value, Tensor):
        return _f["scatter"](input, dim, places, value)
    # An index may be there twice: its place has the gradient of one value.
    filled = _f["scatter"](_f["zeros_like"](input, dtype=_C.bool), dim, places, True)
    return _f["where"](filled, value.to(input.dtype), input)


@by_calls("take")
def _take(input, index):
    return getitem(input.flatten(), index)


@by_calls("put")
def _put_flat(input, index, source, accumulate=False):
    do = _f["scatter_add" if accumulate else "scatter"]
    return do(input.flatten(), 0, _counted(index.flatten(), input.numel()), source.flatten()).reshape(input.shape)


def _counted(index, n):
    """Indices that may count from the end, from the front."""
    return _f["where"](index < 0, index + n, index)


@by_calls("take_along_dim")
def _take_along_dim(input, indices, dim=None):
    if not input.ndim:
        return _f["gather"](input, dim or 0, _counted(indices, 1))
    if dim is None:
        return _f["gather"](input.flatten(), 0, _counted(indices.flatten(), input.numel()))
    d = negative(dim, input.ndim) + input.ndim
    shapes = [list(t.shape) for t in (input, indices)]
    for s, o in zip(shapes, reversed([list(s) for s in shapes])):
        for i in range(len(s)):
            s[i] = s[i] if i == d else max(s[i], o[i])
    return _f["gather"](input.expand(shapes[0]), d, _counted(indices.expand(shapes[1]), shapes[0][d]))


@by_calls("masked_scatter")
def _masked_scatter(input, mask, source):
    input, mask = _f["broadcast_tensors"]([input, mask])
    place = (mask.flatten().to(_C.int64).cumsum(0) - 1).clamp(0)
    taken = _f["gather"](source.flatten(), 0, place.clamp(max=source.numel() - 1)).reshape(input.shape)
    return _f["where"](mask, taken, input)


@by_calls("unravel_index")
def _unravel_index(indices, shape):
    sizes = [shape] if isinstance(shape, int) else list(shape)
    found = []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


@by_calls("as_strided as_strided_copy")
def _as_strided(input, size, stride, storage_offset=None):
    value, levels = input._value, input._levels
    k = len(levels)
    offset = value.storage_offset() if storage_offset is None else storage_offset
    if 0 in value.stride()[:k]:
        # Samples that are one in memory: places that overlap would share a gradient.
        offset -= value.storage_offset()
        value = value.contiguous()
        if value.stride()[k:] != input._value.stride()[k:]:
            missing("as_strided of one tensor for all samples that is not contiguous")(None, (), {})
    shape, steps = [*value.shape[:k], *size], [*value.stride()[:k], *stride]
    return batched(_f["as_strided"](value, shape, steps, offset), levels)


rule("as_strided_")(missing("as_strided_"))  # it would change which elements the caller sees
