"""Windows and short-time Fourier transforms; gradients follow from their parts."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from .. import _C
from .._calls.arguments import check_tensor, whole
from .._calls.once import warn_once_of
from .._calls.overrides import overridable, overridable_method, seen_by_modes

if TYPE_CHECKING:
    from .._typing import Any, Device, DType, Sequence, Tensor

_f = _C.functions

__all__ = [
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hann_window",
    "istft",
    "kaiser_window",
    "stft",
]

# ---------------------------------------------------------------- windows


class Samples:
    """The places 0 ... n - 1 of a window in float64, and the number of steps after which it repeats or ends."""

    def __init__(self, n: int, periodic: bool, device: Any) -> None:
        self.places = _f["arange"](0, n, 1, dtype=_C.float64, device=device)
        self.steps = n if periodic else n - 1

    def cosines(self, coefficients: Sequence[float]) -> Tensor:
        """The sum of (-1)^i a_i cos(2 pi i k / steps)."""
        angle = self.places * (2 * math.pi / self.steps)
        terms = (a * (-1) ** i * (angle * i).cos() for i, a in enumerate(coefficients))
        total = next(terms).clone()
        for term in terms:
            total += term
        return total

    def kaiser(self, beta: float) -> Tensor:
        """J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window function", ISCAS 1974."""
        from_middle = self.places * (2 / self.steps) - 1
        whole = _f["full"]([], float(beta), dtype=_C.float64, device="cpu")
        return _f["i0"]((1 - from_middle.square()).clamp(min=0).sqrt() * beta) / _f["i0"](whole).item()

    def triangle(self) -> Tensor:
        return 1 - (self.places * (2 / self.steps) - 1).abs()


_EXPLICITLY = (
    "To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)


def finish(window: Tensor, dtype: DType, requires_grad: bool) -> Tensor:
    """A window in the dtype that was asked for, as a leaf that requires a gradient or not."""
    window = window.to(dtype)
    return window.requires_grad_() if requires_grad else window


def _window(name, n, periodic, dtype, device, requires_grad, values):
    """The window `values(samples)`, of PyTorch's main namespace."""
    n = whole(name, "window_length", 1, n)
    if dtype is not None and not _C.is_dtype(dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    dtype = dtype or _f["get_default_dtype"]()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    if n <= 1:
        made = _f["ones"](n, dtype=dtype, device=device)
        return made.requires_grad_() if requires_grad else made
    return finish(values(Samples(n, bool(periodic), device)), dtype, requires_grad)


@seen_by_modes
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hann window, (1 - cos(2 pi k / n)) / 2; with periodic=False the last element is the first one again.

    RuntimeError for a negative length or a dtype that is not floating point.

    >>> strided.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window", window_length, periodic, dtype, device, requires_grad, lambda s: s.cosines((0.5, 0.5))
    )


@seen_by_modes
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming window, alpha - beta cos(2 pi k / n); with periodic=False the last element is the first one again.

    RuntimeError for a negative length or a dtype that is not floating point.

    >>> strided.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window(
        "hamming_window", window_length, periodic, dtype, device, requires_grad, lambda s: s.cosines((alpha, beta))
    )


@seen_by_modes
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman window, 0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n); with periodic=False the last element is the
    first one again.

    RuntimeError for a negative length or a dtype that is not floating point.

    >>> strided.blackman_window(4)[1:].round(decimals=4)
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _window(
        "blackman_window", window_length, periodic, dtype, device, requires_grad, lambda s: s.cosines((0.42, 0.5, 0.08))
    )


@seen_by_modes
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett's triangle from 0 to 1 and back; with periodic=False the last element is 0 again.

    RuntimeError for a negative length or a dtype that is not floating point.

    >>> strided.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", window_length, periodic, dtype, device, requires_grad, lambda s: s.triangle())


