"""Rules of reductions: each rank reduces its shard; what is left is a sum of terms, or a few numbers to combine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ..autograd.function import Function
from ..autograd.grad_mode import no_grad
from . import _move
from ._layout import Spec
from ._rules_elementwise import again, moved_to
from ._sharded import RULES, ShardedTensor, bind, indices, refuse, rule, without_terms, wrap
from .placement import Partial, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions
_LAST = (1 << 63) - 1


def axes_of(dim: Any, n: int) -> tuple[int, ...]:
    """Axes from 0; all for None and for an empty list."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(n))
    given = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    for d in given:
        if not -max(n, 1) <= d < max(n, 1):
            low = max(n, 1)
            raise IndexError(f"Dimension out of range (expected to be in range of [{-low}, {low - 1}], but got {d})")
    return tuple(d % n for d in given) if n else ()


def reduced(spec: Spec, dims: Any, keepdim: bool, what: Any) -> Spec:
    """The layout after a reduction of axes: along mesh axes that cut one of them, the placement `what`."""
    shape = [1 if d in dims else n for d, n in enumerate(spec.shape) if keepdim or d not in dims]
    found = []
    for p in spec.placements:
        if p.is_shard():
            if p.dim in dims:
                p = what
            elif not keepdim:
                p = moved_to(p, p.dim - sum(d < p.dim for d in dims))
        found.append(p)
    return Spec(spec.mesh, tuple(found), shape)


def cut(spec: Spec, dims: Any) -> list[int]:
    """The mesh axes that cut one of the axes."""
    return [a for a, d in enumerate(spec.dims) if d is not None and d in dims]


def stacked(local: Tensor, spec: Spec, axes: Any) -> tuple[Tensor, Spec]:
    """What each rank along some mesh axes has, side by side on a new first axis, on each of these ranks."""
    mesh = spec.mesh
    count = 1
    for a in axes:
        count *= mesh.shape[a]
    before = [moved_to(p, p.dim + 1) if p.is_shard() else p for p in spec.placements]
    after = list(before)
    for a in axes:
        before[a], after[a] = Shard(0), Replicate()
    shape = (count, *spec.shape)
    src, dst = Spec(mesh, tuple(before), shape), Spec(mesh, tuple(after), shape)
    return _move.redistribute(local.unsqueeze(0), src, dst), dst


def _local(func, x, values, dims):
    """The function on the shard where no axis that it reduces is cut."""
    values = dict(values)
    x = without_terms(x)
    result = func(x._local, **{k: v for k, v in values.items() if k != "input"})
    return again(result, reduced(x._spec, dims, bool(values.get("keepdim")), Replicate()))


def _reduced_locally(func, args, kwargs):
    """(x, values, axes, mesh axes that cut them)"""
    values = bind(func, args, kwargs)
    x = values["input"]
    dims = axes_of(values.get("dim"), x.ndim)
    return x, values, dims, cut(x._spec, dims)


_PLAIN = {int, float, bool, str, type(None), _C.dtype}


def _of_one_tensor(names):
    """Decorator: a rule of functions of one tensor. Where they reduce no cut axis, or leave terms of a sum, the call is
    the function of the shard; the layout of the result is kept, for calls with the same arguments."""

    def register(function):
        def call(func, args, kwargs):
            made = function(func, args, kwargs)
            x = args[0] if args else None
            if type(x) is ShardedTensor and not x._spec.is_partial:
                rest = (*args[1:], *kwargs.values())
                flat = [v for a in rest for v in (a if type(a) is tuple else (a,))]
                first = made[0] if isinstance(made, tuple) else made
                if all(type(v) in _PLAIN for v in flat):
                    key = func, args[1:], tuple(kwargs.items())
                    if func.__name__ in _TERMS or _keeps_cuts(x, first):
                        x._spec._results[key] = first._spec, 0
                    elif func.__name__ == "mean" and first.numel():
                        x._spec._results[key] = first._spec, x.numel() // first.numel()
            return made

        def at_once(func, args, kwargs):
            x = args[0] if args else None
            if type(x) is not ShardedTensor or not x._spec._results:
                return None
            try:
                known = x._spec._results.get((func, args[1:], tuple(kwargs.items()) if kwargs else ()))
            except TypeError:  # a list
                return None
            if known is None:
                return None
            spec, terms = known
            f = _sum_of_terms if terms else func
            result = f(x._local, *args[1:], **kwargs) if kwargs else f(x._local, *args[1:])
            return again(result / terms if terms else result, spec)

        call.at_once = at_once
        return rule(names)(call)

    return register


