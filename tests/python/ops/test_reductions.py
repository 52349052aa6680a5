"""Reductions against NumPy in float64: op x dtype x layout x axes x keepdim; NaN and infinities; empty tensors; errors;
accuracy; results that do not depend on the number of threads."""

import itertools
import math

import numpy as np
import pytest
import strided as torch
from arrays import check_second_gradient, numeric_gradient, value

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool"] + INTS + FLOATS + COMPLEX
REAL = ["bool"] + INTS + FLOATS
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-6,
    "complex64": 2e-6,
    "float64": 1e-13,
    "complex128": 1e-13,
}


def array(shape, dtype, seed=0):
    """Values that every dtype holds exactly, as float64, complex128 or int64."""
    g = np.random.default_rng(seed)
    if dtype == "bool":
        return g.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        return g.integers(0 if dtype.startswith("u") else -50, 60, shape)
    a = g.integers(-64, 64, shape) / 16.0
    return a + 1j * (g.integers(-64, 64, shape) / 16.0) if dtype in COMPLEX else a


def layouts(a, dtype):
    """The same values as tensors of different strides."""
    t = torch.tensor(a.tolist(), dtype=getattr(torch, dtype)).reshape(a.shape)
    yield "contiguous", t
    yield "reversed axes", t.permute([*reversed(range(t.ndim))]).contiguous().permute([*reversed(range(t.ndim))])
    if t.ndim:
        wide = torch.zeros(*[2 * s + 1 for s in a.shape], dtype=t.dtype)
        view = wide[tuple(slice(1, 2 * s + 1, 2) for s in a.shape)]
        view.copy_(t)
        yield "strided, offset", view
        yield "negative stride", t.flip(0)[::-1]
    if t.ndim > 1:
        yield "swapped", t.transpose(0, 1).contiguous().transpose(0, 1)


def close(got, want, dtype, scale=1.0):
    got, want = np.asarray(value(got)), np.asarray(want)
    assert got.shape == want.shape
    tolerance = TOLERANCE.get(dtype, 0)
    assert np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True), (got, want)


SHAPES = [(), (1,), (7,), (3, 5), (4, 1, 3), (2, 3, 4, 5), (40, 33), (3, 70), (70, 3)]


def axes_of(n):
    yield None
    for k in range(1, n + 1):
        yield from itertools.combinations(range(n), k)


def absolute_sum(a, axis):
    return float(np.max(np.sum(np.abs(a), axis=axis), initial=1.0))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", SHAPES)
def test_against_numpy(dtype, shape):
    a = array(shape, dtype)
    wide = a.astype(np.int64) if dtype == "bool" or dtype in INTS else a
    for (_, t), axis, keep in itertools.product(layouts(a, dtype), axes_of(len(shape)), (False, True)):
        how = dict(keepdim=keep) if axis is None else dict(dim=axis, keepdim=keep)
        np_how = dict(axis=axis, keepdims=keep)
        close(
            torch.sum(t, **how) if axis else t.sum(None, keep), np.sum(wide, **np_how), dtype, absolute_sum(wide, axis)
        )
        close(t.all(None if axis is None else axis, keep), np.all(a, **np_how), dtype)
        close(t.any(None if axis is None else axis, keep), np.any(a, **np_how), dtype)
        if not keep:
            close(t.count_nonzero(axis), np.count_nonzero(a, axis=axis), dtype)
        if axis is None or len(axis) == 1:
            if axis is None:
                if not keep and (dtype not in FLOATS + COMPLEX):
                    close(t.prod(), np.prod(wide), dtype)
            elif dtype in FLOATS + COMPLEX:
                close((t / 8).prod(axis[0], keep), np.prod(wide / 8, **np_how), dtype)
        if dtype in REAL:
            close(t.amax(axis, keep), np.max(a, **np_how), dtype)
            close(t.amin(axis, keep), np.min(a, **np_how), dtype)
            if axis is not None and len(axis) == 1:
                values, indices = t.max(axis[0], keep)
                close(values, np.max(a, **np_how), dtype)
                close(indices, np.argmax(a, axis=axis[0], keepdims=keep), "int64")
                values, indices = t.min(axis[0], keep)
                close(values, np.min(a, **np_how), dtype)
                close(indices, np.argmin(a, axis=axis[0], keepdims=keep), "int64")
                if dtype != "bool":
                    close(t.argmax(axis[0], keep), np.argmax(a, axis=axis[0], keepdims=keep), "int64")
        if dtype in FLOATS + COMPLEX:
            close(t.mean(axis, keep), np.mean(a, **np_how), dtype, 4)
            count = int(np.prod([shape[i] for i in (range(len(shape)) if axis is None else axis)]))
            for correction in (0, 1):
                if count > correction:
                    close(
                        t.var(axis, correction=correction, keepdim=keep),
                        np.var(a, ddof=correction, **np_how),
                        dtype,
                        16,
                    )
                    close(
                        t.std(axis, correction=correction, keepdim=keep),
                        np.std(a, ddof=correction, **np_how),
                        dtype,
                        16,
                    )
            flat = np.abs(a)
            for p, want in [
                (2, np.sqrt(np.sum(flat**2, **np_how))),
                (1, np.sum(flat, **np_how)),
                (0, np.sum(flat != 0, **np_how)),
                (math.inf, np.max(flat, **np_how)),
                (-math.inf, np.min(flat, **np_how)),
                (3, np.sum(flat**3, **np_how) ** (1 / 3)),
            ]:
                close(torch.norm(t, p, axis, keep), want, dtype, 4 * count)
        if dtype in FLOATS and len(shape):
            every = tuple(range(len(shape))) if axis is None else axis
            close(torch.logsumexp(t, every, keep), np.log(np.sum(np.exp(a), axis=every, keepdims=keep)), dtype, 8)
    if dtype in REAL and dtype != "bool":
        for layout, t in layouts(a, dtype):
            assert t.argmax().item() == np.argmax(a) and t.argmin().item() == np.argmin(a), layout