@seen_by_modes
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser window, I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1; with periodic=False the last element is the
    first one again.

    RuntimeError for a negative length or a dtype that is not floating point.

    >>> strided.kaiser_window(4, beta=2.)
    tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """
    return _window("kaiser_window", window_length, periodic, dtype, device, requires_grad, lambda s: s.kaiser(beta))


# ---------------------------------------------------------------- short-time transforms


def _padded(x: Tensor, amount: int, mode: str) -> Tensor:
    """x (..., length) with so many elements more at either end of its last dimension."""
    n = x.shape[-1]
    if mode == "constant":
        return _f["cat"]((x.new_zeros((*x.shape[:-1], amount)), x, x.new_zeros((*x.shape[:-1], amount))), -1)
    if mode == "reflect":
        if amount >= max(n, 1):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({amount}, {amount}) at dimension 2 of input {[1, *x.shape][-3:]}"
            )
        return _f["cat"]((x[..., 1 : amount + 1].flip(-1), x, x[..., n - 1 - amount : n - 1].flip(-1)), -1)
    if mode == "replicate":
        ends = (x[..., :1].expand(*x.shape[:-1], amount), x, x[..., n - 1 :].expand(*x.shape[:-1], amount))
        return _f["cat"](ends, -1)
    if mode == "circular":
        if amount > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        return _f["cat"]((x[..., n - amount :], x, x[..., :amount]), -1)
    raise NotImplementedError(f"Unrecognised padding mode {mode}")


def _centred(window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor | None:
    """The window with zeros on both sides, n_fft long; None: one everywhere."""
    if window is None:
        if win_length == n_fft:
            return None
        window = _f["ones"](win_length, dtype=like.dtype, device=like.device)
    left = (n_fft - win_length) // 2
    if win_length == n_fft:
        return window
    return _f["cat"]((window.new_zeros(left), window, window.new_zeros(n_fft - win_length - left)))


def _check_window(name: str, window: Any) -> None:
    if window is not None:
        check_tensor(name, "window", None, window)


def _check_input(name: str, x: Any, **integers: Any) -> None:
    check_tensor(name, "input", 1, x)
    for argument, value in integers.items():
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}")
        if value is not None and abs(int(value)) >= 1 << 62:
            raise RuntimeError(f"{name}: {argument}={value} is too large")


def _windowed(
    x: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None, align_to_window: bool | None
) -> Tensor:
    """The parts of a signal, (..., parts, n_fft), times the window; with align_to_window only `width` elements are the
    signal's."""
    if not align_to_window:
        parts, factors = x.unfold(-1, n_fft, hop), _centred(window, width, n_fft, x)
        return parts if factors is None else parts * factors
    parts = x.unfold(-1, width, hop)
    if window is not None:
        parts = parts * window
    if width == n_fft:
        return parts
    left = (n_fft - width) // 2
    zeros = [parts.new_zeros((*parts.shape[:-1], size)) for size in (left, n_fft - width - left)]
    return _f["cat"]((zeros[0], parts, zeros[1]), -1)


