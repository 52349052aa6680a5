"""Rules of functions that are made of others, of matrices in batches, and of writes along whole lines."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .. import _C
from . import _rules_linalg
from ._layout import Spec
from ._rules_elementwise import elementwise, fitted, in_place
from ._rules_index import everywhere
from ._rules_order import aside, back
from ._rules_reduce import axes_of
from ._rules_shape import joined, part, reshape, sizes_of
from ._sharded import (
    RULES,
    ShardedTensor,
    bind,
    by_calls,
    first_sharded,
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

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions

# ---------------------------------------------------------------- elementwise, but not in the op table

for _name in "celu selu relu6 softshrink softsign gelu".split():
    for _full in (_name, f"nn.functional.{_name}"):
        RULES[_full], RULES[f"{_full}_"] = elementwise, in_place


def _view_in_place(name):
    def run(func, args, kwargs):
        x, *rest = args
        made = _f[name](x, *rest, **kwargs)
        x._local, x._spec = made._local, made._spec
        return x

    return run


for _name in "t transpose swapdims swapaxes squeeze unsqueeze".split():
    RULES[f"{_name}_"] = _view_in_place(_name)


# ---------------------------------------------------------------- joining and taking apart


@by_calls("hstack")
def _hstack(tensors):
    tensors = _f["atleast_1d"](list(tensors))
    return _f["cat"](list(tensors), 0 if tensors[0].ndim == 1 else 1)


@by_calls("vstack row_stack")
def _vstack(tensors):
    return _f["cat"](list(_f["atleast_2d"](list(tensors))), 0)


@by_calls("dstack")
def _dstack(tensors):
    return _f["cat"](list(_f["atleast_3d"](list(tensors))), 2)


@by_calls("column_stack")
def _column_stack(tensors):
    return _f["cat"]([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


def _at_least(n, t):
    if n == 1:
        return t.reshape(1) if t.ndim == 0 else t
    if n == 2:
        return t.reshape(1, 1) if t.ndim == 0 else t.unsqueeze(0) if t.ndim == 1 else t
    if t.ndim < 2:
        return t.reshape(1, 1, 1) if t.ndim == 0 else t.unsqueeze(0).unsqueeze(-1)
    return t.unsqueeze(-1) if t.ndim == 2 else t


def _at_least_rule(n, *tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return _at_least(n, tensors[0])
    return tuple(_at_least(n, t) for t in sizes_of(tensors))


for _n in (1, 2, 3):
    by_calls(f"atleast_{_n}d")(functools.partial(_at_least_rule, _n))


@by_calls("tensor_split")
def _tensor_split(x, given, dim=0):
    d = axes_of(dim, x.ndim)[0]
    n = x.shape[d]
    if isinstance(given, Tensor):
        given = int(given) if given.ndim == 0 else given.tolist()
    if isinstance(given, int):
        if given < 1:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        ends = [n // given * (i + 1) + min(i + 1, n % given) for i in range(given - 1)]
    else:
        ends = [min(max(e + n * (e < 0), 0), n) for e in given]
    starts = [0, *ends]
    return tuple(part(x, d, a, max(a, b)) for a, b in zip(starts, [*ends, n]))


def _splits(axis, x, given):
    if x.ndim <= axis and not (axis == 1 and x.ndim == 1):
        raise RuntimeError(f"a split along the axis {axis} requires a tensor with more axes, got {x.ndim}")
    if isinstance(given, int) and given > 0 and x.shape[min(axis, x.ndim - 1)] % given:
        raise RuntimeError(f"{x.shape[min(axis, x.ndim - 1)]} elements are not divisible by {given}")
    return _tensor_split(x, given, min(axis, x.ndim - 1))


for _axis, _name in enumerate(("vsplit", "hsplit", "dsplit")):
    by_calls(_name)(lambda x, *given, axis=_axis: _splits(axis, x, given[0] if len(given) == 1 else list(given)))


@rule("repeat tile")
def _repeat(func, args, kwargs):
    x, *sizes = args
    sizes = list(sizes_of(sizes or tuple(kwargs.values())))
    if func.__name__ == "repeat" and len(sizes) < x.ndim:
        raise RuntimeError(
            f"repeat: {len(sizes)} numbers for a tensor of {x.ndim} axes; there is one for each at least"
        )
    if min(sizes, default=0) < 0:
        raise RuntimeError(f"{func.__name__}: a number of repetitions is negative, got {sizes}")
    if math.prod(sizes) * max(x.numel(), 1) >= 1 << 63:
        raise RuntimeError(f"{func.__name__}: a tensor has fewer than 2^63 elements, got repetitions {sizes}")
    sizes = [1] * (x.ndim - len(sizes)) + sizes
    while x.ndim < len(sizes):
        x = x.unsqueeze(0)
    for d, r in enumerate(sizes):
        if r == 0:
            x = part(without_terms(x), d, 0, 0)
        elif r > 1:
            x = joined([without_terms(x)] * r, d)
    return x


@rule("meshgrid")
def _meshgrid(func, args, kwargs):
    tensors = list(sizes_of(args))
    like = first_sharded(tensors)
    tensors = [sharded(t, like, func) for t in tensors]
    swap = kwargs.get("indexing", "ij") == "xy" and len(tensors) > 1
    order = [1, 0, *range(2, len(tensors))] if swap else list(range(len(tensors)))
    shape = [tensors[i].numel() for i in order]
    return tuple(
        t.reshape([-1 if order[d] == i else 1 for d in range(len(shape))]).expand(shape) for i, t in enumerate(tensors)
    )


@rule("broadcast_tensors")
def _broadcast_tensors(func, args, kwargs):
    tensors = list(sizes_of(args))
    like = first_sharded(tensors)
    tensors = [sharded(t, like, func) for t in tensors]
    shape = _f["broadcast_tensors"]([_f["empty"](t.shape, device="meta") for t in tensors])[0].shape
    return tuple(t.expand(shape) for t in tensors)


@by_calls("rot90")
def _rot90(x, k=1, dims=(0, 1)):
    a, b = dims
    k %= 4
    if k == 2:
        return x.flip(a).flip(b)
    if k:
        x = x.flip(b) if k == 1 else x.flip(a)
        return x.transpose(a, b)
    return x.clone()


# ---------------------------------------------------------------- diagonals


@by_calls("diagonal linalg.diagonal")
def _diagonal(input, offset=0, dim1=0, dim2=1, *, dim=None):
    x = without_terms(input)
    a, b = axes_of((dim1, dim2), x.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    start, n = max(0, -offset), max(0, min(x.shape[a] + min(offset, 0), x.shape[b] - max(offset, 0)))
    spec = x._spec
    rows = indices(spec, a).reshape([-1 if d == a else 1 for d in range(x.ndim)])
    columns = indices(spec, b).reshape([-1 if d == b else 1 for d in range(x.ndim)])
    only = _f["where"](columns - rows == offset, x._local, _f["zeros"]((), dtype=x.dtype))
    line = wrap(only, spec).any(b) if x.dtype is _C.bool else wrap(only, spec).sum(b, dtype=x.dtype)
    place = a - (b < a)
    made = part(line, place, start, start + n).movedim(place, -1)
    return part_of(input, made, True, lambda value: input.copy_(input.diagonal_scatter(value, offset, a, b)))


@rule("linalg.diagonal")
def _linalg_diagonal(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = values["A"] if "A" in values else values["input"]
    return _diagonal(x, values["offset"], values["dim1"], values["dim2"])


@by_calls("diag_embed")
def _diag_embed(x, offset=0, dim1=-2, dim2=-1):
    a, b = axes_of((dim1, dim2), x.ndim + 1)
    n = x.shape[-1]
    k = abs(offset)
    wide = x.unsqueeze(-1)
    if k:  # rows (or columns) of zeros before and behind
        nothing = _f["zeros_like"](part(without_terms(wide), wide.ndim - 2, 0, 0))
        rows = [nothing.expand(nothing.shape)]
        filler = _f["zeros_like"](without_terms(x).sum(-1, keepdim=True).unsqueeze(-1))
        rows = [filler] * k
        wide = joined([wide, *rows] if offset > 0 else [*rows, wide], wide.ndim - 2)
    wide = without_terms(wide.expand(*x.shape[:-1], n + k, n + k))
    spec = wide._spec
    on = indices(spec, wide.ndim - 1) - indices(spec, wide.ndim - 2).unsqueeze(-1) == offset
    made = wrap(_f["where"](on, wide._local, _f["zeros"]((), dtype=x.dtype)), spec)
    return made.movedim((-2, -1), (a, b))


@by_calls("diag")
def _diag(x, diagonal=0):
    return _diag_embed(x, diagonal) if x.ndim == 1 else _diagonal(x, diagonal)


@by_calls("diagflat")
def _diagflat(x, offset=0):
    return _diag_embed(x.reshape(-1), offset)


# ---------------------------------------------------------------- products made of products


@by_calls("inner")
def _inner(input, other):
    if 0 in (input.ndim, other.ndim):
        return input * other
    if input.ndim == other.ndim == 1:
        return _f["dot"](input, other)
    made = _f["matmul"](input.reshape(-1, input.shape[-1]), other.reshape(-1, other.shape[-1]).t())
    return made.reshape(*input.shape[:-1], *other.shape[:-1])


@by_calls("chain_matmul linalg.multi_dot")
def _chain(*tensors):
    return functools.reduce(_f["matmul"], sizes_of(tensors))


@by_calls("addr")
def _addr(input, vec1, vec2, *, beta=1, alpha=1):
    return beta * input + alpha * (vec1.unsqueeze(1) * vec2.unsqueeze(0))


@by_calls("addbmm")
def _addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    return beta * input + alpha * _f["matmul"](batch1, batch2).sum(0)


@by_calls("linalg.vecdot")
def _vecdot(x, y, *, dim=-1):
    return (x.conj() * y).sum(dim)


@by_calls("kron")
def _kron(input, other):
    n = max(input.ndim, other.ndim)
    a, b = (t.reshape([1] * (n - t.ndim) + list(t.shape)) for t in (input, other))
    wide = a.reshape([m for s in a.shape for m in (s, 1)]) * b.reshape([m for s in b.shape for m in (1, s)])
    return reshape(wide, [s * t for s, t in zip(a.shape, b.shape)])


@by_calls("tensordot")
def _tensordot(a, b, dims=2):
    if isinstance(dims, int):
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d % t.ndim for d in of] for t, of in zip((a, b), dims))
    rest_a = [d for d in range(a.ndim) if d not in left]
    rest_b = [d for d in range(b.ndim) if d not in right]
    shape = [a.shape[d] for d in rest_a] + [b.shape[d] for d in rest_b]
    inner = 1
    for d in left:
        inner *= a.shape[d]
    a = a.permute(*rest_a, *left).reshape(-1 if inner else 0, inner) if a.ndim else a.reshape(1, 1)
    b = b.permute(*right, *rest_b).reshape(inner, -1 if inner else 0) if b.ndim else b.reshape(1, 1)
    return _f["matmul"](a, b).reshape(shape)


# ---------------------------------------------------------------- norms and transforms over several axes


@rule("linalg.matrix_norm")
def _matrix_norm(func, args, kwargs):
    """The norms of sums are made of sums; those of singular values belong to matrices."""
    values = bind(func, args, kwargs)
    x, order, keepdim = values["input"], values["ord"], bool(values["keepdim"])
    dims = axes_of(values["dim"], x.ndim)
    if values.get("dtype") is not None:
        x = x.to(values["dtype"])
    if order == "fro":
        return _f["linalg.vector_norm"](x, 2, dims, keepdim)
    if order in (1, -1, float("inf"), float("-inf")):
        rows, columns = dims if abs(order) == 1 else dims[::-1]
        sums = x.abs().sum(rows, keepdim=True)
        # The largest of no sums is 0, as the norm of a matrix without elements is.
        extreme = _f["sum"] if x.shape[columns] == 0 else _f["amax"] if order > 0 else _f["amin"]
        made = extreme(sums, (rows, columns), True)
        return made if keepdim else made.squeeze(dims)
    if x.ndim == 2:
        return _rules_linalg.norm_of_matrix(func, args, kwargs)
    made = batches(None, func, (x.movedim(dims, (-2, -1)), order), {})
    for d in sorted(dims) if keepdim else ():
        made = made.unsqueeze(d)
    return made


def _many_axes(kind, default, x, s=None, dim=None, norm=None):
    """Transforms of several axes, one after the other: each on whole lines, which are brought together for it."""
    if dim is None:
        dim = default if default is not None else range(x.ndim) if s is None else range(-len(s), 0)
    dims = axes_of(tuple(dim), x.ndim)
    sizes: list[Any] = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]
    pairs = list(zip(dims, sizes))
    inverse = "i" if kind.startswith("i") else ""
    if kind == "rfftn":
        x = _f["fft.rfft"](x, pairs[-1][1], pairs[-1][0], norm)
        pairs.pop()
    last = pairs.pop() if kind == "irfftn" else None
    for d, n in pairs:
        x = _f[f"fft.{inverse}fft"](x, n, d, norm)
    return x if last is None else _f["fft.irfft"](x, last[1], last[0], norm)


for _kind in ("fftn", "ifftn", "rfftn", "irfftn"):
    by_calls(f"fft.{_kind}")(functools.partial(_many_axes, _kind, None))
    by_calls(f"fft.{_kind[:-1]}2")(functools.partial(_many_axes, _kind, (-2, -1)))


def _shifted(sign, x, dim=None):
    dims = axes_of(dim, x.ndim)
    return _f["roll"](x, [(x.shape[d] + (sign < 0)) // 2 for d in dims], list(dims))


by_calls("fft.fftshift")(functools.partial(_shifted, 1))
by_calls("fft.ifftshift")(functools.partial(_shifted, -1))


# ---------------------------------------------------------------- matrices in batches


def batches(single: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Functions of whole matrices: the cut goes to an axis of the batch.  A single matrix has the rule `single`, if any
    (_rules_linalg.py)."""
    values = bind(func, args, kwargs)
    given = [(k, v) for k, v in values.items() if isinstance(v, Tensor)]
    (key, x), n = given[0], given[0][1].ndim
    if single is not None and (n < 3 or len(given) > 1):
        return single(func, args, kwargs)
    if n < 2 or len(given) > 1:
        raise refuse(func, args)
    whole = aside(x, (n - 2, n - 1))
    if whole is None:
        raise refuse(func, args, "it works on whole matrices, which are cut")
    spec, batch = whole._spec, n - 2
    result = func(**{**values, key: whole._local})

    def again(t):
        return back(wrap(t, Spec(spec.mesh, spec.placements, (*whole.shape[:batch], *t.shape[batch:]))), x)

    if isinstance(result, Tensor):
        return again(result)
    return tuple.__new__(type(result), [again(t) for t in result])


