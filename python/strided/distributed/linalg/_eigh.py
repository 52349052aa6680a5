"""Eigenvalues and eigenvectors of Hermitian matrices, and singular values and vectors.

A matrix is reduced to tridiagonal or bidiagonal form (`_reduce`), that form is divided and conquered (`_divide`), and
the reflectors turn its vectors into the matrix's.  Eigenvalues are singular values too: a tridiagonal matrix with a
multiple of the identity added is B^T B for a bidiagonal B.  Reflectors have half the memory of a square matrix;
vectors are made one side after the other in the memory of the result.  Matrices of no more elements than a panel go to
one process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor
from ...linalg import LinAlgError
from . import _norms
from ._divide import LEAF, Divided
from ._layout import Matrix, square
from ._matmul import row_panel
from ._qr import Reflectors
from ._reduce import Columns, bidiagonal, flipped, tridiagonal
from ._transfer import adjoint, broadcast, from_full, to_full
from ._update import add_product

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor

_f = _C.functions
_TALL = 3  # times as many rows as columns: QR comes first


def eigh(
    A: Matrix, *, upper: bool = False, base: int | None = None, vectors: bool = True
) -> tuple[Tensor, Matrix | None]:
    """(eigenvalues in ascending order, the same on every rank; eigenvectors) of the matrix that one triangle of A says.

    base: matrices of this order and less are factored by one process.  Not recorded.
    """
    n = square("linalg.eigh", A)
    A = A.with_local(A.take())
    if upper:
        A = adjoint(A)
    base = base_order(n, A.block) if base is None else base
    if n <= base:
        values, whole = _by_one(_hermitian(A), _f["linalg.eigh"], (n,), (n, n))
        return values, from_full(whole, A.block, A.grid)
    scale = _scale("linalg.eigh", A)
    comm, device = A.grid.comm, A.local.device
    triangle = Columns(A, n)
    _whole_blocks(triangle, scale)
    A = A.new((0, 0))
    diagonal, below = tridiagonal(triangle, A.local, comm)
    diagonal, sizes, phases = _agreed(comm, device, diagonal, [abs(x) for x in below], _phases(below))
    if not vectors:
        triangle.pieces.clear()
    shift, roots, right = _definite(diagonal, sizes)
    divided = Divided(comm, roots, right, device, leaf=min(LEAF, base), room=n * A.block, sides="V" * vectors)
    values = (divided.values * divided.values - shift) * scale
    values = values.to(A.dtype.to_real())
    if not vectors:
        return values, None
    V = A.new((n, n))
    divided.vectors("V", V)
    phases = (phases if V.dtype.is_complex else phases.real).to(V.dtype)
    V.local.mul_(phases[V.row_indices()][:, None])
    triangle.apply(V)
    return values, V


def base_order(n: int, block: int) -> int:
    """The order up to which a matrix has no more elements than a block column of one of order n, or 128."""
    return max(128, math.isqrt(n * block))


def _scale(name: str, A: Matrix) -> float:
    """A power of 2 that no element exceeds by much."""
    size = _norms.frobenius(A)
    if not math.isfinite(size):
        raise LinAlgError(f"{name}: The algorithm failed to converge: A has elements that are not finite")
    return math.ldexp(1.0, math.frexp(size)[1]) if size else 1.0


def _hermitian(A: Matrix) -> Matrix:
    """The whole matrix of which A has the lower triangle."""
    rows, cols = A.row_indices()[:, None], A.col_indices()
    half = A.with_local(_f["where"](rows >= cols, A.local, 0))
    half.local.add_(adjoint(half).local.masked_fill_(rows == cols, 0))
    if A.dtype.is_complex:  # the imaginary part of the diagonal is not read
        half.local.sub_(_f["where"](rows == cols, (half.local - half.local.conj()) / 2, 0))
    return half


def _whole_blocks(A: Columns, scale: float) -> None:
    """Divides by scale, and makes the diagonal blocks whole."""
    for first, end, _, piece in A.pieces:
        if piece is None:
            continue
        piece.div_(scale)
        if A.rows.owner(first) == A.grid.row:
            block = piece[: end - first]
            below = block.tril(-1)
            block.copy_(below + below.mH + block.diagonal().real.diag())


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


def _phases(values: Sequence[complex]) -> list[complex]:
    """Of a Hermitian tridiagonal matrix with these numbers below its diagonal: what rows are to be multiplied by."""
    result: list[complex] = [1.0]
    for x in values:
        phase = result[-1] * (x / abs(x) if x else 1.0)
        result.append(phase / abs(phase))
    return result


def _agreed(comm: Any, device: Any, *lists: Sequence[complex]) -> Any:
    """Numbers of the first rank: real lists as lists, the last of the arguments as a tensor."""
    flat = [complex(x) for values in lists for x in values]
    parts = _tensor([[x.real, x.imag] for x in flat], dtype=_C.float64, device=device)
    broadcast(comm, parts, 0)
    *real, phases = parts.split([len(values) for values in lists])
    return [*(p[:, 0].tolist() for p in real), _f["complex"](phases[:, 0].contiguous(), phases[:, 1].contiguous())]


def _definite(diagonal: Sequence[float], below: Sequence[float]) -> tuple[float, list[float], list[float]]:
    """(s, the diagonal of B, what is right of it): B^T B is s I plus the tridiagonal matrix (Gershgorin's circles)."""
    beside = [0.0, *below, 0.0]
    circles = [beside[i] + beside[i + 1] for i in range(len(diagonal))]
    low = min(d - r for d, r in zip(diagonal, circles, strict=True))
    high = max(d + r for d, r in zip(diagonal, circles, strict=True))
    shift = max((high - low) / 8, 2.0**-46 * max(abs(low), abs(high)), 2.0**-500) - low
    roots, right = [math.sqrt(diagonal[0] + shift)], []
    for d, e in zip(diagonal[1:], below, strict=True):
        right.append(e / roots[-1])
        roots.append(math.sqrt(d + shift - right[-1] ** 2))
    return shift, roots, right


def svd(
    A: Matrix, *, full_matrices: bool = False, base: int | None = None, vectors: bool = True
) -> tuple[Matrix | None, Tensor, Matrix | None]:
    """(U, the singular values in descending order, Vh), A = U diag(S) Vh.  Not recorded."""
    m, n = A.shape
    mine = A.spare
    A = A.with_local(A.take())
    base = base_order(max(m, n), A.block) if base is None else base
    if max(m, n) <= base:
        left, right = (m, n) if full_matrices else (min(m, n),) * 2
        shapes = (m, left), (min(m, n),), (right, n)
        whole = _by_one(A, lambda full: _f["linalg.svd"](full, full_matrices=full_matrices), *shapes)
        return from_full(whole[0], A.block, A.grid), whole[1], from_full(whole[2], A.block, A.grid)
    if not min(m, n):
        left, right = (m, n) if full_matrices else (0, 0)
        return A.eye(m, left), A.local.new_empty(0).real, A.eye(right, n)
    scale = _scale("linalg.svd", A)
    given = [A if m >= n else flipped(A)]
    given[0] = given[0].with_local((given[0].local.div_(scale) if mine else given[0].local / scale).contiguous())
    A = A.new((0, 0))
    U, S, Vh = _tall(given, full_matrices, vectors, min(LEAF, base), max(m, n) * A.block)
    S = S * scale
    if m >= n or U is None or Vh is None:
        return U, S, Vh
    return _unflipped(Vh, A), S, _unflipped(U, A)


def _unflipped(x: Matrix, A: Matrix) -> Matrix:
    return Matrix(x.local.mT, (x.shape[1], x.shape[0]), A.block, A.grid)


def _tall(
    given: list[Matrix], full: bool, vectors: bool, leaf: int, room: int
) -> tuple[Matrix | None, Tensor, Matrix | None]:
    """svd of the one matrix in the list, which has more rows than columns and is given up."""
    T = given.pop()
    (m, n), comm, device = T.shape, T.grid.comm, T.local.device
    if m >= _TALL * n and not full:
        Q = Reflectors(T)
        U, S, Vh = _tall([Q.R()], False, vectors, leaf, room)
        if U is not None:
            Q.form()
            _multiply(T, U)
        return (T if vectors else None), S, Vh
    diagonal, right, *scales = bidiagonal(T)
    lefts, rights = [], [1.0 + 0j]  # phases that make the bidiagonal matrix real
    for d, e in zip(diagonal, [*right, 0.0], strict=True):
        lefts.append(_unit(rights[-1] * _unit(d)))
        rights.append(_unit(lefts[-1] * _unit(e).conjugate()))
    sizes = [abs(x) for x in diagonal], [abs(x) for x in right]
    roots, beside, phases = _agreed(comm, device, *sizes, [*lefts, *rights[:n]])
    if not vectors:
        T = T.new((0, 0))
    divided = Divided(comm, roots, beside, device, leaf=leaf, room=room, sides="UV" * vectors)
    S = divided.values.flip(0).to(T.dtype.to_real())
    if not vectors:
        return None, S, None
    phases = (phases if T.dtype.is_complex else phases.real).to(T.dtype)
    of_left, of_right = Columns(T, n), Columns(flipped(T), n - 1)
    of_left.as_reflectors(scales[0], 0)
    of_right.as_reflectors(scales[1], 1, conj=True)
    like = T.new((0, 0))
    del T
    U = like.new((m, m if full else n))
    divided.vectors("U", U, descending=True)
    rows = U.row_indices()
    if full:
        U.local.masked_fill_((rows[:, None] == U.col_indices()) & (rows[:, None] >= n), 1)
    top = U.first_row(n)
    U.local[:top].mul_(phases[:n][rows[:top]][:, None])
    of_left.apply(U)
    Vh = like.new((n, n))
    V = flipped(Vh)  # its conjugate
    divided.vectors("V", V, descending=True)
    V.local.mul_(phases[n:].conj().resolve_conj()[V.row_indices()][:, None])
    of_right.apply(V)
    return U, S, Vh


def _unit(x: complex) -> complex:
    return complex(x / abs(x)) if x else 1 + 0j


def _multiply(A: Matrix, B: Matrix) -> None:
    """A := A B, in place, for a square B: a few rows at a time."""
    height = 4 * A.block
    for at in range(0, A.rows.count(0), height):
        part = A.local[at : at + height]
        panel = part.new_empty((part.shape[0], A.shape[1]))
        for first, end, column in A.cols.steps():
            piece = part.new_empty((part.shape[0], end - first))
            if column == A.grid.column:
                left = A.cols.local(first)
                piece.copy_(part[:, left : left + end - first])
            panel[:, first:end] = broadcast(A.grid.row_comm, piece, column)
        part.zero_()
        for first, end, row in B.rows.steps():
            add_product(part, panel[:, first:end], row_panel(B, first, end, row))
