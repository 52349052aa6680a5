"""Decompositions of small matrices, one in each lane of a vector, compared with LAPACK's in float64."""

import numpy as np
import pytest
import strided

DTYPES = ["float32", "float64"]
SIZES = [(1, 1), (2, 2), (3, 3), (4, 7), (7, 4), (8, 8), (1, 5), (5, 1), (16, 16), (17, 9), (32, 32), (32, 3), (33, 33)]
KINDS = ["random", "graded", "deficient", "repeated", "zero", "identity", "tiny", "huge", "mixed"]


def matrices(kind, batch, m, n, dtype="float64", seed=0):
    """A batch of matrices that are hard in one way."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((batch, m, n))
    if kind == "graded":
        a *= 10.0 ** (-np.arange(n) / 2)
    elif kind == "deficient":
        rank = max(min(m, n) // 2, 1)
        a = rng.standard_normal((batch, m, rank)) @ rng.standard_normal((batch, rank, n))
    elif kind == "repeated":
        a = np.linalg.qr(a)[0] @ np.linalg.qr(rng.standard_normal((batch, n, n)))[0][:, : min(m, n)]
    elif kind == "zero":
        a *= 0
    elif kind == "identity":
        a = np.broadcast_to(np.eye(m, n), a.shape).copy()
    elif kind == "tiny":
        a *= 1e-30 if dtype == "float32" else 1e-290
    elif kind == "huge":
        a *= 1e36 if dtype == "float32" else 1e300
    elif kind == "mixed":  # neighbours in lanes that need different numbers of steps and scales
        a *= 10.0 ** (3 * (np.arange(batch) % 7) - 9)[:, None, None]
        a[::3] *= np.tri(m, n)
    return a.astype(dtype)


def size_of(a):
    return np.maximum(np.abs(a).max((-2, -1), keepdims=True), np.finfo("float64").tiny)


def check_orthonormal(q, dtype, n):
    q = q.astype("float64")
    assert np.abs(np.swapaxes(q, -1, -2) @ q - np.eye(q.shape[-1])).max() <= 8 * max(n, 4) * np.finfo(dtype).eps


def check_same(got, want, dtype, n, of):
    """Elements of matrices within some roundings of the largest of `of`."""
    scale = size_of(of.astype("float64"))
    error = np.abs(got.astype("float64") / scale - want.astype("float64") / scale).max()
    assert error <= 8 * max(n, 4) * np.finfo(dtype).eps, error


def layouts(a):
    """The same tensor by rows, by columns, and with gaps."""
    t = strided.tensor(a)
    wide = strided.zeros(*a.shape[:-1], 2 * a.shape[-1], dtype=t.dtype)
    wide[..., ::2] = t
    return {"rows": t, "columns": strided.tensor(np.swapaxes(a, -1, -2).copy()).mT, "gaps": wide[..., ::2]}


def check_qr(a, t, dtype):
    m, n = a.shape[-2:]
    k = min(m, n)
    for mode in ("reduced", "complete"):
        q, r = (x.numpy() for x in strided.linalg.qr(t, mode=mode))
        rows = m if mode == "complete" else k
        assert q.shape == (*a.shape[:-1], rows) and r.shape == (*a.shape[:-2], rows, n)
        assert q.dtype == r.dtype == dtype
        check_orthonormal(q, dtype, m)
        scale = size_of(a.astype("float64"))
        check_same(q.astype("float64") @ (r.astype("float64") / scale), a / scale, dtype, m, a / scale)
        assert not np.tril(r, -1).any()
    assert np.array_equal(strided.linalg.qr(t, mode="r")[1].numpy(), r[..., :k, :])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", SIZES)
def test_qr_of_every_layout(m, n, dtype):
    a = matrices("random", 19, m, n, dtype)
    for t in layouts(a).values():
        check_qr(a, t, dtype)
    check_qr(a[:18].reshape(2, 9, m, n), strided.tensor(a[:18]).reshape(2, 9, m, n), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_qr_of_hard_matrices(kind, dtype):
    for m, n in [(2, 2), (8, 8), (9, 5), (5, 9), (32, 32)]:
        a = matrices(kind, 17, m, n, dtype)
        check_qr(a, strided.tensor(a), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_has_the_signs_of_lapack(dtype):
    for n in (1, 2, 3, 5, 8, 16, 31, 32, 33):
        for m in (n, n + 2):
            a = matrices("random", 20, m, n)
            a[1] = np.triu(a[1])  # columns that are clear already keep their sign
            a[2] = np.eye(m, n) * -1
            a[3, 0] = 0.0
            a[4, :, 0] = 0.0
            a[5, 0] = -0.0
            a = a.astype(dtype)
            want = np.linalg.qr(a.astype("float64"))
            q, r = (x.numpy() for x in strided.linalg.qr(strided.tensor(a)))
            for i in range(20):
                if i != 3:  # of a singular matrix the last reflection is decided by roundings
                    assert np.allclose(r[i], want[1][i], rtol=0, atol=(2e-4 if dtype == "float32" else 1e-11) * n), i
    one = np.float64([[1, 2], [1e-200, 3]])  # a square that underflows counts
    assert np.array_equal(np.sign(strided.linalg.qr(strided.tensor(one))[1].numpy()), np.sign(np.linalg.qr(one)[1]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33])
def test_qr_does_not_depend_on_the_neighbours(count, dtype):
    a = matrices("mixed", 33, 6, 6, dtype, 5)
    q, r = strided.linalg.qr(strided.tensor(a))
    some_q, some_r = strided.linalg.qr(strided.tensor(a[:count]))
    assert np.array_equal(some_q.numpy(), q.numpy()[:count]) and np.array_equal(some_r.numpy(), r.numpy()[:count])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_qr_keeps_nan_and_inf_to_their_matrix(bad, dtype):
    a = matrices("random", 20, 5, 5, dtype)
    good = [x.numpy() for x in strided.linalg.qr(strided.tensor(a))]
    a[7, 2, 1] = a[12, 4, 0] = a[15, 0, 0] = bad
    got = [x.numpy() for x in strided.linalg.qr(strided.tensor(a))]
    for i in range(20):
        for x, y in zip(good, got, strict=True):
            if i in (7, 12, 15):
                assert not np.isfinite(y[i]).all()
            else:
                assert np.array_equal(x[i], y[i])


def test_qr_without_elements():
    for shape in [(0, 3, 3), (4, 0, 3), (4, 3, 0), (0, 0)]:
        q, r = strided.linalg.qr(strided.zeros(*shape))
        k = min(shape[-2:])
        assert q.shape == (*shape[:-1], k) and r.shape == (*shape[:-2], k, shape[-1])


# ---------------------------------------------------------------- eigh


def symmetric(kind, batch, n, dtype="float64", seed=0):
    a = matrices(kind, batch, n, n, dtype, seed)
    if kind == "repeated":  # eigenvalues 1 and -1
        q = np.linalg.qr(matrices("random", batch, n, n, seed=seed))[0]
        return ((q * np.where(np.arange(n) % 3, 1.0, -1.0)) @ np.swapaxes(q, -1, -2)).astype(dtype)
    return np.tril(a) + np.swapaxes(np.tril(a, -1), -1, -2)


def check_eigh(a, t, dtype, uplo="L"):
    n = a.shape[-1]
    w, v = (x.numpy() for x in strided.linalg.eigh(t, UPLO=uplo))
    assert w.dtype == v.dtype == dtype and w.shape == a.shape[:-1] and v.shape == a.shape
    assert (np.diff(w) >= 0).all()
    check_orthonormal(v, dtype, n)
    scale = size_of(a.astype("float64"))
    unit, w1 = a / scale, w / scale[..., 0]
    check_same((v.astype("float64") * w1[..., None, :]) @ np.swapaxes(v, -1, -2), unit, dtype, n, unit)
    check_same(w1[..., None], np.linalg.eigvalsh(unit)[..., None], dtype, n, unit)
    check_same(strided.linalg.eigvalsh(t, UPLO=uplo).numpy()[..., None], w[..., None], dtype, n, a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32, 33])
def test_eigh_of_every_layout_and_triangle(n, dtype):
    a = symmetric("random", 19, n, dtype)
    for t in layouts(a).values():
        check_eigh(a, t, dtype)
    noise = 100 * matrices("random", 19, n, n, dtype, 1)
    check_eigh(a, strided.tensor(np.tril(a) + np.triu(noise, 1)), dtype)
    check_eigh(a, strided.tensor(np.triu(a) + np.tril(noise, -1)), dtype, "U")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_eigh_of_hard_matrices(kind, dtype):
    for n in (2, 3, 8, 32):
        a = symmetric(kind, 17, n, dtype)
        check_eigh(a, strided.tensor(a), dtype)
        check_eigh(a[:, ::-1, ::-1], strided.tensor(a[:, ::-1, ::-1].copy()), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh_of_tridiagonal_matrices(dtype):
    for n in (4, 9, 32):
        a = symmetric("random", 20, n, dtype)
        a *= np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
        a[1] = np.diag(np.full(n - 1, 1.0), 1) + np.diag(np.full(n - 1, 1.0), -1)  # no diagonal
        a[2] = np.diag(np.abs(np.arange(n) - n // 2)) + a[1]  # Wilkinson's: pairs of close eigenvalues
        a[3, n // 2] = a[3, :, n // 2] = 0.0  # two blocks
        a[4] *= np.finfo(dtype).eps ** np.add.outer(np.arange(n), np.arange(n)).clip(0, 8)
        check_eigh(a, strided.tensor(a), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33])
def test_eigh_does_not_depend_on_the_neighbours(count, dtype):
    a = symmetric("mixed", 33, 6, dtype, 5)
    w, v = strided.linalg.eigh(strided.tensor(a))
    some_w, some_v = strided.linalg.eigh(strided.tensor(a[:count]))
    assert np.array_equal(some_w.numpy(), w.numpy()[:count]) and np.array_equal(some_v.numpy(), v.numpy()[:count])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [5, 33])
def test_eigh_gives_nan_for_nan_and_inf(n, bad, dtype):
    a = symmetric("random", 20, n, dtype)
    good = [x.numpy() for x in strided.linalg.eigh(strided.tensor(a))]
    a[7, 2, 1] = a[12, 4, 0] = a[15, 0, 0] = bad
    a[9, 1, 2] = bad  # in the triangle that is not read
    got = [x.numpy() for x in strided.linalg.eigh(strided.tensor(a))]
    for i in range(20):
        for x, y in zip(good, got, strict=True):
            assert np.isnan(y[i]).all() if i in (7, 12, 15) else np.array_equal(x[i], y[i])


# ---------------------------------------------------------------- SVD


def check_svd(a, t, dtype):
    m, n = a.shape[-2:]
    k = min(m, n)
    scale = size_of(a.astype("float64"))
    unit = a / scale
    for full in (False, True):
        u, s, vh = (x.numpy() for x in strided.linalg.svd(t, full_matrices=full))
        assert u.dtype == s.dtype == vh.dtype == dtype
        assert u.shape == (*a.shape[:-1], m if full else k) and vh.shape == (*a.shape[:-2], n if full else k, n)
        assert (np.diff(s) <= 0).all() and (s >= 0).all()
        check_orthonormal(u, dtype, m)
        check_orthonormal(np.swapaxes(vh, -1, -2), dtype, n)
        s1 = s / scale[..., 0]
        check_same((u[..., :k].astype("float64") * s1[..., None, :]) @ vh[..., :k, :], unit, dtype, max(m, n), unit)
        check_same(s1[..., None], np.linalg.svd(unit, compute_uv=False)[..., None], dtype, max(m, n), unit)
    check_same(strided.linalg.svdvals(t).numpy()[..., None], s[..., None], dtype, max(m, n), a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", SIZES)
def test_svd_of_every_layout(m, n, dtype):
    a = matrices("random", 19, m, n, dtype)
    for t in layouts(a).values():
        check_svd(a, t, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_svd_of_hard_matrices(kind, dtype):
    for m, n in [(2, 2), (8, 8), (9, 5), (5, 9), (32, 32)]:
        a = matrices(kind, 17, m, n, dtype)
        check_svd(a, strided.tensor(a), dtype)
        check_svd(a[..., ::-1], strided.tensor(a[..., ::-1].copy()), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33])
def test_svd_does_not_depend_on_the_neighbours(count, dtype):
    a = matrices("mixed", 33, 6, 5, dtype, 5)
    for x, some in zip(
        strided.linalg.svd(strided.tensor(a)), strided.linalg.svd(strided.tensor(a[:count])), strict=True
    ):
        assert np.array_equal(some.numpy(), x.numpy()[:count])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [5, 33])
def test_svd_names_the_matrix_with_nan_or_inf(n, bad, dtype):
    a = matrices("random", 20, n, n, dtype)
    strided.linalg.svd(strided.tensor(a))
    a[7, 2, 1] = bad
    for function in (strided.linalg.svd, strided.linalg.svdvals):
        with pytest.raises(strided.linalg.LinAlgError, match="Batch element 7"):
            function(strided.tensor(a))
