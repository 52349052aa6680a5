"""The geometric distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided
from strided.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import Distribution, given_one
from .utils import broadcast_all, lazy_property, logits_to_probs, numbers, probs_to_logits

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Geometric"]


class Geometric(Distribution):
    """How many Bernoulli trials fail before the first one that succeeds.

    >>> strided.distributions.Geometric(strided.tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given_one(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        value = probs if probs is not None else logits
        shape = strided.Size() if numbers(value) else strided.as_tensor(value).size()
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            bad = self.probs[~(self.probs > 0)]  # 0 is in the closed interval, and no probability of a first success
            if bad.numel():
                raise ValueError(
                    f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution {self!r} to be positive but found invalid values:\n{bad}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Geometric, batch_shape, _instance, {"probs": 0, "logits": 0})

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return strided.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        tiny = strided.finfo(self.probs.dtype).tiny
        with strided.no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # A certain success: no failures have probability 1, and others 0.
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
