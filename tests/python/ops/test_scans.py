"""Running sums, products and extremes, differences and softmax against NumPy in float64, with gradients."""

import math

import numpy as np
import pytest
import strided as torch
from arrays import check_second_gradient, numeric_gradient, value

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "complex64": 1e-6}
SHAPES = [(), (0,), (1,), (7,), (300,), (3, 5), (5, 0), (2, 70, 3), (4, 3, 300)]


def array(shape, dtype):
    g = np.random.default_rng(3)
    if dtype == "bool":
        return g.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        return g.integers(0 if dtype.startswith("u") else -5, 6, shape)
    a = g.integers(-32, 32, shape) / 16.0
    return a + 1j * (g.integers(-32, 32, shape) / 16.0) if dtype.startswith("complex") else a


def tensors(a, dtype):
    t = torch.tensor(a.tolist(), dtype=getattr(torch, dtype)).reshape(a.shape)
    yield t
    if t.ndim > 1:
        yield t.transpose(0, -1).contiguous().transpose(0, -1)
    if t.ndim:
        wide = torch.zeros(*[2 * s + 1 for s in a.shape], dtype=t.dtype)
        view = wide[tuple(slice(1, 2 * s + 1, 2) for s in a.shape)]
        view.copy_(t)
        yield view


def close(got, want, dtype, scale=1.0):
    assert tuple(got.shape) == want.shape
    tolerance = TOLERANCE.get(dtype, 1e-13)
    assert np.allclose(value(got), want, rtol=tolerance, atol=tolerance * scale, equal_nan=True), (got, want)


def axes(shape):
    return range(-len(shape), len(shape)) if shape else (0, -1)


def along(f, a, axis):
    return f(a, axis=axis) if a.ndim else f(a.reshape(1), axis=0).reshape(())


@pytest.mark.parametrize("dtype", ["bool"] + INTS + FLOATS + ["complex64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_cumsum_cumprod(dtype, shape):
    a = array(shape, dtype)
    wide = a.astype(np.int64) if dtype == "bool" or dtype in INTS else a
    for axis in axes(shape):
        for t in tensors(a, dtype):
            got = torch.cumsum(t, axis)
            close(got, along(np.cumsum, wide, axis), dtype, 2.0 * max(shape, default=1))
            assert str(got.dtype) == "torch." + ("int64" if wide.dtype == np.int64 and dtype != "uint64" else dtype)
            if wide.dtype == np.int64:
                close(t.cumprod(axis), along(np.cumprod, wide, axis), dtype)
            elif dtype != "float16" and dtype != "bfloat16":
                close((t / 2).cumprod(axis), along(np.cumprod, wide / 2, axis), dtype)


def test_cumsum_forms():
    x = torch.tensor([200, 100], dtype=torch.uint8)
    assert x.cumsum(0).tolist() == [200, 300] and x.cumsum(0, dtype=torch.uint8).tolist() == [200, 44]
    assert x.cumsum(0, dtype=torch.float64).dtype == torch.float64
    y = torch.ones(2, 3)
    assert y.cumsum_(1) is y and y.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert y.cumprod_(0).tolist() == [[1, 2, 3], [1, 4, 9]]
    out = torch.zeros(2, 3)
    assert torch.cumsum(torch.ones(2, 3), 0, out=out) is out and out[1].tolist() == [2, 2, 2]
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"):
        x.cumsum(1)
    # float32 is added in double: no drift
    n = 10**6
    assert torch.full((n,), 0.1).cumsum(0)[-1].item() == pytest.approx(n * float(np.float32(0.1)), rel=1e-7)


@pytest.mark.parametrize("n", range(1, 14))
def test_cumsum_of_rows_of_float32_with_infinities(n):
    """Four elements are added up beside each other: what is infinite or NaN begins where it does one by one."""
    inf, nan = math.inf, math.nan
    rows = np.arange(1, n + 1, dtype=np.float32) * np.ones((n * n, 1), np.float32)
    for k in range(n * n):
        rows[k, k // n] = (inf, nan, -0.0)[k % 3]
        rows[k, k % n] = -inf
    with np.errstate(invalid="ignore"):
        want = rows.astype(np.float64).cumsum(1).astype(np.float32)
    t = torch.from_numpy(rows)
    np.testing.assert_array_equal(t.cumsum(1).numpy(), want)
    np.testing.assert_array_equal(t.clone().cumsum_(1).numpy(), want)


def running(a, axis, better):
    """Values and positions, the last one among equals, NaN for good once there is one."""
    if a.ndim == 0:
        return a, np.zeros((), np.int64)
    moved = np.moveaxis(a, axis, -1)
    values, index = moved.copy(), np.zeros(moved.shape, np.int64)
    for row in np.ndindex(moved.shape[:-1]):
        best, at = None, 0
        for i, x in enumerate(moved[row]):
            if best is None or x != x or (best == best and better(x, best)):
                best, at = x, i
            values[row + (i,)], index[row + (i,)] = best, at
    return np.moveaxis(values, -1, axis), np.moveaxis(index, -1, axis)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "uint64"] + FLOATS)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s != (4, 3, 300)])
