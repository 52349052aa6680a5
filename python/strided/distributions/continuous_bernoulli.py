"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided
from strided.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._of_probability import OfProbability
from .distribution import given_one
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(OfProbability, ExponentialFamily):
    """Density proportional to probs^x (1 - probs)^(1 - x) over 0 <= x <= 1.

    (Loaiza-Ganem and Cunningham, "The continuous Bernoulli", NeurIPS 2019.)  Between ``lims`` the normalising
    constant and the moments are Taylor polynomials around 0.5, where their formulas divide by zero.

    >>> strided.distributions.ContinuousBernoulli(strided.tensor(0.5)).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.unit_interval  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        given_one(probs, logits)
        scalar = numbers(logits if probs is None else probs)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            if (
                validate_args is not None
                and validate_args
                and not self.arg_constraints["probs"].check(self.probs).all()
            ):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if probs is not None else self.logits
        self._lims = lims
        super().__init__(strided.Size() if scalar else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(ContinuousBernoulli, batch_shape, _instance, {"probs": 0, "logits": 0})
        new._lims = self._lims
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new

    def _outside_unstable_region(self) -> Tensor:
        # NaN is outside: its formulas keep it.
        return ~((self.probs > self._lims[0]) & (self.probs <= self._lims[1]))

    def _cut_probs(self) -> Tensor:
        """The probabilities, moved out of the region around 0.5."""
        return strided.where(self._outside_unstable_region(), self.probs, self._lims[0] * strided.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """log of 2 atanh(1 - 2 p) / (1 - 2 p)."""
        p = self._cut_probs()
        # Each side of 0.5 with its own form, so that no logarithm is of a negative number.
        below = strided.where(p <= 0.5, p, strided.zeros_like(p))
        above = strided.where(p >= 0.5, p, strided.ones_like(p))
        log_norm = strided.log(strided.abs(strided.log1p(-p) - strided.log(p))) - strided.where(
            p <= 0.5, strided.log1p(-2.0 * below), strided.log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5).pow(2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return strided.where(self._outside_unstable_region(), log_norm, taylor)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (strided.log1p(-p) - strided.log(p))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return strided.where(self._outside_unstable_region(), exact, taylor)

    @property
    def stddev(self) -> Tensor:
        return strided.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / (strided.log1p(-p) - strided.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return strided.where(self._outside_unstable_region(), exact, taylor)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter, which is not the mean."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        with strided.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(strided.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        exact = (strided.pow(p, value) * strided.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = strided.where(self._outside_unstable_region(), exact, value)
        return strided.where(value <= 0.0, strided.zeros_like(inside),
                             strided.where(value >= 1.0, strided.ones_like(inside), inside))  # fmt: skip

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        exact = (strided.log1p(-p + value * (2.0 * p - 1.0)) - strided.log1p(-p)) / (strided.log(p) - strided.log1p(-p))
        return strided.where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Tensor:
        return -self.mean * self.logits - strided.log1p(-self.probs) - self._cont_bern_log_norm()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        # log of (exp(x) - 1) / x, whose series around 0 begins 1 + x / 2 + x^2 / 6
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = strided.where(outside, x, (self._lims[0] - 0.5) * strided.ones_like(x))
        log_norm = strided.log(strided.abs(strided.expm1(cut))) - strided.log(strided.abs(cut))
        return strided.where(outside, log_norm, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
