"""Systems, inverses and determinants from one LU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor
from ...linalg import LinAlgError
from ._layout import Matrix, same_grid, square
from ._lu import lu_inplace, row_order
from ._transfer import all_numbers, all_reduce, inverse_order, permute_rows
from ._triangular import triangular_inplace

if TYPE_CHECKING:
    from ..._typing import Tensor

_f = _C.functions


class Factors:
    """LU of a square matrix, kept for systems with it and with its adjoint."""

    def __init__(self, A: Matrix, *, pivoting: str = "partial", overwrite: bool = False) -> None:
        self.n = square("lu_factor", A)
        self.LU = A.with_local(A.local.detach()) if overwrite else A.writable()
        self.pivots, self.info = lu_inplace(self.LU, pivoting)
        self.order = row_order(self.pivots, self.n)

    def solve(self, B: Matrix, *, adjoint: bool = False) -> Matrix:
        """A^-1 B, or A^-H B."""
        same_grid("linalg.solve", self.LU, B)
        if B.shape[0] != self.n:
            raise RuntimeError(f"linalg.solve: B must have A's {self.n} rows, got {B.shape[0]} x {B.shape[1]}")
        if adjoint:
            X = B.writable()
            triangular_inplace(self.LU, X, upper=True, adjoint=True)
            triangular_inplace(self.LU, X, upper=False, adjoint=True, unit=True)
            return permute_rows(X, inverse_order(self.order))
        return self._solved(permute_rows(B.with_local(B.take()), self.order))

    def inverse(self) -> Matrix:
        """A^-1."""
        X = self.LU.new((self.n, self.n))
        to = _tensor(self.order, dtype=_C.int64, device=X.local.device)
        X.local.masked_fill_(to[X.row_indices()][:, None] == X.col_indices(), 1)
        return self._solved(X)

    def _solved(self, X: Matrix) -> Matrix:
        triangular_inplace(self.LU, X, upper=False, unit=True)
        triangular_inplace(self.LU, X, upper=True)
        return X

    def slogdet(self) -> tuple[Tensor, Tensor]:
        """The sign and the logarithm of the size of the determinant, the same on every rank."""
        d = diagonal(self.LU)
        log = all_reduce(self.LU.grid.comm, d.abs().log().sum().reshape(1))[0]
        sign = all_reduce(self.LU.grid.comm, d.sgn().prod().reshape(1), "prod")[0]
        return sign * self._parity(), log

    def det(self) -> Tensor:
        """The determinant, the same on every rank."""
        return all_reduce(self.LU.grid.comm, diagonal(self.LU).prod().reshape(1), "prod")[0] * self._parity()

    def _parity(self) -> int:
        return -1 if sum(p != i for i, p in enumerate(self.pivots)) % 2 else 1


def diagonal(A: Matrix) -> Tensor:
    """What this process has of the diagonal."""
    rows, cols = A.row_indices(), A.col_indices()
    at = _f["isin"](rows, cols)
    mine = rows[at]
    return A.local[at.nonzero().flatten(), _f["searchsorted"](cols, mine)] if mine.numel() else A.local.new_empty(0)


def check(name: str, factors: Factors) -> Factors:
    """LinAlgError, on every rank, for a singular matrix."""
    if factors.info:
        raise LinAlgError(
            f"linalg.{name}: The diagonal element {factors.info} is zero, the "
            f"{'inversion' if name == 'inv' else 'solve'} could not be completed because the input matrix is singular."
            if name == "inv"
            else f"torch.linalg.{name}: The solver failed because the input matrix is singular."
        )
    return factors


def trace(A: Matrix) -> complex | float:
    """The sum of the diagonal."""
    total = diagonal(A).sum()
    if A.dtype.is_complex:
        real, imag = all_numbers(A.grid.comm, [total.real.item(), total.imag.item()])
        return complex(real, imag)
    return all_numbers(A.grid.comm, [total.item()])[0]
