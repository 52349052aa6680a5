"""Rules of random functions: each number depends on a key and on the place of its element in the whole tensor.

So results are the same for every number of ranks and for all placements, as those of the factories are.  The key is
drawn by the generator of the mesh's first rank.  Arguments are checked by the function itself, of no elements.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C, tensor
from .._functions.activations import _slopes
from .._objects.typeinfo import finfo, iinfo
from ..autograd.grad_mode import no_grad
from . import _philox
from ._factories import key_of, positions
from ._layout import Spec
from ._rules_elementwise import broadcast_spec, fitted
from ._sharded import ShardedTensor, bind, first_sharded, refuse, rule, sharded, without_terms, wrap
from .placement import Partial, Replicate

if TYPE_CHECKING:
    from .._typing import Any, Callable

    Draw = Callable[[Any, int], Any]  # (positions, key) -> numbers

Tensor = _C.Tensor
_f = _C.functions


def _drawn(spec: Spec, generator: Any, draw: Draw) -> Tensor:
    with no_grad():
        return draw(positions(spec), key_of(spec.mesh, generator))


def _overwritten(x: ShardedTensor, drawn: Tensor) -> ShardedTensor:
    """A tensor with these numbers, through which gradients of 0 flow to x."""
    if not x._local.requires_grad or not _f["is_grad_enabled"]():
        return wrap(drawn, x._spec)
    return wrap(x._local.clone().copy_(drawn), x._spec)


# ---------------------------------------------------------------- laws


def _parts(dtype, draw):
    """Complex numbers have two parts, drawn one after the other."""
    if not dtype.is_complex:
        return draw(dtype, 0)
    part = {_C.complex128: _C.float64, _C.complex64: _C.float32}.get(dtype, _C.float16)
    return _f["complex"](draw(part, 0), draw(part, 1))


def _uniform(dtype: Any, low: float = 0.0, high: float = 1.0) -> Draw:
    def draw(position, key):
        def part(t, step):
            made = (_philox.uniform(position, key, t, step).to(_C.float64) * (high - low) + low).to(t)
            return _f["where"](made.to(_C.float64) >= high, _f["full"]((), low, dtype=t), made)  # rounded up to it

        return _parts(dtype, part)

    return draw


def _normal(dtype: Any, mean: float = 0.0, std: float = 1.0) -> Draw:
    def draw(position, key):
        scale = std / math.sqrt(2) if dtype.is_complex else std

        def part(t, step):
            return (_philox.normal(position, key, _C.float64, step) * scale + mean).to(t)

        return _parts(dtype, part)

    return draw


def _log_normal(dtype, mean, std):
    return lambda position, key: (_philox.normal(position, key, _C.float64) * std + mean).exp().to(dtype)


def _exponential(dtype, rate):
    return lambda position, key: (-_philox.inside(position, key)[0].log() / rate).to(dtype)


def _cauchy(dtype, median, sigma):
    return lambda position, key: (((_philox.inside(position, key)[0] - 0.5) * math.pi).tan() * sigma + median).to(dtype)


def _geometric(dtype, p):
    def draw(position, key):
        return (_philox.inside(position, key)[0].log() / math.log1p(-p)).ceil().clamp(min=1).to(dtype)

    return draw


def _bernoulli(dtype, p):
    return lambda position, key: (_philox.uniform(position, key, _C.float64) < p).to(dtype)


def _integers(dtype: Any, first: int, end: int) -> Draw:
    """In [first, end); of a floating dtype those that the conversion leaves inside."""

    def draw(position, key):
        made = _philox.below(position, key, last - start) + start
        return made.view(dtype) if dtype is _C.uint64 else made.to(dtype)

    start, last = first, end
    if dtype.is_floating_point:
        start, last = _nearest_inside(dtype, first, 1), _nearest_inside(dtype, end - 1, -1) + 1
    return draw


def _nearest_inside(dtype, n, step):
    """n, or the next integer in a direction that the dtype holds, where n would be rounded to the other side."""
    if (int(_f["full"]((), n, dtype=_C.int64).to(dtype).to(_C.float64)) - n) * step >= 0:
        return n
    bits = max(abs(n).bit_length() - round(-math.log2(finfo(dtype).eps)) - 1, 0)
    return (n // (1 << bits) + (step > 0)) << bits


def _all_integers(dtype):
    """What random_() draws from: from 0 to the greatest number, or as far as a floating dtype holds all integers."""
    if dtype is _C.bool:
        return _integers(dtype, 0, 2)
    if dtype.is_floating_point:
        end = (2 << round(-math.log2(finfo(dtype).eps))) + 1
        return lambda position, key: _philox.below(position, key, end).to(dtype)
    return _integers(dtype, 0, iinfo(dtype).max + 1)


def _random(dtype, values):
    if "to" not in values:
        return _all_integers(dtype)
    first, end = values.get("from", 0), values["to"]
    if end is not None:
        return _integers(dtype, first, end)
    if first == -(1 << 63):
        return lambda position, key: _philox.below(position, key, 1 << 64).to(dtype)
    if dtype.is_floating_point:
        return _integers(dtype, first, (2 << round(-math.log2(finfo(dtype).eps))) + 1)
    return _integers(dtype, first, iinfo(dtype).max + 1)


# ---------------------------------------------------------------- written into a tensor


def _write(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = values.pop("input")
    if not isinstance(x, ShardedTensor):
        raise refuse(func, args, "a plain tensor takes no sharded values")
    if x._spec.is_partial:
        raise refuse(func, args, "a sum of terms cannot be written into")
    generator = values.pop("generator")
    probe = {k: v.to_local().new_empty(0) if isinstance(v, ShardedTensor) else v for k, v in values.items()}
    func(x._local.new_empty(0), *probe.values())
    law, dtype = func.__name__, x.dtype
    if law == "random_":
        draw = _random(dtype, values)
    elif law == "bernoulli_" and isinstance(values["p"], Tensor):
        draw = _bernoulli(dtype, fitted(_probabilities(func, sharded(values["p"], x, func)), x._spec))
    else:
        draw = _LAWS[law](dtype, *values.values())
    x._local.copy_(_drawn(x._spec, generator, draw).to(x._local.device))
    return x


_LAWS: dict[str, Callable[..., Draw]] = {
    "uniform_": _uniform, "normal_": _normal, "log_normal_": _log_normal, "exponential_": _exponential,
    "cauchy_": _cauchy, "geometric_": _geometric, "bernoulli_": _bernoulli,
}  # fmt: skip
rule("random_ " + " ".join(_LAWS))(_write)


def _probabilities(func, p):
    """p without its gradient; the error of the function where a probability is none, on every rank."""
    p = without_terms(p).detach()
    if bool(_f["logical_not"]((p >= 0) & (p <= 1)).any()):
        _f["bernoulli"](_f["full"]((1,), 2.0))
    return p


# ---------------------------------------------------------------- new tensors


@rule("rand_like randn_like randint_like")
def _like(func, args, kwargs):
    kwargs = dict(kwargs)
    kwargs.pop("memory_format", None)
    values = bind(func, args, kwargs)
    x = values["input"]
    rest = {k: v for k, v in values.items() if k not in ("input", "memory_format", "generator") and v is not None}
    probe = func(x._local.detach().new_empty(0), **rest)
    spec, dtype = x._spec.dual(), probe.dtype
    if func.__name__ == "randint_like":
        draw = _integers(dtype, values.get("low", 0), values["high"])
    else:
        draw = (_uniform if func.__name__ == "rand_like" else _normal)(dtype)
    made = _drawn(spec, values["generator"], draw).to(probe.device)
    return wrap(made.requires_grad_(probe.requires_grad), spec)


@rule("bernoulli")
def _bernoulli_rule(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    given = values.get("p")
    func(x._local.new_empty(0), *([] if given is None else [given]))
    p = _probabilities(func, x)._local if given is None else given
    return _overwritten(x, _drawn(x._spec, values["generator"], _bernoulli(x.dtype, p)).to(x._local.device))


@rule("normal")
def _normal_rule(func, args, kwargs):
    values = bind(func, args, kwargs)
    given: list[Any] = [values["mean"], values["std"]]
    like = first_sharded(given)
    given = [without_terms(sharded(v, like, func)) if isinstance(v, Tensor) else v for v in given]
    func(*(v._local.new_empty(0) if isinstance(v, ShardedTensor) else v for v in given))
    mean, std = given
    if isinstance(std, ShardedTensor) and bool((std.detach() < 0).any()):
        func(0.0, _f["full"]((1,), -1.0))
    tensors = [v for v in given if isinstance(v, ShardedTensor)]
    dtype = tensors[0].dtype
    base: Any = tensors[0] if len(tensors) == 1 else (mean + std).to(dtype)
    spec = base._spec if len(tensors) == 1 else broadcast_spec(tensors, base.shape)
    if base._spec != spec:
        base = wrap(fitted(base, spec), spec)

    def draw(position, key):
        m, s = (fitted(v, spec).detach() if isinstance(v, ShardedTensor) else v for v in given)
        if dtype.is_complex:
            return _normal(dtype)(position, key) * s + m
        return (_philox.normal(position, key, _C.float64) * s + m).to(dtype)

    return _overwritten(base, _drawn(spec, values["generator"], draw))


@rule("poisson")
def _poisson(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    func(x._local.new_empty(0))
    if bool((x.detach() < 0).any()):
        func(_f["full"]((1,), -1.0))
    rate = x._local.detach().to(_C.float64)
    return _overwritten(x, _drawn(x._spec, values["generator"], lambda at, key: _counts(rate, at, key).to(x.dtype)))


def _counts(rate, position, key):
    """Poisson's law: up to 10 by inversion, above by W. Hormann, "The transformed rejection method for generating
    Poisson random variables" (1993), algorithm PTRS: what is rejected is drawn again, of the next words there."""
    few = rate < 10
    r = _f["where"](few, rate, 0.0)
    u = _philox.inside(position, key)[0]
    term = (-r).exp()
    found, total, k = _f["zeros_like"](rate), term, 0
    while bool((left := u > total).any()) and k < 200:
        k += 1
        found, term = found + left, term * r / k
        total = total + term
    result = _f["where"](rate.isfinite() | rate.isnan(), _f["where"](few, found, rate), rate)
    left = (_f["logical_not"](few) & rate.isfinite()).reshape(-1).nonzero().squeeze(-1)
    result, rate, position, step = result.reshape(-1), rate.reshape(-1), position.reshape(-1), 1
    while left.numel():
        lam = rate[left]
        b = 0.931 + 2.53 * lam.sqrt()
        a = -0.059 + 0.02483 * b
        u, v = _philox.inside(position[left], key, step)
        u = u - 0.5
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + lam + 0.43).floor()
        sure = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        weight = (v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b)).log()
        likely = weight <= k * lam.log() - lam - (k.clamp(min=0) + 1).lgamma()
        accepted = (k >= 0) & (sure | (((us >= 0.013) | (v <= us)) & likely))
        result = result.index_put((left,), _f["where"](accepted, k, result[left]))
        left, step = left[_f["logical_not"](accepted)], step + 1
    return result.reshape(few.shape)


