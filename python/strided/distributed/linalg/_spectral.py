"""QR, least squares, eigenvalues, singular values, norms and condition numbers, recorded.

Formulas of the gradients: S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design", 2010 (QR); M. B. Giles, 2008 (eigenvalues); J. Townsend, "Differentiating
the singular value decomposition", 2016.  They are written in recorded functions, so second derivatives work.
"""

from __future__ import annotations

import math
from collections import namedtuple
from typing import TYPE_CHECKING

from ... import _C
from ...autograd import Function
from ...linalg import LinAlgError
from .._comm import Communicator
from . import _eigh, _norms, _qr, _transfer, _tsqr
from ._layout import Axis, Matrix, takes_matrices
from ._recorded import adjoint, inv, layout, matmul, shared, solve_triangular, total, triangle
from ._transfer import all_numbers, all_reduce

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

_f = _C.functions

QR = namedtuple("QR", "Q R")
Eigh = namedtuple("Eigh", "eigenvalues eigenvectors")
SVD = namedtuple("SVD", "U S Vh")
LeastSquares = namedtuple("LeastSquares", "solution residuals")


def _at(A: Matrix, rows: Tensor, cols: Tensor) -> tuple[Tensor, Tensor]:
    """The elements of two vectors that every rank has, at the rows and columns of A's piece."""
    one = rows is cols
    rows = shared(rows, A.grid.comm)
    cols = rows if one else shared(cols, A.grid.comm)
    return rows.index_select(0, A.row_indices())[:, None], cols.index_select(0, A.col_indices())


def _on_diagonal(A: Matrix) -> Tensor:
    return A.row_indices()[:, None] == A.col_indices()


# ---------------------------------------------------------------- parts of a matrix


class _Window(Function):
    @staticmethod
    def forward(ctx, a, at, row, col, m, n):
        ctx.at, ctx.place = at, (row, col, m, n)
        return _transfer.window(Matrix(a, *at), row, col, m, n).local

    @staticmethod
    def backward(ctx, g):
        row, col, m, n = ctx.place
        (shape, block, grid) = ctx.at
        return placed(Matrix(g, (m, n), block, grid), row, col, shape).local, *[None] * 5


def window(A: Matrix, row: int, col: int, m: int, n: int) -> Matrix:
    """A[row : row + m, col : col + n] as a matrix of its own."""
    return Matrix(_Window.apply(A.local, layout(A), row, col, m, n), (m, n), A.block, A.grid)


class _Placed(Function):
    @staticmethod
    def forward(ctx, a, at, row, col, shape):
        part = Matrix(a, *at)
        ctx.at, ctx.place, ctx.shape = at, (row, col), shape
        whole = part.new(shape)
        _transfer.put_window(whole, row, col, part)
        return whole.local

    @staticmethod
    def backward(ctx, g):
        (m, n), block, grid = ctx.at
        return window(Matrix(g, ctx.shape, block, grid), *ctx.place, m, n).local, None, None, None, None


def placed(A: Matrix, row: int, col: int, shape: tuple[int, int]) -> Matrix:
    """Zeros of `shape` with A from (row, col) on."""
    return Matrix(_Placed.apply(A.local, layout(A), row, col, shape), shape, A.block, A.grid)


# ---------------------------------------------------------------- QR and least squares


def _factored(A: Matrix, columns: int) -> tuple[Matrix, Matrix]:
    F = _qr.Reflectors(A.writable())
    R = F.R(columns)
    if columns != A.shape[1]:
        return F.Q(columns), R
    F.form()
    return F.A, R