_sum_of_terms = _f["sum"]
_TERMS = {"sum", "nansum", "count_nonzero"}


def _keeps_cuts(x, made):
    return all(p.is_shard() == q.is_shard() for p, q in zip(x._spec.placements, made._spec.placements))


def _sums_stay(spec):
    return all(p == Partial("sum") for p in spec.placements if p.is_partial())


@_of_one_tensor("sum nansum count_nonzero mean nanmean")
def _sum(func, args, kwargs):
    x, values, dims, axes = _reduced_locally(func, args, kwargs)
    name, keepdim = func.__name__, bool(values.get("keepdim"))
    if not (name in ("sum", "mean") and _sums_stay(x._spec)):
        x = without_terms(x)
    if not axes and not x._spec.is_partial:
        return _local(func, {**values, "input": x}["input"], values, dims)
    if name == "nanmean":
        named = {"dim": values.get("dim"), "keepdim": keepdim}
        return _f["nansum"](x, dtype=values.get("dtype"), **named) / _f["logical_not"](_f["isnan"](x)).sum(**named)
    rest = {k: v for k, v in values.items() if k in ("dtype",)}
    if name == "mean" and not (rest.get("dtype") or x.dtype).is_floating_point and not (
        rest.get("dtype") or x.dtype).is_complex:  # fmt: skip
        return func(x._local, **rest)  # the error
    f = _f["sum"] if name == "mean" else func
    if name == "count_nonzero":
        total = f(x._local, dim=dims) if dims else f(x._local)
    else:
        total = f(x._local, dim=dims, keepdim=keepdim, **rest)
    if name == "mean":
        n = 1
        for d in dims:
            n *= x.shape[d]
        total = total / n
    return wrap(total, reduced(x._spec, dims, keepdim, Partial("sum")))


# ---------------------------------------------------------------- combined from what each rank found


def lowest(dtype: Any, greatest: bool) -> Any:
    """What never is the largest (smallest) element beside another one."""
    if dtype is _C.bool:
        return greatest
    if dtype.is_floating_point:
        return float("inf") if greatest else float("-inf")
    info = __import__("strided").iinfo(dtype)
    return info.max if greatest else info.min


def _padded(local, dims, value):
    """A shard with at least one element along the axes, of a value that changes nothing."""
    for d in dims:
        if local.shape[d] == 0:
            shape = list(local.shape)
            shape[d] = 1
            local = _f["cat"]([local, _f["full"](shape, value, dtype=local.dtype, device=local.device)], d)
    return local


def _check_not_empty(func, x, dims):
    if any(x.shape[d] == 0 for d in dims):
        func(_f["empty"](x.shape, dtype=x.dtype), *([dims[0]] if len(dims) == 1 else []))  # raises
        raise RuntimeError(f"{func.__name__}: an axis of 0 elements has no such value")


@_of_one_tensor("prod logsumexp special.logsumexp all any")
def _combined(func, args, kwargs):
    x, values, dims, axes = _reduced_locally(func, args, kwargs)
    x, name = without_terms(x), func.__name__
    if not axes:
        return _local(func, x, values, dims)
    keepdim = bool(values.get("keepdim"))
    rest = {k: v for k, v in values.items() if k == "dtype"}
    given = {} if values.get("dim") is None else {"dim": values["dim"]}
    local = x._local
    if name == "logsumexp":
        local = _padded(local, dims, float("-inf"))
    if given:
        part = func(local, **given, keepdim=keepdim, **rest)
    else:
        part = func(local, **rest)
    spec = reduced(x._spec, dims, keepdim, Replicate())
    many, spec_many = stacked(part, spec, axes)
    return wrap(func(many, dim=0), spec)


