"""Fourier transforms (``strided.fft``): PyTorch's and NumPy's names.

On the CPU they are computed by loops of strided's own, for any length; see ``csrc/cpu/fft``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import _C
from ._calls import namespaces as _namespaces
from ._calls.overrides import seen_by_modes as _seen_by_modes

if TYPE_CHECKING:
    from ._typing import Any, Device, DType, Tensor

globals().update(_namespaces.in_namespace("fft"))


def _arange(name: str, n: int, dtype: DType | None, out: Tensor | None, device: Any) -> Tensor:
    """0 ... n - 1 in the dtype that is asked for."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if dtype is None:
        dtype = _C.functions["get_default_dtype"]() if out is None else out.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return _C.functions["arange"](0, n, 1, dtype=dtype, device=device, out=out)


def _spacing(n: int, d: float) -> float:
    return 1.0 / (n * d) if n * d else math.inf


@_seen_by_modes
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of ``fft`` of n samples, d apart: 0 ... (n - 1) // 2, then the negative ones,
    over n d.

    RuntimeError for a dtype that is not floating point; TypeError unless n is an int.

    >>> strided.fft.fftfreq(5)
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    result = _arange("fftfreq", n, dtype, out, device)
    result[(n + 1) // 2 :].sub_(n)
    result.mul_(_spacing(n, d))
    return result.requires_grad_() if requires_grad else result


@_seen_by_modes
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of ``rfft`` of n samples, d apart: 0 ... n // 2, over n d.

    RuntimeError for a dtype that is not floating point; TypeError unless n is an int.

    >>> strided.fft.rfftfreq(5)
    tensor([0.0000, 0.2000, 0.4000])
    """
    result = _arange("rfftfreq", int(n / 2) + 1 if isinstance(n, int) and abs(n) < 1 << 52 else n, dtype, out, device)
    result.mul_(_spacing(n, d))
    return result.requires_grad_() if requires_grad else result


del annotations


__all__ = [*_namespaces.in_namespace("fft"), "fftfreq", "rfftfreq"]
