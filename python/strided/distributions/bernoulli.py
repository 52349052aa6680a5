"""The Bernoulli distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided
from strided.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._of_probability import OfProbability
from .distribution import given_one
from .exp_family import ExponentialFamily
from .utils import broadcast_all, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Bernoulli"]


class Bernoulli(OfProbability, ExponentialFamily):
    """0 or 1; 1 with probability ``probs``, the sigmoid of ``logits``.

    >>> strided.distributions.Bernoulli(probs=strided.tensor(0.25)).variance
    tensor(0.1875)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.boolean  # type: ignore[assignment]
    has_enumerate_support = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given_one(probs, logits)
        scalar = numbers(logits if probs is None else probs)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if probs is not None else self.logits
        super().__init__(strided.Size() if scalar else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Bernoulli, batch_shape, _instance, {"probs": 0, "logits": 0})
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, strided.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with strided.no_grad():
            return strided.bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = strided.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (strided.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return strided.nn.functional.softplus(x)
