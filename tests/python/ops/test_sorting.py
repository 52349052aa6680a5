"""Sorting, selecting, searching and counting against NumPy, with NaN, ties, empty rows and errors."""

import math

import numpy as np
import pytest
import strided as torch
from arrays import value

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
REAL = ["bool"] + INTS + FLOATS
NAN, INF = math.nan, math.inf


def array(shape, dtype, seed=5):
    g = np.random.default_rng(seed)
    if dtype == "bool":
        return g.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        return g.integers(0 if dtype.startswith("u") else -60, 60, shape)
    a = g.integers(-64, 64, shape) / 16.0
    if a.size > 8:
        flat = a.reshape(-1)
        flat[a.size // 3], flat[a.size // 2], flat[-1], flat[1], flat[2] = NAN, INF, -INF, -0.0, NAN
    return a


def tensors(a, dtype):
    t = torch.tensor(a.tolist(), dtype=getattr(torch, dtype)).reshape(a.shape)
    yield t
    if t.ndim > 1:
        yield t.transpose(0, -1).contiguous().transpose(0, -1)
    if t.ndim:
        yield t.flip(0)[::-1]


def same(got, want):
    return np.array_equal(value(got), want, equal_nan=np.asarray(want).dtype.kind == "f")


def order_of(a, axis, descending=False):
    """Stable positions, NaN greatest."""
    if a.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    key = a.astype(float)
    key = np.where(np.isnan(key), -INF, -key)
    nan_first = np.where(np.isnan(a.astype(float)), 0, 1)
    return np.apply_along_axis(
        lambda row: np.lexsort((row[: len(row) // 2], row[len(row) // 2 :])),
        axis,
        np.concatenate([key, nan_first], axis),
    )


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (9,), (30,), (1500,), (3, 5), (40, 33), (2, 3, 70), (0, 3), (3, 0)])
def test_sort(dtype, shape):
    a = array(shape, dtype)
    for t in tensors(a, dtype):
        for axis in range(-1, max(len(shape), 1)):
            for descending in (False, True):
                at = order_of(a, axis, descending) if a.size else np.zeros(shape, np.int64)
                want = np.take_along_axis(a, at, axis) if a.ndim else a
                values, indices = torch.sort(t, axis, descending)
                assert values.dtype == t.dtype and indices.dtype == torch.int64
                assert same(values, want) and same(indices, at)
                assert same(t.argsort(axis, descending), at)
                assert a.ndim == 0 or t.is_contiguous() is False or values.is_contiguous()
    t = next(tensors(a, dtype))
    if a.ndim:
        assert same(torch.msort(t), np.take_along_axis(a, order_of(a, 0), 0) if a.size else a)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "int64", "float16", "float32", "float64"])
def test_sort_long_rows(dtype):
    g = np.random.default_rng(7)
    n = 300001
    a = (
        g.integers(-(2**40), 2**40, n)
        if dtype in ("int64", "float64")
        else g.integers(0, 2**50, n)
        if dtype == "uint64"
        else g.integers(-100, 100, n)
    )
    t = torch.tensor(a.tolist(), dtype=getattr(torch, dtype))
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            values, indices = t.sort()
            at = np.argsort(a, kind="stable")
            assert np.array_equal(value(indices), at) and np.array_equal(value(values), a[at])
            assert np.array_equal(value(t.argsort(descending=True)), np.argsort(-a, kind="stable"))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("n", [2049, 8191, 8192, 70001, 130001])
