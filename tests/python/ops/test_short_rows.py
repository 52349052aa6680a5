"""Short rows, with gaps between them and without: lengths around those of vectors and chunks, against the same work on
copies that have no gaps, or NumPy in float64."""

import numpy as np
import pytest
import strided as torch

F = torch.nn.functional
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 257]
ROWS = 37
DTYPES = ["bool", "uint8", "int16", "bfloat16", "float32", "int64", "float64", "complex128"]


def numbers(shape, dtype="float64", seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-40, 40, shape, generator=g)
    return x.to(getattr(torch, dtype))


def close(a, b, rtol):
    assert np.allclose(np.array(a.tolist()), b, rtol=rtol, atol=rtol)


def views(n, dtype):
    """Rows of n elements that lie in different ways."""
    wide = numbers((ROWS, n + 3), dtype)
    yield wide[:, 2 : n + 2]
    yield numbers((2 * ROWS, n), dtype)[::2]
    yield numbers((ROWS, 2 * n), dtype)[:, ::2]
    yield numbers((ROWS, 3 * n), dtype)[:, 1::3]
    yield wide[:, 1:2].expand(ROWS, n)
    yield wide[:1, :n].expand(ROWS, n)
    yield wide[:, 1 : n + 1].flip(0)
    yield numbers((n, ROWS), dtype).t()


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype):
    for n in LENGTHS:
        row, column = numbers((n,), dtype, 2), numbers((ROWS, 1), dtype, 3)
        for x in views(n, dtype):
            y, dense = x.flip(0), x.clone(memory_format=torch.contiguous_format)
            assert torch.equal(dense, torch.stack(list(x)))
            assert torch.equal(x + y, dense + y.contiguous())
            assert torch.equal(x + row, dense + row.expand(ROWS, n).contiguous())
            assert torch.equal(x * column, dense * column.expand(ROWS, n).contiguous())
            assert torch.equal(x == 3, dense == 3)
            assert torch.equal(x * 2, dense * 2)
            assert torch.equal(x.to(torch.complex64), dense.to(torch.complex64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_writes_leave_the_gaps(dtype):
    for n in LENGTHS:
        memory = numbers((ROWS, n + 3), dtype)
        expected = memory.clone()
        inside = memory[:, 2 : n + 2]
        for write in (
            lambda x: x.copy_(numbers((ROWS, n), dtype, 4)),
            lambda x: x.mul_(numbers((n,), dtype, 5)),
            lambda x: x.fill_(1),
            lambda x: x.copy_(numbers((ROWS, 1), dtype, 6)),
        ):
            dense = inside.clone()
            write(inside)
            write(dense)
            assert torch.equal(inside, dense)
            assert torch.equal(memory[:, :2], expected[:, :2]) and torch.equal(memory[:, n + 2 :], expected[:, n + 2 :])


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype):
    rtol = 2e-2 if dtype == "bfloat16" else 1e-6
    for n in LENGTHS:
        for x in views(n, dtype):
            a = np.array(x.to(torch.complex128 if dtype == "complex128" else torch.float64).tolist()).reshape(ROWS, n)
            for dim in (None, 0, 1):
                close(x.sum() if dim is None else x.sum(dim), a.sum(dim), rtol)
                assert np.array_equal(np.array(torch.count_nonzero(x, dim).tolist()), np.count_nonzero(a, dim))
                if dtype != "complex128":
                    close(x.amax(() if dim is None else dim), a.max(dim), 0)
                if dtype in ("float32", "float64") and ROWS * n > 1:
                    close(x.mean() if dim is None else x.mean(dim), a.mean(dim), rtol)
                    if (n if dim == 1 else ROWS) > 1:
                        close(x.var() if dim is None else x.var(dim), a.var(dim, ddof=1), 1e-5)


def test_sums_over_several_axes_with_gaps():
    for n in (2, 9, 33, 70, 300):
        x = numbers((5, 6, n + 2), "float32")[:, 1:, 1:-1]
        a = np.array(x.tolist())
        for dims in ((0, 1, 2), (1, 2), (0, 2), (0, 1), (2,)):
            close(x.sum(dims), a.sum(dims), 1e-6)


def test_bytes_that_are_seen_as_bool_count_once():
    for n in LENGTHS:
        x = torch.randint(0, 3, (ROWS, n), dtype=torch.uint8).mul_(100)
        assert torch.equal(x.view(torch.bool).sum(1), (x != 0).sum(1))
        assert torch.equal(torch.count_nonzero(x, 1), (x != 0).sum(1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "float64", "complex64"])
def test_scans(dtype):
    rtol = 2e-2 if dtype == "bfloat16" else 2e-3 if dtype == "float16" else 1e-5
    for n in LENGTHS:
        for shape in ((ROWS, n), (n, 3), (n, ROWS)):
            x = numbers(shape, dtype).clamp(-2, 2) if dtype != "complex64" else numbers(shape, dtype)
            a = np.array(x.to(torch.complex128 if dtype == "complex64" else torch.float64).tolist()).reshape(shape)
            for dim in (0, 1):
                scale = np.abs(a).cumsum(dim) + 1
                assert (np.abs(np.array(x.cumsum(dim).tolist()).reshape(shape) - a.cumsum(dim)) <= rtol * scale).all()
                if dtype not in ("complex64", "float16", "bfloat16"):
                    signs = x.sign()
                    close(signs.cumprod(dim), np.sign(a).cumprod(dim), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_and_running_log_sums(dtype):
    rtol = 1e-5 if dtype == "float32" else 1e-12
    for n in LENGTHS:
        for shape, dim in (((ROWS, n), 1), ((n, 3), 0), ((n, 9), 0)):
            x = torch.randn(shape, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(n)) * 5
            a = np.array(x.tolist()).reshape(shape)
            e = np.exp(a - a.max(dim, keepdims=True))
            close(x.softmax(dim), e / e.sum(dim, keepdims=True), rtol)
            close(x.log_softmax(dim), a - a.max(dim, keepdims=True) - np.log(e.sum(dim, keepdims=True)), rtol)
            close(x.logcumsumexp(dim), np.logaddexp.accumulate(a, dim), rtol)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64"])
def test_order_statistics(dtype):
    for n in [*LENGTHS[:17], 96, 97]:
        x = numbers((ROWS, n), dtype, n)
        if x.is_floating_point():
            x[::5, n // 2] = float("nan")
            x[::7] = float("nan")
            x[1] *= 0  # zeros of both signs
        for name in ("median", "nanmedian", "kthvalue"):
            more = ((n + 2) // 3,) if name == "kthvalue" else ()
            values, places = getattr(torch, name)(x, *more, 1)
            for i, row in enumerate(x):  # which is chosen from, where many rows are sorted
                value, place = getattr(torch, name)(row, *more, 0)
                assert places[i] == place and (
                    values[i] == value == row[place] or values[i].isnan() & row[place].isnan()
                )


def test_modes():
    for n in LENGTHS:
        x = torch.randint(0, 4, (ROWS, n))
        values, places = x.mode(1)
        for row, value, place in zip(x.tolist(), values.tolist(), places.tolist()):
            most = max(row.count(v) for v in row)
            assert value == min(v for v in row if row.count(v) == most)
            assert place == max(i for i, v in enumerate(row) if v == value)


def test_fourier_transforms():
    g = torch.Generator().manual_seed(0)
    for n in (*range(1, 41), 64, 100, 128, 256):
        for rows in (1, 7, 16, 33):
            for dtype in (torch.complex64, torch.complex128):
                x = torch.randn(rows, n + 2, dtype=dtype, generator=g)
                for some in (x[:, :n], x[:, :n].contiguous(), x[:, :n].contiguous().t().contiguous().t()):
                    a = np.array(some.to(torch.complex128).tolist())
                    rtol = 2e-6 * max(n, 4) ** 0.5 if dtype is torch.complex64 else 1e-13
                    close(torch.fft.fft(some, dim=1), np.fft.fft(a, axis=1), rtol * 10)
                    close(torch.fft.rfft(some.real, dim=1), np.fft.rfft(a.real, axis=1), rtol * 10)
                    if n > 1:
                        close(torch.fft.irfft(some, dim=1), np.fft.irfft(a, axis=1), rtol * 10)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 15, 16, 31, 32, 33])
@pytest.mark.parametrize("rows", [1, 5, 64, 70])
def test_layer_norm(n, rows):
    g = torch.Generator().manual_seed(n)
    x, grad = (torch.randn(rows, n, generator=g, dtype=torch.float64) for _ in range(2))
    x += 3
    weight, bias = (torch.randn(n, generator=g, dtype=torch.float64) for _ in range(2))

    def plain(x, weight, bias):
        d = x - x.mean(1, keepdim=True)
        return d / (d.square().mean(1, keepdim=True) + 1e-5).sqrt() * weight + bias

    for dtype, rtol in ((torch.float64, 1e-9), (torch.float32, 2e-3)):
        leaves = [t.detach().to(dtype, copy=True).requires_grad_() for t in (x, weight, bias)]
        exact = [t.detach().clone().requires_grad_() for t in (x, weight, bias)]
        made, wanted = F.layer_norm(leaves[0], (n,), *leaves[1:]), plain(*exact)
        close(made, np.array(wanted.tolist()), rtol)
        made.backward(grad.to(dtype))
        wanted.backward(grad)
        for a, b in zip(leaves, exact):
            close(a.grad, np.array(b.grad.tolist()), rtol * (1 if n > 1 else 300))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex128"])
def test_borders(mode, dtype):
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for shape in ((2, 3, 7), (40, 5, 6), (3, 40, 4, 5), (2, 2, 20, 21), (1, 2, 4, 5, 6)):
        x = numbers(shape, dtype)
        axes = len(shape) - 2
        for sides in ((1, 2) * axes, (0, 0) * (axes - 1) + (2, 1), (2, 0) + (0, 0) * (axes - 1)):
            widths = [(0, 0)] * 2 + [tuple(sides[2 * i : 2 * i + 2]) for i in reversed(range(axes))]
            assert np.array_equal(F.pad(x, sides, mode=mode).numpy(), np.pad(x.numpy(), widths, mode=names[mode]))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_gradients_of_borders(mode):
    x = torch.randn(2, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    f = lambda x: F.pad(x, (2, 1, 0, 3), mode=mode)  # noqa: E731
    assert torch.autograd.gradcheck(f, x) and torch.autograd.gradgradcheck(f, x)


def test_one_filter_of_one_channel():
    for shape, kernel in (((2, 1, 50), (9,)), ((2, 1, 12, 13), (3, 3)), ((1, 1, 30, 9), (5, 2))):
        for filters in (1, 2, 3):
            x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
            w = torch.randn((filters, 1, *kernel), dtype=torch.float64, requires_grad=True)
            f = F.conv1d if len(kernel) == 1 else F.conv2d
            windows = x
            for i, k in enumerate(kernel):
                windows = windows.unfold(2 + i, k, 1)
            subscripts = "ncxk,ock->nox" if len(kernel) == 1 else "ncxykl,ockl->noxy"
            wanted, made = torch.einsum(subscripts, windows, w), f(x, w)
            assert torch.allclose(made, wanted)
            grad = torch.randn_like(made)
            for a, b in zip(*(torch.autograd.grad(y, (x, w), grad) for y in (made, wanted))):
                assert torch.allclose(a, b)
