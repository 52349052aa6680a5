"""Scans, softmax, sorting, selecting and searching on a CUDA device against the CPU, with gradients. On a GPU, or
emulated."""

import math

import cuda_device
import numpy as np
import pytest
import strided as torch

pytestmark = cuda_device.needs(1)
FLOATS = ["float16", "bfloat16", "float32", "float64"]
REAL = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"] + FLOATS
EPS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}
SHAPES = [(), (0,), (1,), (300,), (2100,), (3, 0), (4, 5), (2, 70, 3)]


def value(t):
    t = t.cpu()
    if t.dtype in (torch.float16, torch.bfloat16):
        t = t.to(torch.float32)
    return t.numpy()


def results(x):
    return tuple(x) if isinstance(x, tuple) else (x,)


def check(f, *args, exact=True):
    """f on the device is f on the CPU: results, or the error."""
    on_device = [a.cuda() if isinstance(a, torch.Tensor) else a for a in args]
    try:
        want = f(*args)
    except (RuntimeError, IndexError, NotImplementedError, TypeError) as error:
        with pytest.raises(type(error)) as raised:
            for r in results(f(*on_device)):
                r.cpu()
        assert str(raised.value).replace("on CUDA", "on CPU") == str(error)
        return
    for got, wanted in zip(results(f(*on_device)), results(want), strict=True):
        if wanted is None:
            assert got is None
            continue
        assert (
            got.device.type == "cuda"
            and got.dtype == wanted.dtype
            and got.shape == wanted.shape
            and got.stride() == wanted.stride()
        )
        a, b = value(got), value(wanted)
        if exact or str(wanted.dtype)[6:] not in EPS:
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
        else:
            eps = EPS[str(wanted.dtype)[6:]]
            np.testing.assert_allclose(a, b, rtol=eps, atol=eps)


def tensor(shape, dtype, seed=1, specials=True):
    g = np.random.default_rng(seed)
    n = math.prod(shape)
    if dtype == "bool":
        a = g.integers(0, 2, n).astype(bool)
    elif dtype not in EPS:
        a = g.integers(0 if dtype.startswith("u") else -60, 60, n)
    else:
        a = g.integers(-16, 16, n) / 16.0
        if specials and n > 8:
            a[n // 3], a[n // 2], a[-1], a[1], a[2], a[5] = math.nan, math.inf, -math.inf, -0.0, math.nan, 0.0
        if dtype.startswith("complex"):
            a = a + 1j * g.integers(-16, 16, n) / 16.0
    return torch.tensor(a.tolist(), dtype=getattr(torch, dtype)).reshape(shape)


def layouts(x):
    yield x
    if x.ndim > 1:
        yield x.transpose(0, -1).contiguous().transpose(0, -1)


def axes(x):
    return range(-1, max(x.ndim - 1, 0))


# ---------------------------------------------------------------- scans


@pytest.mark.parametrize("dtype", REAL + ["complex64", "complex128"])
@pytest.mark.parametrize(
    "name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "logsumexp"]
)
def test_scans(name, dtype):
    f = getattr(torch, name)
    for shape in SHAPES:
        x = tensor(shape, dtype, specials=name.startswith("cumm"))
        for view in layouts(x):
            for axis in axes(x):
                check(lambda t, axis=axis: f(t, axis), view, exact=name.startswith("cumm"))


def test_scans_of_long_rows():
    x = tensor((30000,), "int64")
    for name in ("cumsum", "cummax"):
        check(lambda t, f=getattr(torch, name): f(t, 0), x)
        check(lambda t, f=getattr(torch, name): f(t.reshape(10000, 3), 0), x)
    y = tensor((30000,), "float32", specials=False)
    for name in ("logcumsumexp", "softmax", "log_softmax"):
        check(lambda t, f=getattr(torch, name): f(t, 0), y, exact=False)
        check(lambda t, f=getattr(torch, name): f(t.reshape(10000, 3), 0), y, exact=False)
    check(lambda t: torch.cumsum(t, 0, dtype=torch.int8), x)
    check(lambda t: t.clone().cumsum_(0), x)
    check(lambda t: torch.diff(t, 2), x)


@pytest.mark.parametrize(
    "name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "logsumexp"]
)
def test_gradients_of_scans(name):
    def gradient(t, axis):
        t = t.detach().requires_grad_()
        y = results(getattr(torch, name)(t, axis))[0]
        weight = torch.arange(y.numel(), device=t.device, dtype=t.dtype).reshape(y.shape) * 0.01 - 0.1
        (first,) = torch.autograd.grad((y * weight).sum(), t, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), t) if first.requires_grad else (first,)
        return first.detach(), second

    x = torch.rand(4, 50, 3, dtype=torch.float64) + 0.5
    for axis in range(3):
        check(lambda t, axis=axis: gradient(t, axis), x, exact=False)
    x[1, 3, 1] = 0  # cumprod's other formula
    check(lambda t: gradient(t, 1), x, exact=False)


