"""Low-rank decompositions by random projections, and LOBPCG, against NumPy's full ones."""

import numpy as np
import pytest
import strided as torch
from strided.linalg import LinAlgError

DTYPES = ["float32", "float64", "complex64", "complex128"]
EPS = {"float32": 1.2e-7, "complex64": 1.2e-7, "float64": 2.3e-16, "complex128": 2.3e-16}
NAN = float("nan")


def low_rank(m, n, values, dtype, seed=0):
    """A matrix with these singular values, and its values in NumPy."""
    rng = np.random.default_rng(seed)

    def orthonormal(rows):
        x = rng.standard_normal((rows, len(values)))
        return np.linalg.qr(x + 1j * rng.standard_normal(x.shape) if "complex" in dtype else x)[0]

    a = (orthonormal(m) * values) @ orthonormal(n).conj().T
    return torch.tensor(a).to(getattr(torch, dtype)), a


def host(x):
    return x.numpy().astype(np.complex128 if x.dtype.is_complex else np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (20, 20)])
def test_svd_lowrank(shape, dtype):
    values = np.array([8.0, 5.0, 2.0, 1.0])
    a, na = low_rank(*shape, values, dtype)
    U, S, V = torch.svd_lowrank(a, q=6)
    assert U.shape == (shape[0], 6) and S.shape == (6,) and V.shape == (shape[1], 6) and S.dtype == a.real.dtype
    tolerance = 300 * EPS[dtype]
    np.testing.assert_allclose(host(S)[:4], values, rtol=tolerance)
    np.testing.assert_allclose(host(S)[4:], 0, atol=tolerance)
    np.testing.assert_allclose((host(U) * host(S)) @ host(V).conj().T, na, atol=tolerance)
    for vectors in (U, V):
        np.testing.assert_allclose(host(vectors).conj().T @ host(vectors), np.eye(6), atol=tolerance)


def test_svd_lowrank_of_slowly_falling_values():
    """More steps come closer to the largest values, and never exceed them."""
    a, na = low_rank(100, 60, 0.97 ** np.arange(60), "float64")
    exact = np.linalg.svd(na, compute_uv=False)[:5]
    errors = []
    for niter in (0, 2, 30):
        torch.manual_seed(1)
        found = torch.svd_lowrank(a, q=5, niter=niter)[1].numpy()
        assert (found <= exact + 1e-12).all()
        errors.append(np.abs(found - exact).max())
    assert errors[0] > errors[1] > errors[2] and errors[2] < 0.05


def test_svd_lowrank_takes_away_a_matrix():
    a, na = low_rank(9, 7, [3.0, 2.0], "float64")
    row = torch.arange(7.0, dtype=torch.float64)
    for m in (row, row[None], row.expand(9, 7)):
        S = torch.svd_lowrank(a, q=7, M=m)[1]
        np.testing.assert_allclose(S.numpy(), np.linalg.svd(na - row.numpy(), compute_uv=False), atol=1e-12)
    with pytest.raises(RuntimeError):
        torch.svd_lowrank(a, M=torch.zeros(3, 3, dtype=torch.float64))


def test_svd_lowrank_of_batches_and_of_nothing():
    a = torch.randn(2, 3, 6, 4, dtype=torch.float64)
    U, S, V = torch.svd_lowrank(a, q=4)
    assert torch.allclose((U * S.unsqueeze(-2)) @ V.mH, a) and torch.allclose(S, torch.linalg.svdvals(a))
    assert [tuple(t.shape) for t in torch.svd_lowrank(torch.zeros(0, 3))] == [(0, 0), (0,), (3, 0)]
    assert [tuple(t.shape) for t in torch.svd_lowrank(torch.zeros(5, 3), q=0)] == [(5, 0), (0,), (3, 0)]
    assert torch.svd_lowrank(torch.zeros(2, 3), q=100)[1].tolist() == [0, 0]