@rule("rrelu rrelu_")
def _rrelu(func, args, kwargs):
    def of(input, lower=1 / 8, upper=1 / 3, training=False, generator=None):
        x = input if func.__name__ == "rrelu_" else without_terms(input)
        slopes = _slopes(x._local.detach().new_empty(0), lower, upper, training, None)
        if not training:
            return _f["nn.functional.leaky_relu_" if func.__name__ == "rrelu_" else "nn.functional.leaky_relu"](
                x, slopes
            )
        drawn = _drawn(x._spec, generator, _uniform(x.dtype, lower, upper)).to(x._local.device)
        slopes = wrap(_f["where"](x._local.detach() <= 0, drawn, _f["ones"]((), dtype=x.dtype)), x._spec)
        return x.mul_(slopes) if func.__name__ == "rrelu_" else x * slopes

    return of(*args, **kwargs)


# ---------------------------------------------------------------- choices


@rule("multinomial")
def _multinomial(func, args, kwargs):
    values = bind(func, args, kwargs)
    n, replacement = values["num_samples"], values["replacement"]
    x: Any = without_terms(values["input"]).detach()
    func(x._local.new_empty((0, x.shape[-1]) if x.ndim in (1, 2) else (0,) * x.ndim), n, replacement)
    rows = x.shape[0] if x.ndim == 2 else 1
    if rows == 0:
        return wrap(_f["empty"]((0, n), dtype=_C.int64), Spec(x._spec.mesh, (Replicate(),) * x._spec.mesh.ndim, (0, n)))
    replacement = replacement and n > 1
    _check_weights(func, x, replacement)
    if not replacement:
        noise: Any = wrap(_drawn(x._spec, values["generator"], _exponential(_C.float64, 1.0)), x._spec)
        race = x.to(_C.float64) / noise
        return _f["topk"](race, n, -1)[1]
    # Weights become integers, whose sums are the same however they are cut: 62 bits for all of a row.
    bits = 62 - (x.shape[-1] - 1).bit_length()
    whole: Any = x.to(_C.float64)
    weights = (whole / whole.amax(-1, keepdim=True) * 2.0 ** min(bits, 52)).to(_C.int64)
    sums: Any = without_terms(weights.cumsum(-1))
    total = weights.sum(-1, keepdim=True)
    shape = (*x.shape[:-1], n)
    # The rows of samples lie where the rows of sums do.
    last = x.ndim - 1
    spec = sums._spec.with_([Replicate() if p.is_shard(last) else p for p in sums._spec.placements], shape)
    total = fitted(total, spec)
    drawn = _drawn(spec, values["generator"], lambda at, key: _philox.below(at, key, total))
    passed = _f["searchsorted"](sums._local.contiguous(), drawn, right=True)
    terms = [Partial() if p.is_shard(last) else p for p in sums._spec.placements]
    return without_terms(wrap(passed, spec.with_(terms)))


def _check_weights(func, x, replacement):
    """The error of the function for weights that are none, on every rank."""
    if bool((x < 0).any()):
        func(tensor([-1.0, 1.0]), 2, replacement)
    if bool(_f["logical_not"](x.isfinite()).any()):
        func(tensor([math.nan, 1.0]), 2, replacement)
    if replacement and bool((x.amax(-1) <= 0).any()):
        func(tensor([0.0, 0.0]), 2, True)


@rule("binomial _standard_gamma _sample_dirichlet")
def _rejections(func, args, kwargs):
    raise refuse(func, args, "it draws from each rank's own generator")
