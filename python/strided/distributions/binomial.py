"""The binomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import constraints
from ._of_probability import OfProbability
from .distribution import given_one
from .utils import broadcast_all

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Binomial"]


class Binomial(OfProbability):
    """How many of ``total_count`` Bernoulli trials succeed.

    Samples come from a sampler of strided's own: the distribution is PyTorch's, the numbers are not.

    >>> strided.distributions.Binomial(4, strided.tensor(0.5)).log_prob(strided.tensor(2.)).exp()
    tensor(0.3750)
    """

    arg_constraints = {  # type: ignore[assignment]
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
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
        new = self._expanded(Binomial, batch_shape, _instance, {"total_count": 0, "probs": 0, "logits": 0})
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with strided.no_grad():
            return strided.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        choices = strided.lgamma(n + 1) - strided.lgamma(value + 1) - strided.lgamma(n - value + 1)
        # value * logits - n * log(1 + exp(logits)), with the exponential of a negative number
        above = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2  # with gradient 1/2 at 0
        return choices + value * self.logits - n * (above + strided.log1p(strided.exp(-self.logits.abs())))

    def entropy(self) -> Tensor:
        if not self.total_count.min() == self.total_count.max():
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(strided.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = strided.arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