@pytest.mark.parametrize("A", [torch.ones(3), torch.tensor(1.0), [[1.0]]])
@pytest.mark.parametrize("f", [torch.svd_lowrank, torch.pca_lowrank])
def test_low_rank_needs_matrices(f, A):
    with pytest.raises(ValueError, match="2 dimensions or more"):
        f(A)


def test_low_rank_errors():
    a = torch.ones(4, 3)
    with pytest.raises(RuntimeError):
        torch.svd_lowrank(a, q=-1)
    with pytest.raises(TypeError):
        torch.svd_lowrank(a, q=1.5)
    with pytest.raises(RuntimeError):
        torch.svd_lowrank(a, q=10**13)
    with pytest.raises(LinAlgError):
        torch.svd_lowrank(a * NAN)
    for q in (4, -1):
        with pytest.raises(ValueError, match="must be non-negative integer and not greater than"):
            torch.pca_lowrank(a, q)
    with pytest.raises(ValueError, match="niter"):
        torch.pca_lowrank(a, niter=-1)


@pytest.mark.parametrize("center", [True, False])
def test_pca_lowrank(center):
    a, na = low_rank(30, 8, [9.0, 3.0, 1.0], "float64")
    a, na = a + 5, na + 5
    U, S, V = torch.pca_lowrank(a, q=4, center=center)
    want = na - na.mean(0) if center else na
    np.testing.assert_allclose(((U * S) @ V.mT).numpy(), want, atol=1e-10)
    np.testing.assert_allclose(S.numpy(), np.linalg.svd(want, compute_uv=False)[:4], atol=1e-10)
    assert torch.pca_lowrank(torch.ones(3, 20))[1].shape == (3,) and torch.pca_lowrank(torch.ones(20, 9))[1].shape == (
        6,
    )


# ---------------------------------------------------------------- lobpcg


def symmetric(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if "complex" in dtype else 0)
    a = (x + x.conj().T) / 10 + np.diag(np.arange(1.0, n + 1))
    return torch.tensor(a).to(getattr(torch, dtype)), a


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("method", ["ortho", "basic"])
def test_lobpcg(dtype, largest, method):
    a, na = symmetric(40, dtype)
    tol = 1e-5 if "32" in dtype or "64" == dtype[-2:] and "complex" in dtype else 1e-9
    E, X = torch.lobpcg(a, k=3, n=4, largest=largest, method=method, tol=tol)
    assert E.shape == (3,) and X.shape == (40, 3) and E.dtype == a.real.dtype and X.dtype == a.dtype
    exact = np.linalg.eigvalsh(na)
    np.testing.assert_allclose(host(E), exact[::-1][:3] if largest else exact[:3], rtol=10 * tol)
    np.testing.assert_allclose(na @ host(X), host(X) * host(E), atol=200 * tol)
    np.testing.assert_allclose(host(X).conj().T @ host(X), np.eye(3), atol=50 * tol)


@pytest.mark.parametrize("method", ["ortho", "basic"])
def test_lobpcg_of_pencils_with_preconditioner(method):
    a, na = symmetric(50, "float64")
    _, nb = symmetric(50, "float64", 1)
    nb = nb @ nb / 50 + np.eye(50)
    L = np.linalg.inv(np.linalg.cholesky(nb))
    inverse = torch.linalg.inv(a)
    for B, exact in ((None, np.linalg.eigvalsh(na)), (torch.tensor(nb), np.linalg.eigvalsh(L @ na @ L.T))):
        steps = {}
        for iK in (None, inverse):
            seen = []
            E, X = torch.lobpcg(
                a,
                k=2,
                B=B,
                iK=iK,
                largest=False,
                method=method,
                tracker=lambda state: seen.append(state.ivars["istep"]),
            )
            np.testing.assert_allclose(E.numpy(), exact[:2], rtol=1e-6)
            np.testing.assert_allclose((X.mT @ (X if B is None else B @ X)).numpy(), np.eye(2), atol=1e-6)
            assert seen == list(range(1, len(seen) + 1))
            steps[iK is None] = len(seen)
        assert B is not None or steps[False] < steps[True] / 2  # the inverse of A is the best there is


