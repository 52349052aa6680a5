"""Linear algebra on matrices that are spread over processes (``strided.distributed.linalg``).

A `Matrix` is one process's piece of a block-cyclic matrix on a `Grid` of processes.  The functions have PyTorch's
names, are called by all ranks of the grid alike, and never bring a whole matrix to one rank.  They record themselves:
gradients have the distribution of what they are for.

>>> def program():
...     linalg = strided.distributed.linalg
...     grid = linalg.Grid(strided.distributed.world())
...     A = linalg.from_full(strided.tensor([[4., 2.], [2., 5.]]), block=1, grid=grid)
...     return linalg.to_full(linalg.cholesky(A))
>>> strided.distributed.simulate(3, program)[2]
tensor([[2., 0.],
        [1., 2.]])
"""

from __future__ import annotations

from ._layout import Axis, Grid, Matrix
from ._recorded import adjoint, cholesky, det, inv, matmul, slogdet, solve, solve_triangular
from ._solve import Factors
from ._spectral import cond, eigh, eigvalsh, lstsq, norm, qr, svd, svdvals, tsqr
from ._transfer import from_full, to_full

__all__ = [
    "Axis", "Factors", "Grid", "Matrix", "adjoint", "cholesky", "cond", "det", "eigh", "eigvalsh", "from_full", "inv",
    "lstsq", "matmul", "norm", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "to_full", "tsqr",
]  # fmt: skip

del annotations
