"""Reductions of rows of every length up to a few vectors, against NumPy: the edges of blocks and vectors, rows apart,
ties, NaN at every place, the last rows of a tensor, zeros with a sign."""

import math

import numpy as np
import pytest
import strided as torch

DTYPES = ["int8", "int32", "int64", "float16", "float32", "float64"]
LENGTHS = [*range(1, 36), 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 1023, 1024, 1100]
ROWS = 37  # no multiple of a vector


def rows(m, dtype):
    """Few different values, so that the extreme one stands at several places."""
    a = np.random.default_rng(m).integers(-6, 7, (ROWS, m)).astype(dtype)
    if dtype.startswith("float"):
        for r in range(0, ROWS, 3):
            a[r, (r * 7) % m] = math.nan
            a[r, (r * 11 + 5) % m] = math.nan
        a[1] = -math.inf
        a[2] = math.inf
    return a


def tensors(a):
    """Rows that follow each other, and rows with gaps between them."""
    yield torch.from_numpy(a)
    wide = np.zeros((a.shape[0], a.shape[1] + 3), a.dtype)
    wide[:, 1:-2] = a
    yield torch.from_numpy(wide)[:, 1:-2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_length(dtype):
    for m in LENGTHS:
        a = rows(m, dtype)
        wide = a.astype(np.float64)
        with np.errstate(invalid="ignore"):
            total, high, low = wide.sum(1), a.max(1), a.min(1)
        at_high, at_low, counts = a.argmax(1), a.argmin(1), (a != 0).sum(1)
        for t in tensors(a):
            assert np.array_equal(t.sum(1).numpy().astype(np.float64), total, equal_nan=True), m
            assert np.array_equal(torch.amax(t, 1).numpy(), high, equal_nan=True), m
            assert np.array_equal(torch.amin(t, 1).numpy(), low, equal_nan=True), m
            assert t.argmax(1).tolist() == at_high.tolist() and t.argmin(1).tolist() == at_low.tolist(), m
            assert torch.count_nonzero(t, 1).tolist() == counts.tolist(), m


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_moments_of_rows(dtype):
    for m in LENGTHS[1:]:
        a = np.random.default_rng(m).integers(-6, 7, (ROWS, m)).astype(dtype)
        want = a.astype(np.float64).var(1)
        for t in tensors(a):
            np.testing.assert_allclose(t.var(1, correction=0).numpy(), want, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_positions_across_rows(dtype):
    for n in (1, 2, 7, 8, 9, 16, 23, 40):  # outputs beside each other
        for m in (1, 2, 8, 9, 31, 50):
            a = rows(n, dtype)[:m] if m <= ROWS else np.tile(rows(n, dtype), (2, 1))[:m]
            t = torch.from_numpy(a)
            assert t.argmax(0).tolist() == a.argmax(0).tolist() and t.argmin(0).tolist() == a.argmin(0).tolist()
            assert t[:, ::2].argmax(0).tolist() == a[:, ::2].argmax(0).tolist()


@pytest.mark.parametrize("n", [20_000, 70_000, 200_000])
def test_position_in_a_long_row(n):
    a = np.zeros(n, np.float32)
    for at in (0, 1, 16_383, 16_384, 65_535, 65_536, n - 1):
        if at >= n:
            continue
        a[at] = 1
        assert torch.from_numpy(a).argmax().item() == at
        a[n - 1] = 1  # a later one of the same value
        assert torch.from_numpy(a).argmax().item() == at
        a[n // 2] = math.nan
        assert torch.from_numpy(a).argmax().item() == n // 2
        a[:] = 0


def test_sums_of_negative_zeros():
    for m in (1, 2, 4, 8, 9, 16, 40, 1024):
        assert (
            str(torch.full((20, m), -0.0).sum(1)[0].item()) == str(torch.full((1, m), -0.0).sum(1)[0].item()) == "0.0"
        )


def test_rows_of_outer_and_inner_axes():
    a = np.random.default_rng(1).standard_normal((9, 7, 33)).astype(np.float32)
    np.testing.assert_allclose(torch.from_numpy(a).sum((0, 2)).numpy(), a.astype(np.float64).sum((0, 2)), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "int32", "float32", "uint64", "float64"])
def test_truth_of_rows(dtype):
    """One element that differs, at every place of a vector, among signed zeros, or NaN and the least numbers."""
    size = np.dtype(dtype).itemsize
    block = 64 // size
    true = np.ones(7, dtype)
    if dtype.startswith("float"):
        true[:] = [1, math.nan, math.inf, -math.inf, np.finfo(dtype).smallest_subnormal, -1, 3]
    elif dtype != "bool":
        true[:] = [1, 2, 4, 1 << (8 * size - 2), 3, 5, 1 << (4 * size)]
    for m in {*range(1, 2 * block + 2), 5 * block - 1, 8 * block + 3, 300 * block + 5, 20_000 if size == 1 else 5_000}:
        places = range(m) if m < 3 * block else {0, 1, m // 2, m - block - 1, m - block, m - 2, m - 1}
        none, every = np.zeros(m, dtype), np.resize(true, m)
        if dtype.startswith("float"):
            none[::3] = -0.0
        for t in tensors(np.stack([none, every])):
            assert t.any(1).tolist() == [False, True] and t.all(1).tolist() == [False, True]
        for at in places:
            a, b = none.copy(), every.copy()
            a[at], b[at] = true[at % 7], none[at]
            x, y = torch.from_numpy(a), torch.from_numpy(b)
            assert x.any().item() and not y.all().item() and (m == 1 or y.any().item() and not x.all().item()), (m, at)
            assert not x[:at].any().item() and not x[at + 1 :].any().item(), (m, at)
            assert y[:at].all().item() and y[at + 1 :].all().item(), (m, at)


def test_truth_of_bytes_viewed_as_bool():
    x = torch.full((1000,), 2, dtype=torch.uint8)
    x[::2] = 128
    assert x.view(torch.bool).all().item() and x.view(torch.bool).any().item()


def test_truth_with_threads():
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            x = torch.zeros(500_000, dtype=torch.bool)
            assert not x.any().item() and (~x).all().item()
            for at in (0, 16_383, 250_000, 499_999):
                x[at] = True
                assert x.any().item() and not (~x).all().item()
                x[at] = False
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_chunks_that_are_read_in_turns(dtype):
    """Long rows, alone and beside others: one order of operations, extremes and NaN in every chunk and at its edges."""
    g = np.random.default_rng(3)
    for n in (16384 * 4 - 1, 16384 * 4, 16384 * 5 + 7, 16384 * 8 + 1):
        a = (g.integers(-1000, 1000, n) if dtype[0] == "i" else g.standard_normal(n)).astype(dtype)
        t = torch.from_numpy(a)
        rows, odd = torch.stack([t] * 7), torch.stack([t] * 3, 1)[:, 1]
        for f in (torch.sum, torch.amax, torch.amin, torch.prod):
            whole = f(t, 0).numpy().tobytes()
            assert all(row.numpy().tobytes() == whole for row in f(rows, 1))
            assert f(odd, 0).numpy().tobytes() == whole or f in (torch.sum, torch.prod)
        assert abs(t.sum().item() - a.astype("float64").sum()) <= 1e-3 * n**0.5 * (dtype != "int64")
        assert t.amax().item() == a.max() and t.amin().item() == a.min()
        for at in (0, 1, 16383, 16384, 16385, 40000, 16384 * 4 - 2, n - 1):
            for extreme in (5000, np.nan) if dtype[0] == "f" else (5000,):
                b = a.copy()
                b[at] = extreme
                b[at + 1 :: 3000] = extreme
                x = torch.from_numpy(b)
                assert x.argmax().item() == at and (-x).argmin().item() == at
                assert torch.stack([x, t, x, x, x]).argmax(1).tolist()[2:] == [at] * 3
                assert np.array_equal(x.amax().numpy(), np.array(extreme, dtype), equal_nan=dtype[0] == "f")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_among_infinities(dtype):
    """Infinities of both signs in one part of a long row, alone and before or behind NaN, and sums that overflow."""
    g = np.random.default_rng(4)
    for n in (256, 1000, 4096 + 17, 16384 * 4 + 300):
        for first, second in (
            (math.inf, -math.inf),
            (-math.inf, math.inf),
            (math.nan, math.inf),
            (-math.inf, math.nan),
        ):
            a = g.standard_normal((5, n)).astype(dtype)
            a[1] *= np.finfo(dtype).max / 8
            places = [(n // 3, n // 3 + 5), (0, n - 1), (n // 2, n // 2 + 200 if n > 500 else n // 2 + 1)]
            for r, (i, j) in zip((0, 2, 3), places):
                a[r, i], a[r, j] = first, second
            t = torch.from_numpy(a)
            for f, reference, place in ((torch.amax, np.max, np.argmax), (torch.amin, np.min, np.argmin)):
                assert np.array_equal(f(t, 1).numpy(), reference(a, 1), equal_nan=True)
                assert all(np.array_equal(f(t[r]).numpy(), reference(a[r]), equal_nan=True) for r in range(5))
                index = t.argmax(1) if f is torch.amax else t.argmin(1)
                assert np.array_equal(index.numpy(), place(a, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logsumexp_beside_small_exponentials(dtype):
    """Rows have the same bits beside others whose exponentials are subnormal, zero, infinite or NaN."""
    g = np.random.default_rng(5)
    for n in (3, 17, 64, 200, 1000, 5000):
        a = g.standard_normal((16, n)).astype(dtype)
        usual = torch.from_numpy(a).logsumexp(1).tolist()
        for odd in (-95.0, -720.0, -800.0, -math.inf, math.inf, math.nan):
            b = a.copy()
            b[3, n // 2], b[11] = odd, odd
            t = torch.from_numpy(b)
            got = t.logsumexp(1).tolist()
            assert all(got[r] == usual[r] for r in range(16) if r not in (3, 11))
            high = b.max(1, keepdims=True)
            with np.errstate(all="ignore"):
                shift = np.where(np.isinf(high), 0, high)
                want = (np.log(np.exp((b - shift).astype("float64")).sum(1)) + shift[:, 0]).astype(dtype)
            assert np.allclose(t.logsumexp(1).numpy(), want, rtol=1e-5, equal_nan=True)
