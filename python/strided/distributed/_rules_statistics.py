"""Rules of quantiles, medians, distances, covariances and integrals: made of functions that have rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ..autograd.grad_mode import no_grad
from . import _move
from ._layout import Spec
from ._rules_elementwise import _broadcast, moved_to
from ._rules_index import selected
from ._rules_order import along, aside, line_axes
from ._rules_reduce import _Pick, axes_of, cut, reduced
from ._sharded import ShardedTensor, bind, by_calls, first_sharded, placed, refuse, rule, sharded, without_terms, wrap
from .placement import Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Tensor

_f = _C.functions


def _everywhere(x: ShardedTensor) -> Tensor:
    return placed(x, (Replicate(),) * x._spec.mesh.ndim)._local


def _sorted_line(func, args, x):
    """All elements in one sorted line."""
    line = without_terms(x).reshape(-1)
    if line_axes(line._spec) is None:
        raise refuse(func, args, "some of the axes of the mesh cut a line")
    return _f["sort"](line).values


def _at(line, places):
    """Elements of a line at some places, on every rank."""
    return _everywhere(selected(line, 0, places))


# ---------------------------------------------------------------- quantiles


@rule("quantile nanquantile")
def _quantile(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, q, keepdim = values["input"], values["q"], bool(values["keepdim"])
    if not isinstance(x, ShardedTensor):
        raise refuse(func, args, "a plain tensor with sharded fractions")
    many = isinstance(q, _C.Tensor)
    if isinstance(q, ShardedTensor):  # a plain one is the same on every rank, as indices are
        q = _everywhere(without_terms(q))
    named = {"interpolation": values["interpolation"]}
    func(_f["zeros"](1, dtype=x.dtype), q, **named)  # raises for what it does not take
    dims = axes_of(values["dim"], x.ndim) if values["dim"] is not None else tuple(range(x.ndim))
    moved = None if values["dim"] is None and cut(x._spec, dims) else aside(x, dims)
    if moved is not None:
        given = (
            _move.spread(q, x._spec.mesh, [a for a, d in enumerate(moved._spec.dims) if d is not None]) if many else q
        )
        if moved._local.numel() or not x.numel():
            made = func(moved._local, given, values["dim"], keepdim, **named)
        else:  # no line is here
            made = moved._local.sum(dims, keepdim)
            if many:  # the gradient of the fractions is a sum over all ranks
                made = made + given.reshape([*q.shape, *(1,) * made.ndim])
        spec = reduced(moved._spec, dims, keepdim, Replicate())
    else:
        made = _of_line(func, args, x, q if many else _f["full"]((), q, dtype=x.dtype), named["interpolation"])
        spec = Spec(x._spec.mesh, (Replicate(),) * x._spec.mesh.ndim, (1,) * x.ndim if keepdim else ())
        made = made.reshape([*made.shape, *spec.shape])
    if many and q.ndim == 1:
        found = [moved_to(p, p.dim + 1) if p.is_shard() else p for p in spec.placements]
        spec = spec.with_(found, (q.shape[0], *spec.shape))
    return wrap(made, spec)


def _of_line(func, args, x, q, interpolation):
    """Quantiles of all elements, on every rank: two elements of the sorted line for each fraction."""
    line, n = _sorted_line(func, args, x), x.numel()
    if n == 0:
        raise RuntimeError(f"{func.__name__}() input tensor must be non-empty")
    with no_grad():
        nans = int(_everywhere(_f["isnan"](line).sum()))
    whole = n - nans if func.__name__ == "nanquantile" else n
    place = q * (max(whole, 1) - 1)
    if interpolation == "nearest":
        place = place.round()
    low, high = place.detach().floor(), place.detach().ceil()
    if interpolation == "lower":
        high = low
    elif interpolation == "higher":
        low = high
    a, b = (_at(line, t.long().reshape(-1)).reshape(q.shape) for t in (low, high))
    if interpolation == "midpoint":
        made = _f["lerp"](a, b, 0.5)
    elif interpolation == "linear":
        made = _f["lerp"](a, b, place - low)
    else:
        made = a
    return made * float("nan") if nans and (nans == n or func.__name__ == "quantile") else made


@rule("median nanmedian")
def _median(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if "dim" in values or not cut(x._spec, range(x.ndim)):
        return along(func, args, kwargs)
    whole = Spec(x._spec.mesh, (Replicate(),) * x._spec.mesh.ndim, ())
    if not x.numel():
        return wrap(func(_f["zeros"](0, dtype=x.dtype)), whole)
    with no_grad():
        line, n = _sorted_line(func, args, x.detach()), x.numel()
        nans = int(_everywhere(_f["isnan"](line).sum()))
        some = n - nans if func.__name__ == "nanmedian" else n
        at = n - 1 if nans and some == n or not some else (some - 1) // 2
        found = _at(line, _f["full"]((1,), at)).reshape(())
    if _move.recording() and _move._has_record(x._local):
        with no_grad():
            mask = (x._local == found) | (_f["isnan"](x._local) & _f["isnan"](found))
            count = _everywhere(wrap(mask, x._spec).sum())
        found = _Pick.apply(x._local, found, mask, count)
    return wrap(found, whole)


# ---------------------------------------------------------------- distances


@rule("cdist")
def _cdist(func, args, kwargs):
    """Rows of either operand stay where they are; along an axis of the mesh that cuts neither's rows nor the batch the
    rows of the first are cut."""
    values = bind(func, args, kwargs)
    given = [values.pop("x1"), values.pop("x2")]
    like = first_sharded(given)
    a, b = (without_terms(sharded(t, like, func)) for t in given)
    func(_f["zeros"](a.shape[-2:], dtype=a.dtype), _f["zeros"](b.shape[-2:], dtype=b.dtype), **values)  # raises
    batch = _broadcast([a.shape[:-2], b.shape[:-2]])
    n, spec = len(batch), a._spec
    made, left, right = [], [], []
    for p, q in zip(a._spec.placements, b._spec.placements):
        at = [(s.dim - t.ndim + n + 2 if s.is_shard() else -1) for s, t in ((p, a), (q, b))]
        whole = [Replicate(), Replicate()]
        if at[0] == n:
            out, whole[0] = p, p
        elif at[1] == n:
            out, whole[1] = q, q
        else:
            first = next((i for i in (0, 1) if 0 <= at[i] < n and (a, b)[i].shape[at[i] - n - 2] == batch[at[i]]), None)
            if first is None:
                cuts = at[0] > n or at[1] > n
                out = whole[0] = Shard(a.ndim - 2) if cuts else Replicate()
            else:
                out, dim = (p, q)[first], at[first]
                for i, t in enumerate((a, b)):
                    axis = dim - n - 2 + t.ndim
                    if axis >= 0 and t.shape[axis] == batch[dim]:
                        whole[i] = moved_to(out, axis)
                made.append(moved_to(out, dim))
        if len(made) == len(left):
            made.append(moved_to(out, n + (at[0] != n and at[1] == n)) if out.is_shard() else out)
        left.append(whole[0])
        right.append(whole[1])
    local = []
    for t, wanted in ((a, left), (b, right)):
        axes = [i for i, (w, p) in enumerate(zip(wanted, made)) if w.is_replicate() and not p.is_replicate()]
        local.append(_move.spread(placed(t, wanted)._local, spec.mesh, axes))
    return wrap(func(*local, **values), Spec(spec.mesh, tuple(made), (*batch, a.shape[-2], b.shape[-2])))


@by_calls("pdist")
def _pdist(input, p=2.0):
    x = without_terms(input)
    if x.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {x.ndim}D")
    far = _f["cdist"](x, x, p, "donot_use_mm_for_euclid_dist")
    mask = _f["triu"](_f["ones_like"](far, dtype=_C.bool), 1)
    return _f["masked_select"](far, mask)


# ---------------------------------------------------------------- covariances


@by_calls("cov")
def _cov(input, *, correction=1, fweights=None, aweights=None):
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    x = without_terms(input)
    x = x if x.ndim == 2 else x.reshape(1, -1)
    n = x.shape[1]
    for name, t in (("fweights", fweights), ("aweights", aweights)):
        if t is not None and (t.ndim > 1 or t.numel() != n):
            raise RuntimeError(f"cov(): expected {name} to have one element for each of the {n} observations")
    weights = [sharded(t, x, _f["cov"]) for t in (fweights, aweights) if t is not None]
    w = weights[0] if len(weights) == 1 else weights[0] * weights[1] if weights else None
    total = n if w is None else w.sum()
    middle = (x if w is None else x * w).sum(1, True) / total
    free = total - correction
    if aweights is not None and correction:
        free = total - correction * (w * aweights).sum() / total
    if w is None:
        free = max(free, 0)
    else:
        free = free.clamp(min=0)
    away = x - middle
    return _f["squeeze"](_f["matmul"](away, (away if w is None else away * w).t().conj()) / free)


@by_calls("corrcoef")
def _corrcoef(input):
    c = _f["cov"](input)
    if c.ndim == 0:
        return c / c
    size = _f["real"](c.diagonal()).sqrt()
    r = c / size.unsqueeze(1) / size
    if not r.dtype.is_complex:
        return r.clamp(-1, 1)
    return _f["complex"](_f["real"](r).clamp(-1, 1), _f["imag"](r).clamp(-1, 1))


# ---------------------------------------------------------------- integrals


def _steps(y, x, dx, dim):
    (d,) = axes_of(dim, y.ndim)
    n = y.shape[d]
    pairs = y.narrow(d, 1, n - 1) + y.narrow(d, 0, n - 1)
    if x is None:
        return pairs * dx / 2, d
    if x.ndim == 1:
        x = x.reshape([-1 if i == d else 1 for i in range(y.ndim)])
    axis = d - y.ndim + x.ndim
    return pairs * (x.narrow(axis, 1, n - 1) - x.narrow(axis, 0, n - 1)) / 2, d


def _integral(func, args, kwargs):
    values = bind(func, args, kwargs)
    y, x, dim = values["y"], values.get("x"), values["dim"]
    if (
        y.ndim == 0
        or y.shape[dim] < 2
        or (x is not None and (x.ndim == 0 or x.shape[-1 if x.ndim == 1 else dim] != y.shape[dim]))
    ):
        raise refuse(func, args, "there is a rule for two points and more, and as many places")
    if x is not None:
        like = first_sharded((y, x))
        y, x = sharded(y, like, func), sharded(x, like, func)
    parts, d = _steps(y, x, values.get("dx", 1), dim)
    return parts.sum(d) if func.__name__ in ("trapezoid", "trapz") else parts.cumsum(d)


rule("trapezoid trapz cumulative_trapezoid")(_integral)


# ---------------------------------------------------------------- others


@by_calls("renorm")
def _renorm(input, p, dim, maxnorm):
    x = without_terms(input)
    (d,) = axes_of(dim, x.ndim)
    probe = _f["zeros"]([1] * x.ndim, dtype=x.dtype)
    _f["renorm"](probe, p, dim, maxnorm)  # raises for what it does not take
    norm = _f["linalg.vector_norm"](x, p, [i for i in range(x.ndim) if i != d], True)
    return x * _f["where"](norm > maxnorm, maxnorm / (norm + 1e-7), 1.0).to(x.dtype)


@rule("cross linalg.cross")
def _cross(func, args, kwargs):
    values = bind(func, args, kwargs)
    names = [k for k in values if k != "dim"]
    like = first_sharded([values[k] for k in names])
    a, b = (without_terms(sharded(values[k], like, func)) for k in names)
    shape, dim = _broadcast([a.shape, b.shape]), values["dim"]
    if dim is None:
        dim = next((i for i, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    (d,) = axes_of(dim, len(shape))
    if shape[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {shape[d]}")
    a, b = (t.expand(shape) for t in (a, b))
    x, y = ([t.select(d, i) for i in range(3)] for t in (a, b))
    made = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return _f["stack"](made, d)


@by_calls("linalg.vander")
def _vandermonde(x, *, N=None):
    n = x.shape[-1] if N is None and x.ndim else N
    if x.ndim == 0 or n < 2:
        raise RuntimeError("N must be greater than 1.")
    powers = without_terms(x).unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return _f["cat"]([_f["ones_like"](powers.narrow(-1, 0, 1)), powers], -1)


@by_calls("vander")
def _vander(x, N=None, increasing=False):
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    made = _vandermonde(x.long() if x.dtype is _C.bool else x, N=max(n, 2)).narrow(1, 0, n)
    return made if increasing else made.flip(1)
