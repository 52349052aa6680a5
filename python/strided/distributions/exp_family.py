"""Exponential families: densities exp(<t(x), theta> - F(theta) + k(x))."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided
from strided.autograd._leaf import leaf_of

from .distribution import Distribution

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters.  Its entropy follows from the gradient of the log-normalizer F, the
    expectation of the sufficient statistics (Nielsen and Nock, "Entropies and cross-entropies of exponential
    families", ICIP 2010)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """theta."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        """F(theta)."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """The expectation of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <theta, grad F(theta)> less the mean carrier measure."""
        natural = self._natural_params
        recorded = strided.is_grad_enabled() and any(p.requires_grad for p in natural)
        with strided.enable_grad():
            parameters = [p if recorded and p.requires_grad else leaf_of(p) for p in natural]
            normalizer = self._log_normalizer(*parameters)
            gradients = strided.autograd.grad(normalizer.sum(), parameters, create_graph=True)
            result = normalizer - self._mean_carrier_measure
            for p, g in zip(parameters, gradients):
                result = result - (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result if recorded else result.detach()
