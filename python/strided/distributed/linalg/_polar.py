"""The unitary factor of the polar decomposition, by products and factorisations alone.

Dynamically weighted Halley iteration, QDWH: Y. Nakatsukasa, Z. Bai, F. Gygi, "Optimizing Halley's iteration for
computing the matrix polar decomposition", SIAM J. Matrix Anal. Appl. 31, 2010.  Six steps in float64 for every matrix
whose condition is below 1 / eps: QR of a stacked matrix while the weights are large, Cholesky afterwards.
"""

from __future__ import annotations

import math

from ..._typeinfo import finfo
from ...linalg import LinAlgError
from . import _norms
from ._cholesky import cholesky_inplace
from ._layout import Matrix
from ._matmul import product
from ._qr import Reflectors
from ._transfer import adjoint
from ._triangular import triangular_inplace

_MOST = 60  # steps; singular values far below eps |A| need some more than the six


def polar(A: Matrix) -> Matrix:
    """The unitary U (m, n) of A = U H, m >= n.  Where A is singular U has the singular values 1 and 0, or, for singular
    values of A about eps |A|, something in between."""
    n, eps = A.shape[1], finfo(A.dtype).eps
    scale = bound(A)
    if not math.isfinite(scale):
        raise LinAlgError("the polar decomposition of a matrix with elements that are not finite")
    if scale == 0:
        return A.eye(*A.shape)
    X, low = A.with_local(A.local / scale), eps
    for _ in range(_MOST):
        a, b, c = _weights(low)
        term = _by_qr(X, c) if c > 100 else _by_cholesky(X, c)
        term.local.mul_((a - b / c) / (math.sqrt(c) if c > 100 else 1)).add_(X.local, alpha=b / c)
        moved = _norms.frobenius(X.with_local(term.local - X.local))
        X, low = term, min(1.0, low * (a + b * low * low) / (1 + c * low * low))
        if moved <= eps ** (1 / 3) * max(1.0, _norms.frobenius(X)) / 2 and 1 - low <= 10 * eps:
            break
    else:
        raise LinAlgError(f"the polar decomposition of a {A.shape[0]} x {n} matrix did not converge in {_MOST} steps")
    return X


def bound(A: Matrix) -> float:
    """A number that |A| does not exceed, and not far from it."""
    return min(_norms.frobenius(A), math.sqrt(_norms.largest_sum(A, 0)) * math.sqrt(_norms.largest_sum(A, 1)))


def _weights(low: float) -> tuple[float, float, float]:
    square = low * low
    d = (4 * (1 - square) / (square * square)) ** (1 / 3)
    root = math.sqrt(1 + d)
    a = root + math.sqrt(max(0.0, 8 - 4 * d + 8 * (2 - square) / (square * root))) / 2
    b = (a - 1) ** 2 / 4
    return a, b, a + b - 1


def _by_qr(X: Matrix, c: float) -> Matrix:
    """Q1 Q2^H for [sqrt(c) X; I] = [Q1; Q2] R.  X is padded to whole rounds of blocks, so that both parts are a piece's
    first and last rows."""
    (m, n), turn = X.shape, X.block * X.grid.rows
    padded = -(-m // turn) * turn
    stack = X.new((padded + n, n))
    height, middle = X.local.shape[0], stack.first_row(padded)
    stack.local[:height] = X.local
    stack.local[:height].mul_(math.sqrt(c))
    stack.local[middle:] = X.eye(n).local
    Q = Reflectors(stack).Q()
    first = Matrix(Q.local[:height], (m, n), X.block, X.grid)
    return product(first, Matrix(Q.local[middle:], (n, n), X.block, X.grid), adjoint="right")


def _by_cholesky(X: Matrix, c: float) -> Matrix:
    """X (I + c X^H X)^-1."""
    Z = product(X, X, adjoint="left")
    Z.local.mul_(c).add_(X.eye(X.shape[1]).local)
    if cholesky_inplace(Z):
        raise LinAlgError("the polar decomposition: I + c X^H X is not positive-definite")
    Y = adjoint(X)
    triangular_inplace(Z, Y, upper=False)
    triangular_inplace(Z, Y, upper=False, adjoint=True)
    return adjoint(Y)