@_of_one_tensor("linalg.vector_norm norm")
def _norm(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = values["input"] if "input" in values else values["x"]
    p = values.get("ord", values.get("p", 2))
    dims = axes_of(values.get("dim"), x.ndim)
    x = without_terms(x)
    axes = cut(x._spec, dims)
    if isinstance(p, str) and p != "fro":
        if axes and p == "nuc" and len(dims) == 2:
            return _f["linalg.matrix_norm"](x, p, dims, bool(values.get("keepdim")), dtype=values.get("dtype"))
        if axes:
            raise refuse(func, args, f"the norm {p!r} along an axis that is cut")
        return _local(func, x, values, dims)
    p = 2 if p in (None, "fro") else p
    keepdim, vector = bool(values.get("keepdim")), _f["linalg.vector_norm"]
    if axes and p == 2 and _move.recording() and _move._has_record(x._local):
        return _root_of_squares(x, dims, keepdim, values.get("dtype"))
    local = x._local
    if axes and p == float("-inf"):
        local = _padded(local, dims, float("inf"))
    if axes and p == float("inf"):
        local = _padded(local, dims, 0)
    part = vector(local, p, dims, keepdim, dtype=values.get("dtype"))
    spec = reduced(x._spec, dims, keepdim, Replicate())
    if not axes:
        return wrap(part, spec)
    many, _ = stacked(part, spec, axes)
    return wrap(many.sum(0) if p == 0 else vector(many, p, 0), spec)


def _root_of_squares(x, dims, keepdim, dtype):
    """The 2-norm with its derivatives of any order. (Norms of norms have none where a shard is 0.)"""
    x = x if dtype is None else x.to(dtype)
    with no_grad():
        size = _f["linalg.vector_norm"](x.detach(), 2, dims, True)
        usable = (size > 0) & (size < float("inf"))
        scale = _f["where"](usable, _f["exp2"](_f["floor"](_f["log2"](_f["where"](usable, size, 1)))), 1)
    scaled = x / scale  # by a power of 2, which rounds nothing and keeps squares in range
    squares = (scaled * scaled.conj()).real if x.dtype.is_complex else scaled * scaled
    total = without_terms(squares.sum(dims, True))
    found = _f["where"](total == 0, 0, _f["sqrt"](_f["where"](total == 0, 1, total))) * scale
    return found if keepdim else found.squeeze(dims)


@rule("dist")
def _dist(func, args, kwargs):
    values = bind(func, args, kwargs)
    return _f["linalg.vector_norm"](_f["sub"](values["input"], values["other"]), values["p"])


@_of_one_tensor("var std var_mean std_mean")
def _var(func, args, kwargs):
    x, values, dims, axes = _reduced_locally(func, args, kwargs)
    x, name = without_terms(x), func.__name__
    if not axes:
        return _local(func, x, values, dims)
    correction = values.get("correction")
    if correction is None:
        correction = 1 if values.get("unbiased", True) else 0
    keepdim, n = bool(values.get("keepdim")), 1
    for d in dims:
        n *= x.shape[d]
    middle = x.mean(dims, True)
    away = x - middle
    squares = (away * away.conj()).real if x.dtype.is_complex else away * away
    spread = squares.sum(dims, keepdim) / max(n - correction, 0)
    spread = spread if name.startswith("var") else spread.sqrt()
    if not name.endswith("mean"):
        return spread
    return spread, middle if keepdim else middle.reshape(spread.shape)


# ---------------------------------------------------------------- extremes


class _Pick(Function):
    """The extreme values of all shards; the gradient is shared by all elements that have them."""

    @staticmethod
    def forward(ctx, local, found, mask, count):
        ctx.save_for_backward(mask, count)
        return found.clone()

    @staticmethod
    def backward(ctx, grad):
        mask, count = ctx.saved_tensors
        return grad / count * mask, None, None, None


@_of_one_tensor("amax amin")
def _extreme(func, args, kwargs):
    x, values, dims, axes = _reduced_locally(func, args, kwargs)
    return _extremes(func, x, values, dims, axes)


def _extremes(func, x, values, dims, axes):
    x = without_terms(x)
    if not axes:
        return _local(func, x, values, dims)
    _check_not_empty(func, x, dims)
    keepdim, local = bool(values.get("keepdim")), x._local
    with no_grad():
        part = func(_padded(local.detach(), dims, lowest(x.dtype, func.__name__ == "amin")), dim=dims, keepdim=True)
        kept = reduced(x._spec, dims, True, Replicate())
        many, _ = stacked(part, kept, axes)
        found = func(many, dim=0)
    if _move.recording() and _move._has_record(local):
        with no_grad():
            mask = (local == found) | (_f["isnan"](local) & _f["isnan"](found))
            counts, _ = stacked(mask.sum(dims, True), kept, axes)
            count = counts.sum(0)
        # Each rank takes the gradient of the same number for other elements of its own.
        found = _Pick.apply(local, found, mask, count)
    spec = reduced(x._spec, dims, keepdim, Replicate())
    return wrap(found if keepdim else found.reshape(spec.local_shape()), spec)


@_of_one_tensor("max min")
def _max(func, args, kwargs):
    values = bind(func, args, kwargs)
    if "other" in values:
        return RULES["maximum"](func, args, kwargs)
    x = values["input"]
    if "dim" not in values:
        return _extremes(_f[f"a{func.__name__}"], x, {}, tuple(range(x.ndim)), cut(x._spec, range(x.ndim)))
    return _with_index(func, args, kwargs)


@_of_one_tensor("argmax argmin")
def _argmax(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, plain = values["input"], _f[func.__name__.removeprefix("arg")]
    if values.get("dim") is not None:
        with no_grad():
            return _with_index(plain, (x, values["dim"], bool(values.get("keepdim"))), {}).indices
    x = without_terms(x).detach()
    spec = x._spec
    axes = cut(spec, range(x.ndim))
    if not axes:
        return _local(func, x, values, tuple(range(x.ndim)))
    _check_not_empty(func, x, tuple(range(x.ndim)))
    with no_grad():
        place = _f["zeros"]((), dtype=_C.int64)
        for d, n in enumerate(x.shape):
            place = place.unsqueeze(-1) * n + indices(spec, d)
        flat, place = x._local.reshape(-1), place.reshape(-1)
        if flat.numel() == 0:
            flat = _padded(flat, (0,), lowest(x.dtype, func.__name__ == "argmin"))
            place = _f["full"]((1,), _LAST)
        # In row-major order of the shard places ascend, so the first of equals is the first of all.
        value, at = plain(flat, 0)
        whole = Spec(spec.mesh, tuple(Replicate() for _ in spec.placements), ())
        values_, _ = stacked(value, whole, axes)
        places, _ = stacked(place[at], whole, axes)
        _, found = _first_of(plain, values_, places)
    keep = [1] * x.ndim if values.get("keepdim") else []
    return wrap(found.reshape(keep), whole.with_(shape=keep))


def _first_of(plain, values, places):
    """Along the first axis: the extreme value, and the smallest place that has it."""
    best = plain(values, 0).values
    same = (values == best) | (_f["isnan"](values) & _f["isnan"](best))
    places = _f["where"](same, places, _LAST)
    at = places.min(0)
    return values.gather(0, at.indices.unsqueeze(0)).squeeze(0), at.values


def _with_index(func, args, kwargs):
    """max and min along an axis: values with gradients, and indices."""
    x, values, dims, axes = _reduced_locally(func, args, kwargs)
    x = without_terms(x)
    if not axes:
        return _local(func, x, values, dims)
    _check_not_empty(func, x, dims)
    (dim,) = dims
    local = _padded(x._local, dims, lowest(x.dtype, func.__name__ == "min"))
    value, at = func(local, dim, True)
    own = indices(x._spec, dim)
    place = own[at] if own.numel() else _f["full"](at.shape, _LAST)
    kept = reduced(x._spec, dims, True, Replicate())
    values_, _ = stacked(value, kept, axes)
    places, _ = stacked(place, kept, axes)
    # The ranks choose alike; a gradient goes to the one whose element was chosen.
    best, found = _first_of(func, values_, places)
    keepdim = bool(values.get("keepdim"))
    spec = reduced(x._spec, dims, keepdim, Replicate())
    kind = type(func(_f["zeros"](1), 0))
    parts = [wrap(t if keepdim else t.squeeze(dim), spec) for t in (best, found)]
    return tuple.__new__(kind, parts)


@rule("aminmax")
def _aminmax(func, args, kwargs):
    values = bind(func, args, kwargs)
    named = {} if values.get("dim") is None else {"dim": values["dim"], "keepdim": values.get("keepdim", False)}
    kind = type(func(_f["zeros"](1)))
    return tuple.__new__(kind, [_f[name](values["input"], **named) for name in ("amin", "amax")])