@pytest.mark.parametrize("dtype", ALL)
def test_result_dtypes(dtype):
    t = torch.ones(2, dtype=getattr(torch, dtype))
    wide = {"uint64": "uint64"}.get(dtype, "int64") if dtype == "bool" or dtype in INTS else dtype
    for f in (torch.sum, torch.prod):
        assert str(f(t).dtype) == "torch." + wide
    assert t.all().dtype == t.any().dtype == (torch.uint8 if dtype == "uint8" else torch.bool)
    assert t.count_nonzero().dtype == torch.int64
    if dtype in REAL:
        assert t.max().dtype == t.amin().dtype == t.dtype and t.max(0).indices.dtype == torch.int64
    if dtype in FLOATS + COMPLEX:
        real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        assert str(t.norm().dtype) == str(t.std().dtype) == "torch." + real and t.mean().dtype == t.dtype


def test_dtype_argument():
    t = torch.tensor([[1, 200], [3, 4]], dtype=torch.uint8)
    assert t.sum(dtype=torch.uint8).item() == 208 and t.sum(dtype=torch.uint8).dtype == torch.uint8
    assert t.sum(0, dtype=torch.float64).tolist() == [4.0, 204.0]
    assert t.to(torch.float32).mean(1, dtype=torch.float64).tolist() == [100.5, 3.5]
    assert torch.mean(t, dtype=torch.float32).item() == 52.0
    big = torch.arange(100000, dtype=torch.int32).reshape(100, 1000)
    for x in (big, big.t(), big[:, ::3]):
        assert x.sum(dtype=torch.float64).item() == float(value(x).sum())
        assert x.sum(0, dtype=torch.float64).tolist() == value(x).sum(0).astype(float).tolist()
        assert x.sum(1, dtype=torch.float64).tolist() == value(x).sum(1).astype(float).tolist()
    assert torch.norm(t.to(torch.float32), dtype=torch.float64).dtype == torch.float64


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype):
    d = getattr(torch, dtype)
    x = torch.tensor([1.0, NAN, 3.0, INF, NAN], dtype=d)
    assert (
        math.isnan(x.max().item())
        and math.isnan(x.amin().item())
        and math.isnan(x.sum().item())
        and math.isnan(x.mean().item())
    )
    assert x.argmax().item() == 1 and x.argmin().item() == 1 and x.max(0).indices.item() == 1
    assert x.nansum().item() == INF and torch.nansum(torch.tensor([NAN, 2.0], dtype=d)).item() == 2.0
    assert torch.nanmean(torch.tensor([NAN, 2.0, 4.0], dtype=d)).item() == 3.0 and math.isnan(
        torch.tensor([NAN], dtype=d).nanmean().item()
    )
    assert (
        torch.tensor([-INF, -INF], dtype=d).logsumexp(0).item() == -INF
        and torch.tensor([INF, 1], dtype=d).logsumexp(0).item() == INF
    )
    assert torch.tensor([1000.0, 1000.0], dtype=torch.float64).logsumexp(0).item() == pytest.approx(1000 + math.log(2))
    assert x.all().item() and x.count_nonzero().item() == 5 and not torch.tensor([-0.0, 1], dtype=d).all().item()
    # NaN anywhere in long rows and columns, in every lane
    for n in (33, 300, 5000):
        for at in (0, 1, 31, n // 2, n - 1):
            y = torch.arange(n, dtype=torch.float32).remainder(7).to(d)
            y[at] = NAN
            assert math.isnan(y.amax().item()) and y.argmax().item() == at and math.isnan(y.logsumexp(0).item())
            wide = y.reshape(n, 1).expand(n, 20).contiguous()
            assert wide.argmin(0).tolist() == [at] * 20 and all(math.isnan(v) for v in wide.amin(0).tolist())


def test_first_position_wins():
    for n in (5, 100, 5000, 50000):
        for dtype in (torch.int8, torch.int32, torch.float32, torch.float64, torch.float16):
            x = torch.zeros(n, dtype=dtype)
            x[n // 3] = x[n // 2] = x[n - 1] = 5
            assert x.argmax().item() == n // 3 and x.argmin().item() == 0
            assert x.reshape(1, n).expand(3, n).argmax(1).tolist() == [n // 3] * 3
            columns = x.reshape(n, 1).expand(n, 17).contiguous()
            assert columns.max(0).indices.tolist() == [n // 3] * 17


def test_empty():
    e, e2 = torch.zeros(0), torch.zeros(2, 0)
    assert e.sum().item() == 0 and e.prod().item() == 1 and math.isnan(e.mean().item()) and math.isnan(e.std().item())
    assert (
        e.all().item()
        and not e.any().item()
        and e.norm().item() == 0
        and e.logsumexp(0).item() == -INF
        and e.count_nonzero().item() == 0
    )
    assert (
        e2.sum(1).tolist() == [0, 0]
        and e2.prod(1).tolist() == [1, 1]
        and e2.sum(0).shape == (0,)
        and e2.amax(0).shape == (0,)
    )
    assert (
        e2.max(0).values.shape == (0,) and e2.argmax(0).shape == (0,) and all(math.isnan(v) for v in e2.var(1).tolist())
    )
    for f in (torch.max, torch.min, torch.amax, torch.amin):
        with pytest.raises(
            RuntimeError,
            match=r"\(\): Expected reduction dim to be specified for input.numel\(\) == 0. Specify the reduction dim with the 'dim' argument.",
        ):
            f(e)
    for f in (torch.max, torch.amin, torch.argmax):
        with pytest.raises(IndexError, match=r"\(\): Expected reduction dim 1 to have non-zero size."):
            f(e2, 1)
    with pytest.raises(
        IndexError, match=r"argmax\(\): Expected reduction dim to be specified for input.numel\(\) == 0."
    ):
        e.argmax()
    with pytest.raises(
        RuntimeError, match="cannot compute aminmax over an empty dimension as the operation has no identity"
    ):
        torch.aminmax(e)
    with pytest.raises(
        RuntimeError,
        match="cannot compute the inf norm on an empty tensor because the operation does not have an identity",
    ):
        e.norm(INF)


def test_errors():
    x, i, c = torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.complex64)
    with pytest.raises(
        RuntimeError,
        match=r"mean\(\): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long",
    ):
        i.mean()
    with pytest.raises(
        RuntimeError, match=r"Optional dtype must be either a floating point or complex dtype. Got: Long"
    ):
        x.mean(dtype=torch.int64)
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)"):
        x.sum(5)
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        x.sum((0, -2))
    with pytest.raises(RuntimeError, match="std and var only support floating point and complex dtypes"):
        i.std()
    with pytest.raises(NotImplementedError):
        c.max()
    with pytest.raises(RuntimeError, match=r"max\(\): does not support complex input"):
        c.max(0)
    with pytest.raises(RuntimeError, match=r"argmax\(\): does not support bool input"):
        torch.zeros(2, dtype=torch.bool).argmax()
    with pytest.raises(
        RuntimeError, match="linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long"
    ):
        i.norm()
    with pytest.raises(RuntimeError, match="linalg.matrix_norm: Order abc not supported."):
        x.norm("abc")
    with pytest.raises(TypeError):
        x.max((0, 1))


def test_forms():
    x = torch.tensor([[1.0, 5.0, 2.0], [4.0, 0.0, 6.0]])
    assert torch.max(x, torch.full((2, 3), 3.0)).tolist() == [[3, 5, 3], [4, 3, 6]]
    assert x.max(1).values.tolist() == [5, 6] and x.min(dim=0).indices.tolist() == [0, 1, 0]
    values, indices = torch.max(x, 0, keepdim=True)
    assert values.shape == (1, 3) and indices.tolist() == [[1, 0, 1]]
    assert (
        x.sum(axis=0).tolist() == [5, 5, 8]
        and x.sum(axis=(0, 1), keepdims=True).shape == (1, 1)
        and torch.sum(x, -1).tolist() == [8, 10]
    )
    assert x.sum([]).item() == 18 and x.mean(()).item() == 3 and x.amax(()).item() == 6
    assert x.all(()).tolist() == [[True, True, True], [True, False, True]] and x.any(dim=None).item()
    assert x.argmax(keepdim=True).tolist() == [[5]] and torch.tensor(3.0).argmax(0).item() == 0
    assert (
        x.var(False).item() == pytest.approx(x.var(unbiased=False).item())
        and x.var(0, False).tolist() == x.var(0, correction=0).tolist()
    )
    assert x.var(correction=None).item() == x.var().item()
    out = torch.zeros(3)
    assert torch.sum(x, 0, out=out) is out and out.tolist() == [5, 5, 8]
    v, i = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    torch.max(x, 1, out=(v, i))
    assert v.tolist() == [5, 6] and i.tolist() == [1, 2]
    assert torch.norm(x, "fro", (0, 1)).item() == pytest.approx(math.sqrt(82)) and torch.norm(
        x, p="fro", dim=(0, 1), keepdim=True
    ).shape == (1, 1)
    s, m = torch.std_mean(x, 1)
    assert m.tolist() == pytest.approx([8 / 3, 10 / 3]) and s.tolist() == pytest.approx(
        np.std(value(x), axis=1, ddof=1).tolist()
    )
    assert torch.dist(x, x + 1, 1).item() == 6 and torch.aminmax(x, dim=0).max.tolist() == [4, 5, 6]
    assert torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).sum(0).stride() == (3, 1)


@pytest.mark.parametrize("n", [1, 31, 32, 255, 257, 2049, 16384, 16385, 70000, 200001])
def test_chunk_edges(n):
    """Sizes around those where the work is cut, in all directions."""
    a = np.random.default_rng(n).integers(-1000, 1000, n)
    t = torch.from_numpy(a.astype(np.float32))
    wide = torch.from_numpy(np.repeat(a.astype(np.float32)[:, None], 3, 1))
    assert t.sum().item() == np.float32(a.sum()) and wide.sum(0).tolist() == [np.float32(a.sum())] * 3
    assert (
        t[::-1].sum().item() == np.float32(a.sum())
        and wide.t().contiguous().sum(1).tolist() == [np.float32(a.sum())] * 3
    )
    assert torch.from_numpy(a).sum().item() == a.sum() and torch.from_numpy(a.astype(np.int16)).sum().item() == a.sum()
    assert t.argmax().item() == a.argmax() and wide.argmin(0).tolist() == [a.argmin()] * 3
    assert torch.from_numpy(a > 900).sum().item() == (a > 900).sum() and t.count_nonzero().item() == np.count_nonzero(a)
    if n > 1:
        assert t.var().item() == pytest.approx(a.astype(float).var(ddof=1), rel=1e-6)
    assert t.to(torch.float64).logsumexp(0).item() == pytest.approx(
        float(np.logaddexp.reduce(a.astype(float))), rel=1e-12
    )
    if n >= 4 and n < 3000:
        columns = torch.from_numpy(np.repeat(a.astype(np.float32)[:, None], 1030, 1))
        assert (
            columns.sum(0).tolist() == [np.float32(a.sum())] * 1030
            and columns.max(0).indices.tolist() == [a.argmax()] * 1030
        )


def bits(t):
    return value(t).tobytes()


@pytest.mark.parametrize(
    "shape, dims",
    [
        ((1000003,), None),
        ((3, 300001), 1),
        ((200003, 5), 0),
        ((2000, 700), 0),
        ((2000, 700), 1),
        ((7, 11, 13, 700), (0, 2)),
        ((64, 5000), 1),
        ((50, 60, 70), (1,)),
    ],
)
def test_same_bits_for_any_number_of_threads(shape, dims):
    g = np.random.default_rng(1)
    x = torch.from_numpy((g.standard_normal(shape) * 10.0 ** g.integers(-3, 4, shape)).astype(np.float32))
    functions = [
        lambda t: t.sum(dims),
        lambda t: t.mean(dims),
        lambda t: t.var(dims),
        lambda t: t.norm(dim=dims),
        lambda t: t.to(torch.float16).sum(dims),
        lambda t: t.logsumexp(tuple(range(len(shape))) if dims is None else dims),
        lambda t: t.sum(dims, dtype=torch.float64),
    ]
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 4):
            torch.set_num_threads(threads)
            results.append([bits(f(x)) for f in functions])
    finally:
        torch.set_num_threads(before)
    assert all(r == results[0] for r in results)


