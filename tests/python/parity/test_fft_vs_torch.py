"""Fourier transforms, windows and short-time transforms against PyTorch, where it is installed: values, dtypes,
strides, errors."""

import warnings

import pytest
import strided
from torch_compare import check_same_error

torch = pytest.importorskip("torch")

SEVERAL = ("", ", dim=(0, 2)", ", (3, 5), (2, 1)", ", (-1, 8), norm='ortho'")
ONE = ("", ", 5", ", 9, 0", ", None, 0, 'ortho'", ", norm='forward'")
LENGTHS = ("0", "1", "2", "7", "8", "7, sym=False", "8, sym=False", "8, dtype=m.float64")
STFT = (
    "", ", 3", ", 5, 10", ", win_length=10, window=w[:10]", ", window=m.ones(16, dtype=m.float64)", ", center=False",
    ", pad_mode='constant'", ", pad_mode='replicate'", ", pad_mode='circular'", ", normalized=True", ", onesided=False",
    ", center=False, align_to_window=True", ", 4, 10, w[:10], center=False, align_to_window=True",
)  # fmt: skip

SAME = [
    *[f"m.fft.{name}({x}{rest})" for name in ("fft", "ifft", "irfft", "hfft") for x in ("x", "z", "x.int()")
      for rest in ONE],
    *[f"m.fft.{name}(x{rest})" for name in ("rfft", "ihfft") for rest in ONE],
    *[f"m.fft.{name}({x}{rest})" for name in ("fftn", "ifftn", "irfftn", "hfftn", "fft2", "ifft2", "irfft2", "hfft2")
      for x in ("c", "c.permute(2, 0, 1)") for rest in SEVERAL],
    *[f"m.fft.{name}({x}{rest})" for name in ("rfftn", "rfft2") for x in ("b", "b.permute(2, 0, 1)")
      for rest in SEVERAL],
    "m.fft.ihfftn(b)", "m.fft.ihfft2(b, (3, 8))", "m.fft.fft(z.t())", "m.fft.fft(z.t(), dim=0)",
    "m.fft.fft(c, dim=1)", "m.fft.fft(c.transpose(0, 1), dim=1)", "m.fft.rfft(x.t(), dim=0)",
    "m.fft.irfft(z.t(), dim=0)", "m.fft.fftn(x, dim=())", "m.fft.fftn(m.tensor(1.))", "m.fft.fft(m.zeros(0), 4)",
    "m.fft.fft(x.bool())", "m.fft.fft(z, out=m.empty(0, dtype=m.complex64))",
    "m.fft.fftfreq(5)", "m.fft.fftfreq(0)", "m.fft.fftfreq(6, .5, dtype=m.float64)", "m.fft.rfftfreq(7, 2.)",
    "m.fft.rfftfreq(-1)", "m.fft.fftshift(x)", "m.fft.fftshift(x, 1)", "m.fft.ifftshift(x, (0, 1))",
    *[f"m.{name}_window({n})" for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
      for n in ("0", "1", "2", "7", "8", "7, False", "8, False", "8, dtype=m.float64", "8, dtype=m.float16")],
    "m.hamming_window(5, True, 0.5)", "m.hamming_window(5, False, 0.5, 0.4)", "m.kaiser_window(6, True, 3.)",
    *[f"m.signal.windows.{name}({n})" for name in ("bartlett", "blackman", "cosine", "exponential", "gaussian")
      for n in LENGTHS],
    *[f"m.signal.windows.{name}({n})" for name in ("hamming", "hann", "kaiser", "nuttall", "general_hamming")
      for n in LENGTHS],
    "m.signal.windows.exponential(6, center=2, tau=3., sym=False)", "m.signal.windows.gaussian(6, std=2.5)",
    "m.signal.windows.kaiser(6, beta=3.)", "m.signal.windows.general_cosine(6, a=[.4, .3, .2])",
    "m.signal.windows.general_hamming(6, alpha=.4)", "m.signal.windows.hann(m.tensor(5))",
    "m.signal.windows.hann(m.tensor(1))", "m.signal.windows.hann(m.tensor(1., dtype=m.bfloat16))",
    "m.signal.windows.hann(m.tensor(0.))",
    *[f"m.stft({x}, 16{rest}, return_complex=True)" for x in ("s", "S") for rest in STFT],
    "m.stft(s, 16, return_complex=False)", "m.stft(s * 1j, 16)", "m.stft(s, 16, window=w * 1j)",
    "m.stft(s, 15, 4, return_complex=True)", "s.stft(16, 4, return_complex=True)",
    *[f"m.istft(m.stft({x}, 16, 3, window=w, return_complex=True{rest}), 16, 3, window=w{rest}{more})"
      for x in ("s", "S") for rest in ("", ", normalized=True", ", onesided=False") for more in ("", ", length=50")],
    "m.istft(m.stft(s, 16, return_complex=True), 16, center=False)",
    "m.istft(m.stft(s, 16, 5, 10, return_complex=True), 16, 5, 10)",
    "m.istft(m.stft(s * 1j, 16), 16, return_complex=True)",
    "m.istft(m.stft(s, 15, 4, return_complex=True), 15, 4)", "m.stft(s, 16, return_complex=True).istft(16)",
]  # fmt: skip

