"""The multinomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of k events happens in ``total_count`` draws of a categorical distribution.

    >>> strided.distributions.Multinomial(4, strided.tensor([1., 3.])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # type: ignore[assignment]

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = strided.Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self.event_shape)
        super(Multinomial, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        sample_shape = strided.Size(sample_shape)
        drawn = self._categorical.sample(strided.Size((self.total_count,)) + sample_shape)
        drawn = drawn.permute(*range(1, drawn.dim()), 0)  # the draws last
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, strided.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = strided.tensor(self.total_count)
        # Of the sequence of draws, less that of their order given the counts: E[log of the multinomial coefficient].
        support = self._binomial.enumerate_support(expand=False)[1:]
        log_factorials = strided.exp(self._binomial.log_prob(support)) * strided.lgamma(support + 1)
        return n * self._categorical.entropy() - strided.lgamma(n + 1) + log_factorials.sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=strided.contiguous_format)
        logits[(value == 0) & (logits == -strided.inf)] = 0
        choices = strided.lgamma(value.sum(-1) + 1) - strided.lgamma(value + 1).sum(-1)
        return choices + (logits * value).sum(-1)
