"""The Dirichlet distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .._functions.samplers import dirichlet
from . import constraints
from ._gradients import with_dirichlet_gradient
from .exp_family import ExponentialFamily

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Dirichlet distribution over the simplex; ``concentration`` has shape (..., k), k the size of an event.

    >>> strided.distributions.Dirichlet(strided.tensor([1., 3.])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}  # type: ignore[assignment]
    support = constraints.simplex  # type: ignore[assignment]
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Dirichlet, batch_shape, _instance, {"concentration": 1})

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        return with_dirichlet_gradient(concentration, dirichlet(concentration))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return strided.xlogy(a - 1.0, value).sum(-1) + strided.lgamma(a.sum(-1)) - strided.lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # Without any concentration above 1 the density is highest in a corner: that of the largest one.
        corner = (self.concentration < 1).all(-1, True)
        ones = strided.nn.functional.one_hot(self.concentration.argmax(-1), self.concentration.shape[-1])
        return strided.where(corner, ones.to(mode), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a = self.concentration
        total = a.sum(-1)
        return (
            strided.lgamma(a).sum(-1) - strided.lgamma(total) - (a.size(-1) - total) * strided.digamma(total)
            - ((a - 1.0) * strided.digamma(a)).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - strided.lgamma(x.sum(-1))