SAME_ERROR = [
    "m.fft.fft(x, 0)", "m.fft.fft(x, -1)", "m.fft.fft(x, 5, 2)", "m.fft.fft(x, 5, 0, 'foo')",
    "m.fft.fft(m.tensor(1.))", "m.fft.fft(m.zeros(0))", "m.fft.rfft(z)", "m.fft.ihfft(z)", "m.fft.irfft(m.zeros(1))",
    "m.fft.irfft(m.zeros(3, 0))", "m.fft.fft2(m.zeros(3))", "m.fft.fft2(x, (2,))", "m.fft.fft2(x, dim=(0, 0))",
    "m.fft.fft2(x, dim=(0, 3))", "m.fft.fftn(x, s=(3, 0))", "m.fft.fftn(x, s=(3, -2))", "m.fft.fftn(x, s=(1, 2, 3))",
    "m.fft.rfftn(x, dim=())", "m.fft.irfftn(x, dim=())", "m.fft.hfftn(x, dim=())", "m.fft.ihfftn(x, dim=())",
    "m.fft.fftfreq(5, dtype=m.int64)", "m.fft.fft(x.to(m.float8_e5m2))", "m.hann_window(-1)",
    "m.signal.windows.hann(-1)", "m.signal.windows.hann(5, dtype=m.int64)", "m.signal.windows.kaiser(5, beta=-1)",
    "m.signal.windows.gaussian(5, std=-1)", "m.signal.windows.exponential(5, tau=0)",
    "m.signal.windows.exponential(5, center=2)", "m.signal.windows.general_cosine(5, a=[])",
    "m.signal.windows.general_cosine(5, a=3)", "m.stft(s * 1j, 16, onesided=True)",
    "m.stft(s, 16, center=True, align_to_window=True, return_complex=True)",
    "m.stft(s, 16, pad_mode='foo', return_complex=True)", "m.istft(s.reshape(5, -1), 16)",
    "m.istft(m.stft(s, 16, return_complex=True), 16, return_complex=True)",
]  # fmt: skip


def operands(m):
    def make(shape, *more):
        n = 1
        for size in shape:
            n *= size
        return ((m.arange(float(n)) * 7) % 11 - 5 + m.arange(float(n)) / 13).reshape(shape)

    b = make((3, 4, 6)).double()
    x = make((4, 6))
    return {
        "m": m, "x": x, "z": x + 1j * make((4, 6)).flip(0), "b": b, "c": b + 1j * b.flip(1), "s": make((100,)),
        "S": make((3, 100)), "w": m.hann_window(16),
    }  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_same_as_torch(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = eval(text, operands(torch))
        ours = eval(text, operands(strided))
    assert (str(ours.dtype), tuple(ours.shape)) == (str(expected.dtype), tuple(expected.shape))
    if expected.numel() > 0 and 1 not in expected.shape:
        assert ours.stride() == expected.stride()
    accuracy = {"torch.float16": 2e-3}.get(str(expected.dtype), 1e-12 if "64" in str(expected.real.dtype) else 4e-5)
    scale = expected.abs().max().item() if expected.numel() else 1
    difference = (torch.from_numpy(ours.contiguous().numpy().copy()) - expected).abs()
    assert expected.numel() == 0 or difference.max().item() <= accuracy * max(scale, 1)


@pytest.mark.parametrize("text", SAME_ERROR)
def test_same_error(text):
    check_same_error(lambda: eval(text, operands(strided)), lambda: eval(text, operands(torch)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_as_accurate_as_torch(name):
    """The error of all lengths together, in float32 against float64."""
    ours_total = theirs_total = 0.0
    some = [243, 251, 256, 257, 509, 512, 1000, 1009, 1024, 2003, 2048, 4093, 4096, 10007, 65536]
    for n in [*range(2, 130), *range(130, 4097, 41), *some]:
        m = n // 2 + 1 if name in ("irfft", "hfft") else n
        x = torch.randn(4, m, dtype=torch.float32 if name in ("rfft", "ihfft") else torch.complex64)
        wide = x.double() if not x.is_complex() else x.to(torch.complex128)
        exact = getattr(torch.fft, name)(wide, n)
        theirs = getattr(torch.fft, name)(x, n)
        ours = torch.from_numpy(getattr(strided.fft, name)(strided.from_numpy(x.numpy()), n).numpy())
        size = exact.abs().square().sum()
        ours_total += ((ours - exact).abs().square().sum() / size).item()
        theirs_total += ((theirs - exact).abs().square().sum() / size).item()
    assert ours_total <= theirs_total