def test_cummax_cummin(dtype, shape):
    a = array(shape, dtype)
    if dtype in FLOATS and a.size > 5:
        a.flat[a.size // 2] = math.nan
    for axis in axes(shape):
        for t in tensors(a, dtype):
            for f, better in ((torch.cummax, lambda x, y: x >= y), (torch.cummin, lambda x, y: x <= y)):
                values, indices = f(t, axis)
                want, at = running(a, axis, better)
                close(values, want, dtype)
                assert indices.dtype == torch.int64 and np.array_equal(value(indices), at)


@pytest.mark.parametrize("spread", [1, 30, 3000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_logcumsumexp_of_blocks(dtype, spread):
    """Rows are taken in blocks of 64: lengths around their edges, numbers near and far, inf and nan anywhere."""
    rng = np.random.default_rng(0)
    for n in (1, 63, 64, 65, 128, 130, 300):
        x = torch.tensor(rng.standard_normal((n, 3)) * spread, dtype=getattr(torch, dtype))
        x[n // 3, 0] = -math.inf
        x[n // 2 :, 1] = -math.inf
        x[: n // 2, 2] = -math.inf
        a = value(x).astype(np.float64)
        with np.errstate(invalid="ignore"):
            want = np.logaddexp.accumulate(a, 0)
        for t, axis in ((x.clone(), 0), (x.T.clone(memory_format=torch.contiguous_format), 1)):
            close(t.logcumsumexp(axis), want if axis == 0 else want.T, dtype, 4)
            t.select(1 - axis, 1)[n // 2] = math.inf
            t.select(1 - axis, 0)[n // 2] = math.nan
            got = value(t.logcumsumexp(axis).movedim(axis, 0))
            assert (got[n // 2 :, 1] == math.inf).all() and np.isnan(got[n // 2 :, 0]).all()
            assert np.isfinite(got[n // 3 + 1 : n // 2, 0]).all() and not np.isnan(got[:, 2]).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_logcumsumexp(dtype):
    a = array((3, 40), dtype)
    for axis in (0, 1):
        close(
            torch.logcumsumexp(torch.tensor(a.tolist(), dtype=getattr(torch, dtype)), axis),
            np.log(np.cumsum(np.exp(a), axis)),
            dtype,
            4,
        )
    inf = math.inf
    assert torch.tensor([-inf, -inf, 0.0, inf]).logcumsumexp(0).tolist() == [-inf, -inf, 0.0, inf]
    assert torch.tensor([1000.0, 1000.0]).logcumsumexp(0).tolist() == pytest.approx([1000, 1000 + math.log(2)])
    got = torch.tensor([0.0, math.nan, 1.0]).logcumsumexp(0).tolist()
    assert got[0] == 0 and math.isnan(got[1]) and math.isnan(got[2])


@pytest.mark.parametrize("spread", [1, 30, 1000])
def test_derivatives_of_logcumsumexp(spread):
    """Along a direction with zeros, of the gradient by its cotangent, and by x: sums with weights, -inf left out."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(40).astype(np.longdouble) * spread
    x[[0, 1, 20]] = -np.inf
    g, d = rng.standard_normal((2, 40))
    g[::3], d[::4] = 0, 0
    out = np.logaddexp.accumulate(x)
    with np.errstate(invalid="ignore"):
        weights = np.where(np.isinf(x) | np.isinf(out[:, None]), 0, np.tril(np.exp(x - out[:, None])))
    a, b, c = (torch.tensor(v.astype(np.float64).tolist(), requires_grad=True, dtype=torch.float64) for v in (x, g, d))
    (first,) = torch.autograd.grad(a.logcumsumexp(0), a, b, create_graph=True)
    np.testing.assert_allclose(value(first.detach()), (weights.T @ g).astype(float), rtol=1e-9, atol=1e-12)
    by_x, by_g = torch.autograd.grad(first, (a, b), c)
    np.testing.assert_allclose(value(by_g), (weights @ d).astype(float), rtol=1e-9, atol=1e-12)
    hessian = np.diag(weights.T @ g) - weights.T @ (g[:, None] * weights)
    np.testing.assert_allclose(value(by_x), (hessian @ d).astype(float), rtol=1e-9, atol=1e-11)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a.detach(), c.detach())
        tangent = torch.autograd.forward_ad.unpack_dual(dual.logcumsumexp(0)).tangent
    np.testing.assert_allclose(value(tangent.detach()), (weights @ d).astype(float), rtol=1e-9, atol=1e-12)


def test_diff():
    a = np.array([[1, 4, 9, 16], [2, 3, 5, 7]])
    t = torch.tensor(a.tolist())
    for n in range(6):
        for axis in (0, 1):
            assert np.array_equal(
                value(torch.diff(t, n, axis)),
                np.diff(a, min(n, a.shape[axis]), axis).reshape(tuple(torch.diff(t, n, axis).shape)),
            )
    got = torch.diff(t, prepend=t[:, :1], append=t[:, :2])
    assert np.array_equal(value(got), np.diff(a, prepend=a[:, :1], append=a[:, :2]))
    assert torch.diff(torch.tensor([True, False, False])).tolist() == [True, False]
    with pytest.raises(RuntimeError, match="diff expects input to be at least one-dimensional"):
        torch.diff(torch.tensor(1))
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        torch.diff(t, -1)
    with pytest.raises(RuntimeError, match="prepend or append to be the same dimension"):
        torch.diff(t, prepend=torch.tensor(1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (63,), (64,), (200,), (3, 7), (5, 130, 3), (2, 3, 65), (0, 3), (3, 0)]
)
def test_softmax(dtype, shape):
    a = array(shape, dtype)
    for axis in axes(shape):
        if a.size == 0:
            assert torch.softmax(torch.zeros(shape), axis).shape == shape
            continue
        e = np.exp(a)
        want = e / along(lambda x, axis: np.sum(x, axis, keepdims=True), e, axis)
        for t in tensors(a, dtype):
            close(torch.softmax(t, axis), want, dtype)
            close(t.log_softmax(axis), np.log(want), dtype, 8)


def test_softmax_forms():
    x = torch.tensor([1000.0, 1000.0, -math.inf])
    assert x.softmax(0).tolist() == [0.5, 0.5, 0.0] and x.log_softmax(0).tolist()[2] == -math.inf
    assert all(
        math.isnan(v)
        for v in torch.tensor([1.0, math.nan]).softmax(0).tolist() + torch.tensor([-math.inf] * 2).softmax(0).tolist()
    )
    assert torch.softmax(torch.tensor([1, 1]), 0, dtype=torch.float32).tolist() == [0.5, 0.5]
    assert torch.softmax(torch.zeros(2), dim=0, dtype=torch.float64).dtype == torch.float64
    with pytest.raises(NotImplementedError):
        torch.softmax(torch.tensor([1, 1]), 0)
    with pytest.raises(IndexError):
        torch.softmax(torch.zeros(2, 2), 2)


# Around the vectors of a row: pieces of 64 and of 16 elements, and parts of a piece.
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 127, 128, 129, 144, 145])
def test_softmax_of_rows(dtype, n):
    a = np.random.default_rng(n).standard_normal((5, n)) * 3
    x = torch.tensor(a.tolist(), dtype=getattr(torch, dtype))
    for t in (x, x.T.contiguous().T, torch.cat([x, x], 1)[:, :n], x.expand(2, 5, n)):
        exact = np.asarray(t.double().tolist())
        e = np.exp(exact - exact.max(-1, keepdims=True))
        want = e / e.sum(-1, keepdims=True)
        close(t.softmax(-1), want, dtype)
        close(t.log_softmax(-1), np.log(want), dtype, 8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [3, 17, 64, 127, 128, 130, 197, 1000])
def test_softmax_of_rows_does_not_depend_on_other_rows(dtype, n):
    """Rows whose exponentials are all normal numbers take shorter code: the bits are those of single rows."""
    x = torch.tensor(np.random.default_rng(n).standard_normal((40, n)).tolist(), dtype=getattr(torch, dtype))
    for k, low in enumerate((-80.0, -86.9, -88.0, -100.0, -150.0, -707.0, -720.0, -1e4, -math.inf)):
        x[4 * k, n // 2], x[4 * k + 1, -1] = low, low
    for f in (torch.softmax, torch.log_softmax):
        assert torch.equal(f(x, -1), torch.stack([f(row, -1) for row in x]))
        columns = f(x.t().contiguous(), 0).t()
        close(columns, f(x, -1).double().numpy(), dtype, 8)
        want = f(x.double(), -1).numpy()
        close(f(x, -1), want, dtype, 8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 16, 17, 64, 70, 128, 200])
def test_softmax_of_rows_with_infinities(dtype, n):
    dtype = getattr(torch, dtype)
    for at in {0, n // 2, n - 1}:
        x = torch.zeros(3, n, dtype=dtype)
        x[0, at], x[1, at], x[2, at] = math.nan, math.inf, -math.inf
        got, logs = x.softmax(-1), x.log_softmax(-1)
        assert got[:2].isnan().all() if n == 1 else got[0].isnan().all() and math.isnan(got[1, at].item())
        others = [i for i in range(n) if i != at]
        if others:
            assert got[2, at].item() == 0 and logs[2, at].item() == -math.inf
            assert (got[1, others] != got[1, others]).all()
            assert np.allclose(got[2, others].tolist(), 1 / (n - 1), rtol=1e-6, atol=0)
    assert torch.full((2, n), -math.inf, dtype=dtype).softmax(-1).isnan().all()


def test_softmax_of_many_rows_on_any_number_of_threads():
    x = torch.tensor(np.random.default_rng(2).standard_normal((3000, 37)).tolist())
    before = torch.get_num_threads()
    try:
        made = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            made.append(x.softmax(-1))
    finally:
        torch.set_num_threads(before)
    assert made[0].equal(made[1]) and made[0].equal(made[2])
    for i in (0, 1500, 2999):
        assert made[0][i].equal(x[i].softmax(-1))


W = torch.tensor([[0.3, -1.2, 2.0], [1.0, 0.5, -0.7]], dtype=torch.float64)
GRADIENTS = {
    "cumsum": lambda t: (t.cumsum(1) * W).sum(),
    "cumprod": lambda t: (t.cumprod(1) * W).sum(),
    "cumprod 0": lambda t: (t.cumprod(0) * W).sum(),
    "logcumsumexp": lambda t: (t.logcumsumexp(1) * W).sum(),
    "cummax": lambda t: (t.cummax(1).values * W).sum(),
    "cummin": lambda t: (t.cummin(0)[0] * W).sum(),
    "diff": lambda t: (torch.diff(t, 2, 1, prepend=t) * W[:, :1]).sum(),
    "softmax": lambda t: (t.softmax(1) * W).sum(),
    "softmax 0": lambda t: (t.softmax(0) * W).sum(),
    "log_softmax": lambda t: (t.log_softmax(1) * W).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients(name, zeros):
    f = GRADIENTS[name]
    a = np.array([[1.5, -0.7, 2.2], [0.4, 3.1, -1.3]])
    if zeros:
        if "cumprod" not in name:
            return
        a[0, :zeros] = 0
    x = torch.tensor(a.tolist(), dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    assert np.allclose(value(g.detach()), numeric_gradient(f, a), rtol=1e-5, atol=1e-6)
    if not zeros:  # a second derivative there is one of another branch
        check_second_gradient(f, a, W * W)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 32, 47, 100])
def test_running_extremes_of_long_rows(dtype, n):
    g = np.random.default_rng(n)
    rows = [g.integers(0, 5, n), np.arange(n), np.arange(n)[::-1], np.zeros(n), g.integers(0, 100, n)]
    x = torch.tensor(np.array(rows).tolist()).to(getattr(torch, dtype))
    if x.is_floating_point():
        x[4, n // 2], x[3, n // 3] = math.nan, -0.0
        x[0, n - 1], x[2, 0] = math.inf, -math.inf
    for function, better in ((torch.cummax, lambda a, b: a >= b), (torch.cummin, lambda a, b: a <= b)):
        values, index = function(x, 1)
        for row, made, at in zip(x.tolist(), values.tolist(), index.tolist()):
            best = 0
            for i, v in enumerate(row):
                if v != v or (row[best] == row[best] and better(v, row[best])):
                    best = i
                assert at[i] == best and (made[i] == row[best] or made[i] != made[i])
        turned = function(x.T.contiguous().T, 1)
        assert turned[1].equal(index) and turned[0].nan_to_num().equal(values.nan_to_num())


def test_logcumsumexp_of_a_complex_nan_is_nan_in_both_parts_from_it_on():
    nan = float("nan")
    for bad in (complex(nan, 0), complex(0, nan)):
        for at in (0, 1):
            x = torch.tensor([1 + 1j, 2j, 1], dtype=torch.complex64)
            x[at] = bad
            parts = torch.view_as_real(torch.logcumsumexp(x, 0))
            assert parts[:at].isfinite().all() and parts[at:].isnan().all()
    kept = torch.logcumsumexp(torch.tensor([complex(-float("inf"), 3), 1j]), 0)
    assert kept[0].imag == 3 and kept[1] == 1j
