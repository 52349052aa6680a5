"""The gamma distribution, and the samplers of PyTorch that stand here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .._functions.samplers import standard_gamma
from . import constraints
from ._gradients import with_gamma_gradient
from .exp_family import ExponentialFamily
from .utils import broadcast_all, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Gamma"]


def _standard_gamma(concentration: Tensor) -> Tensor:
    """Samples with rate 1, with gradients."""
    return with_gamma_gradient(concentration, standard_gamma(concentration))


class Gamma(ExponentialFamily):
    """Gamma distribution with density rate^a x^(a - 1) exp(-rate x) / Gamma(a), a the ``concentration``.

    >>> strided.distributions.Gamma(3., 2.).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}  # type: ignore[assignment]
    support = constraints.nonnegative  # type: ignore[assignment]
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        shape = strided.Size() if numbers(concentration, rate) else self.concentration.size()
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Gamma, batch_shape, _instance, {"concentration": 0, "rate": 0})

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=strided.finfo(value.dtype).tiny)  # what was too small is no zero, for log_prob
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = strided.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return strided.xlogy(a, self.rate) + strided.xlogy(a - 1, value) - self.rate * value - strided.lgamma(a)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - strided.log(self.rate) + strided.lgamma(a) + (1.0 - a) * strided.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return strided.lgamma(x + 1) + (x + 1) * strided.log(-y.reciprocal())

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return strided.special.gammainc(self.concentration, self.rate * value)
