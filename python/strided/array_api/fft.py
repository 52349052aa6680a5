"""The extension ``fft`` of the Array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import fft as _fft
from ._array import creates, standard

if TYPE_CHECKING:
    from .._typing import Device, DType, Sequence, Tensor

__all__ = []


def _one(name, doc):
    core = getattr(_fft, name)

    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return core(x, n=n, dim=axis, norm=norm)

    _publish(name, function, f"{doc}, along one axis.\n\nCut or filled with zeros to n first, if n is given.")


def _several(name, doc):
    core = getattr(_fft, name)

    def function(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Tensor:
        return core(x, s=s, dim=axes, norm=norm)

    _publish(name, function, f"{doc}, along several axes: all if axes is None, the last len(s) if s is given.")


def _publish(name, function, doc):
    function.__name__ = function.__qualname__ = name
    norms = "norm: 'backward' (the inverse is divided by n), 'ortho' (both by its root), 'forward' (the forward one)."
    function.__doc__ = f"{doc}\n\n{norms}"
    globals()[name] = standard(function)
    __all__.append(name)


_one("fft", "Fourier transform")
_one("ifft", "Inverse of :func:`fft`")
_one("rfft", "Fourier transform of real numbers: its first n // 2 + 1 elements")
_one("irfft", "Inverse of :func:`rfft`: n real numbers, 2 (m - 1) of m if n is None")
_one("hfft", "Fourier transform of a Hermitian signal, of which half is given: n real numbers")
_one("ihfft", "Inverse of :func:`hfft`")
_several("fftn", "Fourier transform")
_several("ifftn", "Inverse of :func:`fftn`")
_several("rfftn", "Fourier transform of real numbers; the last axis has n // 2 + 1 elements")
_several("irfftn", "Inverse of :func:`rfftn`")


def _frequencies(name):
    core = getattr(_fft, name)

    def function(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Tensor:
        return core(n, d, dtype=dtype, device=device)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = core.__doc__.split("\n\n")[0]
    globals()[name] = creates(function)
    __all__.append(name)


_frequencies("fftfreq")
_frequencies("rfftfreq")


def _shift(name):
    core = getattr(_fft, name)

    def function(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
        return core(x, axes)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = core.__doc__.split("\n\n")[0]
    globals()[name] = standard(function)
    __all__.append(name)


_shift("fftshift")
_shift("ifftshift")
