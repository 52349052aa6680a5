"""Divide and conquer of bidiagonal matrices, and reductions to them, on spectra and shapes that are hard for them."""

import pytest
import strided as torch
from distributed_linalg import DTYPES, on_ranks, random, size
from strided.distributed.linalg import _divide

la = torch.linalg
N = 60
EPS = torch.finfo(torch.float64).eps


def steps(*values):
    """N numbers that repeat these."""
    return [values[i % len(values)] for i in range(N)]


BIDIAGONAL = {
    "zero": (steps(0.0), steps(0.0)),
    "equal": (steps(1.0), steps(0.0)),
    "ones": (steps(1.0), steps(1.0)),
    "no diagonal": (steps(0.0), steps(1.0)),
    "falling": ([10.0 ** (-i / 3) for i in range(N)], [10.0 ** (-i / 3) for i in range(N)]),
    "rising": ([10.0 ** (i / 3 - 20) for i in range(N)], [10.0 ** (i / 3 - 20) for i in range(N)]),
    "nearly equal": ([1 + 1e-9 * (i * 7 % 11) for i in range(N)], [1e-13 * (i * 5 % 13) for i in range(N)]),
    "weakly coupled": (steps(1.0, 2.0, 3.0), steps(0.5, 0.5, 1e-11)),
    "singular, in pieces": (steps(0.0, 1.0), steps(0.0, 1e-8, 1.0)),
    "huge": (steps(1e200, 3e200), steps(2e200)),
    "tiny": (steps(1e-200, 3e-200), steps(2e-200)),
}


@pytest.mark.parametrize("name", BIDIAGONAL)
@pytest.mark.parametrize("leaf", [3, 32])
def test_bidiagonal(name, leaf):
    diagonal, right = BIDIAGONAL[name][0], BIDIAGONAL[name][1][: N - 1]

    def program(linalg, grid):
        divided = _divide.Divided(grid.comm, diagonal, right, torch.device("cpu"), leaf=leaf, room=1000)
        U, V = (linalg.from_full(torch.zeros(N, N, dtype=torch.float64), 7, grid) for _ in range(2))
        divided.vectors("U", U)
        divided.vectors("V", V)
        return linalg.to_full(U), divided.values, linalg.to_full(V)

    U, S, V = on_ranks(1 if leaf == 3 else 4, program)
    scale = max(map(abs, diagonal + right)) or 1.0
    B = torch.tensor(diagonal, dtype=torch.float64).div(scale).diag()
    B = B + torch.tensor(right, dtype=torch.float64).div(scale).diag(1)
    eye = torch.eye(N, dtype=torch.float64)
    assert size((U * (S / scale)) @ V.mT - B) <= 4 * N * EPS * size(B)
    assert size(U.mT @ U - eye) <= 4 * N * EPS and size(V.mT @ V - eye) <= 4 * N * EPS
    assert size((S / scale).flip(0) - la.svdvals(B)) <= 4 * N * EPS * size(B)
    assert torch.equal(S, S.sort().values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(20, 6), (6, 20), (9, 8), (25, 1), (1, 25), (0, 20), (20, 0)])
@pytest.mark.parametrize("full", [False, True])
def test_shapes(m, n, dtype, full):
    A, eps = random(m, n, dtype=dtype), torch.finfo(dtype).eps

    def program(linalg, grid):
        A_ = linalg.from_full(A, 2, grid)
        U, S, Vh = linalg.svd(A_, full, base=4)
        assert size(linalg.svdvals(A_, base=4) - S) <= 30 * max(m, n) * eps * size(A)
        assert U.grid is grid and Vh.grid is grid
        return linalg.to_full(U), S, linalg.to_full(Vh)

    U, S, Vh = on_ranks(4 if full else 3, program, rows=2 if full else 3)
    k = min(m, n)
    assert U.shape == (m, m if full else k) and S.shape == (k,) and Vh.shape == (n if full else k, n)
    assert size((U[:, :k] * S) @ Vh[:k] - A) <= 30 * max(m, n) * eps * size(A)
    for Q in (U, Vh.mH):
        assert size(Q.mH @ Q - torch.eye(Q.shape[1], dtype=dtype)) <= 30 * max(m, n) * eps


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_eigenvalues_of_any_size(scale, dtype):
    H = random(40, 40, dtype=dtype)
    H = (H + H.mH) * scale

    def program(linalg, grid):
        E, V = linalg.eigh(linalg.from_full(H, 6, grid), base=10)
        assert torch.equal(linalg.eigvalsh(linalg.from_full(H, 6, grid), base=10), E)
        return E, linalg.to_full(V)

    E, V = on_ranks(6, program)
    eps = torch.finfo(dtype).eps
    assert size(((V * E) @ V.mH - H) / scale) <= 40 * 40 * eps * size(H / scale)
    assert size(V.mH @ V - torch.eye(40, dtype=dtype)) <= 40 * 40 * eps


def test_values_that_did_not_converge_raise():
    poles, z = torch.tensor([0.0, 1.0], dtype=torch.float64), torch.tensor([1.0, float("nan")], dtype=torch.float64)
    with pytest.raises(la.LinAlgError, match="secular equation"):
        _divide.roots(poles, z, torch.tensor([0, 1]))
