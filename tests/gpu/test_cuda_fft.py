"""Fourier transforms on a CUDA device against the CPU: lengths, layouts, several axes, gradients, streams, errors."""

import gc
import threading

import cuda_device
import numpy as np
import pytest
import strided as torch
from gradient_checks import check_both

pytestmark = cuda_device.needs(1)
EPS = {"float32": 2e-6, "float64": 4e-15}
ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfft2", "ihfft2", "hfftn", "ihfftn"]
OF_REAL = {"rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn"}
COMPLEX = {"float32": torch.complex64, "float64": torch.complex128}


def sample(name, shape, dtype, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=getattr(torch, dtype) if name in OF_REAL else COMPLEX[dtype])


def close(got, want, dtype):
    assert got.device.type == "cuda" and got.dtype == want.dtype and got.shape == want.shape
    got, want = got.detach().cpu().numpy(), want.detach().numpy()
    assert np.isfinite(got).all()
    scale = max(1.0, float(np.abs(want).max())) if want.size else 1.0
    np.testing.assert_allclose(got, want, rtol=0, atol=EPS[dtype] * scale)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_lengths(name, dtype):
    f = getattr(torch.fft, name)
    for n in (1, 2, 3, 4, 5, 7, 8, 12, 17, 64, 97, 100, 131, 256):
        for batch in ((), (3,), (2, 5)):
            x = sample(name, (*batch, n), dtype, n)
            for norm in (None, "forward", "ortho"):
                close(f(x.cuda(), n, norm=norm), f(x, n, norm=norm), dtype)


# Views with the last axis of length 6 that cuFFT can have as they are, and those that have to be copied.
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2).contiguous().transpose(0, 2),
    "batch axes exchanged": lambda x: x.transpose(0, 1),
    "every second": lambda x: torch.stack([x, x + 1], -1)[..., 0],
    "every second row": lambda x: torch.cat([x, x])[::2],
    "backwards": lambda x: x.flip(2)[..., ::-1],
    "rows backwards": lambda x: x[::-1],
    "one value": lambda x: x[..., :1].expand(4, 5, 6),
    "one row": lambda x: x[:1, :1].expand(4, 5, 6),
    "begins between two complex numbers": lambda x: torch.cat([x.flatten()[:1], x.flatten()])[1:].view(4, 5, 6),
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_layouts(name, layout):
    f = getattr(torch.fft, name)
    for dtype in EPS:
        x = sample(name, (4, 5, 6), dtype)
        view = LAYOUTS[layout]
        before = view(x.cuda()).clone()
        for dim in (0, 1, 2):
            if layout == "empty" and dim == 0:
                continue
            y = view(x.cuda())
            close(f(y, dim=dim), f(view(x), dim=dim), dtype)
            assert (y == before).all()  # the operand is not written to


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name, dtype):
    f = getattr(torch.fft, name)
    x = sample(name, (3, 4, 5, 6), dtype)
    for dim in ((-2, -1), (0, 3), (2, 1), (1, 0)):
        close(f(x.cuda(), dim=dim), f(x, dim=dim), dtype)
        close(f(x.cuda(), (4, 7), dim=dim, norm="ortho"), f(x, (4, 7), dim=dim, norm="ortho"), dtype)
    if name.endswith("n"):
        close(f(x.cuda()), f(x), dtype)


def test_imaginary_parts_that_must_be_zero_are_not_read():
    for n in (6, 7):
        x = sample("irfft", (2, n // 2 + 1), "float64")
        other = x.clone()
        other[:, 0] += 5j
        if n % 2 == 0:
            other[:, -1] -= 3j
        for f in (torch.fft.irfft, torch.fft.hfft):
            close(f(other.cuda(), n), f(x, n), "float64")


def test_other_dtypes():
    for dtype in (torch.int64, torch.bool, torch.float16, torch.bfloat16):
        x = torch.arange(12).reshape(2, 6).to(dtype)
        close(torch.fft.fft(x.cuda()), torch.fft.fft(x), "float32")
        close(torch.fft.rfft(x.cuda()), torch.fft.rfft(x), "float32")


@pytest.mark.parametrize("name", ONE_AXIS)
def test_gradients(name):
    f = getattr(torch.fft, name)
    check_both(lambda x: f(x, 6), sample(name, (2, 5), "float64").cuda().requires_grad_())


def test_short_time_transforms():
    x = sample("rfft", (2, 400), "float32")
    window = torch.hann_window(64)
    spectrum = torch.stft(x.cuda(), 64, window=window.cuda(), return_complex=True)
    close(spectrum, torch.stft(x, 64, window=window, return_complex=True), "float32")
    back = torch.istft(spectrum, 64, window=window.cuda(), length=400)
    np.testing.assert_allclose(back.cpu().numpy(), x.numpy(), atol=1e-5)


def test_streams_and_threads():
    """Plans are lent: threads on streams of their own do not disturb each other."""
    want = [torch.fft.fft(sample("fft", (3, 60), "float64", seed)) for seed in range(4)]
    got = [None] * 4

    def work(i):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(5):
                y = torch.fft.fft(sample("fft", (3, 60), "float64", i).cuda())
            torch.cuda.current_stream().synchronize()
            got[i] = y

    for i in range(4):  # one after the other where devices are emulated, whose generator is shared
        thread = threading.Thread(target=work, args=(i,))
        thread.start()
        thread.join()
    for g, w in zip(got, want, strict=True):
        close(g, w, "float64")


def test_more_shapes_than_plans_are_kept():
    x = sample("fft", (700,), "float64")
    for n in (*range(2, 300), 5, 250):
        close(torch.fft.fft(x[:n].cuda()), torch.fft.fft(x[:n]), "float64")


def test_memory_is_given_back():
    x = sample("irfft", (64, 33), "float32").cuda()
    torch.fft.irfft(x)
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(3):
        torch.fft.irfft(x)
    gc.collect()
    assert torch.cuda.memory_allocated() == before


@cuda_device.needs(2)
def test_second_device():
    x = sample("fft", (3, 12), "float64")
    y = torch.fft.fft(x.to("cuda:1"))
    assert y.device.index == 1
    close(y, torch.fft.fft(x), "float64")
    close(torch.fft.fft(x.cuda()), torch.fft.fft(x), "float64")


def test_without_it():
    code = """
import strided as torch
x = torch.ones(4).cuda()
try:
    torch.fft.fft(x)
except RuntimeError as error:
    print(error)
print(torch.fft.fft(x.cpu())[0].real.item(), x.sum().item())
"""
    words = cuda_device.run(code, STRIDED_CUFFT_LIBRARY="/nowhere/libcufft.so")
    assert (
        words.startswith("fft on device 'cuda' needs cuFFT of CUDA 1")
        and "Install it by: pip install " in words
        and words.endswith("\n4.0 4.0\n")
    )


@pytest.mark.skipif(not cuda_device.emulated(), reason="needs the emulated cuFFT, whose version can be chosen")
def test_another_version():
    code = """
import strided as torch
try:
    torch.fft.rfft(torch.ones(4).cuda())
except RuntimeError as error:
    print(error)
"""
    assert "is cuFFT 11.0, but this CUDA library was built with CUDA 13 and needs 12.x" in cuda_device.run(
        code, STRIDED_EMULATE_CUFFT="11"
    )
