"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Von Mises distribution of angles from -pi to pi, with density proportional to exp(concentration cos(x - loc)).

    Samples: Best and Fisher, "Efficient simulation of the von Mises distribution", 1979, in float64.  Above a
    concentration of 1e6 they are normal ones, of variance 1 / concentration.  Without validation, a concentration of 0
    gives uniform angles; NaN and what is negative give NaN.

    >>> strided.distributions.VonMises(strided.tensor(0.), strided.tensor(1.)).mean
    tensor(0.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}  # type: ignore[assignment]
    support = constraints.real  # type: ignore[assignment]
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, strided.Size(), validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # i0e is exp(-x) i0(x), which does not overflow.
        norm = math.log(2 * math.pi) + strided.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * strided.cos(value - self.loc) - norm

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(strided.double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(strided.double)

    @lazy_property
    def _proposal_k(self) -> Tensor:
        """The concentration, where the proposals suit it.  Elsewhere no candidate would ever be accepted."""
        k = self._concentration
        return strided.where((k >= 0) & (k <= 1e6), k, 1.0).clamp(min=1e-300)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        k = self._proposal_k
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        # The first terms of the series, where the difference in rho has lost its digits.
        return strided.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with strided.no_grad():
            x = strided.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
            k, r = self._proposal_k.expand(shape), self._proposal_r.expand(shape)
            done = strided.zeros(shape, dtype=strided.bool, device=self.loc.device)
            while not done.all():
                u1, u2, u3 = strided.rand((3, *shape), dtype=x.dtype, device=x.device).unbind()
                z = strided.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                # An element that was accepted before takes a later candidate too: its distribution is the same.
                x = strided.where(accepted, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accepted
            k = self._concentration
            if not ((k >= 0) & (k <= 1e6)).all():
                x = strided.where(k > 1e6, strided.randn(shape, dtype=x.dtype, device=x.device) / k.sqrt(), x)
                x = strided.where(k >= 0, x, strided.nan)
            return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(VonMises, batch_shape, _instance, {"loc": 0, "concentration": 0})

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The circular variance, 1 - I1 / I0."""
        k = self.concentration
        return 1 - strided.special.i1e(k) / strided.special.i0e(k)
