"""Eigenvalues and eigenvectors of Hermitian matrices, and singular values and vectors, by spectral division.

Y. Nakatsukasa and N. J. Higham, "Stable and efficient spectral divide and conquer algorithms for the symmetric
eigenvalue decomposition and the SVD", SIAM J. Sci. Comput. 35, 2013.  The polar factor of A - s I is a reflection whose
two eigenspaces are those of A below and above s; A falls apart in their basis, and each half is divided again.  All of
it is products, QR and Cholesky on the layout of A.  Matrices of no more elements than a panel go to one process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..._typeinfo import finfo
from ...linalg import LinAlgError
from . import _norms
from ._layout import Matrix, square
from ._matmul import product
from ._polar import polar
from ._qr import Reflectors
from ._solve import diagonal, trace
from ._transfer import (
    adjoint,
    all_reduce,
    broadcast,
    from_full,
    permute_columns,
    put_window,
    to_full,
    window,
)

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor

_f = _C.functions


def eigh(A: Matrix, *, upper: bool = False, base: int | None = None) -> tuple[Tensor, Matrix]:
    """(eigenvalues in ascending order, the same on every rank; eigenvectors) of the matrix that one triangle of A says.

    base: matrices of this order and less are factored by one process.  Not recorded.
    """
    n = square("linalg.eigh", A)
    A = A.with_local(A.local.detach())
    keep = A.row_indices()[:, None] <= A.col_indices() if upper else A.row_indices()[:, None] >= A.col_indices()
    half = A.with_local(_f["where"](keep, A.local, 0))
    other = adjoint(half)
    same = A.row_indices()[:, None] == A.col_indices()
    half.local.add_(other.local.masked_fill_(same, 0))
    if A.dtype.is_complex:  # the imaginary part of the diagonal is not read
        half.local.sub_(_f["where"](same, (half.local - half.local.conj()) / 2, 0))
    del other, keep, same
    values, V = _divide(half, _norms.frobenius(half), base_order(n, A.block) if base is None else base)
    order = values.argsort()
    if not bool((order == _f["arange"](n, device=order.device)).all()):
        values, V = values[order], permute_columns(V, order.tolist())
    return values, V


def base_order(n: int, block: int) -> int:
    """The order up to which a matrix has no more elements than a block column of one of order n, or 128."""
    return max(128, math.isqrt(n * block))


def _divide(A: Matrix, scale: float, base: int) -> tuple[Tensor, Matrix]:
    n = A.shape[0]
    if n <= base:
        return _small(A)
    if not math.isfinite(scale):
        raise LinAlgError("linalg.eigh: The algorithm failed to converge: A has elements that are not finite")
    k, Q, B = _split(A, scale)
    if k == 0:  # a multiple of the identity
        values = _whole_diagonal(A)
        return values, A.eye(n)
    del A
    parts = [_hermitian(window(B, 0, 0, k, k)), _hermitian(window(B, k, k, n - k, n - k))]
    del B
    W, values = Q.new((n, n)), []
    for at in (0, k):
        found, V = _divide(parts.pop(0), scale, base)
        values.append(found)
        put_window(W, at, at, V)
        del V
    return _f["cat"](values), product(Q, W)


def _small(A: Matrix) -> tuple[Tensor, Matrix]:
    """By one process; others get the result, since another machine might round otherwise."""
    n = A.shape[0]
    values, V = _by_one(A, _f["linalg.eigh"], (n,), (n, n))
    return values, from_full(V, A.block, A.grid)


def _by_one(A: Matrix, function: Any, *shapes: tuple[int, ...]) -> list[Tensor]:
    """The results, of these shapes, of a function of the whole matrix, from the first rank; those of one axis are
    real."""
    full, comm = to_full(A), A.grid.comm
    if not bool(_f["isfinite"](full).all()):  # on every rank, where LAPACK would fail on one
        raise LinAlgError("linalg: The algorithm failed to converge: A has elements that are not finite")
    if comm.rank == 0:
        results = [t.contiguous() for t in function(full)]
    else:
        results = [full.new_empty(s, dtype=full.dtype.to_real() if len(s) == 1 else full.dtype) for s in shapes]
    return [broadcast(comm, t, 0) for t in results]


def _hermitian(A: Matrix) -> Matrix:
    A.local.add_(adjoint(A).local).div_(2)
    return A


def _whole_diagonal(A: Matrix) -> Tensor:
    mine = diagonal(A).real
    values = mine.new_zeros(A.shape[0])
    rows = A.row_indices()
    values[rows[_f["isin"](rows, A.col_indices())]] = mine
    return all_reduce(A.grid.comm, values)


def _shifts(A: Matrix, mean: float, spread: float) -> Sequence[float]:
    """Where to divide: the median of the diagonal, which divides most matrices evenly; their mean, which has
    eigenvalues on both sides; then places between eigenvalues that happen to be at these."""
    median = _whole_diagonal(A).sort().values[A.shape[0] // 2].item()
    return [median, mean] + [mean + spread * f for f in (0.11, -0.13, 0.37, -0.41, 0.73, -0.79)]


def _split(A: Matrix, scale: float) -> tuple[int, Matrix, Matrix]:
    """(k, Q, Q^H A Q): the first k columns of Q are an invariant subspace; k = 0 for a multiple of the identity."""
    n, eps = A.shape[0], finfo(A.dtype).eps
    mean = _real(trace(A)) / n
    spread = _norms.frobenius(_shifted(A, mean)) / math.sqrt(n)
    if spread <= 2 * eps * scale:  # what is left out is no larger than `enough` below
        return 0, A, A
    enough = 4 * eps * math.sqrt(n) * scale
    best: tuple[float, int, Matrix, Matrix] | None = None
    for shift in _shifts(A, mean, spread):
        U = polar(_shifted(A, shift))
        k = round((n - _real(trace(U))) / 2)
        if not 0 < k < n:
            continue
        Q = _invariant(U, k)
        del U
        B = product(Q, product(A, Q), adjoint="left")
        left = _norms.frobenius(window(B, k, 0, n - k, k))
        if best is None or left < best[0]:
            best = left, k, Q, B
        if left <= enough:
            break
        del Q, B
    if best is None or best[0] > 1000 * enough:
        raise LinAlgError("linalg.eigh: The algorithm failed to converge: no place divides the eigenvalues")
    return best[1:]


def _real(x: complex | float) -> float:
    return x.real


def _shifted(A: Matrix, shift: float) -> Matrix:
    result = A.with_local(A.local.clone())
    result.local.sub_(A.eye(A.shape[0]).local, alpha=shift)
    return result


def _invariant(U: Matrix, k: int) -> Matrix:
    """A unitary matrix whose first k columns span the eigenspace of U for -1: two steps of subspace iteration with the
    projection (I - U) / 2, from columns that are alike for every grid."""
    n = U.shape[0]
    X = U.new((n, k), None)
    places = X.row_indices()[:, None].to(_C.float64) * 12.9898 + X.col_indices().to(_C.float64) * 78.233
    noise = (places + 1).sin() * 43758.5453
    X.local.copy_(noise - noise.floor() - 0.5)
    X = Reflectors(X.with_local((X.local - product(U, X).local) / 2)).Q()
    return Reflectors(X.with_local((X.local - product(U, X).local) / 2)).Q(n)


def svd(A: Matrix, *, full_matrices: bool = False, base: int | None = None) -> tuple[Matrix, Tensor, Matrix]:
    """(U, the singular values in descending order, V), A = U diag(S) V^H.  Not recorded.

    A = U_p H by the polar decomposition (of R, for more rows than columns), then H = V S V^H.
    """
    m, n = A.shape
    A = A.with_local(A.local.detach())
    if max(m, n) <= (base_order(max(m, n), A.block) if base is None else base):
        left, right = (m, n) if full_matrices else (min(m, n),) * 2
        shapes = (m, left), (min(m, n),), (right, n)
        U, S, Vh = _by_one(A, lambda full: _f["linalg.svd"](full, full_matrices=full_matrices), *shapes)
        return from_full(U, A.block, A.grid), S, from_full(Vh.mH, A.block, A.grid)
    if m < n:
        V, S, U = svd(adjoint(A), full_matrices=full_matrices, base=base)
        return U, S, V
    F = None
    if m > n:
        F = Reflectors(A.with_local(A.local.clone().contiguous()))
        A = F.R()
    U = polar(A)
    H = _hermitian(product(U, A, adjoint="left"))
    complete = abs(_norms.frobenius(U) ** 2 - n) <= 20 * n * finfo(A.dtype).eps
    H.local.neg_()
    values, V = eigh(H, base=base)
    del H
    U = product(U, V)
    if not complete:  # directions of singular values that are 0: any orthonormal ones
        G = Reflectors(U)
        U = G.Q()
        phases = _phases(G)
        U.local.mul_(phases.index_select(0, U.col_indices()))
    if F is not None:
        wide = A.eye(m, m if full_matrices else n)
        put_window(wide, 0, 0, U)
        F.apply(wide)
        U = wide
    return U, (-values).clamp_min(0), V


def _phases(G: Reflectors) -> Tensor:
    """What the columns of Q are to be multiplied by, so that R has no negative elements on its diagonal."""
    top = G.top(G.A)
    mine = diagonal(top).sgn()
    phases = mine.new_zeros(top.shape[0])
    rows = top.row_indices()
    phases[rows[_f["isin"](rows, top.col_indices())]] = mine
    phases = all_reduce(top.grid.comm, phases)
    return _f["where"](phases == 0, 1, phases)
