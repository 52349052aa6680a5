"""The generalized Pareto distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalized Pareto distribution: what an exceedance of ``loc`` looks like far out.  ``concentration`` 0
    is exponential.

    >>> strided.distributions.GeneralizedPareto(0., 1., 0.5).mean
    tensor(2.)
    """

    arg_constraints = {  # type: ignore[assignment]
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        shape = strided.Size() if numbers(loc, scale, concentration) else self.loc.size()
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        parameters = {"loc": 0, "scale": 0, "concentration": 0}
        return self._expanded(GeneralizedPareto, batch_shape, _instance, parameters)

    def _exponential(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with ones there, to divide by."""
        zero = strided.isclose(self.concentration, strided.zeros_like(self.concentration))
        return zero, strided.where(zero, strided.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(strided.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._exponential()
        return -self.scale.log() - strided.where(zero, z, (1 / c + 1) * strided.log1p(c * z))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than the value."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._exponential()
        return -strided.where(zero, z, strided.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the distribution function."""
        return strided.log1p(-strided.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return -strided.expm1(self.log_survival_function(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._exponential()
        log_rest = strided.log1p(-value)
        return self.loc + self.scale * strided.where(zero, -log_rest, strided.expm1(-c * log_rest) / c)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        c = strided.where(valid, self.concentration, 0.5)
        return strided.where(valid, self.loc + self.scale / (1 - c), strided.nan)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        c = strided.where(valid, self.concentration, 0.25)
        return strided.where(valid, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), strided.nan)

    def entropy(self) -> Tensor:
        return (strided.log(self.scale) + self.concentration + 1).expand(self.batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        _, c = self._exponential()
        return constraints.interval(
            self.loc, strided.where(self.concentration < 0, self.loc - self.scale / c, strided.inf)
        )
