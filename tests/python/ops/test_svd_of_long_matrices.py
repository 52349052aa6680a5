"""The singular value decomposition of matrices with one long side, which goes through a QR."""

import numpy as np
import pytest
import strided as torch

linalg = torch.linalg
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
SHAPES = [
    (64, 1),
    (1, 64),
    (100, 10),
    (10, 100),
    (2, 3, 70, 35),
    (130, 65),
    (65, 130),
    (500, 3),
    (3, 64, 32),
    (0, 80, 4),
]


def random(shape, dtype, seed=0):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def check(a):
    m, n = a.shape[-2:]
    k, limit = min(m, n), 60 * torch.finfo(a.dtype).eps
    u, s, vh = linalg.svd(a, full_matrices=False)
    assert (u.shape, s.shape, vh.shape) == ((*a.shape[:-2], m, k), (*a.shape[:-2], k), (*a.shape[:-2], k, n))
    assert u.mT.is_contiguous() and vh.mT.is_contiguous() and u.dtype == vh.dtype == a.dtype and not s.is_complex()
    wide = np.complex128 if a.is_complex() else np.float64
    exact = np.linalg.svd(a.numpy().astype(wide), compute_uv=False)
    most = exact.max(initial=0)
    for found in (s, linalg.svdvals(a)):
        assert found.dtype == s.dtype and np.abs(found.numpy() - exact).max(initial=0) <= limit * most
    unit = np.eye(k)
    u, s, vh = u.numpy().astype(wide), s.numpy().astype(np.float64), vh.numpy().astype(wide)
    assert np.abs(u.conj().swapaxes(-1, -2) @ u - unit).max(initial=0) <= limit
    assert np.abs(vh @ vh.conj().swapaxes(-1, -2) - unit).max(initial=0) <= limit
    assert np.abs((u * s[..., None, :]) @ vh - a.numpy()).max(initial=0) <= limit * most
    assert (np.diff(s) <= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_long_matrices(shape, dtype):
    check(random(shape, dtype))
    check(random((*shape[:-2], shape[-1], shape[-2]), dtype, 1).mT)
    check(random((*shape[:-2], shape[-2], 2 * shape[-1]), dtype, 2)[..., ::2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_matrices_of_low_rank(dtype):
    a = random((90, 4), dtype) @ random((4, 20), dtype, 1)
    check(a)
    check(a.mH)
    check(torch.zeros(70, 5, dtype=dtype))
    assert linalg.matrix_rank(a) == linalg.matrix_rank(a.mH) == 4 and linalg.matrix_rank(a * 0) == 0
    p = linalg.pinv(a)
    assert torch.allclose(a @ p @ a, a, atol=1e-3 if torch.finfo(dtype).eps > 1e-10 else 1e-10)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_long_matrices_of_all_sizes(scale):
    a = random((80, 7), torch.float64)
    for x in (a, a.mT):
        assert np.allclose(linalg.svdvals(x * scale).numpy(), linalg.svdvals(x).numpy() * scale, rtol=1e-13, atol=0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_long_matrices_with_numbers_that_are_none(bad):
    a = random((80, 7), torch.float64)
    a[50, 3] = bad
    for x in (a, a.mT.contiguous()):
        for f in (linalg.svd, linalg.svdvals, linalg.pinv):
            with pytest.raises(linalg.LinAlgError):
                f(x)


def test_gradients_of_long_matrices():
    a = random((66, 3), torch.float64) * torch.tensor([3.0, 2.0, 1.0])
    for x in (a.requires_grad_(), a.detach().mT.contiguous().requires_grad_()):
        assert torch.autograd.gradcheck(linalg.svdvals, (x,))
        assert torch.autograd.gradcheck(lambda x: [t.square() for t in linalg.svd(x, full_matrices=False)], (x,))


def test_short_floats_are_rounded_at_the_end():
    a = random((70, 5), torch.float64).half()
    for x in (a, a.mT):
        found, wide = linalg.svd(x, full_matrices=False), linalg.svd(x.float(), full_matrices=False)
        for f, w in zip(found, wide):
            assert f.dtype is torch.float16 and torch.equal(f, w.half()) and f.stride() == w.stride()
