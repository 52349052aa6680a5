"""Rules of other names of functions, of places in sorted values, and of new tensors like a sharded one."""

from __future__ import annotations

from .. import _C
from .._objects.typeinfo import finfo
from ._rules_linalg import everywhere
from ._sharded import ShardedTensor, bind, by_calls, first_sharded, placed, refuse, rule, sharded, without_terms, wrap
from .placement import Replicate

_f = _C.functions


def _same_as(name: str, other: str) -> None:
    rule(name)(lambda func, args, kwargs: _f[other](*bind(func, args, kwargs).values()))


for _name in ("matmul", "outer", "tensordot", "trace"):
    _same_as(f"linalg.{_name}", _name)


@by_calls("linalg.matrix_transpose")
def _matrix_transpose(input):
    return input.transpose(-1, -2)


@rule("linalg.matrix_rank")
def _matrix_rank(func, args, kwargs):
    """How many singular values, or sizes of eigenvalues, are above the tolerance."""
    values = bind(func, args, kwargs)
    A, atol, rtol = values["input"], values.get("atol"), values.get("rtol")
    if values.get("tol") is not None:
        atol, rtol = values["tol"], 0.0
    if any(isinstance(t, _C.Tensor) for t in (atol, rtol)):
        raise refuse(func, args, "tolerances that are tensors")
    size = _f["linalg.eigvalsh"](A).abs() if values.get("hermitian") else _f["linalg.svdvals"](A)
    if size.shape[-1] == 0:
        return size.sum(-1).to(_C.int64)
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * finfo(A.dtype).eps
    largest = size.amax(-1, keepdim=True) * float(rtol)
    limit = largest if atol is None else _f["clamp"](largest, min=float(atol))
    return (size > limit).sum(-1)


# ---------------------------------------------------------------- places in sorted values


def _each(func, x, whole, call):
    """call(shard, values) for each shard; values that every element is compared with are on every rank."""
    like = first_sharded([x, whole])
    x, whole = (t if not isinstance(t, _C.Tensor) else sharded(t, like, func) for t in (x, whole))
    if isinstance(whole, ShardedTensor):
        if any(p.is_shard() for p in whole.placements):
            raise refuse(func, [x, whole], "each element is compared with all of the values, which are cut")
        whole = without_terms(whole)._local
    if not isinstance(x, ShardedTensor):
        return everywhere(call(x, whole), like._spec.mesh)
    x = without_terms(x)
    return wrap(call(x._local, whole), x._spec)


@rule("isin")
def _isin(func, args, kwargs):
    values = bind(func, args, kwargs)
    (a, x), (b, test) = list(values.items())[:2]
    del values[a], values[b]
    return _each(func, x, test, lambda a, b: _f["isin"](a, b, **values))


@rule("bucketize")
def _bucketize(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, limits = values.pop("input"), values.pop("boundaries")
    return _each(func, x, limits, lambda a, b: _f["bucketize"](a, b, **values))


@rule("searchsorted")
def _searchsorted(func, args, kwargs):
    values = bind(func, args, kwargs)
    line, x = values.pop("sorted_sequence"), values.pop("input", values.pop("self", None))
    sorter = values.pop("sorter", None)
    if line.ndim != 1 or sorter is not None:
        raise refuse(func, [line, x], "there is a rule for one sorted line without a sorter")
    return _each(func, x, line, lambda a, b: _f["searchsorted"](b, a, **values))


# ---------------------------------------------------------------- new tensors


def _size(rest, kwargs):
    """(the size among the arguments of new_zeros and the like, the arguments after it); None where it is odd."""
    if "size" in kwargs:
        return tuple(kwargs["size"]), rest
    if rest and isinstance(rest[0], (tuple, list)):
        return tuple(rest[0]), rest[1:]
    return (tuple(rest), []) if rest and all(isinstance(n, int) for n in rest) else (None, rest)


@rule("Tensor.new_empty_strided new_empty_strided")
def _new_strided(func, args, kwargs):
    """Of any memory; its part on this rank has strides in the order of those given."""
    values = bind(func, args, kwargs)
    size, strides = tuple(values.pop("size")), tuple(values.pop("stride"))
    x = values.pop("input")
    kept = size == tuple(x.shape) and not x._spec.is_partial
    shape = x._spec.local_shape() if kept else size
    if kept:
        found, n = [0] * len(shape), 1
        for dim in sorted(range(len(shape)), key=lambda d: (strides[d], size[d])):
            found[dim], n = n, n * max(shape[dim], 1)
        strides = tuple(found)
    made = func(x._local.detach(), shape, strides, **values)
    return wrap(made, x._spec) if kept else everywhere(made, x._spec.mesh)


@rule("Tensor.new_zeros Tensor.new_ones Tensor.new_full Tensor.new_empty new_zeros new_ones new_full new_empty")
def _new(func, args, kwargs):
    """Of the dtype and device of a sharded tensor: cut alike where the shape is its own, else whole."""
    x, *rest = args
    if not isinstance(x, ShardedTensor):
        raise refuse(func, rest, "a sharded tensor is no size and no value")
    size, more = _size(rest, kwargs)
    if size == tuple(x.shape) and not x._spec.is_partial and not any(isinstance(t, ShardedTensor) for t in more):
        named = {k: v for k, v in kwargs.items() if k != "size"}
        return wrap(func(x._local.detach(), x._spec.local_shape(), *more, **named), x._spec)
    rest = [placed(t, (Replicate(),) * t._spec.mesh.ndim)._local if isinstance(t, ShardedTensor) else t for t in rest]
    return everywhere(func(x._local.detach(), *rest, **kwargs), x._spec.mesh)
