"""Student's t distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with ``df`` degrees of freedom, moved by ``loc`` and stretched by ``scale``.

    >>> strided.distributions.StudentT(4.).variance
    tensor(2.)
    """

    arg_constraints = {  # type: ignore[assignment]
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real  # type: ignore[assignment]
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, strided.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale.pow(2) * self.df / (self.df - 2)
        variance = variance.masked_fill(self.df <= 2, strided.inf)
        return variance.masked_fill(self.df <= 1, strided.nan)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(StudentT, batch_shape, _instance, {"df": 0, "loc": 0, "scale": 0})
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * normal * strided.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = (
            self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
            + strided.lgamma(0.5 * self.df) - strided.lgamma(0.5 * (self.df + 1.0))
        )  # fmt: skip
        return -0.5 * (self.df + 1.0) * strided.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        log_beta = strided.lgamma(0.5 * self.df) + math.lgamma(0.5) - strided.lgamma(0.5 * (self.df + 1))
        spread = strided.digamma(0.5 * (self.df + 1)) - strided.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * spread + 0.5 * self.df.log() + log_beta
