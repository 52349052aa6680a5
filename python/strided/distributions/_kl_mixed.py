"""Divergences between distributions of two families: -entropy(p) - E_p[log q], from moments of p.

E_p[log q] is made of E[x], Var[x], E[log x], E[log(1 - x)], E[exp(-t x)] and E|x - m|; each is stated once for
each family.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import infinite_like, register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

if TYPE_CHECKING:
    from .._typing import Any, Tensor

# ---------------------------------------------------------------- supports: where p has mass and q has none,
# KL is infinite

_NEVER = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}

_PARAMETER = {
    Beta: "concentration1", ContinuousBernoulli: "probs", Exponential: "rate", Gamma: "concentration", Gumbel: "loc",
    Laplace: "loc", Normal: "loc", Pareto: "scale", Poisson: "rate",
}  # fmt: skip


def _infinite(p: Any, q: Any) -> Tensor:
    name = next(name for kind, name in _PARAMETER.items() if isinstance(p, kind))
    return infinite_like(getattr(p, name))


for _p, _kinds in _NEVER.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)
del _p, _q, _kinds


# ---------------------------------------------------------------- moments of p


def _x_log_x(x: Tensor) -> Tensor:
    return strided.xlogy(x, x)


def _mean_log(p: Any) -> Tensor:
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # Uniform


def _mean_log_rest(p: Uniform) -> Tensor:
    """E[log(1 - x)]."""
    return (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1


def _mean_exp(p: Any, loc: Tensor, scale: Tensor) -> Tensor:
    """E[exp(-(x - loc) / scale)]."""
    if isinstance(p, Exponential):
        return strided.exp(loc / scale) * (p.rate * scale) / (p.rate * scale + 1)
    if isinstance(p, Gamma):
        return strided.exp(loc / scale) * (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return strided.exp((loc - p.loc) / scale + 0.5 * (p.scale / scale).pow(2))
    low, high = (p.low - loc) / scale, (p.high - loc) / scale  # Uniform
    return ((-low).exp() - (-high).exp()) / (high - low)


# ---------------------------------------------------------------- E_p[log q] by q


def _of_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _of_gamma(p: Any, q: Gamma) -> Tensor:
    norm = q.concentration * q.rate.log() - q.concentration.lgamma()
    return norm + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean


def _of_normal(p: Any, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    return -0.5 * ((2 * math.pi * variance).log() + (p.variance + (p.mean - q.loc).pow(2)) / variance)


def _of_gumbel(p: Any, q: Gumbel) -> Tensor:
    return -q.scale.log() - (p.mean - q.loc) / q.scale - _mean_exp(p, q.loc, q.scale)


def _of_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return p.mean * q.logits + strided.log1p(-q.probs) + q._cont_bern_log_norm()


def _of_uniform(p: Any, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _of_laplace(p: Normal, q: Laplace) -> Tensor:
    distance = (p.loc - q.loc) / p.scale
    mean_abs = p.scale * (
        math.sqrt(2 / math.pi) * strided.exp(-0.5 * distance.pow(2)) + distance * strided.erf(distance / math.sqrt(2))
    )
    return -(2 * q.scale).log() - mean_abs / q.scale


def _of_beta(p: Uniform, q: Beta) -> Tensor:
    norm = (q.concentration1 + q.concentration0).lgamma() - q.concentration1.lgamma() - q.concentration0.lgamma()
    return norm + (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * _mean_log_rest(p)


def _of_pareto(p: Uniform, q: Pareto) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _of_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return p.probs * q.rate.log() - q.rate


def _pair(p_type: type, q_type: type, mean_log_q: Any, outside: Any = None) -> None:
    """Registers the formula; ``outside(p, q)`` says where p has mass that q has not."""

    def divergence(p: Any, q: Any) -> Tensor:
        kl = -p.entropy() - mean_log_q(p, q)
        return kl if outside is None else strided.where(outside(p, q), math.inf, kl)

    divergence.__name__ = f"_kl_{p_type.__name__.lower()}_{q_type.__name__.lower()}"
    register_kl(p_type, q_type)(divergence)


def _unit_outside(p: Any, q: Uniform) -> Tensor:
    return (q.high < 1) | (q.low > 0)


def _below_zero(p: Uniform, q: Any) -> Tensor:
    return p.low < 0


def _outside_unit(p: Uniform, q: Any) -> Tensor:
    return (p.low < 0) | (p.high > 1)


_pair(Bernoulli, Poisson, _of_poisson)
for _p in (Beta, ContinuousBernoulli, Gamma):
    _pair(_p, Exponential, _of_exponential)
for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    _pair(_p, Normal, _of_normal)
for _p in (Beta, Exponential):
    _pair(_p, Gamma, _of_gamma)
for _p in (Exponential, Gamma, Normal, Uniform):
    _pair(_p, Gumbel, _of_gumbel)
_pair(Beta, ContinuousBernoulli, _of_continuous_bernoulli)
for _p in (Beta, ContinuousBernoulli):
    _pair(_p, Uniform, _of_uniform, _unit_outside)
_pair(Normal, Laplace, _of_laplace)
_pair(Pareto, Exponential, _of_exponential, lambda p, q: p.alpha <= 1)
_pair(Pareto, Gamma, _of_gamma, lambda p, q: p.alpha <= 1)
_pair(Pareto, Normal, _of_normal, lambda p, q: p.alpha <= 2)
_pair(Uniform, Beta, _of_beta, _outside_unit)
_pair(Uniform, ContinuousBernoulli, _of_continuous_bernoulli, _outside_unit)
_pair(Uniform, Exponential, _of_exponential, _below_zero)
_pair(Uniform, Gamma, _of_gamma, _below_zero)
_pair(Uniform, Pareto, _of_pareto, lambda p, q: p.low < q.scale)
del _p