class _QR(Function):
    @staticmethod
    def forward(ctx, a, at, columns):
        Q, R = _factored(Matrix(a, *at), columns)
        ctx.save_for_backward(a, Q.local, R.local)
        ctx.at = at, layout(Q), layout(R)
        return Q.local, R.local

    @staticmethod
    def backward(ctx, gq, gr):
        A, Q, R = (Matrix(t, *at) for t, at in zip(ctx.saved_tensors, ctx.at, strict=True))
        (m, n), gQ, gR = A.shape, Q.with_local(gq), R.with_local(gr)
        if Q.shape[1] > n:
            raise NotImplementedError("the gradient of a complete QR of a matrix with more rows than columns")
        if m >= n:
            return _qr_gradient(Q, R, gQ, gR).local, None, None
        # A = [A1, A2]: Q and R1 are those of A1, and R2 is Q^H A2.
        A2, g2 = window(A, 0, m, m, n - m), window(gR, 0, m, m, n - m)
        gQ = gQ.with_local(gQ.local + matmul(A2, g2, adjoint="right").local)
        g1 = _qr_gradient(Q, window(R, 0, 0, m, m), gQ, window(gR, 0, 0, m, m))
        parts = placed(g1, 0, 0, (m, n)).local + placed(matmul(Q, g2), 0, m, (m, n)).local
        return parts, None, None


class _R(Function):
    @staticmethod
    def forward(ctx, a, at):
        return _qr.Reflectors(Matrix(a.clone().contiguous(), *at)).R().local

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to require its derivatives."
        )


def qr_r(A: Matrix) -> Matrix:
    """R of qr(A), without Q.  Its gradient is a RuntimeError."""
    return Matrix(_R.apply(A.local, layout(A)), (min(A.shape), A.shape[1]), A.block, A.grid)


def _qr_gradient(Q: Matrix, R: Matrix, gQ: Matrix, gR: Matrix) -> Matrix:
    M = matmul(gR, R, adjoint="right")
    M = triangle(M.with_local(M.local - matmul(Q, gQ, adjoint="left").local), True)
    both = M.local + adjoint(M).local
    M = M.with_local(_f["where"](_on_diagonal(M), _halved(both), both))
    inner = matmul(Q, M)
    return adjoint(solve_triangular(R, adjoint(inner.with_local(inner.local + gQ.local)), upper=True))


def _halved(x: Tensor) -> Tensor:
    """x with half its real part."""
    return x - (x + x.conj()) / 4