@overridable
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Short-time Fourier transform: those of overlapping, windowed parts of a signal.

    Args:
        input: (length) or (batch, length), floating point or complex.
        n_fft: the length of the transforms. hop_length: from part to part (n_fft // 4).
        win_length: elements that the window leaves (n_fft), in the middle of each part.
        window: that many factors (ones).
        center: whether the first part has its middle at element 0: the signal is padded by n_fft // 2 on both sides,
            by pad_mode 'reflect', 'constant' (zeros), 'replicate' or 'circular'.
        normalized: whether to divide by the root of n_fft.
        onesided: frequencies 0 ... n_fft // 2 only (True for real input).
        return_complex: False: real, with a last dimension of real and imaginary parts. Must be given for real input.
        align_to_window: with center=False, parts have win_length elements, and zeros are put around them.

    Returns (..., frequencies, parts).  RuntimeError for other shapes and lengths.

    >>> strided.stft(strided.ones(8), 4, center=False, return_complex=True).shape
    torch.Size([3, 5])
    """
    _check_input("stft", input, n_fft=n_fft, hop_length=hop_length, win_length=win_length)
    _check_window("stft", window)
    if window is None:
        warn_once_of(
            "stft",
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
            "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral "
            f"leakage.{_EXPLICITLY}",
        )
    if not isinstance(pad_mode, str):
        raise TypeError(f"stft(): argument 'pad_mode' must be str, not {type(pad_mode).__name__}")
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs.")
        return_complex = True
    if not return_complex:
        warn_once_of(
            "stft return_complex",
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors "
            "for all inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on "
            "the complex output to recover the old return format.",
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length

    def fail(text):
        raise RuntimeError(
            f"stft({list(input.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={width}): expected {text}"
        )

    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        fail("a tensor of floating point or complex values")
    if input.dim() > 2 or (input.dim() == 0 and not center):
        fail("a 1D or 2D tensor")
    x = input.reshape(1) if input.dim() == 0 else input
    if center and n_fft > 0:
        x = _padded(x, n_fft // 2, pad_mode)
    length = x.shape[-1]
    if not 0 < n_fft <= length:
        fail(f"0 < n_fft <= {length}, but got n_fft={n_fft}")
    if hop <= 0:
        fail(f"hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        fail(f"0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        fail(f"a 1D window tensor of size equal to win_length={width}, but got window with size {list(window.shape)}")
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")

    parts = _windowed(x, n_fft, hop, width, window, align_to_window)
    norm = "ortho" if normalized else "backward"
    half = not is_complex and onesided is not False
    result = _f["fft.rfft" if half else "fft.fft"](parts, n_fft, -1, norm).transpose(-1, -2)
    return result if return_complex else _f["view_as_real"](result)


def _overlapped(parts: Tensor, hop: int) -> Tensor:
    """The sum of parts (..., number, n), each `hop` further on than the one before: (..., n + hop (number - 1))."""
    *batch, count, n = parts.shape
    pieces = -(-n // hop)
    filling = pieces * hop - n
    if filling:
        parts = _f["cat"]((parts, parts.new_zeros((*batch, count, filling))), -1)
    parts = parts.reshape(*batch, count, pieces, hop)
    total = parts.new_zeros((*batch, (count + pieces - 1) * hop))
    for piece in range(pieces):
        there = total[..., piece * hop : (piece + count) * hop]
        there += parts[..., piece, :].reshape(*batch, count * hop)
    return total[..., : n + hop * (count - 1)]


def _checked_inverse(
    where: str,
    input: Tensor,
    n_fft: int,
    hop: int,
    width: int,
    window: Tensor | None,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> bool:
    """Whether the frequencies are those of one side, after all arguments were looked at."""

    def fail(text):
        raise RuntimeError(f"{where}: {text}")

    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.dim() not in (2, 3):
        if input.dim() < 2:
            raise IndexError(f"istft: expected a tensor with 2 or 3 dimensions, but got {input.dim()}")
        fail(f"expected a tensor with 2 or 3 dimensions, but got {input.dim()}")
    if input.numel() == 0:
        fail("input tensor cannot be empty.")
    frequencies = input.shape[-2]
    if onesided is None:
        onesided = frequencies != n_fft
    if onesided and frequencies != n_fft // 2 + 1:
        fail(f"expected the frequency dimension to match n_fft / 2 + 1 when onesided=True, but got {frequencies}")
    if not onesided and frequencies != n_fft:
        fail(f"expected the frequency dimension to match n_fft when onesided=False, but got {frequencies}")
    if not 0 < hop <= width:
        fail("expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        fail("expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        fail("Invalid window shape. window has to be 1D and length of `win_length`")
    if window is not None and window.dtype.is_complex and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if length is not None and length <= 0:
        raise RuntimeError(f"istft: expected length > 0, but got {length}")
    return onesided


@overridable
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of ``stft``: the signal whose short-time transform is nearest to the input (D. W. Griffin, J. S. Lim,
    "Signal estimation from modified short-time Fourier transform", IEEE Trans. ASSP 32, 1984).

    Args:
        input: (frequencies, parts) or (batch, frequencies, parts), complex, as stft returns it.
        n_fft, hop_length, win_length, window, center, normalized: as they were given to stft.
        onesided: whether the frequencies are 0 ... n_fft // 2; by default if there are not n_fft of them.
        length: of the result; what is missing is filled with zeros.
        return_complex: whether the signal is complex.

    RuntimeError for shapes that do not fit, and where the windows leave elements out.

    >>> x = strided.arange(8.)
    >>> strided.istft(strided.stft(x, 4, return_complex=True), 4, length=8).round(decimals=3)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    _check_input("istft", input, n_fft=n_fft, hop_length=hop_length, win_length=win_length, length=length)
    _check_window("istft", window)
    if window is None:
        warn_once_of(
            "istft",
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by "
            f"stft to make the inversion lossless.{_EXPLICITLY}",
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length

    where = f"istft({list(input.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={width})"
    onesided = _checked_inverse(where, input, n_fft, hop, width, window, onesided, length, return_complex)

    spectra = input.transpose(-1, -2)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        parts = _f["fft.ifft"](spectra, None, -1, norm)
    else:
        parts = _f["fft.irfft"](spectra[..., : n_fft // 2 + 1], n_fft, -1, norm)
    factors = _centred(window, width, n_fft, parts.detach())
    if factors is None:
        factors = _f["ones"](n_fft, dtype=parts.dtype, device=parts.device)
    else:
        parts = parts * factors
    signal = _overlapped(parts, hop)
    weight = _overlapped((factors * factors).expand(input.shape[-1], n_fft), hop)

    whole = signal.shape[-1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    signal, weight = signal[..., start:end], weight[start:end]
    if signal.shape[-1] == 0 or weight.detach().abs().min().item() < 1e-11:
        raise RuntimeError(f"{where}: window overlap add min: the windows leave elements out")
    signal = signal / weight
    if end > whole and length is not None:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            stacklevel=2,
        )
        signal = _f["cat"]((signal, signal.new_zeros((*signal.shape[:-1], end - whole))), -1)
    return signal


_C.Tensor.stft = overridable_method(stft.__wrapped__)
_C.Tensor.istft = overridable_method(istft.__wrapped__)
