"""Activations that draw random numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C
from .._calls.overrides import overridable

if TYPE_CHECKING:
    from .._typing import Generator, Number, Tensor

_f = _C.functions

__all__ = ["rrelu", "rrelu_"]


def _slopes(input, lower, upper, training, generator):
    """What rrelu multiplies its operand by: a tensor if training, else a number for the negative elements."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return (lower + upper) / 2
    if not input.is_floating_point():
        raise NotImplementedError(f"\"rrelu\" not implemented for '{input.dtype}'")
    slopes = _f["ones_like"](input)
    below = input.detach() <= 0
    # A number is drawn for these elements only, in order and in double: PyTorch's stream.
    drawn = _f["empty"](int(below.sum()), dtype=_C.float64, device=input.device)
    slopes[below] = drawn.uniform_(lower, upper, generator=generator).to(input.dtype)
    return slopes


@overridable
def rrelu(
    input: Tensor,
    lower: Number = 1 / 8,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Each element where it is positive, else a slope times it: drawn for each element between lower and upper if
    training, else their mean. B. Xu, N. Wang, T. Chen, M. Li, "Empirical evaluation of rectified activations in
    convolutional network" (2015).

    Float dtypes; RuntimeError if lower > upper. The numbers are those that PyTorch draws for the same seed.

    >>> strided.rrelu(strided.tensor([-24., 2.]))
    tensor([-5.5000,  2.0000])
    """
    slopes = _slopes(input, lower, upper, training, generator)
    return _f["_with_steady_gradient"](input) * slopes if training else _f["nn.functional.leaky_relu"](input, slopes)


@overridable
def rrelu_(
    input: Tensor,
    lower: Number = 1 / 8,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """In-place form of `rrelu`."""
    slopes = _slopes(input, lower, upper, training, generator)
    return input.mul_(slopes) if training else _f["nn.functional.leaky_relu_"](input, slopes)
