"""From constraints to transforms: ``biject_to`` and ``transform_to``.

>>> from strided.distributions import constraints, transform_to
>>> transform_to(constraints.positive)(strided.zeros(1))
tensor([1.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import constraints, transforms
from .utils import numbers

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from types of constraints to functions that make a transform onto such a constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Adds a function for a type of constraint (or for that of an object); without function a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform from numbers without constraint to the constraint; NotImplementedError where none is known."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: type) -> Callable[[Any], Any]:
    """Registers a function for kinds of constraints in both tables."""

    def register(factory: Any) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints._Real)
def _real(constraint: Any) -> Any:
    return transforms.identity_transform


for _registry in (biject_to, transform_to):

    @_registry.register(constraints._IndependentConstraint)
    def _independent(constraint: Any, _registry: Any = _registry) -> Any:
        base = _registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @_registry.register(constraints._Cat)
    def _cat(constraint: Any, _registry: Any = _registry) -> Any:
        parts = [_registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @_registry.register(constraints._Stack)
    def _stack(constraint: Any, _registry: Any = _registry) -> Any:
        return transforms.StackTransform([_registry(c) for c in constraint.cseq], constraint.dim)


@_both(constraints._GreaterThan, constraints._GreaterThanEq)
def _greater(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints._LessThan)
def _less(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints._Interval, constraints._HalfOpenInterval)
def _interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if numbers(low, high) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints._Simplex)
def _simplex_one_to_one(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints._Simplex)
def _simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints._LowerCholesky)
def _lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints._PositiveDefinite)
@transform_to.register(constraints._PositiveSemidefinite)
def _positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


@_both(constraints._CorrCholesky)
def _corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


del _registry
