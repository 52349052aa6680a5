"""Products, systems, inverses and determinants with their gradients, which are systems and products on the same layout.

Formulas: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation",
Advances in Automatic Differentiation, Springer 2008; I. Murray, "Differentiation of the Cholesky decomposition", 2016.
They are written in the recorded functions themselves, so second derivatives work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...autograd import Function
from ...linalg import LinAlgError
from . import _cholesky, _matmul, _transfer, _triangular
from ._layers import Layers, product_layers
from ._layout import Matrix, square, takes_matrices
from ._solve import Factors, check

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

_f = _C.functions


def layout(A: Matrix) -> tuple[Any, ...]:
    """What Matrix is made of besides its piece."""
    return A.shape, A.block, A.grid


def triangle(A: Matrix, upper: bool, offset: int = 0) -> Matrix:
    """A with 0 below (upper) or above the diagonal `offset` to the right of the main one."""
    rows, cols = A.row_indices()[:, None] + offset, A.col_indices()
    return A.with_local(_f["where"](cols >= rows if upper else cols <= rows, A.local, 0))


def clear_above(A: Matrix) -> None:
    """Sets what is above the diagonal to 0, in place."""
    rows, cols = A.rows.indices(A.grid.row), A.col_indices()
    for at in range(0, len(rows), A.block):  # the rows of one block, so that the mask is small
        part = A.local[at : at + A.block]
        part.masked_fill_(A.row_indices()[at : at + A.block, None] < cols, 0)


def scaled(A: Matrix, factor: Any) -> Matrix:
    """A times a number, or a tensor that fits the piece."""
    return A.with_local(A.local * factor)


class _Sum(Function):
    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return _transfer.all_reduce(comm, x.clone().contiguous())

    @staticmethod
    def backward(ctx, g):
        return shared(g, ctx.comm), None


def total(x: Tensor, comm: Any) -> Tensor:
    """The sum of x over the ranks of comm, on each of them.  In a backward pass they give the same gradient for it."""
    return _Sum.apply(x, comm)


class _Shared(Function):
    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return total(g, ctx.comm), None


def shared(x: Tensor, comm: Any) -> Tensor:
    """x, which every rank of comm has and uses for its piece of something: its gradient is the sum over the ranks."""
    return _Shared.apply(x, comm) if comm.size > 1 and x.requires_grad and _f["is_grad_enabled"]() else x


class _Product(Function):
    @staticmethod
    def forward(ctx, a, b, at_a, at_b, adjoint, layers):
        ctx.save_for_backward(a, b)
        ctx.at, ctx.adjoint = (at_a, at_b), adjoint
        A, B = Matrix(a, *at_a), Matrix(b, *at_b)
        if layers == 1:
            C = _matmul.product(A, B, adjoint=adjoint)
        else:
            _matmul.check_product(A, B, adjoint)
            C = product_layers(A, B, Layers(A.grid.comm, layers))
        ctx.at_c = layout(C)
        return C.local

    @staticmethod
    def backward(ctx, g):
        A, B = (Matrix(t, *at) for t, at in zip(ctx.saved_tensors, ctx.at, strict=True))
        G = Matrix(g, *ctx.at_c)
        formulas = {
            "": (lambda: matmul(G, B, adjoint="right"), lambda: matmul(A, G, adjoint="left")),
            "left": (lambda: matmul(B, G, adjoint="right"), lambda: matmul(A, G)),
            "right": (lambda: matmul(G, B), lambda: matmul(G, A, adjoint="left")),
        }[ctx.adjoint]
        grads = (f().local if needed else None for f, needed in zip(formulas, ctx.needs_input_grad, strict=False))
        return (*grads, None, None, None, None)


@takes_matrices
def matmul(A: Matrix, B: Matrix, *, adjoint: str = "", layers: int = 1) -> Matrix:
    """A B; A^H B with adjoint="left"; A B^H with adjoint="right".  No transposed copy is made.

    SUMMA (R. van de Geijn and J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", 1997).  A rank of
    a P x Q grid receives its share of A's columns and of B's rows once, (m k / P) (Q - 1) / Q + (k n / Q) (P - 1) / P
    elements; besides the result it keeps two panels.  With `layers` = c, which the number of ranks is a multiple of,
    the ranks work in c layers (2.5 dimensions: E. Solomonik and J. Demmel, 2011): less is sent, by the square root of
    c, and each rank holds c times its share of the result for a while.  Gradients are computed in one layer.

    A (m, k), B (k, n); float32, float64, complex64, complex128, one dtype, grid and block.  RuntimeError for sizes that
    do not fit; ValueError for another grid.  Backward error: k eps |A| |B|, as for one process.

    >>> def program():
    ...     linalg = strided.distributed.linalg
    ...     grid = linalg.Grid(strided.distributed.world())
    ...     A = linalg.from_full(strided.arange(6.).reshape(2, 3), block=1, grid=grid)
    ...     return linalg.to_full(linalg.matmul(A, A, adjoint="right"))
    >>> strided.distributed.simulate(4, program)[0]
    tensor([[ 5., 14.],
            [14., 50.]])
    """
    if adjoint not in ("", "left", "right"):
        raise ValueError(f'matmul: adjoint must be "", "left" or "right", got {adjoint!r}')
    if layers != 1 and adjoint:
        raise NotImplementedError(f"matmul: adjoint={adjoint!r} in {layers} layers")
    local = _Product.apply(A.local, B.local, layout(A), layout(B), adjoint, layers)
    m, n = A.shape[adjoint == "left"], B.shape[adjoint != "right"]
    return Matrix(local, (m, n), A.block, A.grid)


class _Adjoint(Function):
    @staticmethod
    def forward(ctx, a, at, conj):
        ctx.conj, A = conj, Matrix(a, *at)
        result = _transfer.adjoint(A, conj=conj)
        ctx.at = layout(result)
        return result.local

    @staticmethod
    def backward(ctx, g):
        return adjoint(Matrix(g, *ctx.at), conj=ctx.conj).local, None, None


@takes_matrices
def adjoint(A: Matrix, *, conj: bool = True) -> Matrix:
    """The transposed matrix (conjugated, unless conj=False) on the same grid: each element is sent once."""
    local = _Adjoint.apply(A.local, layout(A), conj)
    return Matrix(local, (A.shape[1], A.shape[0]), A.block, A.grid)


class _Solve(Function):
    @staticmethod
    def forward(ctx, a, b, at_a, at_b, adjoint, factors):
        if factors is None:
            factors = check("solve", Factors(Matrix(a, *at_a)))
        X = factors.solve(Matrix(b, *at_b), adjoint=adjoint)
        ctx.save_for_backward(a, X.local)
        ctx.at_a, ctx.at_x, ctx.adjoint, ctx.factors = at_a, layout(X), adjoint, factors
        return X.local

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        A, X, G = Matrix(a, *ctx.at_a), Matrix(x, *ctx.at_x), Matrix(g, *ctx.at_x)
        gB = solve(A, G, adjoint=not ctx.adjoint, factors=ctx.factors)
        pair = (X, gB) if ctx.adjoint else (gB, X)
        gA = -matmul(*pair, adjoint="right").local if ctx.needs_input_grad[0] else None
        return gA, gB.local if ctx.needs_input_grad[1] else None, None, None, None, None


@takes_matrices
def solve(A: Matrix, B: Matrix, *, adjoint: bool = False, factors: Factors | None = None) -> Matrix:
    """A^-1 B, or A^-H B, by LU with partial pivoting; the inverse is never formed.

    A (n, n), B (n, k); float32, float64, complex64, complex128.  `factors`: the Factors of A from an earlier call.  A
    rank keeps, besides A, B and the result, the factors (its share of A) and some panels.  Backward error: that of LU
    with partial pivoting, |A X - B| <= c n^2 eps growth |A| |X|.  The gradient solves with the adjoint of the same
    factors.

    Raises (on every rank):
        LinAlgError: A is singular.
        RuntimeError: A is not square, or B has other rows.

    >>> def program():
    ...     linalg = strided.distributed.linalg
    ...     grid = linalg.Grid(strided.distributed.world())
    ...     A, B = strided.tensor([[2., 1.], [1., 3.]]), strided.tensor([[3.], [5.]])
    ...     X = linalg.solve(linalg.from_full(A, 1, grid), linalg.from_full(B, 1, grid))
    ...     return linalg.to_full(X)
    >>> strided.distributed.simulate(2, program)[1].round(decimals=5)
    tensor([[0.8000],
            [1.4000]])
    """
    square("linalg.solve", A)
    if factors is None and A.spare and not B.local.requires_grad:
        return check("solve", Factors(A)).solve(B, adjoint=adjoint)
    return B.with_local(_Solve.apply(A.local, B.local, layout(A), layout(B), adjoint, factors))


class _SolveTriangular(Function):
    @staticmethod
    def forward(ctx, t, b, at_t, at_b, upper, adjoint, unit):
        X = Matrix(b.clone().contiguous(), *at_b)
        _triangular.triangular_inplace(Matrix(t, *at_t), X, upper=upper, adjoint=adjoint, unit=unit)
        ctx.save_for_backward(t, X.local)
        ctx.at, ctx.how = (at_t, at_b), (upper, adjoint, unit)
        return X.local

    @staticmethod
    def backward(ctx, g):
        upper, adj, unit = ctx.how
        T, X = (Matrix(t, *at) for t, at in zip(ctx.saved_tensors, ctx.at, strict=True))
        gB = solve_triangular(T, X.with_local(g), upper=upper, adjoint=not adj, unitriangular=unit)
        gT = None
        if ctx.needs_input_grad[0]:
            pair = (X, gB) if adj else (gB, X)
            gT = triangle(scaled(matmul(*pair, adjoint="right"), -1), upper, unit if upper else -unit).local
        return gT, gB.local if ctx.needs_input_grad[1] else None, None, None, None, None, None


@takes_matrices
def solve_triangular(
    T: Matrix, B: Matrix, *, upper: bool, adjoint: bool = False, unitriangular: bool = False
) -> Matrix:
    """T^-1 B, or T^-H B, for a triangular matrix whose other triangle is not read.

    T (n, n), B (n, k); float32, float64, complex64, complex128.  Backward error: n eps |T| |X|, column by column.
    RuntimeError for sizes that do not fit.
    """
    if B.spare and not T.local.requires_grad:
        X = B.writable()
        _triangular.triangular_inplace(T, X, upper=upper, adjoint=adjoint, unit=unitriangular)
        X.spare = True
        return X
    at_t, at_b = layout(T), layout(B)
    return B.with_local(_SolveTriangular.apply(T.local, B.local, at_t, at_b, upper, adjoint, unitriangular))


def _lower(A: Matrix) -> Matrix:
    L = A.writable()
    info = _cholesky.cholesky_inplace(L)
    if info:
        raise _cholesky.failed(info)
    clear_above(L)
    return L


class _Cholesky(Function):
    @staticmethod
    def forward(ctx, a, at):
        L = _lower(Matrix(a, *at))
        ctx.save_for_backward(L.local)
        ctx.at = at
        return L.local

    @staticmethod
    def backward(ctx, g):
        (l,) = ctx.saved_tensors
        L, G = Matrix(l, *ctx.at), Matrix(g, *ctx.at)
        inner = triangle(matmul(L, G, adjoint="left"), False)
        half = 1 - (inner.row_indices()[:, None] == inner.col_indices()).to(inner.dtype) / 2
        Z = solve_triangular(L, scaled(inner, half), upper=False, adjoint=True)
        S = solve_triangular(L, adjoint(Z), upper=False, adjoint=True)  # (Z L^-1)^H
        return ((S.local + adjoint(S).local) / 2).contiguous(), None


@takes_matrices
def cholesky(A: Matrix, *, upper: bool = False) -> Matrix:
    """L with A = L L^H for a Hermitian positive-definite A, whose lower triangle is read; L^H with upper=True.

    A (n, n); float32, float64, complex64, complex128.  Backward error: n eps |A|.  LinAlgError, on every rank, for a
    matrix that is not positive-definite.
    """
    L = _lower(A) if A.spare else A.with_local(_Cholesky.apply(A.local, layout(A)))
    return adjoint(L) if upper else L


class _Inverse(Function):
    @staticmethod
    def forward(ctx, a, at):
        A = Matrix(a, *at)
        X = check("inv", Factors(A)).inverse()
        ctx.save_for_backward(X.local)
        ctx.at = at
        return X.local

    @staticmethod
    def backward(ctx, g):
        X = Matrix(ctx.saved_tensors[0], *ctx.at)
        inner = matmul(matmul(X, Matrix(g, *ctx.at), adjoint="left"), X, adjoint="right")
        return -inner.local, None


@takes_matrices
def inv(A: Matrix) -> Matrix:
    """A^-1, by LU with partial pivoting and solves with the columns of the identity.

    A (n, n); float32, float64, complex64, complex128.  Residual: |A X - I| <= c n^2 eps growth |A| |X|.  LinAlgError,
    on every rank, for a singular matrix.
    """
    square("linalg.inv", A)
    if A.spare:
        return check("inv", Factors(A)).inverse()
    return A.with_local(_Inverse.apply(A.local, layout(A)))


class _Determinant(Function):
    @staticmethod
    def forward(ctx, a, at, logarithm):
        factors = Factors(Matrix(a, *at))
        ctx.at, ctx.factors, ctx.logarithm = at, factors, logarithm
        result = factors.slogdet() if logarithm else factors.det()
        ctx.save_for_backward(a, *(result if logarithm else (result,)))
        return result

    @staticmethod
    def backward(ctx, *grads):
        a, *results = ctx.saved_tensors
        A = Matrix(a, *ctx.at)
        if ctx.factors.info:
            if ctx.logarithm:
                raise LinAlgError("linalg.slogdet: the gradient of the determinant of a singular matrix is not finite")
            if _f["is_grad_enabled"]():
                raise NotImplementedError(
                    "the second derivative of the determinant of a singular matrix on several ranks"
                )
            return _adjugate(A).local.mul_(grads[0]), None, None
        inverse = solve(A, A.eye(A.shape[0]), adjoint=True, factors=ctx.factors).local
        if not ctx.logarithm:
            return inverse * shared(grads[0] * results[0].conj(), A.grid.comm), None, None
        sign, g_sign, g_log = results[0], *grads
        factor = g_log
        if a.is_complex():
            factor = _f["complex"](g_log, (g_sign * sign.conj()).imag)
        return inverse * shared(factor, A.grid.comm), None, None


def _adjugate(A: Matrix) -> Matrix:
    """The adjoint of the adjugate (det(A) A^-1 where that exists): of U diag(S) V^H it is what the products of all but
    one singular value put between the same vectors."""
    from ._eigh import svd

    U, S, Vh = svd(A)
    before, after = (_f["cat"]([S.new_ones(1), x[:-1]]).cumprod(0) for x in (S, S.flip(0)))
    others = (before * after.flip(0)).to(A.dtype)
    sign = Factors(U).det() * Factors(Vh).det()
    U.local.mul_(others.index_select(0, U.col_indices()) * sign.conj())
    return _matmul.product(U, Vh)


@takes_matrices
def det(A: Matrix) -> Tensor:
    """The determinant, by LU with partial pivoting: a 0-d tensor, the same on every rank; 0 for a singular matrix.

    A (n, n); float32, float64, complex64, complex128.  In a backward pass every rank gives the same gradient for it.
    """
    square("linalg.det", A)
    if A.spare:
        return Factors(A).det()
    return _Determinant.apply(A.local, layout(A), False)


@takes_matrices
def slogdet(A: Matrix) -> tuple[Tensor, Tensor]:
    """The sign of the determinant and the logarithm of its size, two 0-d tensors: (0, -inf) for a singular matrix."""
    square("linalg.slogdet", A)
    if A.spare:
        return Factors(A).slogdet()
    return _Determinant.apply(A.local, layout(A), True)