@takes_matrices
def qr(A: Matrix, mode: str = "reduced") -> QR:
    """(Q, R), A = Q R, by blocked Householder reflections whose panels are tall-skinny QRs.

    A (m, n); Q (m, k), R (k, n) with k = min(m, n), or k = m with mode="complete"; float32, float64, complex64,
    complex128.  Backward error: max(m, n) eps |A|; |Q^H Q - I| about max(m, n) eps, whatever A is.  Signs are those of
    one process for an A of full rank.  ValueError for another mode.

    J. Demmel, L. Grigori, M. Hoemmen, J. Langou, "Communication-optimal parallel and sequential QR and LU
    factorizations", 2012; G. Ballard et al., "Reconstructing Householder vectors from tall-skinny QR", 2014.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f'linalg.qr: mode must be "reduced" or "complete", got {mode!r}')
    m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    if A.spare:
        return QR(*_factored(A, k))
    Q, R = _QR.apply(A.local, layout(A), k)
    return QR(Matrix(Q, (m, k), A.block, A.grid), Matrix(R, (k, n), A.block, A.grid))


def tsqr(comm: Any, A: Tensor) -> tuple[Tensor, Tensor]:
    """(this rank's rows of Q, R) for the matrix whose rows the ranks of `comm` have, one part after the other.

    A (h, n), h differing from rank to rank, at least n rows in all; Q (h, n); R (n, n), the same bits on every rank.  A
    rank sends and receives n^2 log2(ranks) elements at most.  Not recorded.  RuntimeError for fewer than n rows.

    >>> def program():
    ...     comm = strided.distributed.world()
    ...     rows = strided.full((1, 1), [3., 4.][comm.rank])
    ...     return strided.distributed.linalg.tsqr(comm, rows)[1].abs()
    >>> strided.distributed.simulate(2, program)
    [tensor([[5.]]), tensor([[5.]])]
    """
    if not isinstance(comm, Communicator) or type(A) is not _C.Tensor:
        raise TypeError(
            "distributed.linalg.tsqr: a Communicator and a plain tensor are required, got "
            f"{type(comm).__name__} and {type(A).__name__}"
        )
    heights = [int(h) for h in all_numbers(comm, [A.shape[0] if r == comm.rank else 0 for r in range(comm.size)])]
    if sum(heights) < A.shape[1]:
        raise RuntimeError(f"tsqr: expected at least {A.shape[1]} rows in all, got {sum(heights)}")
    return _tsqr.tsqr_parts(comm, A.detach(), heights)


@takes_matrices
def lstsq(A: Matrix, B: Matrix) -> LeastSquares:
    """(solution, residuals): the X that makes |A X - B| least, or, with more columns than rows, the shortest X with
    A X = B.  A has full rank.

    A (m, n), B (m, k); residuals: the squared length of each column of A X - B, the same on every rank (empty unless
    m > n).  float32, float64, complex64, complex128.  By QR; backward error: max(m, n) eps |A| |X|.  A recorded call
    forms Q, another one does not.  LinAlgError, on every rank, where R's diagonal says that
    the rank is not full.
    """
    if not (_f["is_grad_enabled"]() and (A.local.requires_grad or B.local.requires_grad)):
        return LeastSquares(*_qr.least_squares(A, B))
    m, n = A.shape
    if m < n:
        Q, R = qr(adjoint(A))
        _qr.full_rank(R.with_local(R.local.detach()), n)
        return LeastSquares(matmul(Q, solve_triangular(R, B, upper=True, adjoint=True)), A.local.new_empty(0).real)
    Q, R = qr(A)
    _qr.full_rank(R.with_local(R.local.detach()), m)
    X = solve_triangular(R, matmul(Q, B, adjoint="left"), upper=True)
    if m == n:
        return LeastSquares(X, A.local.new_empty(0).real)
    rest = (B.local - matmul(A, X).local).abs().square().sum(0)
    return LeastSquares(X, _Columns.apply(rest, layout(B)))


class _Columns(Function):
    """One number for each column of the piece, summed over the processes of the column: all of them, on every rank."""

    @staticmethod
    def forward(ctx, x, at):
        (_, n), block, grid = at
        ctx.places, ctx.comm = Axis(n, block, grid.columns).indices(grid.column), grid.comm
        total = x.new_zeros(n)
        total[ctx.places] = x
        return all_reduce(grid.comm, total)

    @staticmethod
    def backward(ctx, g):
        return shared(g, ctx.comm)[ctx.places], None


# ---------------------------------------------------------------- eigenvalues and singular values


class _Eigh(Function):
    @staticmethod
    def forward(ctx, a, at, upper, base):
        values, V = _eigh.eigh(Matrix(a, *at), upper=upper, base=base)
        ctx.save_for_backward(values, V.local)
        ctx.at = at
        return values, V.local

    @staticmethod
    def backward(ctx, g, gv):
        values, v = ctx.saved_tensors
        V, gV = Matrix(v, *ctx.at), Matrix(gv, *ctx.at)
        inner = matmul(V, gV, adjoint="left")
        of_rows, of_cols = _at(inner, values, values)
        same = _on_diagonal(inner)
        inner = inner.with_local(
            _f["where"](same, _at(inner, g, g)[1].to(v.dtype), inner.local / (of_cols - of_rows).masked_fill(same, 1))
        )
        return matmul(matmul(V, inner), V, adjoint="right").local, None, None, None


@takes_matrices
def eigh(A: Matrix, UPLO: str = "L", *, base: int | None = None) -> Eigh:
    """(eigenvalues, ascending and the same on every rank; eigenvectors) of a Hermitian matrix, one triangle of which is
    read.

    Reduction to tridiagonal form, divide and conquer, reflectors (J. J. Dongarra, D. C. Sorensen, S. J. Hammarling,
    1989; M. Gu and S. C. Eisenstat, 1995).

    A (n, n); float32, float64, complex64, complex128.  Backward error, and |V^H V - I|: some n eps (times |A|).
    `base`: matrices up to this order are factored by one process; by default 128, or those no larger than a block
    column of A.  Besides A and V a rank needs half its share of A and some panels.  Gradients need distinct
    eigenvalues.

    Raises (on every rank):
        LinAlgError: A has elements that are not finite.
        ValueError: UPLO is neither "L" nor "U".
    """
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f"linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if A.spare:
        return Eigh(*_eigh.eigh(A, upper=UPLO in "Uu", base=base))
    values, V = _Eigh.apply(A.local, layout(A), UPLO in "Uu", base)
    return Eigh(values, A.with_local(V))


@takes_matrices
def eigvalsh(A: Matrix, UPLO: str = "L", *, base: int | None = None) -> Tensor:
    """The eigenvalues of a Hermitian matrix, ascending, the same on every rank; computed as in `eigh`.

    Besides A a rank needs half its share of it and some panels, unless a gradient is wanted: then as `eigh`.
    """
    if A.local.requires_grad or UPLO not in ("L", "U", "l", "u"):
        return eigh(A, UPLO, base=base).eigenvalues
    return _eigh.eigh(A, upper=UPLO in "Uu", base=base, vectors=False)[0]


class _SVD(Function):
    @staticmethod
    def forward(ctx, a, at, full_matrices, base):
        U, S, Vh = _eigh.svd(Matrix(a, *at), full_matrices=full_matrices, base=base)
        ctx.save_for_backward(U.local, S, Vh.local)
        ctx.at, ctx.full = (layout(U), layout(Vh)), full_matrices and at[0][0] != at[0][1]
        ctx.set_materialize_grads(False)
        return U.local, S, Vh.local

    @staticmethod
    def backward(ctx, gu, gs, gv):
        u, S, v = ctx.saved_tensors
        U, V = Matrix(u, *ctx.at[0]), adjoint(Matrix(v, *ctx.at[1]))
        if ctx.full and not (gu is None and gv is None):
            raise NotImplementedError("the gradient of singular vectors with full_matrices=True")
        if ctx.full:
            k = S.shape[0]
            U, V = window(U, 0, 0, U.shape[0], k), window(V, 0, 0, V.shape[0], k)
        if gv is not None:
            gv = adjoint(Matrix(gv, *ctx.at[1])).local
        return _svd_gradient(U, S, V, gu, gs, gv).local, None, None, None


def _svd_gradient(U: Matrix, S: Tensor, V: Matrix, gu: Tensor | None, gs: Tensor | None, gv: Tensor | None) -> Matrix:
    inner = U.new((S.shape[0], S.shape[0]))
    rows, cols = _at(inner, S, S)
    same, total = _on_diagonal(inner), inner.local
    squares = (cols * cols - rows * rows).masked_fill(same, 1)
    if gu is not None:
        skew = matmul(U, U.with_local(gu), adjoint="left")
        skew = skew.local - adjoint(skew).local
        total = total + skew / squares * cols
        if U.dtype.is_complex:
            total = total + _f["where"](same, skew / (2 * cols), 0)
    if gv is not None:
        skew = matmul(V, V.with_local(gv), adjoint="left")
        total = total + rows * ((skew.local - adjoint(skew).local) / squares)
    if gs is not None:
        total = total + _f["where"](same, _at(inner, gs, gs)[1].to(U.dtype), 0)
    inner = inner.with_local(total)
    left, right = matmul(U, inner), V
    result = None
    if gu is not None and U.shape[0] > U.shape[1]:
        part = U.with_local(gu / shared(S, U.grid.comm).index_select(0, U.col_indices()))
        beside = part.local - matmul(U, matmul(U, part, adjoint="left")).local
        left = left.with_local(left.local + beside)
    result = matmul(left, right, adjoint="right")
    if gv is not None and V.shape[0] > V.shape[1]:
        part = V.with_local(gv / shared(S, V.grid.comm).index_select(0, V.col_indices()))
        beside = V.with_local(part.local - matmul(V, matmul(V, part, adjoint="left")).local)
        result = result.with_local(result.local + matmul(U, beside, adjoint="right").local)
    return result


@takes_matrices
def svd(A: Matrix, full_matrices: bool = True, *, base: int | None = None) -> SVD:
    """(U, singular values, descending and the same on every rank, Vh), A = U diag(S) Vh.

    Reduction to bidiagonal form (of R of a QR, for three times as many rows as columns), divide and conquer,
    reflectors; references are at `eigh`.

    A (m, n); U (m, k), Vh (k, n) with k = min(m, n), or square with full_matrices=True; float32, float64, complex64,
    complex128.  Backward error, |U^H U - I| and |Vh Vh^H - I|: some max(m, n) eps (times |A|), singular matrices
    included.  Besides A, U and Vh a rank needs half its share of A and some panels.  Gradients of vectors need
    distinct singular values other than 0, and full_matrices=False.  LinAlgError, on every rank, for elements that are
    not finite.
    """
    m, n = A.shape
    if A.spare:
        return SVD(*_eigh.svd(A, full_matrices=full_matrices, base=base))
    U, S, Vh = _SVD.apply(A.local, layout(A), full_matrices, base)
    k = min(m, n)
    left, right = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    return SVD(Matrix(U, left, A.block, A.grid), S, Matrix(Vh, right, A.block, A.grid))


@takes_matrices
def svdvals(A: Matrix, *, base: int | None = None) -> Tensor:
    """The singular values, descending, the same on every rank; computed as in `svd`.

    Besides A a rank needs its share of it once more and some panels, unless a gradient is wanted: then as `svd`.
    """
    if not A.local.requires_grad:
        return _eigh.svd(A, base=base, vectors=False)[1]
    return _SVD.apply(A.local, layout(A), False, base)[1]


# ---------------------------------------------------------------- norms


@takes_matrices
def norm(A: Matrix, ord: Any = "fro") -> Tensor:  # noqa: A002
    """The norm of a matrix, a 0-d tensor, the same on every rank.

    ord: "fro", "nuc", 1, -1, inf, -inf, 2, -2, as in linalg.matrix_norm; the sums are over rows or columns of the grid,
    and 2, -2 and "nuc" come from `svdvals`.  ValueError for another one.
    """
    if ord in ("fro", None):
        here = A.local.abs()
        largest = _norms.frobenius(A)
        if not 0 < largest < math.inf:
            return total(here.square().sum(), A.grid.comm).sqrt()
        scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)  # a power of 2: dividing by it rounds nothing
        return total((here / scale).square().sum(), A.grid.comm).sqrt() * scale
    if ord == "nuc":
        return svdvals(A).sum()
    if ord in (2, -2):
        values = svdvals(A)
        if not values.numel():
            raise RuntimeError(f"linalg.matrix_norm: an empty matrix has no norm of order {ord}")
        return values[0] if ord == 2 else values[-1]
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"linalg.matrix_norm: Order {ord} not supported.")
    if not A.shape[abs(ord) == 1]:
        raise RuntimeError(f"linalg.matrix_norm: an empty matrix has no norm of order {ord}")
    along, across = (A.grid.column_comm, A.grid.row_comm)[:: 1 if abs(ord) == 1 else -1]
    sums = total(A.local.abs().sum(0 if abs(ord) == 1 else 1), along)
    op = "max" if ord > 0 else "min"
    none = -math.inf if ord > 0 else math.inf
    here = sums.detach()
    best = all_numbers(across, [(here.max() if ord > 0 else here.min()).item() if here.numel() else none], op)[0]
    chosen = here == best
    count = all_numbers(across, [float(chosen.sum().item())])[0]
    return total(_f["where"](chosen, sums, 0).sum() / count, across)


@takes_matrices
def cond(A: Matrix, p: Any = None) -> Tensor:
    """The condition number of a matrix, a 0-d tensor, the same on every rank; inf for a singular one.

    p: None or 2 (largest by smallest singular value), -2, or an `ord` of `norm` (then |A| |A^-1|).
    """
    if p in (None, 2, -2):
        values = svdvals(A)
        return values[0] / values[-1] if p != -2 else values[-1] / values[0]
    first = norm(A, p)
    try:
        other = inv(A)
    except LinAlgError:
        return A.local.new_full((), math.inf, dtype=A.dtype.to_real())
    return first * norm(other, p)