@pytest.mark.parametrize("n", [10**6, 10**7])
def test_accuracy_of_long_float32_sums(n):
    a = np.random.default_rng(2).random(n, dtype=np.float32)
    exact = float(a.sum(dtype=np.float64))
    t = torch.from_numpy(a)
    assert abs(t.sum().item() - exact) <= 2e-7 * exact
    assert abs(t.mean().item() - exact / n) <= 2e-7 * exact / n
    columns = torch.from_numpy(a[: n // 4 * 4].reshape(-1, 4))
    assert np.allclose(value(columns.sum(0)), a[: n // 4 * 4].reshape(-1, 4).sum(0, dtype=np.float64), rtol=2e-7)
    shifted = torch.from_numpy((a + 1000).astype(np.float32))
    assert shifted.var().item() == pytest.approx(
        float((a + 1000).astype(np.float32).var(dtype=np.float64, ddof=1)), rel=1e-6
    )


W = torch.tensor([[0.3, -1.2, 2.0], [1.0, 0.5, -0.7]], dtype=torch.float64)
GRADIENTS = {
    "sum": lambda t: (t.sum(0) * W[0]).sum(),
    "sum all": lambda t: t.sum() * 3,
    "keepdim": lambda t: (t.sum(1, keepdim=True) * W[:, :1]).sum(),
    "mean": lambda t: (t.mean((0, 1)) * 2 + t.mean(1) * W[:, 0]).sum(),
    "nansum": lambda t: (t.nansum(0) * W[1]).sum(),
    "prod": lambda t: (t.prod(1) * W[:, 1]).sum(),
    "prod all": lambda t: t.prod(),
    "amax": lambda t: (t.amax(1) * W[:, 2]).sum(),
    "amin": lambda t: t.amin((0, 1)) * 2,
    "max": lambda t: t.max() * 2,
    "max dim": lambda t: (t.max(0).values * W[0]).sum(),
    "min dim": lambda t: (t.min(1, keepdim=True)[0] * W[:, :1]).sum(),
    "var": lambda t: (t.var(0) * W[0]).sum(),
    "std": lambda t: (t.std(1, correction=0) * W[:, 0]).sum(),
    "std_mean": lambda t: (torch.std_mean(t, 0)[0] * torch.std_mean(t, 0)[1]).sum(),
    "var_mean": lambda t: (torch.var_mean(t, 1)[0] * torch.var_mean(t, 1)[1]).sum(),
    "norm 2": lambda t: (t.norm(dim=0) * W[0]).sum(),
    "norm 1": lambda t: t.norm(1),
    "norm 3": lambda t: (t.norm(3, 1) * W[:, 0]).sum(),
    "norm 0.5": lambda t: t.norm(0.5),
    "norm inf": lambda t: (t.norm(INF, 1) * W[:, 0]).sum(),
    "logsumexp": lambda t: (t.logsumexp(1) * W[:, 0]).sum(),
    "dist": lambda t: torch.dist(t, W),
    "nanmean": lambda t: t.nanmean(0).sum(),
}


@pytest.mark.parametrize("rows", [2, 5, 8, 11, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_few_rows_are_added_in_order(dtype, rows):
    """A sum over the first axis is what a loop over it gives, to the bit, as in PyTorch."""
    g = torch.Generator().manual_seed(rows)
    for n in (2, 3, 7, 40, 100, 1000):
        for x in (
            torch.randn(rows, n, dtype=getattr(torch, dtype), generator=g),
            torch.randn(rows, 2 * n, dtype=getattr(torch, dtype), generator=g)[:, ::2],
            torch.randn(3, rows, n, dtype=getattr(torch, dtype), generator=g).transpose(0, 1),
            torch.randn(rows, n, 5, dtype=getattr(torch, dtype), generator=g).transpose(1, 2),
        ):
            added, multiplied = x[0], x[0]
            for row in x[1:]:
                added, multiplied = added + row, multiplied * row
            assert torch.equal(x.sum(0), added)
            assert torch.equal(x.prod(0), multiplied)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    f = GRADIENTS[name]
    a = np.array([[1.5, -0.7, 2.2], [0.4, 3.1, -1.3]])
    x = torch.tensor(a.tolist(), dtype=torch.float64, requires_grad=True)
    f(x).backward()
    assert np.allclose(value(x.grad), numeric_gradient(f, a), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in GRADIENTS if n not in ("norm inf",)])
def test_second_gradients(name):
    f = GRADIENTS[name]
    a = np.array([[1.5, -0.7, 2.2], [0.4, 3.1, -1.3]])
    check_second_gradient(f, a, W * W)


def test_gradients_at_ties_and_zeros():
    x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
    x.max().backward()
    assert x.grad.tolist() == [0, 0.5, 0.5]
    x.grad = None
    x.max(0).values.backward()
    assert x.grad.tolist() == [0, 1, 0]
    for values, want in [([2.0, 0.0, 3.0], [0, 6, 0]), ([0.0, 0.0, 3.0], [0, 0, 0]), ([2.0, 5.0, 3.0], [15, 6, 10])]:
        y = torch.tensor(values, requires_grad=True)
        y.prod().backward()
        assert y.grad.tolist() == want
    y = torch.tensor([[2.0, 0.0], [4.0, 5.0]], requires_grad=True)
    y.prod(1).sum().backward()
    assert y.grad.tolist() == [[0, 2], [5, 4]]
    z = torch.zeros(3, requires_grad=True)
    z.norm().backward()
    assert z.grad.tolist() == [0, 0, 0]


def test_a_reduction_is_its_struct():
    for name in "sum nansum prod mean amax amin count_nonzero all any logsumexp".split():
        f = torch.functions[name] if hasattr(torch, "functions") else getattr(torch, name)
        (text,) = f.signatures
        assert text.endswith("Tensor? out=None)"), text
        assert "dim" in text
        assert ">>>" in f.__doc__
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        axis = {"dim": 1}
        expected = f(x, **axis)
        assert getattr(x, name)(**axis).tolist() == expected.tolist()
        assert f(x, axis=1, out=torch.empty(0, dtype=expected.dtype)).tolist() == expected.tolist()
        if "keepdim" in text:
            assert f(x, keepdims=True, **axis).shape == (2, 1)


@pytest.mark.parametrize("dtype", REAL)
def test_hash_tensor(dtype):
    for shape in SHAPES:
        a = array(shape, dtype)
        bits = a.astype(np.float64 if dtype in FLOATS else np.int64).view(np.uint64)
        for (_, t), axis, keep in itertools.product(layouts(a, dtype), axes_of(len(shape)), (False, True)):
            got = torch.hash_tensor(t, axis, keepdim=keep)
            want = np.bitwise_xor.reduce(bits, axis=axis, keepdims=keep)
            assert got.dtype == torch.uint64 and got.tolist() == want.tolist()


def test_hash_tensor_errors():
    with pytest.raises(RuntimeError, match="Unknown hash_tensor mode: 1"):
        torch.hash_tensor(torch.ones(2), mode=1)
    with pytest.raises(NotImplementedError):
        torch.hash_tensor(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        torch.hash_tensor(torch.ones(0))
    with pytest.raises(IndexError, match="to have non-zero size"):
        torch.hash_tensor(torch.ones(2, 0), 1)
    assert not torch.hash_tensor(torch.ones(2, requires_grad=True)).requires_grad


@pytest.mark.parity
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
)
def test_hash_tensor_is_pytorchs(dtype):
    theirs = pytest.importorskip("torch")
    values = [[0.0, -1.5, 3.25], [7.0, 100.0, -0.0]]
    for how in ({}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}):
        a, b = (T.hash_tensor(T.tensor(values).to(getattr(T, dtype)), **how) for T in (torch, theirs))
        assert a.tolist() == b.tolist()


def test_norms_of_a_complex_order():
    x = torch.ones(2, 2)
    for call in (lambda: torch.norm(x, 1j), lambda: x.norm(2 + 0j), lambda: torch.nn.functional.normalize(x, 1j)):
        with pytest.raises(RuntimeError, match="Expected a non-complex scalar as the order of norm"):
            call()
