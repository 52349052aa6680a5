"""Windows and short-time Fourier transforms: against their definitions, and there and back."""

import math
import warnings

import numpy as np
import pytest
import strided as torch
from gradient_checks import check_both

WINDOWS = {
    "hann_window": np.hanning,
    "hamming_window": np.hamming,
    "blackman_window": np.blackman,
    "bartlett_window": np.bartlett,
    "kaiser_window": lambda n: np.kaiser(n, 12.0),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_against_numpy(name):
    for n in (1, 2, 5, 8):
        expected = WINDOWS[name](n)
        symmetric = getattr(torch, name)(n, False, dtype=torch.float64)
        assert np.allclose(symmetric.numpy(), expected, atol=1e-15)
        periodic = getattr(torch, name)(n, dtype=torch.float64)
        if n > 1:
            assert np.allclose(periodic.numpy(), WINDOWS[name](n + 1)[:-1], atol=1e-15)
        short = getattr(torch.signal.windows, name.partition("_")[0])(n, dtype=torch.float64)
        assert np.allclose(short.numpy(), expected, atol=1e-15)
    assert getattr(torch, name)(0).shape == (0,)
    assert getattr(torch, name)(4, dtype=torch.float16).dtype == torch.float16
    assert getattr(torch, name)(4, requires_grad=True).requires_grad


def test_other_windows():
    w, k = torch.signal.windows, np.arange(7.0)
    double = {"dtype": torch.float64}
    assert np.allclose(w.cosine(7, **double).numpy(), np.sin(np.pi * (k + 0.5) / 7))
    assert np.allclose(w.gaussian(7, std=2.0, **double).numpy(), np.exp(-((k - 3) ** 2) / 8))
    assert np.allclose(w.exponential(7, tau=2.0, **double).numpy(), np.exp(-abs(k - 3) / 2))
    assert np.allclose(w.exponential(7, center=1, sym=False, **double).numpy(), np.exp(-abs(k - 1)))
    assert np.allclose(w.general_hamming(7, alpha=0.6, **double).numpy(), 0.6 - 0.4 * np.cos(np.pi * k / 3))
    assert w.nuttall(7, **double)[3].item() == pytest.approx(1)
    assert set(w.__all__) <= set(dir(w))


def test_window_errors():
    for call, error in [
        (lambda: torch.hann_window(-1), RuntimeError), (lambda: torch.hann_window(5, dtype=torch.int64), RuntimeError),
        (lambda: torch.hann_window(2.5), TypeError), (lambda: torch.signal.windows.hann(-1), ValueError),
        (lambda: torch.signal.windows.hann(4, dtype=torch.float16), ValueError),
        (lambda: torch.signal.windows.kaiser(4, beta=-1), ValueError),
        (lambda: torch.signal.windows.gaussian(4, std=0), ValueError),
        (lambda: torch.signal.windows.exponential(4, center=1), ValueError),
        (lambda: torch.signal.windows.general_cosine(4, a=[]), ValueError),
        (lambda: torch.signal.windows.general_cosine(4, a=3), TypeError),
    ]:  # fmt: skip
        with pytest.raises(error):
            call()


def by_definition(x, n, hop, window, onesided):
    """The transforms of the parts, one by one, in NumPy."""
    starts = range(0, len(x) - n + 1, hop)
    transform = np.fft.rfft if onesided else np.fft.fft
    return np.stack([transform(x[s : s + n] * window) for s in starts], -1)


@pytest.mark.parametrize("n, hop", [(8, 2), (9, 4), (16, 16), (16, 5), (1, 1)])
@pytest.mark.parametrize("onesided", [True, False])
def test_stft_against_its_definition(n, hop, onesided):
    rng = np.random.default_rng(0)
    x, window = rng.standard_normal(50), rng.standard_normal(n)
    ours = torch.stft(
        torch.tensor(x), n, hop, window=torch.tensor(window), center=False, onesided=onesided, return_complex=True
    )
    assert np.allclose(ours.numpy(), by_definition(x, n, hop, window, onesided))
    padded = np.pad(x, n // 2, mode="reflect")
    ours = torch.stft(torch.tensor(x), n, hop, window=torch.tensor(window), onesided=onesided, return_complex=True)
    assert np.allclose(ours.numpy(), by_definition(padded, n, hop, window, onesided))


@pytest.mark.parametrize("mode, numpy_mode", [("constant", "constant"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding(mode, numpy_mode):
    x = np.arange(20.0)
    ours = torch.stft(torch.tensor(x), 8, 3, pad_mode=mode, return_complex=True)
    assert np.allclose(ours.numpy(), by_definition(np.pad(x, 4, mode=numpy_mode), 8, 3, np.ones(8), True))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n, hop, width", [(16, 4, 16), (16, 3, 12), (15, 5, 15), (32, 8, 24)])
def test_there_and_back(dtype, n, hop, width):
    x = torch.randn(2, 100, dtype=getattr(torch, dtype))
    window = torch.hann_window(width, dtype=x.real.dtype) + 0.1
    for normalized in (False, True):
        options = {"window": window, "normalized": normalized}
        spectra = torch.stft(x, n, hop, width, return_complex=True, **options)
        back = torch.istft(spectra, n, hop, width, length=100, return_complex=x.is_complex(), **options)
        assert back.dtype == x.dtype
        assert torch.allclose(back, x, atol=1e-5 if "64" not in dtype or dtype == "complex64" else 1e-12)
    one = torch.stft(x[0], n, hop, width, return_complex=True, window=window)
    assert torch.allclose(one, torch.stft(x, n, hop, width, return_complex=True, window=window)[0], atol=1e-5)


def test_length_beyond_the_signal():
    x = torch.randn(40)
    spectra = torch.stft(x, 8, return_complex=True)
    with pytest.warns(UserWarning, match="padded with zeros"):
        longer = spectra.istft(8, length=60)
    assert longer.shape == (60,) and longer[48:].tolist() == [0] * 12


def test_gradients():
    x = torch.randn(24, dtype=torch.float64, requires_grad=True)
    window = torch.rand(8, dtype=torch.float64, requires_grad=True)
    check_both(lambda t, w: torch.stft(t, 8, 3, window=w, return_complex=True), (x, window))
    spectra = torch.stft(x.detach(), 8, 3, window=window.detach(), return_complex=True).requires_grad_()
    check_both(lambda s, w: torch.istft(s, 8, 3, window=w + 0.5), (spectra, window))


def test_short_time_errors():
    x, w = torch.randn(100), torch.hann_window(16)
    spectra = torch.stft(x, 16, return_complex=True)
    for call, error in [
        (lambda: torch.stft(x, 16), RuntimeError),
        (lambda: torch.stft(x, 0, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, -4, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, 1 << 62, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, 300, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, 16, 0, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, 16, win_length=17, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, 16, window=w[:10], return_complex=True), RuntimeError),
        (lambda: torch.stft(x.int(), 16, return_complex=True), RuntimeError),
        (lambda: torch.stft(x[None, None], 16, return_complex=True), RuntimeError),
        (lambda: torch.stft(x, 16, pad_mode="foo", return_complex=True), NotImplementedError),
        (lambda: torch.stft(x * 1j, 16, onesided=True), RuntimeError),
        (lambda: torch.stft(x, 2.5, return_complex=True), TypeError),
        (lambda: torch.stft([1.0], 1, return_complex=True), TypeError),
        (lambda: torch.istft(spectra.real, 16), RuntimeError),
        (lambda: torch.istft(spectra, 18), RuntimeError),
        (lambda: torch.istft(spectra, 16, onesided=False), RuntimeError),
        (lambda: torch.istft(spectra, 16, 20), RuntimeError),
        (lambda: torch.istft(spectra, 16, window=torch.zeros(16)), RuntimeError),
        (lambda: torch.istft(spectra, 16, return_complex=True), RuntimeError),
        (lambda: torch.istft(spectra[:, :0], 16), RuntimeError),
        (lambda: torch.istft(spectra, 16, length=-1), RuntimeError),
        (lambda: torch.istft(spectra[0], 16), IndexError),
    ]:
        with pytest.raises(error):
            call()
    assert math.isfinite(torch.istft(spectra, 16).abs().max().item())


def test_a_missing_window_is_told_once():
    x, window = torch.arange(16.0), torch.ones(4)
    was = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"^A window was not provided. .*spectral leakage.*`window=torch.ones"):
            spectrum = torch.stft(x, 4, return_complex=True)
        with pytest.warns(
            UserWarning, match=r"^A window was not provided. .*the inversion lossless.*`window=torch.ones"
        ):
            torch.istft(spectrum, 4)
        torch.set_warn_always(False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.istft(torch.stft(x, 4, return_complex=True), 4)
            torch.set_warn_always(True)
            torch.istft(torch.stft(x, 4, window=window, return_complex=True), 4, window=window)
    finally:
        torch.set_warn_always(was)
