"""New leaves, also for a batch of samples, of which ``requires_grad_`` is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["leaf_of"]


def leaf_of(x: Tensor, requires_grad: bool = True) -> Tensor:
    """The same values, at which a graph begins."""
    made = x.detach()
    made.requires_grad = requires_grad
    return made
