"""QR of a matrix with few columns whose rows are spread over ranks, and the reflectors of its Q.

Each rank factors its own rows; then pairs of ranks exchange their triangles and factor them together, in as many rounds
as the logarithm of the number of ranks (J. Demmel, L. Grigori, M. Hoemmen, J. Langou, "Communication-optimal parallel
and sequential QR and LU factorizations", SIAM J. Sci. Comput. 34, 2012: the all-reduce form).  Reflectors are made from
Q as in G. Ballard, J. Demmel, L. Grigori, M. Jacquelin, H. D. Nguyen, E. Solomonik, "Reconstructing Householder vectors
from tall-skinny QR", IPDPS 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor

_f = _C.functions
_qr, _solve = _f["linalg.qr"], _f["linalg.solve_triangular"]


def tsqr_parts(comm: Any, A: Tensor, heights: Sequence[int]) -> tuple[Tensor, Tensor]:
    """(this rank's rows of Q, R) for the matrix that the ranks' rows A (h, n) make together.

    `heights`: the number of rows of each rank, in any split.  Q has orthonormal columns whatever the rank of A; R is
    upper triangular, with the same bits on every rank.
    """
    size, rank, n = comm.size, comm.rank, A.shape[1]
    Q, R = _sorted_qr(A)
    counts = [min(h, n) for h in heights]
    pairs = 1 << (size.bit_length() - 1)  # ranks from here on have their triangle factored by another rank
    if rank >= pairs:
        comm.send(R.contiguous(), rank - pairs)
        final = min(n, sum(counts))
        both = A.new_empty((counts[rank] + final, final + n))  # [this rank's part, 0; 0, R]
        comm.recv(both, rank - pairs)
        return Q @ both[: counts[rank], :final], both[counts[rank] :, final:].contiguous()
    extra = rank + pairs if rank + pairs < size else None
    F = theirs = None
    if extra is not None:
        other = A.new_empty((counts[extra], n))
        comm.recv(other, extra)
        joined, R = _sorted_qr(_f["cat"]([R, other]))
        F, theirs = joined[: counts[rank]], joined[counts[rank] :]
    counts[:pairs] = [min(n, counts[r] + (counts[r + pairs] if r + pairs < size else 0)) for r in range(pairs)]
    step = 1
    while step < pairs:
        peer = rank ^ step
        other = A.new_empty((counts[peer], n))
        comm.sendrecv(R.contiguous(), peer, other, peer)
        joined, R = _sorted_qr(_f["cat"]([R, other] if rank < peer else [other, R]))
        part = joined[: counts[rank]] if rank < peer else joined[counts[peer] :]
        F = part if F is None else F @ part
        theirs = None if theirs is None else theirs @ part
        counts[:pairs] = [min(n, counts[r] + counts[r ^ step]) for r in range(pairs)]
        step *= 2
    if extra is not None:
        height, final = theirs.shape
        both = A.new_zeros((height + final, final + n))
        both[:height, :final], both[height:, final:] = theirs, R
        comm.send(both, extra)
    return Q if F is None else Q @ F, R.contiguous()


def _sorted_qr(A: Tensor) -> tuple[Tensor, Tensor]:
    """QR of A with its rows taken from the largest to the smallest: the error of each row of Q R is then small beside
    that row (A. J. Cox and N. J. Higham, "Stability of Householder QR factorization for weighted least squares problems",
    1998), which the polar decomposition relies on."""
    if A.shape[0] < 2 or A.shape[1] == 0:
        return _qr(A)
    order = A.abs().amax(1).argsort(descending=True, stable=True)
    Q, R = _qr(A.index_select(0, order))
    result = _f["empty_like"](Q)
    result[order] = Q
    return result, R


def signed_lu(Q: Tensor, last: bool) -> tuple[Tensor, Tensor]:
    """(L and U in one, s) with Q - diag(s) = L U and s = 1 or -1, for a square block of orthonormal columns.

    The signs are chosen as the elimination goes, so that each pivot is at least 1 and none is searched for; they are
    LAPACK's.  `last`: no row follows the block, so that its last reflector, where it is real, is the identity.
    """
    M, signs = Q.clone().contiguous(), []
    for i in range(M.shape[0]):
        s = -1.0 if M[i, i].real.item() >= 0 else 1.0
        if last and i + 1 == M.shape[0] and not M.is_complex():
            signs.append(-s)
            M[i, i] = 0
            break
        signs.append(s)
        M[i, i] -= s
        if i + 1 < M.shape[0]:
            M[i + 1 :, i] /= M[i, i]
            M[i + 1 :, i + 1 :] -= M[i + 1 :, i : i + 1] * M[i, i + 1 :]
    return M, Q.new_tensor(signs)


def reflectors(LU: Tensor, signs: Tensor) -> tuple[Tensor, Tensor]:
    """(the unit lower triangle Y1, T): H = I - Y T Y^H is unitary, its first columns are Q / diag(s)."""
    eye = _f["eye"](LU.shape[0], dtype=LU.dtype, device=LU.device)
    Y1 = LU.tril(-1) + eye
    T = -(LU.triu() * signs.conj())
    return Y1, _solve(Y1.mH, T, upper=True, unitriangular=True, left=False)
