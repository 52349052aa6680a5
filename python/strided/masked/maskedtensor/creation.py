"""Makes masked tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core import MaskedTensor

if TYPE_CHECKING:
    from ..._typing import Tensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A copy of data in which only what mask names counts: a leaf of its own.

    Args:
        data: numbers or bools, strided, ``sparse_coo`` or ``sparse_csr``. mask: bools of the same shape and layout.
        requires_grad: whether it wants a gradient.

    >>> strided.masked.masked_tensor(strided.tensor([1., 2., 3.]), strided.tensor([True, False, True])).sum()
    MaskedTensor(  4.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """As masked_tensor, and gradients reach data; they are 0 where nothing counts.

    Args:
        data: numbers or bools, strided, ``sparse_coo`` or ``sparse_csr``. mask: bools of the same shape and layout.
    """
    return MaskedTensor._from_values(data, mask)
