"""Every elementwise op and reduction of the tables, and indexing, on a CUDA device against the CPU. On a GPU, or
emulated."""

import cuda_device
import elementwise_cases as elementwise
import numpy as np
import pytest
import strided as torch

pytestmark = cuda_device.needs(1)
EPS = {
    "float8_e4m3fn": 0.13,
    "float8_e5m2": 0.26,
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 1e-5,
    "float64": 1e-13,
    "complex64": 2e-5,
    "complex128": 1e-12,
}


def close(got, want):
    """The device's result is the CPU's, up to rounding."""
    assert got.device.type == "cuda" and got.dtype == want.dtype and got.shape == want.shape
    got = got.cpu()
    name = str(want.dtype)[6:]
    if name not in EPS:
        assert got.tolist() == want.tolist()
        return
    a, b = elementwise.wide(got), elementwise.wide(want)
    np.testing.assert_allclose(a, b, rtol=EPS[name], atol=EPS[name], equal_nan=True)


def layouts(x):
    yield x
    yield torch.stack([x, x], 1)[:, 0]
    yield x.reshape(6, 8).t()
    yield x[::-1] if x.ndim == 1 else x
    yield x[:1].expand(7, 1, 3) if x.ndim == 1 else x


@pytest.mark.parametrize("name, dtype", elementwise.CASES)
def test_elementwise(name, dtype):
    args = elementwise.operands(name, dtype)
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    for views in zip(*(layouts(t) for t in tensors)):
        rest = iter(views)
        host = [next(rest) if isinstance(a, torch.Tensor) else a for a in args]
        device = [a.cuda() if isinstance(a, torch.Tensor) else a for a in host]
        params = {"polygamma": {"n": 2}, "threshold": {"threshold": 0.5, "value": 2}}.get(name, {})
        close(elementwise.call(name, device, **params), elementwise.call(name, host, **params))


@pytest.mark.parametrize("name", ["add", "mul", "div", "maximum", "where_like"])
def test_mixed_dtypes_and_numbers(name):
    f = torch.where if name == "where_like" else getattr(torch, name)
    for a in (torch.int8, torch.float32, torch.float64, torch.bfloat16):
        for b in (torch.bool, torch.int64, torch.float32, torch.complex64):
            if name == "maximum" and b.is_complex:
                continue
            x, y = torch.arange(24).remainder(5).to(a).reshape(4, 6), (torch.arange(6) % 2 + 1).to(b)
            if name == "where_like":
                close(f(x.cuda() > 2, x.cuda(), y.cuda()), f(x > 2, x, y))
            else:
                close(f(x.cuda(), y.cuda()), f(x, y))
                if name != "maximum":
                    close(f(x.cuda(), 3), f(x, 3))


REDUCTIONS = [
    "sum", "prod", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "all", "any", "var", "std",
    "count_nonzero", "nansum",
    "norm",
]  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "bfloat16", "complex64"])
def test_reductions(name, dtype):
    f = getattr(torch, name)
    for shape in ((1,), (33,), (5, 70), (3, 1025), (2, 3, 129), (4097,)):
        x = (torch.rand(shape, dtype=torch.float64) * 4 + 0.5).to(getattr(torch, dtype))
        for axes in (None, 0, -1):
            for view in (lambda t: t, lambda t: t.transpose(0, -1), lambda t: t[..., ::2]):
                v = view(x)
                args = () if axes is None else (axes,)
                if name == "norm":
                    args = () if axes is None else (2, axes)
                try:
                    want = f(v, *args)
                except (RuntimeError, NotImplementedError, TypeError):
                    with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
                        f(view(x.cuda()), *args)
                    continue
                got = f(view(x.cuda()), *args)
                for a, b in zip(
                    got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)
                ):
                    if name == "prod" and x.numel() > 100:
                        continue
                    close(a, b)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex128", "float16"])
def test_indexing(dtype):
    x = torch.arange(60).remainder(7).to(getattr(torch, dtype)).reshape(5, 4, 3)
    d = x.cuda()
    at = torch.tensor([3, -1, 0, 3])
    mask = x.real > 2 if x.dtype.is_complex else x.to(torch.float32) > 2
    for cut in (
        lambda t, i, m: t[i], lambda t, i, m: t[:, i], lambda t, i, m: t[i, :, i.clamp(-1, 2)], lambda t, i, m: t[m],
        lambda t, i, m: t[1, i],
        lambda t, i, m: t.index_select(1, i.abs()), lambda t, i, m: t.take(i), lambda t, i, m: torch.nonzero(m),
        lambda t, i, m: t.masked_select(m),
        lambda t, i, m: t.gather(0, i.abs().reshape(1, 4, 1).expand(2, 4, 3)),
        lambda t, i, m: torch.where(m, t, t.new_zeros(())),
        lambda t, i, m: torch.cat([t, t], 1), lambda t, i, m: torch.stack([t, t], -1), lambda t, i, m: t.flip(0, 2),
        lambda t, i, m: t.roll(1, 1),
    ):  # fmt: skip
        close(cut(d, at.cuda(), mask.cuda()), cut(x, at, mask))

    def put(t, i, m):
        t = t.clone()
        t[i[:2]] = 1
        t[m] = 0
        t[0, :, 1] = t[1, :, 2]
        t.index_add_(0, i.abs(), t[:4].clone()) if t.dtype != torch.bool else None
        t.index_fill_(1, i[:1].abs(), 3)
        t.masked_fill_(m, 2)
        return t.scatter(0, i.abs().reshape(1, 4, 1).expand(1, 4, 3), t[:1].clone())

    close(put(d, at.cuda(), mask.cuda()), put(x, at, mask))


def test_sizes_round_block_edges():
    for n in (1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4099):
        x = torch.arange(n, dtype=torch.float32)
        close(x.cuda() * 2 + 1, x * 2 + 1)
        close(x.cuda().sum(), x.sum())
        close(torch.arange(n, device="cuda"), torch.arange(n))
        close(torch.linspace(0, 1, n, device="cuda"), torch.linspace(0, 1, n))


def test_limits():
    nine = torch.zeros((2,) * 9, device="cuda")
    assert nine[(torch.tensor([0, 1], device="cuda"),) * 9].shape == (2,)  # those beyond eight become one
    assert nine[(torch.tensor([0, 1], device="cuda"),) * 8].shape == (2, 2)
    x = torch.arange(2**14).reshape((2,) * 14).permute(*range(13, -1, -1))
    assert torch.equal((x.cuda() + 1).cpu(), x + 1)  # elementwise operations are cut into pieces
    with pytest.raises(NotImplementedError, match="index: more than 12 axes on device 'cuda'"):
        x.cuda()[torch.tensor([1, 0], device="cuda")]
