"""Divergences between two distributions of one family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided
from strided.autograd._leaf import leaf_of
from strided.nn.functional import softplus

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

if TYPE_CHECKING:
    from .._typing import Any, Tensor


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = strided.where(q.probs == 0, math.inf, ones)
    ones = strided.where(p.probs == 0, 0.0, ones)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = strided.where(q.probs == 1, math.inf, zeros)
    zeros = strided.where(p.probs == 1, 0.0, zeros)
    return ones + zeros


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    p_total, q_total = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    log_q = q.concentration1.lgamma() + q.concentration0.lgamma() + p_total.lgamma()
    log_p = p.concentration1.lgamma() + p.concentration0.lgamma() + q_total.lgamma()
    return (
        log_q - log_p
        + (p.concentration1 - q.concentration1) * strided.digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * strided.digamma(p.concentration0)
        + (q_total - p_total) * strided.digamma(p_total)
    )  # fmt: skip


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return strided.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = strided.where((q.probs == 0).expand_as(terms), math.inf, terms)
    return strided.where((p.probs == 0).expand_as(terms), 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    p_norm = p._cont_bern_log_norm() + strided.log1p(-p.probs)
    q_norm = q._cont_bern_log_norm() + strided.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + p_norm - q_norm


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    norms = p_total.lgamma() - q_total.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    logs = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return norms + ((p.concentration - q.concentration) * logs).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log-normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot                             be computed using Bregman divergences"
        )
    p_natural = [leaf_of(x) for x in p._natural_params]
    q_natural = q._natural_params
    with strided.enable_grad():
        normalizer = p._log_normalizer(*p_natural)
        gradients = strided.autograd.grad(normalizer.sum(), p_natural, create_graph=True)
    result = q._log_normalizer(*q_natural) - normalizer
    for ours, theirs, gradient in zip(p_natural, q_natural, gradients):
        result = result - _sum_rightmost((theirs - ours) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + strided.lgamma(q.concentration) - strided.lgamma(p.concentration)
        + (p.concentration - q.concentration) * strided.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc) / q.scale
    return (
        -ratio.log()
        + distance
        + ratio * euler_constant
        + strided.exp((1 + ratio).lgamma() - distance)
        - (1 + euler_constant)
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - strided.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * strided.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return strided.where(p.support.lower_bound < q.support.lower_bound, math.inf, kl)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return strided.where((q.low > p.low) | (q.high < p.high), math.inf, kl)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    # Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019
    return (((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)) / (4 * p.scale * q.scale)).log()


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# ---------------------------------------------------------------- normal distributions of vectors


def _trace(factor: Tensor) -> Tensor:
    """The trace of X X^T."""
    return factor.pow(2).sum((-2, -1))


def _events(p: Any, q: Any, kinds: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {kinds} with different event shapes cannot be computed")


def _solved(factor: Tensor, right: Tensor) -> Tensor:
    batch = strided.broadcast_shapes(factor.shape[:-2], right.shape[:-2])
    return strided.linalg.solve_triangular(
        factor.expand(batch + factor.shape[-2:]), right.expand(batch + right.shape[-2:]), upper=False
    )


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    _events(p, q, "Multivariate Normals")
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_dets = q_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) - p_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    distance = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return half_dets + 0.5 * (_trace(_solved(q_tril, p_tril)) + distance - p.event_shape[0])


def _low_rank_parts(d: Any) -> tuple[Tensor, Tensor, Tensor]:
    return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril


def _low_rank_trace(q: Any, factor: Tensor) -> Tensor:
    """The trace of Q^-1 X X^T for the covariance Q of a low-rank distribution, by the Woodbury identity."""
    W, D, capacitance = _low_rank_parts(q)
    direct = _trace(factor * D.rsqrt().unsqueeze(-1))
    return direct - _trace(_solved(capacitance, (W.mT / D.unsqueeze(-2)).matmul(factor)))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Tensor:
    _events(p, q, "Low Rank Multivariate Normals")
    dets = _batch_lowrank_logdet(*_low_rank_parts(q)) - _batch_lowrank_logdet(*_low_rank_parts(p))
    W, D, capacitance = _low_rank_parts(q)
    distance = _batch_lowrank_mahalanobis(W, D, q.loc - p.loc, capacitance)
    diagonal = p._unbroadcasted_cov_diag.sqrt().diag_embed()
    trace = _low_rank_trace(q, p._unbroadcasted_cov_factor) + _low_rank_trace(q, diagonal)
    return 0.5 * (dets + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_to_low_rank(p: Any, q: Any) -> Tensor:
    _events(p, q, "(Low Rank) Multivariate Normals")
    tril = p._unbroadcasted_scale_tril
    dets = _batch_lowrank_logdet(*_low_rank_parts(q)) - 2 * tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    W, D, capacitance = _low_rank_parts(q)
    distance = _batch_lowrank_mahalanobis(W, D, q.loc - p.loc, capacitance)
    return 0.5 * (dets + _low_rank_trace(q, tril) + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_full(p: Any, q: Any) -> Tensor:
    _events(p, q, "(Low Rank) Multivariate Normals")
    tril = q._unbroadcasted_scale_tril
    dets = 2 * tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) - _batch_lowrank_logdet(*_low_rank_parts(p))
    distance = _batch_mahalanobis(tril, q.loc - p.loc)
    trace = _trace(_solved(tril, p._unbroadcasted_cov_factor))
    trace = trace + _trace(_solved(tril, p._unbroadcasted_cov_diag.sqrt().diag_embed()))
    return 0.5 * (dets + trace + distance - p.event_shape[0])
