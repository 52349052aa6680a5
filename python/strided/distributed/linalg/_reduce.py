"""Hermitian matrices to tridiagonal form, others to bidiagonal form, by reflectors that stay in the matrix's place.

J. J. Dongarra, D. C. Sorensen, S. J. Hammarling, "Block reduction of matrices to condensed forms for eigenvalue
computations", J. Comput. Appl. Math. 27, 1989: a panel of columns needs one product of the matrix with a vector for
each (two for bidiagonal form), and the rest is updated with the whole panel.  A panel's vectors are on every rank.

A reflector is I - t v v^H with a real t; the first element of v is 1, so the reduced matrix is complex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor
from ._layout import Grid, Matrix
from ._transfer import all_reduce, broadcast
from ._update import subtract_product

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

_f = _C.functions
_norm = _f["linalg.vector_norm"]
_PANEL = 32  # columns that are reduced before the rest is updated


def flipped(A: Matrix) -> Matrix:
    """The transposed matrix in the same memory, on the grid whose rows are A's columns.  Only for what needs no ranks
    of places in that grid: they are other ones than `Grid` gives."""
    grid, of = Grid.__new__(Grid), A.grid
    grid.comm, grid.rows, grid.columns = of.comm, of.columns, of.rows
    grid.row, grid.column, grid.row_comm, grid.column_comm = of.column, of.row, of.column_comm, of.row_comm
    return Matrix(A.local.mT, (A.shape[1], A.shape[0]), A.block, grid)


class Columns:
    """Block columns of a matrix (m, n) without what is above their first rows: half of a square matrix's memory.

    pieces: (first, end, the process column that has it, this process's rows from `first` on; None in other columns).
    As reflectors the k-th column begins in row k + `offset`, and has the scale scales[k] (0: the identity).
    """

    def __init__(self, A: Matrix, columns: int) -> None:
        self.rows, self.grid, self.scales, self.offset = A.rows, A.grid, [0.0] * columns, 0
        self.indices = A.row_indices()
        self.pieces: list[tuple[int, int, int, Tensor | None]] = []
        for first, end, owner in A.cols.steps(columns):
            piece = None
            if owner == A.grid.column:
                at = A.cols.local(first)
                piece = A.local[A.first_row(first) :, at : at + end - first].clone().contiguous()
            self.pieces.append((first, end, owner, piece))

    def as_reflectors(self, scales: list[float], offset: int, *, conj: bool = False) -> Columns:
        """Clears what is no part of reflectors, in place."""
        self.scales[: len(scales)], self.offset = scales, offset
        for first, end, _, piece in self.pieces:
            if piece is None:
                continue
            rows = self.indices[self.rows.before(self.grid.row, first) :][:, None]
            columns = _f["arange"](first, end, device=piece.device)
            idle = _tensor(self.scales[first:end], dtype=_C.float64, device=piece.device) == 0
            piece.masked_fill_((rows < columns + offset) | idle, 0)
            if conj and piece.is_complex():
                piece.copy_(piece.conj().resolve_conj())
        return self

    def apply(self, C: Matrix) -> None:
        """C := H_0 H_1 ... C, in place; the reflectors are given up on the way (UT transform: T^-1 is the upper
        triangle of V^H V, with half its diagonal; T. Joffrain, T. M. Low, E. S. Quintana-Orti, R. van de Geijn, F. G.
        Van Zee, 2006)."""
        grid = C.grid
        while self.pieces:
            first, end, owner, piece = self.pieces.pop()
            rows, width = C.local[C.first_row(first) :], end - first
            V = C.local.new_empty((rows.shape[0], width)) if piece is None else piece
            broadcast(grid.row_comm, V, owner)
            both = C.local.new_empty((width, width + rows.shape[1]))
            both[:, :width], both[:, width:] = V.mH @ V, V.mH @ rows
            all_reduce(grid.column_comm, both)
            inverse = [1 / t if t else 1.0 for t in self.scales[first:end]]
            T = both[:, :width].triu(1) + _tensor(inverse, dtype=V.dtype, device=V.device).diag()
            if rows.numel():
                subtract_product(rows, V, _f["linalg.solve_triangular"](T, both[:, width:], upper=True))


def _reflector(a: Tensor) -> tuple[complex, float, Tensor]:
    """(b, t, v): (I - t v v^H) a = (b, 0, ...)."""
    head, size = a[0].item(), _norm(a).item()
    v = a.clone()
    if a.numel() < 2 or not bool(a[1:].any()):
        v[0] = 1
        return head, 0.0, v
    b = -size * (head / abs(head) if head else 1.0)
    v[0] -= b
    v.div_(v[0].item())
    return b, 2 / _norm(v).item() ** 2, v


def tridiagonal(A: Columns, like: Tensor, comm: Any) -> tuple[list[float], list[complex]]:
    """(the diagonal, what is below it) of the Hermitian matrix of which A has the lower triangle, with whole diagonal
    blocks.  A becomes the reflectors, with `offset` 1.  like: any tensor of its dtype and device."""
    n, block, at = A.rows.length, A.rows.block, A.indices
    diagonal: list[float] = []
    below: list[complex] = []
    scales: list[float] = []

    def before(place: int) -> int:
        return A.rows.before(A.grid.row, place)

    width = min(_PANEL, block)
    both = like.new_empty((2 * width, n))
    V, W = both[:width], both[width:]
    for start in range(0, n, width):
        stop = min(start + width, n)
        for j in range(start, stop):
            k = j - start
            first, _, owner, piece = A.pieces[j // block]
            column = like.new_zeros(n)
            if piece is not None:
                column[at[before(j) :]] = piece[before(j) - before(first) :, j - first]
            column = all_reduce(comm, column[j:])
            if k:
                column -= V[:k, j:].mT @ W[:k, j].conj() + W[:k, j:].mT @ V[:k, j].conj()
            diagonal.append(column[0].real.item())
            if j + 1 == n:
                break
            value, t, v = _reflector(column[1:])
            below.append(value)
            scales.append(t)
            if piece is not None:
                piece[before(j + 1) - before(first) :, j - first] = v[at[before(j + 1) :] - (j + 1)]
            V[k, : j + 1], V[k, j + 1 :], W[k] = 0, v, 0
            if t == 0:
                continue
            y = like.new_zeros(n)
            v, of_rows, total = V[k], V[k][at], like.new_zeros(at.shape[0])
            for first, end, _, piece in A.pieces[(j + 1) // block :]:
                if piece is None:
                    continue
                left, top = max(first, j + 1), before(first)
                low, under = before(left), before(end)
                total[low:] += piece[low - top :, left - first :] @ v[left:end]
                if under < at.shape[0]:
                    y[left:end] += piece[under - top :, left - first :].mH @ of_rows[under:]
            y[at] += total
            y, v = all_reduce(comm, y[j + 1 :]), v[j + 1 :]
            if k:
                X, Y = V[:k, j + 1 :], W[:k, j + 1 :]
                y -= X.mT @ (Y.conj() @ v) + Y.mT @ (X.conj() @ v)
            y.mul_(t)
            W[k, j + 1 :] = y - v * (t / 2 * (v.conj() @ y).real.item())
        if stop < n:
            mine = both[:, at[before(stop) :]]
            for first, end, _, piece in A.pieces[stop // block :]:
                if piece is not None:
                    left = max(first, stop)
                    low = before(left)
                    target = piece[low - before(first) :, left - first :]
                    if target.numel():
                        other = _f["cat"]([W[:, left:end], V[:, left:end]]).conj()
                        subtract_product(target, mine[:, low - before(stop) :].mT, other)
    A.as_reflectors(scales, 1)
    return diagonal, below


def bidiagonal(A: Matrix) -> tuple[list[complex], list[complex], list[float], list[float]]:
    """(the diagonal, what is right of it, scales of the reflectors from the left, and from the right) of A (m, n),
    m >= n, in place: column k has the left reflector from row k on, row k the right one from column k + 1 on."""
    (m, n), comm, local = A.shape, A.grid.comm, A.local
    rows, cols = A.row_indices(), A.col_indices()
    diagonal: list[complex] = []
    right: list[complex] = []
    scales: tuple[list[float], list[float]] = [], []
    width = min(_PANEL, A.block)
    UX, YV = local.new_empty((2 * width, m)), local.new_empty((2 * width, n))
    U, X, Y, V = UX[:width], UX[width:], YV[:width], YV[width:]
    for start in range(0, n, width):
        stop = min(start + width, n)
        for j in range(start, stop):
            k, top, left, after = j - start, A.first_row(j), A.first_col(j), A.first_col(j + 1)
            here, there = A.cols.owner(j) == A.grid.column, A.rows.owner(j) == A.grid.row
            column = local.new_zeros(m)
            if here:
                column[rows[top:]] = local[top:, left]
            column = all_reduce(comm, column[j:])
            if k:  # the matrix now is A - U Y^H - X V^H
                column -= U[:k, j:].mT @ Y[:k, j].conj() + X[:k, j:].mT @ V[:k, j].conj()
            value, t, u = _reflector(column)
            diagonal.append(value)
            scales[0].append(t)
            U[k, :j], U[k, j:], Y[k], X[k] = 0, u, 0, 0
            if here:
                local[top:, left] = u[rows[top:] - j]
            if j + 1 == n:
                V[k] = 0
                break
            y = local.new_zeros(n)
            if t:
                y[cols[after:]] = local[top:, after:].mH @ U[k][rows[top:]]
                y = all_reduce(comm, y[j + 1 :])
                if k:
                    y -= Y[:k, j + 1 :].mT @ (U[:k, j:].conj() @ u) + V[:k, j + 1 :].mT @ (X[:k, j:].conj() @ u)
                Y[k, j + 1 :] = y * t
            row = local.new_zeros(n)
            if there:
                row[cols[after:]] = local[top, after:]
            row = all_reduce(comm, row[j + 1 :])
            row -= Y[: k + 1, j + 1 :].conj().mT @ U[: k + 1, j]
            if k:
                row -= V[:k, j + 1 :].conj().mT @ X[:k, j]
            value, t, v = _reflector(row.conj().resolve_conj())
            right.append(complex(value).conjugate() if local.is_complex() else value)
            scales[1].append(t)
            V[k, : j + 1], V[k, j + 1 :] = 0, v
            if there:
                local[top, after:] = v[cols[after:] - (j + 1)]
            if t == 0:
                continue
            x, low = local.new_zeros(m), A.first_row(j + 1)
            x[rows[low:]] = local[low:, after:] @ V[k][cols[after:]]
            x = all_reduce(comm, x[j + 1 :])
            x -= U[: k + 1, j + 1 :].mT @ (Y[: k + 1, j + 1 :].conj() @ v)
            if k:
                x -= X[:k, j + 1 :].mT @ (V[:k, j + 1 :].conj() @ v)
            X[k, j + 1 :] = x * t
        low, after = A.first_row(stop), A.first_col(stop)
        target = local[low:, after:]
        if target.numel():
            subtract_product(target, UX[:, rows[low:]].mT, YV[:, cols[after:]].conj())
    return diagonal, right, *scales