# ---------------------------------------------------------------- sorting and selecting


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
def test_sort(dtype):
    for shape in SHAPES:
        x = tensor(shape, dtype)
        for view in layouts(x):
            for axis in axes(x):
                for descending in (False, True):
                    check(lambda t, a=axis, d=descending: torch.sort(t, a, d), view)
                    check(lambda t, a=axis, d=descending: torch.argsort(t, a, d), view)
        if x.ndim:
            check(torch.msort, x)


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
def test_topk_and_kthvalue(dtype):
    for shape in SHAPES:
        x = tensor(shape, dtype, seed=2)
        for axis in axes(x):
            n = x.shape[axis] if x.ndim else 1
            for k in {0, 1, min(3, n), n // 8, n, n + 1}:
                for largest in (False, True):
                    check(lambda t, a=axis, k=k, big=largest: torch.topk(t, k, a, big), x)
                check(lambda t, a=axis, k=k: torch.kthvalue(t, k, a, keepdim=True), x)


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
@pytest.mark.parametrize("name", ["median", "nanmedian", "mode"])
def test_medians_and_modes(name, dtype):
    f = getattr(torch, name)
    for shape in SHAPES:
        x = tensor(shape, dtype, seed=3)
        for specials in (True, False) if dtype in FLOATS else (False,):
            x = tensor(shape, dtype, seed=3, specials=specials)
            for axis in axes(x):
                check(lambda t, a=axis: f(t, a), x)
            if name != "mode":
                check(f, x)
    if dtype in FLOATS:
        check(lambda t: f(t, 0), torch.full((5,), math.nan, dtype=getattr(torch, dtype)))
        check(lambda t: f(t, 0), torch.full((2100,), math.nan, dtype=getattr(torch, dtype)))


def test_many_rows_and_long_rows():
    x = tensor((900, 6), "int16")
    check(torch.sort, x)
    check(lambda t: torch.sort(t, 0), x.reshape(3, -1))
    for dtype in ("float32", "int64", "float16", "uint8"):
        y = tensor((2, 4500), dtype)
        check(torch.sort, y)
        check(lambda t: torch.sort(t, descending=True), y)
        for k in (7, 1000, 1125, 1126, 4500):
            check(lambda t, k=k: torch.topk(t, k), y)
            check(lambda t, k=k: torch.topk(t, k, largest=False), y)
        check(lambda t: torch.topk(t, 2500), tensor((10001,), dtype))
        check(lambda t: torch.median(t, -1), y)
        check(lambda t: torch.mode(t, -1), y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quantiles(dtype):
    x = tensor((7, 40), dtype, specials=False)
    y = tensor((7, 40), dtype)
    for q in (0.0, 0.3, 1.0, torch.tensor([0.1, 0.5], dtype=getattr(torch, dtype))):
        for kind in ("linear", "lower", "higher", "midpoint", "nearest"):

            def f(t, axis, name, q=q, kind=kind):
                where = q.to(t.device) if isinstance(q, torch.Tensor) else q
                return getattr(torch, name)(t, where, axis, interpolation=kind)

            for axis in (0, 1, None):
                check(lambda t, a=axis: f(t, a, "quantile"), x, exact=False)
                check(lambda t, a=axis: f(t, a, "nanquantile"), y, exact=False)


@pytest.mark.parametrize(
    "name", ["sort", "topk", "kthvalue", "median", "nanmedian", "mode", "median_of_all", "quantile"]
)
def test_gradients_of_sorting(name):
    def gradient(t, axis):
        t = t.detach().requires_grad_()
        args = {"topk": (3,), "kthvalue": (2,), "quantile": (0.3,)}.get(name, ())
        y = torch.median(t) if name == "median_of_all" else results(getattr(torch, name)(t, *args, dim=axis))[0]
        weight = torch.arange(y.numel(), device=t.device, dtype=t.dtype).reshape(y.shape) * 0.01 - 0.1
        (g,) = torch.autograd.grad((y * y * weight).sum(), t)
        return g

    x = torch.randperm(4 * 30 * 3).to(torch.float64).reshape(4, 30, 3) * 0.1
    for axis in range(3):
        check(lambda t, axis=axis: gradient(t, axis), x, exact=False)


# ---------------------------------------------------------------- distinct elements, searching, counting


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
def test_unique(dtype):
    for shape in ((), (0,), (1,), (9,), (2100,), (5, 6, 4), (0, 3)):
        x = tensor(shape, dtype)
        if x.ndim > 1:
            x = torch.cat([x, x[:3]])
        for dim in (None, *range(x.ndim)):
            for inverse in (False, True):
                for counts in (False, True):
                    for f in (torch.unique, torch.unique_consecutive):
                        check(
                            lambda t, f=f, i=inverse, c=counts, d=dim: f(t, return_inverse=i, return_counts=c, dim=d), x
                        )


def test_unique_of_many_rows():
    x = torch.randint(0, 2, (600, 11), dtype=torch.uint8)
    check(lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=0), x)
    check(lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=0), x.to(torch.float64) - 0.5)
    check(lambda t: torch.unique(t, return_inverse=True, return_counts=True), torch.randint(0, 50, (9000,)))


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
def test_searching(dtype):
    row, x = tensor((41,), dtype), tensor((3, 19), dtype, seed=4)
    rows = tensor((3, 8), dtype, seed=5)
    for right in (False, True):
        check(lambda a, b, r=right: torch.searchsorted(torch.sort(a)[0], b, right=r), row, x)
        check(lambda a, b, r=right: torch.searchsorted(torch.sort(a)[0], b, right=r, out_int32=True), rows, x)
        check(lambda a, b, r=right: torch.searchsorted(a, b, right=r, sorter=torch.argsort(a)), rows, x)
        check(lambda a, b, r=right: torch.bucketize(b, torch.sort(a)[0], right=r), row, x)
        check(lambda a, b, r=right: torch.isin(b, a, invert=r), row, x)
        check(lambda a, b, r=right: torch.isin(b, a[:0], invert=r), row, x)
    check(lambda a, b: torch.searchsorted(a[:0], b), row, x)
    check(lambda a, b: torch.searchsorted(a, b[:, :0]), rows, x)


def test_a_bad_sorter_is_reported():
    def f(row, values, sorter):
        out = torch.searchsorted(row, values, sorter=sorter)
        if out.is_cuda:
            torch.cuda.synchronize()
        return out

    for bad in (-1, 3, 2**40):
        check(f, torch.arange(3), torch.arange(5), torch.tensor([0, bad, 2]))
    check(f, torch.arange(3), torch.arange(5), torch.tensor([2, 1, 0]))


def test_counting_in_bins():
    x, w = tensor((500,), "float32", specials=False), torch.rand(500)
    for bins, low, high in ((10, 0, 0), (7, -0.5, 0.5), (1, 0, 1)):
        check(lambda t, b=bins, lo=low, hi=high: torch.histc(t, b, lo, hi), x)
    check(lambda t: torch.histogram(t, 9), x)
    check(lambda t, v: torch.histogram(t, 9, range=(-0.5, 0.7), weight=v, density=True), x, w, exact=False)
    check(lambda t, e: torch.histogram(t, e), x, torch.linspace(-1, 1, 12))
    k = tensor((500,), "uint8")
    check(lambda t: torch.bincount(t, minlength=70), k)
    check(lambda t, v: torch.bincount(t, v), k, w, exact=False)
