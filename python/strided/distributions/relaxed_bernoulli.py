"""Relaxed Bernoulli distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import constraints
from ._of_probability import OfProbability
from .distribution import given_one
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(OfProbability):
    """Log-odds of a relaxed Bernoulli variable.

    >>> strided.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(strided.tensor(1.), probs=0.5).log_prob(strided.tensor(0.))
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.real  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        given_one(probs, logits)
        scalar = numbers(logits if probs is None else probs)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if probs is not None else self.logits
        super().__init__(strided.Size() if scalar else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LogitRelaxedBernoulli, batch_shape, _instance, {"probs": 0, "logits": 0})
        new.temperature = self.temperature
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(strided.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        # log1p(exp(x)), with the exponential of a negative number
        softplus = difference.clamp(min=0) + (-difference.abs()).exp().log1p()
        return self.temperature.log() + difference - 2 * softplus


class RelaxedBernoulli(TransformedDistribution):
    """A continuous variable over 0 ... 1 that comes near a Bernoulli variable as ``temperature`` goes to 0
    (Maddison, Mnih and
    Teh, "The concrete distribution", 2017; Jang, Gu and Poole, "Categorical reparameterization with
    Gumbel-softmax", 2017).

    >>> d = strided.distributions.RelaxedBernoulli(strided.tensor(0.5), probs=strided.tensor([0.2, 0.8]))
    >>> d.rsample().shape
    torch.Size([2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.unit_interval  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1 the values are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self.base_dist.probs