for _name in (
    "linalg.inv inverse linalg.inverse linalg.inv_ex det linalg.det slogdet linalg.slogdet linalg.lu_factor "
    "linalg.lu_factor_ex linalg.cholesky cholesky linalg.cholesky_ex cholesky_inverse linalg.qr qr geqrf linalg.svd "
    "linalg.ldl_factor linalg.ldl_factor_ex "
    "linalg.svdvals svd linalg.eigh linalg.eigvalsh linalg.eig linalg.eigvals matrix_power linalg.matrix_power matrix_exp "
    "linalg.matrix_exp linalg.pinv pinverse linalg.cond logdet"
).split():
    RULES[_name] = functools.partial(batches, RULES.get(_name))


# ---------------------------------------------------------------- writes along whole lines


@rule("scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce")
def _written(func, args, kwargs):
    """Lines are whole on each rank: index and values are cut as the tensor is, along its other axes."""
    values = bind(func, args, kwargs)
    x = values["input"]
    if not isinstance(x, ShardedTensor):
        raise refuse(func, args, "a plain tensor takes no sharded values")
    if x.ndim == 0:
        return missing(func)(func, args, kwargs)
    (dim,) = axes_of(values["dim"], x.ndim)
    whole = aside(x, (dim,))
    if whole is None:
        raise refuse(func, args, "it works on whole lines along all axes of the tensor, which are cut")
    found = {}
    for name, value in values.items():
        if name == "input":
            found[name] = whole._local
        elif name == "index" and func.__name__.startswith("index"):
            found[name] = everywhere(value, x)
        elif isinstance(value, Tensor) and value.ndim == x.ndim:
            for d in range(x.ndim):
                if d != dim and value.shape[d] != x.shape[d] and whole._spec.cuts(d):
                    raise refuse(func, args, f"{name} has another size along the axis {d}, which is cut")
            if not isinstance(value, ShardedTensor):
                value = wrap(value, Spec(x._spec.mesh, _replicated(x), value.shape))
            lines = placed(value, [p for p in whole._spec.placements])
            found[name] = fitted(lines, whole._spec.with_(shape=value.shape))
        elif isinstance(value, ShardedTensor):
            raise refuse(func, args, f"{name} has other axes")
        else:
            found[name] = value
    return back(wrap(func(**found), whole._spec), x)


def _replicated(x):
    from .placement import Replicate

    return (Replicate(),) * x._spec.mesh.ndim
