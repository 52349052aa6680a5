"""Distributions of transformed variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from . import constraints
from ._transform import ComposeTransform, Transform
from .distribution import Distribution
from .independent import Independent
from .utils import _sum_rightmost

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of y = t_n(... t_1(x)) where x has ``base_distribution``: its density is that of x over
    the jacobians.

    >>> from strided.distributions import Normal, TransformedDistribution, transforms
    >>> TransformedDistribution(Normal(0., 1.), transforms.ExpTransform()).log_prob(strided.tensor(1.))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}  # type: ignore[assignment]

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")

        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got {base_shape}."
            )
        shape = transform.forward_shape(base_shape)
        wanted = transform.inverse_shape(shape)  # parameters of the transforms may broadcast the base
        if base_shape != wanted:
            base_distribution = base_distribution.expand(wanted[: len(wanted) - len(base_distribution.event_shape)])
        more = transform.domain.event_dim - len(base_distribution.event_shape)
        if more > 0:
            base_distribution = Independent(base_distribution, more)
        self.base_dist = base_distribution

        change = transform.codomain.event_dim - transform.domain.event_dim
        axes = max(transform.codomain.event_dim, len(self.base_dist.event_shape) + change)
        cut = len(shape) - axes
        super().__init__(strided.Size(shape[:cut]), strided.Size(shape[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = strided.Size(batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        super(TransformedDistribution, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        constraint = self.transforms[-1].codomain
        more = len(self.event_shape) - constraint.event_dim
        return constraints.independent(constraint, more) if more > 0 else constraint

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        with strided.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        axes = len(self.event_shape)
        total: Any = 0.0
        y = value
        for t in reversed(self.transforms):
            x = t.inv(y)
            axes += t.domain.event_dim - t.codomain.event_dim
            total = total - _sum_rightmost(t.log_abs_det_jacobian(x, y), axes - t.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), axes - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """1 - value where the transforms decrease."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
