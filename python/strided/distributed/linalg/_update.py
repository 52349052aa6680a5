"""C := C + A B and C - A B in place, in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Tensor

# Elements of one product: it is made beside C and then added, so it has to stay in a cache, and be small beside C.
_PIECE = 1 << 17


def add_product(C: Tensor, A: Tensor, B: Tensor) -> None:
    """C += A @ B."""
    for rows in _pieces(C):
        C[rows].add_(A[rows] @ B)


def subtract_product(C: Tensor, A: Tensor, B: Tensor) -> None:
    """C -= A @ B."""
    for rows in _pieces(C):
        C[rows].sub_(A[rows] @ B)


def _pieces(C: Tensor) -> list[slice]:
    height, width = C.shape
    if not C.numel():
        return []
    count = -(-(height * width) // _PIECE)
    step = max(1, -(-height // count))
    return [slice(i, i + step) for i in range(0, height, step)]
