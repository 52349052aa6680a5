"""Samplers under the names of PyTorch that programs call without a distribution (``torch._standard_gamma``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._calls.overrides import overridable
from .._functions.samplers import dirichlet, standard_gamma
from ._gradients import with_dirichlet_gradient, with_gamma_gradient

if TYPE_CHECKING:
    from .._typing import Generator, Tensor


@overridable
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: A002
    """Samples of the gamma distribution with rate 1, one for each concentration, with gradients."""
    return with_gamma_gradient(input, standard_gamma(input, generator))


@overridable
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: A002
    """Samples of the Dirichlet distribution, for concentrations along the last axis, with gradients."""
    return with_dirichlet_gradient(input, dirichlet(input, generator))