def test_sort_of_long_rows_in_parts(dtype, n):
    """Keys that few elements have, and keys that most have; all zeros and NaN keep their bits and their order."""
    g = np.random.default_rng(n)
    far = g.standard_normal(n) * 50
    special = np.select([g.random(n) < p for p in (0.2, 0.2, 0.2, 0.1)], [0.0, -0.0, NAN, INF], far)
    kinds = [far, np.sort(far), np.sort(far)[::-1], np.abs(np.arange(n) - n // 2), np.where(g.random(n) < 0.98, 7, far)]
    kinds += [np.maximum(far, 0), np.minimum(far, 0) - 1e4 * (g.random(n) < 1e-4)]
    kinds += [special, np.full(n, NAN)] if dtype in FLOATS else [g.integers(0, 2, n), g.integers(0, 127, n)]
    for kind in kinds:
        a = np.ascontiguousarray(kind if dtype in FLOATS else np.abs(kind)).astype(dtype)
        t = torch.from_numpy(a)
        for descending in (False, True):
            at = order_of(a.astype("float64"), 0, descending)
            values, indices = t.sort(descending=descending, stable=True)
            assert np.array_equal(indices.numpy(), at) and values.numpy().tobytes() == a[at].tobytes()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("n", [1500, 4095, 4096, 20000, 70000, 200000])
def test_sort_of_close_elements(dtype, n):
    """Groups of elements that differ in their last bits only, few and many, among others of all magnitudes."""
    g = np.random.default_rng(n)
    unsigned = f"u{np.dtype(dtype).itemsize}"
    far = g.integers(0, np.iinfo(unsigned).max, 2 * n, dtype=unsigned).view(dtype)
    far = far[np.isfinite(far)][:n]  # floats of every exponent
    for group, spread in ((3, 4), (40, 1000), (n // 2, 50), (n, 3000)):
        bits = np.resize(far[: n // group + 1], n).view(unsigned) & ~np.array(4095, unsigned)
        bits[g.random(n) < 0.5] = bits[0]
        bits += g.integers(0, spread, n).astype(unsigned)
        a = bits.view(dtype)
        a = np.where(np.isfinite(a), a, np.ones((), dtype))
        a[g.integers(0, n, 20)] = far[:20]
        t, at = torch.tensor(a), np.argsort(a, kind="stable")
        values, indices = t.sort()
        assert np.array_equal(indices.numpy(), at) and values.numpy().tobytes() == a[at].tobytes()
        rows = torch.stack([t, t.flip(0), t])
        assert np.array_equal(rows.sort(1).indices.numpy()[::2], [at, at])
        assert np.array_equal(rows.sort(1).values.numpy()[1], a[at])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("close", [False, True])
def test_sort_many_short_rows(dtype, close):
    """Among them rows whose elements differ in their last bits only, beside others that are far away."""
    g = np.random.default_rng(11)
    before = torch.get_num_threads()
    try:
        for n in (2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257, 1000, 1023, 1024, 1025):
            rows = 40 if n % 2 else 2 * 8192 // n + 1
            a = g.standard_normal((rows, n)).astype(dtype) if dtype[0] == "f" else g.integers(0, 99, (rows, n))
            a = a.astype(dtype)
            if close:
                bits = a.view(f"u{a.itemsize}")
                one = np.ones((), dtype).view(bits.dtype)
                bits[...] = np.where(g.random(a.shape) < 0.8, one + g.integers(0, 30, a.shape).astype(bits.dtype), bits)
                if a.itemsize > 2 and dtype[0] != "f":
                    a[:, 0] = np.iinfo(dtype).max
            if dtype[0] == "f":
                a[g.random(a.shape) < 0.03] = NAN
                a[g.random(a.shape) < 0.03] = -0.0
            t = torch.tensor(a)
            for threads in (1, 2):
                torch.set_num_threads(threads)
                values, indices = t.sort(1)
                at = np.argsort(a, 1, "stable")
                want = np.take_along_axis(a, at, 1)
                assert np.array_equal(indices.numpy(), at) and values.numpy().tobytes() == want.tobytes()
                assert np.array_equal(t.argsort(1).numpy(), at)
                assert np.array_equal(
                    t.argsort(1, True).numpy(),
                    order_of(a, 1, True) if dtype != "uint64" else np.argsort(~a, 1, "stable"),
                )
    finally:
        torch.set_num_threads(before)


def test_sort_forms():
    x = torch.tensor([[3.0, 1, 2], [9, 8, 7]])
    assert x.sort(0, True).values.tolist() == [[9, 8, 7], [3, 1, 2]] and x.sort(dim=0, stable=True)[1].tolist() == [
        [0, 0, 0],
        [1, 1, 1],
    ]
    assert torch.sort(x, stable=True).indices.tolist() == [[1, 2, 0], [2, 1, 0]] and x.argsort(
        stable=True, dim=0
    ).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert x.t().sort()[0].stride() == (1, 3) and x.sort(0)[0].stride() == (3, 1)
    n = torch.tensor([3.0, NAN, 1.0, NAN, -0.0, 0.0])
    assert n.argsort().tolist() == [4, 5, 2, 0, 1, 3] and n.argsort(descending=True).tolist() == [1, 3, 0, 2, 4, 5]
    assert [math.copysign(1, v) for v in n.sort().values.tolist()[:2]] == [-1, 1]
    v, i = torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.int64)
    torch.sort(x, 1, out=(v, i))
    assert v.tolist() == [[1, 2, 3], [7, 8, 9]]
    with pytest.raises(RuntimeError, match="Sort does not support complex dtypes on CPU"):
        torch.tensor([1j]).sort()
    with pytest.raises(IndexError):
        x.sort(5)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("n, k", [(1, 1), (9, 0), (9, 4), (50, 50), (5000, 7), (20000, 3000)])
def test_topk(dtype, n, k):
    a = array((3, n), dtype)
    for t in tensors(a, dtype):
        for largest in (True, False):
            at = order_of(a, 1, largest)[:, :k]
            values, indices = t.topk(k, largest=largest)
            assert same(values, np.take_along_axis(a, at, 1)) and same(indices, at)
            values, indices = t.t().topk(k, 0, largest)
            assert same(indices, at.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("kind", ["distinct", "ties", "one value", "with NaN", "ascending"])
def test_selection_from_long_rows(dtype, kind):
    n = 40_003
    g = np.random.default_rng(8)
    a = (g.standard_normal(n) * 50).astype(dtype)
    if kind == "ties":
        a = np.sign(a) * (a % 3 == 0)
    elif kind == "one value":
        a[:] = 7
    elif kind == "with NaN" and dtype.startswith("float"):
        a[g.integers(0, n, n // 10)] = NAN
        a[:4] = [0.0, -0.0, INF, -INF]
    elif kind == "ascending":
        a.sort()
    order = np.argsort(np.where(a == 0, 0, a), kind="stable")
    t = torch.from_numpy(a)
    for k in (1, 2, n // 100, n // 2, n - 1, n):
        picked, index = torch.kthvalue(t, k)
        wanted = a[order[k - 1]]
        same = np.isnan(a) if wanted != wanted else a == wanted
        assert same[int(index)] and int(index) == np.flatnonzero(same)[0]
        assert np.array_equal(picked.numpy(), a[int(index)], equal_nan=dtype.startswith("float"))
    held = a[~np.isnan(a)]
    middle = np.sort(held)[(held.size - 1) // 2]
    assert torch.nanmedian(t).item() == middle
    assert np.array_equal(torch.median(t).item(), middle if held.size == n else NAN, equal_nan=True)
    for k in (1, 10, 700, n // 8):
        for largest in (False, True):
            values, index = torch.topk(t, k, largest=largest)
            full = torch.sort(t, descending=largest, stable=True)
            assert torch.equal(index, full.indices[:k])
            assert values.numpy().tobytes() == full.values[:k].numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("n", [1, 64, 65, 1000, 20_011, 200_003])
@pytest.mark.parametrize("kind", ["wide", "ties", "one value", "with NaN"])
def test_unique_of_long_rows(dtype, n, kind):
    g = np.random.default_rng(9)
    a = (g.standard_normal(n) * (50 if dtype == "uint8" else 1e8)).astype(np.int64).astype(dtype)
    if kind == "ties":
        a = a % 7
    elif kind == "one value":
        a[:] = 7
    elif kind == "with NaN" and dtype.startswith("float"):
        a[g.random(n) < 0.1] = NAN
        a[g.random(n) < 0.1] = -0.0
        a[g.random(n) < 0.1] = 0.0
    wanted = np.unique(a, equal_nan=False)
    zeros = a[a == 0]  # the first of several zeros stands for all
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 5):
            torch.set_num_threads(threads)
            got = torch.unique(torch.from_numpy(a)).numpy()
            assert np.array_equal(got, wanted, equal_nan=dtype.startswith("float"))
            if zeros.size:
                assert np.signbit(got[got == 0]).tolist() == [np.signbit(zeros[0])]
    finally:
        torch.set_num_threads(before)


def test_topk_forms():
    x = torch.tensor([5, 1, 4, 2])
    assert (
        torch.topk(x, 2).values.tolist() == [5, 4]
        and torch.topk(x, 0).indices.shape == (0,)
        and torch.tensor(3.0).topk(1).values.item() == 3
    )
    assert torch.tensor(3.0).topk(0).values.item() == 3 and torch.tensor(3.0).topk(0).indices.item() == 0
    for k in (5, -1):
        with pytest.raises(RuntimeError, match="selected index k out of range"):
            x.topk(k)


@pytest.mark.parametrize("dtype", INTS + FLOATS)
@pytest.mark.parametrize("n", [1, 2, 9, 40, 1500, 5001])
def test_kthvalue_median(dtype, n):
    a = array((3, n), dtype)
    s = np.sort(a, 1)
    for t in tensors(a, dtype):
        for k in {1, n // 2 + 1, n}:
            values, indices = t.kthvalue(k)
            assert same(values, s[:, k - 1]) and same(torch.gather(t, 1, indices.unsqueeze(1)).squeeze(1), s[:, k - 1])
        values, indices = t.median(1, keepdim=True)
        nan = np.isnan(a.astype(float))
        want = np.where(nan.any(1), NAN, s[:, (n - 1) // 2].astype(float)) if nan.any() else s[:, (n - 1) // 2]
        assert same(values, want[:, None]) and same(torch.gather(t, 1, indices), want[:, None])
        clean = [np.sort(r[~m]) for r, m in zip(a, nan)]
        want = np.array([c[(len(c) - 1) // 2] if len(c) else NAN for c in clean])
        assert same(t.t().nanmedian(0).values, want)
        flat = np.sort(a[~nan])
        assert same(t.nanmedian(), flat[(flat.size - 1) // 2])
        assert (
            same(t.median(), np.float64(NAN))
            if nan.any()
            else same(t.median(), np.sort(a.reshape(-1))[(a.size - 1) // 2])
        )


def test_selection_forms():
    n = torch.tensor([3.0, NAN, 1.0, NAN, -0.0, 0.0])
    assert (
        n.median(0).indices.item() == 1
        and math.isnan(n.median().item())
        and math.isnan(torch.full((3,), NAN).nanmedian().item())
    )
    assert math.isnan(torch.zeros(0).median().item()) and torch.tensor(5.0).median(0).indices.item() == 0
    i = torch.tensor([[3, 1, 2, 1], [2, 4, 4, 2]])
    assert (
        i.mode().values.tolist() == [1, 2]
        and i.mode().indices.tolist() == [3, 3]
        and i.mode(0, keepdim=True).values.tolist() == [[2, 1, 2, 1]]
    )
    for k in (0, 5):
        with pytest.raises(RuntimeError, match=r"kthvalue\(\): selected number k out of range for dimension 1"):
            i.kthvalue(k)
    with pytest.raises(IndexError, match=r"median\(\): Expected reduction dim 1 to have non-zero size."):
        torch.zeros(2, 0).median(1)
    with pytest.raises(NotImplementedError, match="\"median_cpu\" not implemented for 'Bool'"):
        torch.tensor([True]).median()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quantile(dtype):
    a = np.random.default_rng(1).integers(-50, 50, (4, 9)).astype(float)
    t = torch.tensor(a.tolist(), dtype=getattr(torch, dtype))
    tolerance = 1e-6 if dtype == "float32" else 1e-13
    for kind in ("linear", "lower", "higher", "midpoint", "nearest"):
        for q in (0.0, 0.3, 0.5, 0.77, 1.0):
            for axis in (None, 0, 1, -1):
                for keep in (False, True):
                    got = torch.quantile(t, q, axis, keep, interpolation=kind)
                    want = np.quantile(a, q, axis=axis, keepdims=keep, method=kind)
                    assert got.shape == want.shape and np.allclose(
                        value(got), want, rtol=tolerance, atol=tolerance * 50
                    ), (kind, q, axis)
    qs = torch.tensor([0.1, 0.9], dtype=t.dtype)
    assert (
        torch.quantile(t, qs, 0).shape == (2, 9)
        and torch.quantile(t, qs, 1, True).shape == (2, 4, 1)
        and torch.quantile(t, qs).shape == (2,)
    )
    t[1, 2] = NAN
    assert [math.isnan(v) for v in t.quantile(0.5, 1).tolist()] == [False, True, False, False]
    assert np.allclose(value(t.nanquantile(0.4, 1)), np.nanquantile(value(t), 0.4, axis=1), rtol=tolerance)
    assert math.isnan(torch.full((3,), NAN).nanquantile(0.5).item())
    for bad, text in [
        (lambda: torch.quantile(t, 1.5), r"quantile\(\) q must be in the range \[0, 1\] but got 1.5"),
        (lambda: torch.quantile(torch.zeros(0), 0.5), "input tensor must be non-empty"),
        (lambda: torch.quantile(torch.tensor([1]), 0.5), "must be either float or double dtype"),
        (
            lambda: torch.quantile(t, 0.5, interpolation="foo"),
            "interpolation must be one of linear, lower, higher, midpoint or nearest, but got foo",
        ),
        (lambda: torch.quantile(t, torch.zeros(1, 1, dtype=t.dtype)), "q must be a scalar or 1D tensor"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            bad()


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (50,), (3000,), (7, 9)])
def test_unique(dtype, shape):
    a = array(shape, dtype)
    if dtype in FLOATS:
        a = np.where(np.isnan(a), 2.5, a)
    t = next(tensors(a, dtype))
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True)
    assert same(torch.unique(t), values) and torch.unique(t).dtype == t.dtype
    v, i, c = torch.unique(t, return_inverse=True, return_counts=True)
    assert same(v, values) and same(i, inverse.reshape(shape)) and same(c, counts)
    assert same(t.unique(return_counts=True)[1], counts)
    flat = a.reshape(-1)
    starts = np.concatenate([[True], flat[1:] != flat[:-1]]) if flat.size else np.zeros(0, bool)
    v, i, c = torch.unique_consecutive(t, return_inverse=True, return_counts=True)
    assert (
        same(v, flat[starts])
        and same(i, (np.cumsum(starts) - 1).reshape(shape))
        and value(c).sum() == a.size
        and len(c) == starts.sum()
    )


def test_unique_of_slices():
    a = np.random.default_rng(0).integers(0, 3, (40, 2, 2))
    t = torch.tensor(a.tolist())
    for axis in (0, 1, 2):
        values, inverse, counts = np.unique(a, axis=axis, return_inverse=True, return_counts=True)
        v, i, c = torch.unique(t, return_inverse=True, return_counts=True, dim=axis)
        assert same(v, values) and same(i, inverse.reshape(-1)) and same(c, counts)
    assert torch.unique_consecutive(torch.tensor([[1, 1], [1, 1], [2, 1]]), dim=0).tolist() == [[1, 1], [2, 1]]
    n = torch.tensor([3.0, NAN, 1.0, NAN, -0.0, 0.0])
    v, i, c = torch.unique(n, return_inverse=True, return_counts=True)
    assert (
        i.tolist() == [2, 3, 1, 4, 0, 0]
        and c.tolist() == [2, 1, 1, 1, 1]
        and math.isnan(v[3].item())
        and math.isnan(v[4].item())
    )
    assert len(torch.unique(n)) == 5 and len(torch.unique_consecutive(n)) == 5
    with pytest.raises(
        RuntimeError, match="There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
    ):
        torch.unique(torch.zeros(3, 0), dim=0)
    with pytest.raises(IndexError):
        torch.unique(torch.tensor(3.0), dim=0)


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_searchsorted(dtype):
    rows, x = (
        np.sort(np.nan_to_num(array((3, 20), dtype).astype(float), nan=1, posinf=5, neginf=-5), 1),
        np.nan_to_num(array((3, 31), dtype, 9).astype(float), nan=2, posinf=9, neginf=-9),
    )
    d = getattr(torch, dtype)
    t, v = torch.tensor(rows.tolist(), dtype=d), torch.tensor(x.tolist(), dtype=d)
    for right in (False, True):
        side = "right" if right else "left"
        want = np.stack([np.searchsorted(r, y, side) for r, y in zip(rows, x)])
        assert same(torch.searchsorted(t, v, right=right), want) and same(
            torch.searchsorted(t, v, side=side, out_int32=True), want
        )
        one = np.searchsorted(rows[0], x, side)
        assert same(torch.searchsorted(t[0], v.t(), right=right), one.T) and same(
            torch.bucketize(v, t[0], right=right), one
        )
        shuffled = t[0].flip(0)
        assert same(torch.searchsorted(shuffled, v, right=right, sorter=shuffled.argsort()), one)


def middle_search(row, x, right):
    """Halving what is left at its middle element, whatever the order of the row is."""
    low, high = 0, len(row)
    while low < high:
        middle = (low + high) // 2
        if row[middle] <= x if right else row[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@pytest.mark.parametrize("right", [False, True])
def test_search_in_rows_without_order(right):
    # Their places are PyTorch's, whose tests compare them.
    generator = torch.Generator().manual_seed(3)
    for n in range(40):
        row = torch.randint(0, 9, (n,), generator=generator)
        x = torch.arange(-1, 10)
        want = [middle_search(row.tolist(), v, right) for v in x.tolist()]
        assert torch.searchsorted(row, x, right=right).tolist() == want
        order = torch.randperm(n, generator=generator)
        want = [middle_search(row[order].tolist(), v, right) for v in x.tolist()]
        assert torch.searchsorted(row, x, right=right, sorter=order).tolist() == want


def test_search_forms():
    s = torch.tensor([1, 3, 5])
    assert (
        torch.searchsorted(s, 3, right=True).item() == 2
        and torch.searchsorted(s, 3.5).item() == 2
        and torch.searchsorted(s, torch.tensor([3.5])).tolist() == [2]
    )
    assert torch.bucketize(3, s).item() == 1 and torch.searchsorted(
        torch.zeros(0), torch.tensor([3.0, NAN])
    ).tolist() == [0, 0]
    assert torch.searchsorted(torch.tensor([1.0, 2, NAN]), torch.tensor([NAN])).tolist() == [3]
    cases = [
        (lambda: torch.searchsorted(s, s, side="foo"), "side can only be 'left' or 'right' but got foo"),
        (
            lambda: torch.searchsorted(s, s, side="left", right=True),
            "side and right can't be set to opposites, got side of left while right was True",
        ),
        (
            lambda: torch.searchsorted(torch.zeros(2, 3), torch.zeros(3)),
            "the first N-1 dimensions of boundaries tensor and input value tensor must match",
        ),
        (lambda: torch.searchsorted(s, s, sorter=torch.tensor([1, 2, 7])), "sorter index out of range"),
        (lambda: torch.searchsorted(s, s, sorter=torch.tensor([1, 2])), "boundary and sorter must have the same size"),
        (lambda: torch.searchsorted(torch.tensor(1), s), "should have positive dimension, but got 0 dimension"),
        (lambda: torch.bucketize(s, torch.zeros(1, 3)), r"boundaries tensor must be 1 dimension, but got dim\(2\)"),
    ]
    for bad, text in cases:
        with pytest.raises(RuntimeError, match=text):
            bad()


def test_isin():
    a = np.random.default_rng(2).integers(0, 50, (7, 30))
    for dtype in ("int64", "uint8", "float32"):
        t = torch.tensor(a.tolist(), dtype=getattr(torch, dtype))
        tests = torch.tensor([3, 7, 7, 49, 12], dtype=t.dtype)
        assert same(torch.isin(t, tests), np.isin(a, [3, 7, 49, 12])) and same(
            torch.isin(t.t(), tests, invert=True), ~np.isin(a, [3, 7, 49, 12]).T
        )
    n = torch.tensor([3.0, NAN, 1.0])
    assert torch.isin(n, torch.tensor([3.0, NAN])).tolist() == [True, False, False] and torch.isin(n, 1).tolist() == [
        False,
        False,
        True,
    ]
    assert torch.isin(3, n).item() and torch.isin(n, torch.zeros(0)).tolist() == [False] * 3
    assert torch.isin(torch.tensor([1, 2]), torch.tensor([2.5, 2.0])).tolist() == [False, True]
    with pytest.raises(RuntimeError, match="Unsupported input type encountered for isin"):
        torch.isin(torch.tensor([1j]), torch.tensor([1j]))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "uint64"])
def test_isin_of_near_and_far_integers(dtype):
    info = np.iinfo(dtype)
    few = [info.min, info.min + 1, info.max]
    for tests in ([5, 9, 9, 6], few, [info.max], few + [5, 6, 7], []):
        asked = np.array(few * 4 + [5, 6, 7, 8, 9, 10], dtype)
        t, b = (
            torch.tensor(asked.tolist(), dtype=getattr(torch, dtype)),
            torch.tensor(tests, dtype=getattr(torch, dtype)),
        )
        want = np.isin(asked, np.array(tests, dtype))
        assert same(torch.isin(t, b), want) and same(torch.isin(t, b, invert=True), ~want)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("number", [300, -300, 2**40])
def test_isin_of_a_number_that_no_element_can_be(number, invert):
    elements = torch.tensor([[44, -44, 0]], dtype=torch.int8)
    assert torch.isin(elements, number, invert=invert).tolist() == [[invert] * 3]
    assert torch.isin(number, elements, invert=invert).item() is invert


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int16"])
def test_searchsorted_of_any_number(dtype):
    for n in (0, 1, 2, 3, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129):
        row = np.sort(np.random.default_rng(n).integers(0, 30, n)).astype(dtype)
        for m in (0, 1, 7, 8, 9, 15, 16, 17, 20, 33, 70):
            x = np.random.default_rng(m).integers(-1, 32, m).astype(dtype)
            if dtype[0] == "f" and m > 4:
                x[[1, 3, 4]] = np.nan, np.inf, -np.inf
            for side in ("left", "right"):
                got = torch.searchsorted(torch.from_numpy(row), torch.from_numpy(x), side=side)
                assert same(got, np.searchsorted(row, x, side))


def test_searchsorted_among_nan():
    # As a search by halves finds it, where NaN is less than nothing and not in order.
    x = torch.linspace(-1, 9, 40, dtype=torch.float64)
    for nans in (1, 3, 20):
        row = torch.cat((torch.arange(8.0, dtype=torch.float64), torch.full((nans,), math.nan, dtype=torch.float64)))
        for right in (False, True):
            few = [torch.searchsorted(row, v, right=right).item() for v in x]
            assert torch.searchsorted(row, x, right=right).tolist() == few


def test_bins():
    a = np.random.default_rng(4).integers(0, 40, 500)
    t = torch.tensor(a.tolist())
    assert same(torch.bincount(t), np.bincount(a)) and same(t.bincount(minlength=60), np.bincount(a, minlength=60))
    w = np.arange(500.0)
    got = torch.bincount(t, torch.tensor(w.tolist(), dtype=torch.float32))
    assert got.dtype == torch.float32 and same(got, np.bincount(a, w)) and torch.bincount(t, t).dtype == torch.float64
    assert torch.bincount(torch.zeros(0, dtype=torch.int64), minlength=2).tolist() == [0, 0]
    f = a.astype(float)
    for bins, low, high in ((10, 0, 0), (7, 3, 20), (100, -5, 60)):
        hist, edges = np.histogram(f, bins, None if low == high else (low, high))
        assert same(torch.histc(torch.tensor(f.tolist(), dtype=torch.float64), bins, low, high), hist)
        got = torch.histogram(
            torch.tensor(f.tolist(), dtype=torch.float64), bins, range=None if low == high else (low, high)
        )
        assert same(got.hist, hist) and np.allclose(value(got.bin_edges), edges)
    x = torch.tensor([[3.0, 1, 2], [9, 8, 7]])
    assert torch.histogram(x, 2, weight=x).hist.tolist() == [6, 24] and torch.histogram(
        x, torch.tensor([0.0, 5, 10])
    ).hist.tolist() == [3, 3]
    assert torch.histogram(x, bins=2, range=(0.0, 8.0), density=True).hist.tolist() == pytest.approx([0.15, 0.1])
    assert torch.histc(torch.ones(3), bins=3).tolist() == [0, 3, 0] and torch.histc(
        torch.tensor([1.0, NAN, 2.0]), 3, 0, 4
    ).tolist() == [1, 1, 0]
    assert torch.histogram(torch.ones(3), 3).bin_edges.tolist() == pytest.approx([0.5, 5 / 6, 7 / 6, 1.5])
    cases = [
        (lambda: torch.bincount(torch.tensor([-1])), "bincount only supports 1-d non-negative integral inputs."),
        (lambda: torch.bincount(torch.tensor([[1]])), "1-d"),
        (lambda: torch.bincount(t, minlength=-1), "minlength should be >= 0"),
        (lambda: torch.bincount(t, torch.ones(2)), "weights should be 1-d and have the same length as input"),
        (lambda: torch.histc(x, 0), "bins must be > 0, but got 0 for dimension 0"),
        (lambda: torch.histc(x, 3, 2, 1), "max must be larger than min"),
        (lambda: torch.histc(torch.tensor([1.0, NAN])), "is not finite"),
        (lambda: torch.histogram(x, 2, range=(3.0, 1.0)), "min should not exceed max"),
        (lambda: torch.histogram(x, torch.tensor([[1.0]])), "bins tensor should have one dimension"),
    ]
    for bad, text in cases:
        with pytest.raises(RuntimeError, match=text):
            bad()
    with pytest.raises(NotImplementedError, match="\"bincount_cpu\" not implemented for 'Float'"):
        torch.bincount(torch.ones(2))


def test_gradients():
    def check(f, x, want):
        t = torch.tensor(x, requires_grad=True)
        f(t).backward()
        assert t.grad.tolist() == pytest.approx(want)

    w = torch.tensor([1.0, 2.0, 3.0])
    check(lambda t: (t.sort().values * w).sum(), [3.0, 1.0, 2.0], [3, 1, 2])
    check(lambda t: (t.topk(2).values * w[:2]).sum(), [3.0, 1.0, 2.0], [1, 0, 2])
    check(lambda t: t.kthvalue(2).values * 5, [3.0, 1.0, 2.0], [0, 0, 5])
    check(lambda t: t.median() * 5, [3.0, 1.0, 2.0], [0, 0, 5])
    check(lambda t: t.nanmedian(0).values * 5, [3.0, NAN, 2.0], [0, 0, 5])
    check(lambda t: t.mode(0).values, [3.0, 2.0, 2.0], [0, 0, 1])
    check(lambda t: t.quantile(0.25), [3.0, 1.0, 2.0], [0, 0.5, 0.5])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("bins", [1, 3, 1000, 1023, 1024, 5000])
def test_histc_counts_as_one_by_one(dtype, bins):
    """Each number's bin is computed in the dtype of the sums, one rounding after the other, as PyTorch does."""
    g = np.random.default_rng(bins)
    compute = "float64" if dtype == "float64" else "float32"
    before = torch.get_num_threads()
    for n in (0, 1, 511, 513, 300_001):
        x = torch.tensor((g.standard_normal(n) * 2).tolist(), dtype=getattr(torch, dtype))
        x[::7] = 3
        x[1::50] = NAN
        x[2::50] = INF
        x[3::50] = -INF
        a = np.asarray(x.to(getattr(torch, compute)))
        for low, high in ((-3, 3), (0.1, 0.7), (-1e30, 1e30)):
            kept = a[(a >= a.dtype.type(low)) & (a <= a.dtype.type(high))]
            place = (kept - a.dtype.type(low)) * a.dtype.type(bins) / a.dtype.type(high - low)
            want = np.bincount(np.minimum(place.astype(np.int64), bins - 1), minlength=bins)
            got = [torch.histc(t, bins, low, high) for t in (x, torch.stack([x, x], 1)[:, 1])]
            torch.set_num_threads(3)
            got.append(torch.histc(x, bins, low, high))
            torch.set_num_threads(before)
            for counts in got:
                assert counts.dtype == x.dtype
                assert np.array_equal(value(counts.double()), value(torch.tensor(want.tolist()).to(x.dtype).double()))


def test_histc_of_a_range_that_float_cannot_subtract():
    x = torch.tensor([-3e38, 0.0, 3e38, 3e38])
    assert torch.histc(x, bins=3).tolist() == [1.0, 1.0, 2.0]
    assert torch.histc(x, bins=2, min=-3e38, max=3e38).tolist() == [1.0, 3.0]
    with pytest.raises(RuntimeError, match="width of the range"):
        torch.histc(torch.tensor([-1.7e308, 1.7e308], dtype=torch.float64))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(1, 5), (3, 1), (300, 2), (70, 3), (5, 127), (9, 128), (4, 129), (3, 2, 40), (0, 4)])
def test_first_of_many_rows(dtype, shape):
    a = array(shape, dtype)
    for x in tensors(a, dtype):
        for largest in (True, False):
            order = x.argsort(-1, descending=largest, stable=True)
            for k in {0, 1, min(2, shape[-1]), shape[-1]}:
                values, index = x.topk(k, -1, largest)
                assert index.equal(order[..., :k]) and values.shape == (*shape[:-1], k)
                wanted = x.gather(-1, order[..., :k])
                assert np.array_equal(values.double().numpy(), wanted.double().numpy(), equal_nan=True)
