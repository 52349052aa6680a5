"""C := C + A B and C - A B, in the memory of C."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Tensor


def add_product(C: Tensor, A: Tensor, B: Tensor) -> None:
    """C += A @ B."""
    C.addmm_(A, B)


def subtract_product(C: Tensor, A: Tensor, B: Tensor) -> None:
    """C -= A @ B."""
    C.addmm_(A, B, alpha=-1)
