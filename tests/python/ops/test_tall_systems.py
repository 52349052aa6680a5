"""Least squares of tall matrices, which are reduced to the triangle of their QR."""

import numpy as np
import pytest
import strided as torch

DRIVERS = [None, "gelsy", "gels", "gelsd", "gelss"]
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def random(shape, dtype, seed=0):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def pinv(a, rcond=None):
    """Of the wide dtype; rank by LAPACK's limit unless there is another one."""
    eps = np.finfo(a.dtype).eps
    wide = a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)
    return np.linalg.pinv(wide, rcond=max(a.shape[-2:]) * eps if rcond is None else rcond)


def check(a, b, driver, rank, rcond=None):
    found = torch.linalg.lstsq(a, b, rcond=rcond, driver=driver)
    x = pinv(a.numpy(), rcond) @ b.numpy()
    eps = torch.finfo(a.dtype).eps
    assert np.abs(found.solution.numpy() - x).max() <= 5e3 * eps * max(1, np.abs(x).max())
    if driver != "gels":
        assert found.rank.tolist() == np.full(a.shape[:-2], rank).tolist()
    n, full = a.shape[-1], rank == a.shape[-1]
    if driver in ("gels", "gelsd", "gelss") and full and a.shape[-2] > n:
        rest = (np.abs(a.numpy() @ x - b.numpy()) ** 2).sum(-2)
        assert np.abs(found.residuals.numpy() - rest).max() <= 1e3 * eps * (1 + rest.max())
    else:
        assert found.residuals.shape == (0,)
    if driver in ("gelsd", "gelss"):
        values = np.linalg.svd(a.numpy(), compute_uv=False)
        assert np.abs(found.singular_values.numpy() - values).max() <= 100 * eps * values.max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("m,n,columns", [(2, 1, 1), (40, 3, 1), (64, 32, 2), (101, 50, 7), (300, 17, 9), (9, 4, 12)])
def test_tall(m, n, columns, driver, dtype):
    check(random((m, n), dtype), random((m, columns), dtype, 1), driver, n)
    check(random((3, m, n), dtype, 2), random((3, m, columns), dtype, 3), driver, n)
    check(random((n, m), dtype, 4).mT, random((columns, m), dtype, 5).mT, driver, n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_tall_without_full_rank(driver, dtype):
    a = random((80, 20), dtype)
    a[:, 7] = a[:, 3] * 2  # a column that others give
    a[:, 19] = a[:, 0] - a[:, 1]
    b = random((80, 3), dtype, 1)
    check(a, b, driver, 18)
    both = torch.stack((random((80, 20), dtype, 5), a))  # one of full rank beside it
    found = torch.linalg.lstsq(both, b.expand(2, 80, 3), driver=driver)
    assert found.rank.tolist() == [20, 18] and found.residuals.shape == (0,)
    for k in range(2):
        assert torch.allclose(found.solution[k], torch.linalg.lstsq(both[k], b, driver=driver).solution, atol=1e-4)
    check(torch.zeros(30, 4, dtype=dtype), b[:30], driver, 0)


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_the_limit_of_the_rank_is_that_of_the_tall_matrix(driver):
    q = torch.linalg.qr(random((60, 6), torch.float64)).Q
    v = torch.linalg.qr(random((6, 6), torch.float64, 1)).Q
    a = q * torch.tensor([1, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8], dtype=torch.float64) @ v.mT
    b = random((60, 1), torch.float64, 2)
    for rcond, rank in ((1e-3, 3), (1e-5, 4), (1e-7, 5), (1e-9, 6)):
        found = torch.linalg.lstsq(a, b, rcond=rcond, driver=driver)
        assert found.rank.item() == rank
        if driver != "gelsy":  # which cuts columns that were pivoted, not singular values
            assert np.allclose(found.solution.numpy(), pinv(a.numpy(), rcond) @ b.numpy(), rtol=1e-5)


@pytest.mark.parametrize("driver", DRIVERS)
def test_columns_of_all_sizes(driver):
    a, b = random((50, 5), torch.float64), random((50, 1), torch.float64, 1)
    for scale in (1e-300, 1e-150, 1e150, 1e300):
        assert np.allclose((torch.linalg.lstsq(a * scale, b, driver=driver).solution * scale).numpy(),
                           torch.linalg.lstsq(a, b, driver=driver).solution.numpy(), rtol=1e-10)  # fmt: skip


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_none_raise(driver, bad):
    for spoil_b in (False, True):
        a, b = random((50, 5), torch.float64), random((50, 1), torch.float64, 1)
        (b if spoil_b else a)[30, 0] = bad
        with pytest.raises(torch.linalg.LinAlgError):
            torch.linalg.lstsq(a, b, driver=driver)


@pytest.mark.parametrize("driver", DRIVERS)
def test_triangles_are_solved_as_they_are(driver):
    a = random((40, 40), torch.float64).triu() + 20 * torch.eye(40, dtype=torch.float64)
    check(a, random((40, 3), torch.float64, 1), driver, 40)
    if driver != "gels":
        a[:, 5] = 0
        check(a, random((40, 3), torch.float64, 1), driver, 39)


def test_gradients_of_tall_systems():
    a, b = random((12, 3), torch.float64).requires_grad_(), random((12, 2), torch.float64, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: torch.linalg.lstsq(a, b, driver="gels")[:2], (a, b))
    assert torch.autograd.gradcheck(lambda a, b: torch.linalg.lstsq(a, b).solution, (a, b))


@pytest.mark.parametrize("shape", [(30, 4), (6, 6), (10, 6), (2, 30, 4)])
@pytest.mark.parametrize("driver", DRIVERS)
def test_matrices_of_zeros(shape, driver):
    found = torch.linalg.lstsq(torch.zeros(shape), torch.ones((*shape[:-1], 2)), driver=driver)
    assert found.solution.shape == (*shape[:-2], shape[-1], 2) and (found.solution == 0).all()
