"""LU as its factors, systems by them, and products with reflectors: what `lu_factor`, `lu_solve` and
`householder_product` of sharded tensors are made of, with gradients.

The gradient of LU of a rectangular matrix: with M = L1^-1 dA1 U1^-1 for the leading square parts, dL1 = L1 tril(M, -1)
and dU1 = triu(M) U1; what lies below or beside them follows from A2 = L2 U1 or A2 = L1 U2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...autograd import Function
from ._layout import Matrix
from ._lu import lu_inplace, row_order
from ._recorded import adjoint, layout, matmul, shared, solve_triangular, triangle
from ._spectral import _on_diagonal, placed, window
from ._transfer import inverse_order, permute_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._typing import Tensor


class _Rows(Function):
    @staticmethod
    def forward(ctx, a, at, order):
        ctx.at, ctx.order = at, order
        return permute_rows(Matrix(a, *at), order).local

    @staticmethod
    def backward(ctx, g):
        return rows_in_order(Matrix(g, *ctx.at), inverse_order(ctx.order)).local, None, None


def rows_in_order(A: Matrix, order: Sequence[int]) -> Matrix:
    """A[order]."""
    return A.with_local(_Rows.apply(A.local, layout(A), order))


class _LU(Function):
    @staticmethod
    def forward(ctx, a, at, found):
        LU = Matrix(a.clone().contiguous(), *at)
        found[:] = lu_inplace(LU)
        ctx.save_for_backward(LU.local)
        ctx.at, ctx.pivots = at, found[0]
        return LU.local

    @staticmethod
    def backward(ctx, g):
        LU = Matrix(ctx.saved_tensors[0], *ctx.at)
        order = row_order(ctx.pivots, LU.shape[0])
        return rows_in_order(_lu_gradient(LU, LU.with_local(g)), inverse_order(order)).local, None, None


def _unit_lower(A: Matrix) -> Matrix:
    """What is below the diagonal, with 1 on it."""
    return A.with_local(triangle(A, False, -1).local + _on_diagonal(A))


def _lu_gradient(LU: Matrix, G: Matrix) -> Matrix:
    (m, n), k = LU.shape, min(LU.shape)
    F, G1 = window(LU, 0, 0, k, k), window(G, 0, 0, k, k)
    lower = matmul(_unit_lower(F), triangle(G1, False, -1), adjoint="left")
    upper = matmul(triangle(G1, True), triangle(F, True), adjoint="right")
    rest = None
    if n > k:  # beside: U2
        U2, rest = window(LU, 0, k, k, n - k), window(G, 0, k, k, n - k)
        lower = lower.with_local(lower.local - matmul(rest, U2, adjoint="right").local)
        rest = placed(_left(F, rest), 0, k, (m, n))
    elif m > k:  # below: L2
        L2, rest = window(LU, k, 0, m - k, k), window(G, k, 0, m - k, k)
        upper = upper.with_local(upper.local - matmul(L2, rest, adjoint="left").local)
        rest = placed(_right(F, rest), k, 0, (m, n))
    inner = F.with_local(triangle(lower, False, -1).local + triangle(upper, True).local)
    made = placed(_right(F, _left(F, inner)), 0, 0, (m, n))
    return made if rest is None else made.with_local(made.local + rest.local)


def _left(F: Matrix, X: Matrix) -> Matrix:
    """L^-H X"""
    return solve_triangular(F, X, upper=False, adjoint=True, unitriangular=True)


def _right(F: Matrix, X: Matrix) -> Matrix:
    """X U^-H"""
    return adjoint(solve_triangular(F, adjoint(X), upper=True))


def lu_factor(A: Matrix) -> tuple[Matrix, list[int], int]:
    """(L and U in one, pivots from 0, info) of A (m, n), by LU with partial pivoting.

    info: 0, or the number, from 1, of the first column without a pivot.
    """
    if A.spare:
        LU = A.writable()
        return LU, *lu_inplace(LU)
    found: list = []
    LU = A.with_local(_LU.apply(A.local, layout(A), found))
    return LU, found[0], found[1]


def lu_solve(LU: Matrix, pivots: Sequence[int], B: Matrix, *, adjoint: bool = False) -> Matrix:
    """A^-1 B, or A^-H B, by the factors of A."""
    order = row_order(list(pivots), LU.shape[0])
    if adjoint:
        X = solve_triangular(LU, B, upper=True, adjoint=True)
        X = solve_triangular(LU, X, upper=False, adjoint=True, unitriangular=True)
        return rows_in_order(X, inverse_order(order))
    X = solve_triangular(LU, rows_in_order(B, order), upper=False, unitriangular=True)
    return solve_triangular(LU, X, upper=True)


def reflected(A: Matrix, tau: Tensor, C: Matrix, *, transposed: bool = False) -> Matrix:
    """Q C, or Q^H C, for Q = H_1 H_2 ..., H_i = I - tau_i y_i y_i^H; y_i is what A has below its diagonal in column i,
    after a 1.  tau: on every rank.

    All reflectors at once: Q = I - Y (I + D S)^-1 D Y^H, where D = diag(tau) and S is Y^H Y above its diagonal
    (T. Joffrain et al., "Accumulating Householder transformations, revisited", ACM TOMS 32(2), 2006).
    """
    m, k = A.shape[0], tau.shape[0]
    Y = _unit_lower(window(A, 0, 0, m, k))
    S = triangle(matmul(Y, Y, adjoint="left"), True, 1)
    numbers = shared(tau, A.grid.comm).index_select(0, S.row_indices())[:, None]
    T = S.with_local(S.local * numbers)  # unit upper triangular with the 1s that solves add
    W = matmul(Y, C, adjoint="left")
    if transposed:
        W = solve_triangular(T, W, upper=True, adjoint=True, unitriangular=True)
        W = W.with_local(W.local * numbers.conj())
    else:
        W = solve_triangular(T, W.with_local(W.local * numbers), upper=True, unitriangular=True)
    return C.with_local(C.local - matmul(Y, W).local)