def test_lobpcg_of_batches_starts_and_multiple_values():
    a = torch.stack([torch.arange(1.0, 13).diag(), torch.arange(2.0, 26, 2).diag()]).expand(3, 2, 12, 12)
    E, X = torch.lobpcg(a, k=2)
    assert E.shape == (3, 2, 2) and X.shape == (3, 2, 12, 2)
    np.testing.assert_allclose(E.numpy(), np.broadcast_to([[12, 11], [24, 22]], (3, 2, 2)), rtol=1e-4)
    assert torch.lobpcg(a[0, 0], X=torch.eye(12)[:, -1:])[0].tolist() == [12]  # from the solution itself
    assert torch.allclose(torch.lobpcg(torch.eye(12), k=3)[0], torch.ones(3))
    assert torch.lobpcg(torch.zeros(12, 12), k=2)[0].tolist() == [0, 0]
    values = torch.lobpcg(torch.ones(12, 12, dtype=torch.float64), k=2)[0]
    assert abs(values[0].item() - 12) < 1e-10 and abs(values[1].item()) < 1e-7
    assert [tuple(t.shape) for t in torch.lobpcg(torch.zeros(0, 9, 9), k=2)] == [(0, 2), (0, 9, 2)]
    assert torch.lobpcg(a[0, 0].half())[0].dtype == torch.float16


def test_lobpcg_stops():
    a, _ = symmetric(60, "float64")
    seen = []

    def stop_at_three(state):
        seen.append((state.ivars["istep"], state.R.shape, state.S.shape[0], float(state.tvars["rerr"][0])))
        state.bvars["force_stop"] = state.ivars["istep"] == 3

    torch.lobpcg(a, k=2, tol=0.0, tracker=stop_at_three)
    assert [s[0] for s in seen] == [1, 2, 3] and seen[0][1:3] == ((60, 2), 60) and seen[2][3] < seen[0][3]
    counts = []
    for niter in (0, 1, 4):
        counts.append(0)
        torch.lobpcg(a, niter=niter, tol=0.0, tracker=lambda state: counts.__setitem__(-1, counts[-1] + 1))
    assert counts == [1, 1, 4]
    torch.lobpcg(a, k=2, niter=-1)


def test_lobpcg_errors():
    a = torch.eye(9)
    for f, message in (
        (lambda: torch.lobpcg(torch.ones(9)), "square"), (lambda: torch.lobpcg(torch.ones(9, 8)), "square"),
        (lambda: torch.lobpcg([[1.0]]), "square"),
        (lambda: torch.lobpcg(a, k=4), "smaller than 3 x"), (lambda: torch.lobpcg(a, k=10**9), "smaller than 3 x"),
        (lambda: torch.lobpcg(a, k=0), "1 <= k <= n"),
        (lambda: torch.lobpcg(a, k=-1), "1 <= k <= n"), (lambda: torch.lobpcg(a, k=2, n=1), "1 <= k <= n"),
        (lambda: torch.lobpcg(a, X=torch.ones(8, 1)), "9 rows"),
        (lambda: torch.lobpcg(a, B=torch.eye(8)), "B must be of A's shape"),
        (lambda: torch.lobpcg(a, iK=torch.eye(8)), "iK must be of A's shape"),
        (lambda: torch.lobpcg(a, method="fast"), "method must be"),
        (lambda: torch.lobpcg(a.clone().requires_grad_(), B=a), "B != I"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            f()
    with pytest.raises(RuntimeError, match="floating-point"):
        torch.lobpcg(a.long())
    for bad in (NAN, float("inf")):
        with pytest.raises(LinAlgError):
            torch.lobpcg(a * bad)
    with pytest.raises(LinAlgError, match="linearly dependent"):
        torch.lobpcg(a, X=torch.ones(9, 2))
