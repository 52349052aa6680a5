"""Products and forms of matrices, any of which may be None for the identity, under the names of PyTorch's module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ._typing import Any, DType, Tensor


def is_sparse(A: Any) -> bool:
    """Whether A is a tensor of layout ``sparse_coo``.  TypeError for what is no tensor."""
    if isinstance(A, strided.Tensor):
        return A.layout == strided.sparse_coo
    raise TypeError(f"expected Tensor but got {type(A)}")


def get_floating_dtype(A: Tensor) -> DType:
    """The dtype in which A is computed with: its own, or float32."""
    return A.dtype if A.dtype in (strided.float16, strided.float32, strided.float64) else strided.float32


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """A @ B."""
    if A is None:
        return B
    return strided.sparse.mm(A, B) if is_sparse(A) else strided.matmul(A, B)


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """The bilinear form X.mT @ A @ Y."""
    return strided.matmul(X.mT, matmul(A, Y))


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """The quadratic form S.mT @ A @ S."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """Orthonormal columns that span those of A."""
    return strided.linalg.qr(A).Q


def symeig(A: Tensor, largest: bool | None = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a symmetric matrix, the largest first if asked."""
    E, Z = strided.linalg.eigh(A, UPLO="U")
    return (E.flip(-1), Z.flip(-1)) if largest else (E, Z)
