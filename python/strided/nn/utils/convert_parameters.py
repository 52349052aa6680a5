"""All parameters as one vector (``strided.nn.utils.convert_parameters``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import Iterable, Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other.

    >>> strided.nn.utils.parameters_to_vector([strided.ones(2), strided.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return strided.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Gives parameters the elements of a vector; they become views of it."""
    if not isinstance(vec, strided.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view_as(p).data
        at += p.numel()
