"""Scans, softmax, sorting, selecting and searching on a CUDA device against the CPU, with gradients. On a GPU, or emulated."""

import math

import cuda_device
import numpy as np
import pytest

import strided as torch

pytestmark = cuda_device.needs(1)
FLOATS = ["float16", "bfloat16", "float32", "float64"]
REAL = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"] + FLOATS
EPS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}
SHAPES = [(), (0,), (1,), (7,), (300,), (2100,), (3, 0), (4, 5), (3, 70), (40, 33), (2, 3, 70), (2, 130, 3)]


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
        assert str(raised.value) == str(error)
        return
    for got, want in zip(results(f(*on_device)), results(want), strict=True):
        if want is None:
            assert got is None
            continue
        assert got.device.type == "cuda" and got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
        a, b = value(got), value(want)
        if exact or str(want.dtype)[6:] not in EPS:
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
        else:
            eps = EPS[str(want.dtype)[6:]]
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
    if x.ndim and x.numel():
        yield x[::-1]


def axes(x):
    return range(-1, max(x.ndim - 1, 0))


# ---------------------------------------------------------------- scans


@pytest.mark.parametrize("dtype", REAL + ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "logsumexp"])
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


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "logsumexp"])
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
