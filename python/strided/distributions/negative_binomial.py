"""The negative binomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import constraints
from ._of_probability import OfProbability
from .distribution import given_one
from .gamma import Gamma
from .utils import broadcast_all, lazy_property

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(OfProbability):
    """How many Bernoulli trials succeed before ``total_count`` of them fail; total_count need not be an integer.

    >>> strided.distributions.NegativeBinomial(3., strided.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {  # type: ignore[assignment]
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given_one(probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self.total_count = self.total_count.type_as(self.probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self.total_count = self.total_count.type_as(self.logits)
        self._param = self.probs if probs is not None else self.logits
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(NegativeBinomial, batch_shape, _instance, {"total_count": 0, "probs": 0, "logits": 0})
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new

    @property
    def mean(self) -> Tensor:
        return self.total_count * strided.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / strided.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # The rates of the Poisson distributions that this one is a mixture of.
        return Gamma(concentration=self.total_count, rate=strided.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        with strided.no_grad():
            return strided.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        log_unnormalized = n * strided.nn.functional.logsigmoid(
            -self.logits
        ) + value * strided.nn.functional.logsigmoid(self.logits)
        log_norm = -strided.lgamma(n + value) + strided.lgamma(1.0 + value) + strided.lgamma(n)
        return log_unnormalized - log_norm.masked_fill(n + value == 0.0, 0.0)
