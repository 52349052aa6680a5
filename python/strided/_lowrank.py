"""The largest singular vectors of a matrix by random projections (N. Halko, P. G. Martinsson, J. A. Tropp, "Finding
structure with randomness", SIAM Review 53, 2011: algorithms 4.4 and 5.1), and principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _C
from ._calls.overrides import overridable

if TYPE_CHECKING:
    from ._typing import Tensor

_f = _C.functions

__all__ = ["pca_lowrank", "svd_lowrank"]


def _random_basis(times, times_adjoint, columns, like, niter):
    """Orthonormal columns whose span nearly holds the largest singular vectors of the matrix that `times` multiplies
    by."""
    basis = _f["linalg.qr"](times(_f["randn"](*columns, dtype=like.dtype, device=like.device))).Q
    for _ in range(niter):
        basis = _f["linalg.qr"](
            times_adjoint(basis)
        ).Q  # a basis after every product, or the small directions are rounded away
        basis = _f["linalg.qr"](times(basis)).Q
    return basis


@overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values and vectors of A (*, m, n), or of A - M: (U, S, V) with A close to U diag(S) V^H.

    Args:
        q: how many, a little more than the rank one is after; None is 6.
        niter: steps of subspace iteration, for singular values that fall slowly.
        M: what to subtract, of a shape that broadcasts to A's.

    The random numbers are those that PyTorch draws for the same seed.  Floating and complex dtypes.

    >>> U, S, V = strided.svd_lowrank(strided.tensor([[3., 0.], [0., 4.], [0., 0.]]), q=2)
    >>> S.round(decimals=3)
    tensor([4., 3.])
    """
    if not isinstance(A, _C.Tensor) or A.ndim < 2:
        raise ValueError(
            f"svd_lowrank: A must be a tensor of 2 dimensions or more, got {f'{A.ndim}' if isinstance(A, _C.Tensor) else type(A).__name__}"
        )
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.shape)
    pairs = [(X, X.mH) for X in ((A,) if M is None else (A, M))]  # the conjugates are copies: made once
    if m < n:  # the basis is one of the longer side
        pairs = [(XH, X) for X, XH in pairs]

    def times(x, which=0):
        product = pairs[0][which] @ x
        return product if M is None else product - pairs[1][which] @ x

    Q = _random_basis(times, lambda x: times(x, 1), (min(m, n), q), A, niter)
    B = times(Q, 1).mH
    U, S, Vh = _f["linalg.svd"](B, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if m < n else (U, S, V)


@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of A (*, m, n): (U, S, V), the columns of V being the q main directions.

    svd_lowrank of A without the mean of its rows (center=True).  A @ V[..., :k] are the first k components;
    S ** 2 / (m - 1) are their variances.  q is by default min(6, m, n).  ValueError for a q out of range.

    >>> U, S, V = strided.pca_lowrank(strided.tensor([[1., 2.], [2., 4.], [3., 6.]]), q=1)
    >>> (V[1] / V[0]).round(decimals=3)
    tensor([2.])
    """
    if not isinstance(A, _C.Tensor) or A.ndim < 2:
        raise ValueError(
            f"pca_lowrank: A must be a tensor of 2 dimensions or more, got {f'{A.ndim}' if isinstance(A, _C.Tensor) else type(A).__name__}"
        )
    least = min(A.shape[-2:])
    if q is None:
        q = min(6, least)
    elif not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
