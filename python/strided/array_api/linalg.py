"""The extension ``linalg`` of the Array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._functions.standard import accumulation_dtype
from ._array import promoted, standard
from ._linear import matmul, matrix_transpose, tensordot, vecdot

if TYPE_CHECKING:
    from .. import return_types
    from .._typing import DType, Tensor

_f = _C.functions
__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def _public(function):
    __all__.append(function.__name__)
    return standard(function)


@_public
def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """L with L @ L^H == x, lower triangular; its transposed conjugate if upper.

    LinAlgError unless x is positive definite.

    >>> strided.array_api.linalg.cholesky(strided.tensor([[4.]]))
    tensor([[2.]])
    """
    return _f["linalg.cholesky"](x, upper=upper)


@_public
def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements along an axis; the other axes broadcast.

    >>> strided.array_api.linalg.cross(strided.tensor([1, 0, 0]), strided.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    x1, x2 = promoted(x1, x2)
    for x in (x1, x2):
        if x.shape[axis] != 3:
            raise ValueError(f"cross(): vectors have three elements, got {x.shape[axis]} along axis {axis}")
    return _f["linalg.cross"](*_f["broadcast_tensors"](x1, x2), dim=axis)


@_public
def det(x: Tensor, /) -> Tensor:
    """The determinant of each matrix.

    >>> strided.array_api.linalg.det(strided.tensor([[2., 0.], [0., 3.]]))
    tensor(6.)
    """
    return _f["linalg.det"](x)


@_public
def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonal of each matrix: a view.

    >>> strided.array_api.linalg.diagonal(strided.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _f["diagonal"](x, offset, -2, -1)


@_public
def eigh(x: Tensor, /) -> return_types.linalg_eigh:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices (their lower triangle is read).

    >>> strided.array_api.linalg.eigh(strided.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    return _f["linalg.eigh"](x)


@_public
def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues, ascending, of Hermitian matrices (their lower triangle is read).

    >>> strided.array_api.linalg.eigvalsh(strided.tensor([[2., 0.], [0., 1.]]))
    tensor([1., 2.])
    """
    return _f["linalg.eigvalsh"](x)


@_public
def eig(x: Tensor, /) -> return_types.linalg_eig:
    """Eigenvalues and right eigenvectors of square matrices, complex.

    >>> strided.array_api.linalg.eig(strided.tensor([[2.]])).eigenvalues
    tensor([2.+0.j])
    """
    return _f["linalg.eig"](x)


@_public
def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues of square matrices, complex.

    >>> strided.array_api.linalg.eigvals(strided.tensor([[2.]]))
    tensor([2.+0.j])
    """
    return _f["linalg.eigvals"](x)


@_public
def inv(x: Tensor, /) -> Tensor:
    """The inverse of each matrix.  LinAlgError if one is singular.

    >>> strided.array_api.linalg.inv(strided.tensor([[2.]]))
    tensor([[0.5000]])
    """
    return _f["linalg.inv"](x)


@_public
def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:  # noqa: A002
    """A norm of each matrix: 'fro' (None is the same), 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> strided.array_api.linalg.matrix_norm(strided.tensor([[3., 4.]]))
    tensor(5.)
    """
    return _f["linalg.matrix_norm"](x, "fro" if ord is None else ord, (-2, -1), keepdims)


@_public
def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The n-th power of each square matrix, of its inverse for n < 0.

    >>> strided.array_api.linalg.matrix_power(strided.tensor([[2.]]), 3)
    tensor([[8.]])
    """
    return _f["linalg.matrix_power"](x, n)


@_public
def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of each matrix are above rtol times the largest one: int64.

    >>> strided.array_api.linalg.matrix_rank(strided.ones(2, 2))
    tensor(1)
    """
    return _f["linalg.matrix_rank"](x, rtol=rtol)


@_public
def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of every element of one vector with every one of the other.

    >>> strided.array_api.linalg.outer(strided.tensor([1, 2]), strided.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return _f["outer"](*promoted(x1, x2))


@_public
def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudoinverse of each matrix; singular values below rtol times the largest one count as zero.

    >>> strided.array_api.linalg.pinv(strided.tensor([[2.], [0.]]))
    tensor([[0.5000, 0.0000]])
    """
    return _f["linalg.pinv"](x, rtol=rtol)


@_public
def qr(x: Tensor, /, *, mode: str = "reduced") -> return_types.linalg_qr:
    """Q with orthonormal columns and an upper triangular R, with Q @ R == x.

    Args:
        mode: 'reduced' for min(M, N) columns of Q, 'complete' for M.

    >>> strided.array_api.linalg.qr(strided.ones(3, 2)).Q.shape
    torch.Size([3, 2])
    """
    return _f["linalg.qr"](x, mode=mode)


@_public
def slogdet(x: Tensor, /) -> return_types.linalg_slogdet:
    """The sign of each determinant, and the logarithm of its magnitude.

    >>> strided.array_api.linalg.slogdet(strided.tensor([[-1.]])).sign
    tensor(-1.)
    """
    return _f["linalg.slogdet"](x)


@_public
def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of x1 @ x == x2; x2 is a vector only if it has one dimension, else matrices.

    PyTorch also takes a stack of vectors for x2.  LinAlgError if a matrix is singular.

    >>> strided.array_api.linalg.solve(strided.tensor([[2.]]), strided.tensor([8.]))
    tensor([4.])
    """
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return _f["linalg.solve"](x1, x2.unsqueeze(-1)).squeeze(-1)
    if x1.ndim == x2.ndim + 1 and x1.shape[:-1] == x2.shape:  # not a stack of vectors, as PyTorch would have it
        x2 = x2.unsqueeze(0)
    return _f["linalg.solve"](x1, x2)


@_public
def svd(x: Tensor, /, *, full_matrices: bool = True) -> return_types.linalg_svd:
    """U, the singular values S, descending, and Vh, with U @ diag(S) @ Vh == x.

    >>> strided.array_api.linalg.svd(strided.tensor([[3., 0.], [0., 4.]])).S
    tensor([4., 3.])
    """
    return _f["linalg.svd"](x, full_matrices=full_matrices)


@_public
def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of each matrix, descending.

    >>> strided.array_api.linalg.svdvals(strided.tensor([[3., 0.], [0., 4.]]))
    tensor([4., 3.])
    """
    return _f["linalg.svdvals"](x)


@_public
def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sum of a diagonal of each matrix; dtypes as for ``sum``.

    >>> strided.array_api.linalg.trace(strided.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    return _f["sum"](_f["diagonal"](x, offset, -2, -1), -1, dtype=dtype or accumulation_dtype(x.dtype))


@_public
def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,  # noqa: A002
) -> Tensor:
    """A norm of the elements, of all or along some axes: any number, inf or -inf for the largest or least magnitude.

    >>> strided.array_api.linalg.vector_norm(strided.tensor([3., 4.]))
    tensor(5.)
    """
    if axis == ():  # each element for itself
        return _f["linalg.vector_norm"](x.unsqueeze(-1), ord, -1)
    return _f["linalg.vector_norm"](x, ord, axis, keepdims)
