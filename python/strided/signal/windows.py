"""Window functions (``strided.signal.windows``): symmetric by default, periodic with ``sym=False``.

All take the number of elements, the dtype (float32 or float64) and the device.  ValueError for a negative number, other
dtypes and parameters out of range.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from .. import _C
from .._functions import spectral as _spectral

if TYPE_CHECKING:
    from .._typing import Any, Device, DType, Iterable, Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

_f = _C.functions


def _make(name, M, sym, dtype, layout, device, requires_grad, values):
    if dtype is None:
        dtype = _f["get_default_dtype"]()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and repr(layout) != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (_C.float32, _C.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if isinstance(M, bool) or not hasattr(M, "__index__"):
        raise TypeError(f"{name}(): argument 'M' must be int, not {type(M).__name__}")
    M = int(M) if M == 0 or M == 1 else operator.index(M)  # a tensor of 0 or 1 may have any dtype
    if M <= 1:
        made = _f["ones"](M, dtype=dtype, device=device)
        return made.requires_grad_() if requires_grad else made
    return _spectral.finish(values(_spectral.Samples(M, not sym, device)), dtype, requires_grad)


def _cosines(M, a, sym, dtype, layout, device, requires_grad):
    return _make("general_cosine", M, sym, dtype, layout, device, requires_grad, lambda s: s.cosines(a))


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett's triangle from 0 to 1 and back to 0.

    >>> strided.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _make("bartlett", M, sym, dtype, layout, device, requires_grad, lambda s: s.triangle())


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman window, 0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n).

    >>> strided.signal.windows.blackman(5).round(decimals=4).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400, 0.0000])
    """
    return _cosines(M, (0.42, 0.5, 0.08), sym, dtype, layout, device, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a sine wave between its zeros, sin(pi (k + 1/2) / n).

    >>> strided.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _make(
        "cosine",
        M,
        sym,
        dtype,
        layout,
        device,
        requires_grad,
        lambda s: ((s.places + 0.5) * (math.pi / (s.steps + 1))).sin(),
    )


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-abs(k - center) / tau).  center: the middle by default, and always of symmetric windows.

    >>> strided.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _make(
        "exponential",
        M,
        sym,
        dtype,
        layout,
        device,
        requires_grad,
        lambda s: ((s.places - (s.steps / 2 if center is None else center)).abs() / -tau).exp(),
    )


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-d^2 / 2 std^2), d the distance from the middle.

    >>> strided.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _make(
        "gaussian",
        M,
        sym,
        dtype,
        layout,
        device,
        requires_grad,
        lambda s: (((s.places - s.steps / 2) / std).square() / -2).exp(),
    )


def general_cosine(
    M: int,
    *,
    a: Iterable,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of (-1)^i a[i] cos(2 pi i k / n).  TypeError unless a is a list or tuple; ValueError if it is empty.

    >>> strided.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(M, a, sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi k / n).

    >>> strided.signal.windows.general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines(M, (alpha, 1 - alpha), sym, dtype, layout, device, requires_grad)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming window, 0.54 - 0.46 cos(2 pi k / n).

    >>> strided.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines(M, (0.54, 0.46), sym, dtype, layout, device, requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hann window, (1 - cos(2 pi k / n)) / 2.

    >>> strided.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _cosines(M, (0.5, 0.5), sym, dtype, layout, device, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser window, I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1.

    >>> strided.signal.windows.kaiser(3, beta=2.)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _make("kaiser", M, sym, dtype, layout, device, requires_grad, lambda s: s.kaiser(beta))


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's window of four cosines
    (A. H. Nuttall, "Some windows with very good sidelobe behavior", IEEE Trans. ASSP 29, 1981).

    >>> strided.signal.windows.nuttall(3).round(decimals=4)
    tensor([4.0000e-04, 1.0000e+00, 4.0000e-04])
    """
    return _cosines(M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym, dtype, layout, device, requires_grad)


del annotations
