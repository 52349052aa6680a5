"""PyTorch's mark of what stays as it is (``strided.fx._compatibility``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import F

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[F], F]:
    """A decorator that gives the function itself: a mark, which changes nothing."""
    return lambda function: function
