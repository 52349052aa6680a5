"""Batching rules of views, joins and other functions of the shape."""

from __future__ import annotations

import math

from ._batched import BatchedTensor, Tensor, again, aligned, batched, negative
from ._rules import _f, _from_end, bind, by_calls, call, missing, rule, sizes_of


@rule("view reshape")
def _view(func, args, kwargs):
    parameters, values = bind(func, args, kwargs)
    x = values["input"]
    k = len(x._levels)
    if "dtype" in values:
        return batched(func(x._value, values["dtype"]), x._levels)
    size = values.get("size", values.get("shape"))
    size = [size] if isinstance(size, int) else list(size)
    if size.count(-1) == 1 and x.numel() == 0 or not x._value.numel():
        known = math.prod(n for n in size if n != -1)
        size = [x.numel() // known if n == -1 and known else n for n in size]
    return batched(func(x._value, (*x._value.shape[:k], *size)), x._levels)


@by_calls("view_as")
def _view_as(input, other):
    return input.view(other.shape)


@by_calls("reshape_as")
def _reshape_as(input, other):
    return input.reshape(other.shape)


@by_calls("flatten ravel")
def _flatten(input, start_dim=0, end_dim=-1):
    n = max(input.ndim, 1)
    first, last = negative(start_dim, n) + n, negative(end_dim, n) + n
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.ndim == 0:
        return input.unsqueeze(0)
    shape = input.shape
    return input.reshape(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@by_calls("permute")
def _permute(input, *dims):
    dims = [negative(d, input.ndim) for d in sizes_of(dims)]
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    value, levels = input._value, input._levels
    return batched(value.permute(*range(len(levels)), *[value.ndim + d for d in dims]), levels)


@by_calls("t")
def _t(input):
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.transpose(0, 1) if input.ndim == 2 else batched(input._value, input._levels)


@by_calls("squeeze")
def _squeeze(input, *dim):
    dim = range(input.ndim) if not dim else sizes_of(dim)
    ones = [negative(d, input.ndim) for d in dim]
    value = input._value
    ones = [d for d in ones if input.ndim and value.shape[d] == 1]
    return batched(value.squeeze(ones), input._levels)


@by_calls("expand broadcast_to")
def _expand(input, *size, **named):
    size = sizes_of(size or (named["size"],))
    levels = input._levels
    value = aligned(input, levels, len(size))
    return batched(value.expand(*value.shape[: len(levels)], *size), levels)


@by_calls("expand_as")
def _expand_as(input, other):
    return input.expand(other.shape)


@by_calls("broadcast_tensors")
def _broadcast_tensors(*tensors):
    from .._calls.broadcast import broadcast_shapes

    tensors = sizes_of(tensors)
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


@by_calls("repeat")
def _repeat(input, *repeats):
    repeats = sizes_of(repeats)
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    value = aligned(input, input._levels, len(repeats))
    return batched(value.repeat(*[1] * len(input._levels), *repeats), input._levels)


@by_calls("tile")
def _tile(input, *dims):
    dims = sizes_of(dims)
    return input.repeat(*[1] * (input.ndim - len(dims)), *dims)


@by_calls("roll")
def _roll(input, shifts, dims=None):
    if dims is None or dims in ((), []):
        return _roll(input.flatten(), shifts, 0).reshape(input.shape)
    return batched(_f["roll"](input._value, shifts, _from_end(dims, input.ndim)), input._levels)


@by_calls("repeat_interleave")
def _repeat_interleave(input, repeats, dim=None, *, output_size=None):
    if type(repeats) is BatchedTensor or type(input) is not BatchedTensor:
        missing("repeat_interleave by a tensor that differs from sample to sample")(None, (), {})
    x, dim = (input.flatten(), -1) if dim is None else (input, negative(dim, input.ndim))
    return batched(_f["repeat_interleave"](x._value, repeats, dim), x._levels)


@by_calls("fliplr")
def _fliplr(input):
    return input.flip(1)


@by_calls("flipud")
def _flipud(input):
    return input.flip(0)


@rule("tensor_split")
def _tensor_split(func, args, kwargs):
    _, values = bind(func, args, kwargs)
    x, dim, (where,) = values.pop("input"), values.pop("dim"), values.values()
    if type(where) is BatchedTensor:
        missing("tensor_split at places that differ from sample to sample")(func, args, kwargs)
    where = where.tolist() if isinstance(where, Tensor) else where
    return again(func(x._value, where, negative(dim, x.ndim)), x._levels)


def _split_rule(name, axis_of):
    @by_calls(name)
    def run(input, *sections):
        sections = sections[0] if len(sections) == 1 else sections
        return input.tensor_split(sections, axis_of(input.ndim))


_split_rule("hsplit", lambda n: 0 if n == 1 else 1)
_split_rule("vsplit", lambda n: 0)
_split_rule("dsplit", lambda n: 2)


def _each(rule_for_one):
    def run(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return rule_for_one(tensors[0])
        return tuple(rule_for_one(t) for t in sizes_of(tensors))

    return run


@by_calls("atleast_1d")
@_each
def _atleast_1d(x):
    return x if x.ndim else x.reshape(1)


@by_calls("atleast_2d")
@_each
def _atleast_2d(x):
    return x if x.ndim > 1 else x.reshape(1, x.numel())


@by_calls("atleast_3d")
@_each
def _atleast_3d(x):
    return x if x.ndim > 2 else x.unsqueeze(-1) if x.ndim == 2 else x.reshape(1, x.numel(), 1)


@by_calls("hstack")
def _hstack(tensors):
    tensors = _atleast_1d(*tensors) if len(tensors) > 1 else (_atleast_1d(tensors[0]),)
    return _f["cat"](tensors, 0 if tensors[0].ndim == 1 else 1)


@by_calls("vstack row_stack")
def _vstack(tensors):
    return _f["cat"]([_atleast_2d(t) for t in tensors], 0)


@by_calls("dstack")
def _dstack(tensors):
    return _f["cat"]([_atleast_3d(t) for t in tensors], 2)


@by_calls("column_stack")
def _column_stack(tensors):
    return _f["cat"]([t if t.ndim > 1 else t.reshape(t.numel(), 1) for t in tensors], 1)


@by_calls("block_diag")
def _block_diag(*tensors):
    tensors = [_atleast_2d(t) for t in sizes_of(tensors)]
    before, after, rows = 0, sum(t.shape[1] for t in tensors), []
    for t in tensors:
        n, m = t.shape
        after -= m
        rows.append(_f["cat"]([t.new_zeros(n, before), t, t.new_zeros(n, after)], 1))
        before += m
    return _f["cat"](rows, 0)


@by_calls("meshgrid")
def _meshgrid(*tensors, indexing="ij"):
    tensors = [t.reshape(t.numel()) for t in sizes_of(tensors)]
    n, swap = len(tensors), indexing == "xy" and len(tensors) > 1
    at = [1, 0, *range(2, n)] if swap else range(n)
    shape = [0] * n
    for t, place in zip(tensors, at):
        shape[place] = t.numel()
    return tuple(t.reshape([-1 if d == place else 1 for d in range(n)]).expand(shape) for t, place in zip(tensors, at))


@by_calls("diag")
def _diag(input, diagonal=0):
    return _f["diag_embed"](input, diagonal) if input.ndim == 1 else input.diagonal(diagonal)


@by_calls("diagflat")
def _diagflat(input, offset=0):
    return _f["diag_embed"](input.flatten(), offset)


@rule("new_empty new_zeros new_ones new_full")
def _new(func, args, kwargs):
    parameters, values = bind(func, args, kwargs)
    x = values["input"]
    size = values["size"]
    k = len(x._levels)
    values["input"] = x._value
    values["size"] = (*x._value.shape[:k], *([size] if isinstance(size, int) else size))
    return again(call(func, parameters, values), x._levels)


@by_calls("new_empty_strided")
def _new_empty_strided(input, size, stride, **options):
    """Each sample has the strides that were asked for; the samples follow each other."""
    size, stride = list(size), list(stride)
    reach = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride))
    for level in reversed(input._levels):
        size, stride, reach = [level.size, *size], [reach, *stride], reach * level.size
    return batched(input._value.new_empty_strided(size, stride, **options), input._levels)
