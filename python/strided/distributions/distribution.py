"""The base class of distributions, and what most of them do alike."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import strided

from . import constraints
from .utils import lazy_property

if TYPE_CHECKING:
    from .._typing import Any, Size, Tensor

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution: a batch of independent ones, ``batch_shape``, over events of ``event_shape``.

    Samples have shape ``sample_shape + batch_shape + event_shape``; ``log_prob`` has the shape of the samples without
    that of events.  With ``validate_args`` parameters and values are compared with ``arg_constraints`` and ``support``,
    and ValueError raised.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions that are made from now on check their arguments; ValueError for what is no bool."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = strided.Size(),
        event_shape: Any = strided.Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            wanted = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it was not given, and follows from what was
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its parameters expanded, not copied, to a batch shape."""
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, without the axes of an event."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """For each parameter by its name: the values that it may have."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The values that a sample may have."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of highest density."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        """Samples, ``sample_shape`` for each distribution of the batch, without gradients."""
        with strided.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        """Samples through which gradients flow into the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(strided.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most the value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first axis; ``expand`` says whether for each of
        the batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return strided.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = strided.Size()) -> Size:
        """The shape of samples."""
        if not isinstance(sample_shape, strided.Size):
            sample_shape = strided.Size(sample_shape)
        return strided.Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError for a value that is no tensor, of another shape, or outside the support."""
        if not isinstance(value, strided.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = value.dim() - len(self._event_shape)
        if value.shape[max(events, 0) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        ours = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(ours)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {ours}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An object of self's type without parameters, for ``expand``; subclasses with other parameters write
        their own."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls: type, batch_shape: Any, _instance: Any, parameters: dict[str, int]) -> Any:
        """``expand`` of a distribution ``cls`` whose parameters, with so many axes of one event each, are expanded."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = strided.Size(batch_shape)
        for name, events in parameters.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[value.dim() - events :]))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        def text(value: Any) -> str:
            return f"{value}" if value.numel() == 1 else f"{value.size()}"

        names = [name for name in self.arg_constraints if name in self.__dict__]
        return f"{self.__class__.__name__}({', '.join(f'{n}: {text(self.__dict__[n])}' for n in names)})"


def given_one(probs: Any, logits: Any) -> None:
    """ValueError unless exactly one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
