"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the distributions along the last batch axis of a component, chosen by a categorical distribution.

    >>> d = strided.distributions
    >>> mix = d.Categorical(strided.tensor([1., 3.]))
    >>> d.MixtureSameFamily(mix, d.Normal(strided.tensor([0., 4.]), 1.)).mean
    tensor(3.)
    """

    arg_constraints: dict[str, Any] = {}  # type: ignore[assignment]
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixtures, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixtures), reversed(components)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with `component_distribution.batch_shape`({components})"
                )
        k, found = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if k is not None and found is not None and k != found:
            raise ValueError(
                f"`mixture_distribution component` ({k}) does not equal `component_distribution.batch_shape[-1]` ({found})"
            )
        self._num_component = k
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape=components, event_shape=event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch_shape = strided.Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        super(MixtureSameFamily, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The categorical distribution over the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The distributions, along the last batch axis."""
        return self._component_distribution

    @property
    def mean(self) -> Tensor:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return strided.sum(probs * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        axis = -1 - self._event_ndims
        within = strided.sum(probs * self.component_distribution.variance, dim=axis)
        distance = self.component_distribution.mean - self._pad(self.mean)
        return within + strided.sum(probs * distance.pow(2.0), dim=axis)

    def cdf(self, x: Tensor) -> Tensor:
        cdf = self.component_distribution.cdf(self._pad(x))
        return strided.sum(cdf * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._pad(x))
        return strided.logsumexp(log_prob + strided.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        with strided.no_grad():
            sample_shape = strided.Size(sample_shape)
            axis = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (1 + self._event_ndims))
            chosen = chosen.expand(samples.shape[:axis] + (1,) + self.event_shape)
            return strided.gather(samples, axis, chosen).squeeze(axis)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """The weights with axes for the batch and for the events."""
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        return x.reshape((1,) * missing + x.shape + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
