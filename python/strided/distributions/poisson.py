"""The Poisson distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Poisson distribution: P(k) = rate^k exp(-rate) / k!.

    >>> strided.distributions.Poisson(strided.tensor(4.)).mean
    tensor(4.)
    """

    arg_constraints = {"rate": constraints.nonnegative}  # type: ignore[assignment]
    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(strided.Size() if numbers(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Poisson, batch_shape, _instance, {"rate": 0})

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with strided.no_grad():
            return strided.poisson(self.rate.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (strided.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return strided.exp(x)
