"""Reductions, running sums and normalisations of the elements that a mask names (``strided.masked``).

A mask is True, or not zero, where the input counts, and broadcasts to the input's shape. Reductions of rows in which
nothing counts give what the reduction begins with: 0 for ``sum``, -inf for ``amax``; NaN for ``mean``, ``var`` and
``median``. Gradients go to what counts. There are no masked tensors, which would carry a mask along.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import strided

from ._core_names import absent

if TYPE_CHECKING:
    from ._typing import DType, Tensor

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
    "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax",
    "softmin", "std", "sum", "var",
]  # fmt: skip

MaskedTensor = absent("MaskedTensor", __name__)

_Axes = int | tuple[int, ...] | None


def is_masked_tensor(obj: Any, /) -> bool:
    """False."""
    return False


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("masked_tensor: strided's tensors carry no masks")


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("as_masked_tensor: strided's tensors carry no masks")


# ---------------------------------------------------------------- parts


def _axes(input: Tensor, dim: Any) -> tuple[int, ...]:
    """The axes that are reduced, from 0 on; all of them for None, () and []."""
    if dim is None or dim in ((), []):
        return tuple(range(input.ndim))
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        n = max(input.ndim, 1)
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        if d % n in found:
            raise RuntimeError(f"dim={d % n} appears multiple times in the list of dims")
        found.append(d % n)
    return tuple(found)


def _mask(input: Tensor, mask: Tensor | None) -> Tensor | None:
    return None if mask is None else mask.to(strided.bool).expand(input.shape)


def _filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """The input, with value where it does not count."""
    mask = _mask(input, mask)
    if mask is None:
        return input
    return strided.where(mask, input, strided.tensor(value, dtype=input.dtype, device=input.device))


def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return input if dtype is None else input.to(dtype)


def _lowest(dtype: DType) -> Any:
    if dtype == strided.bool:
        return False
    return -math.inf if dtype.is_floating_point or dtype.is_complex else strided.iinfo(dtype).min


def _highest(dtype: DType) -> Any:
    if dtype == strided.bool:
        return True
    return math.inf if dtype.is_floating_point else strided.iinfo(dtype).max


def _count(input: Tensor, axes: tuple[int, ...], keepdim: bool, mask: Tensor | None, dtype: DType) -> Tensor:
    """How many elements count, in each row."""
    mask = _mask(input, mask)
    ones = strided.ones(input.shape, dtype=dtype, device=input.device) if mask is None else mask.to(dtype)
    return ones.sum(axes, keepdim) if axes else ones


# ---------------------------------------------------------------- reductions


def sum(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of what counts.

    >>> x, mask = strided.tensor([[1., 2., 3.], [4., 5., 6.]]), strided.tensor([[True, False, True], [False] * 3])
    >>> strided.masked.sum(x, 1, mask=mask)
    tensor([4., 0.])
    """
    axes, x = _axes(input, dim), _filled(_cast(input, dtype), mask, 0)
    return x.sum(axes, keepdim, dtype=dtype) if axes else x.sum(dtype=dtype)


def prod(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product of what counts."""
    axes, x = () if dim == [] else _axes(input, dim), _filled(_cast(input, dtype), mask, 1)
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim)
    return x if axes or input.ndim else x.prod()  # (PyTorch reduces nothing for dim=[])


def amax(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The largest of what counts; the dtype's least number, or -inf, where nothing does."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).amax(_axes(input, dim), keepdim)


def amin(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest of what counts; the dtype's largest number, or inf, where nothing does."""
    x = _cast(input, dtype)
    return _filled(x, mask, _highest(x.dtype)).amin(_axes(input, dim), keepdim)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest of what counts stands, in the input's dtype or in dtype; without dim in all of it."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).argmax(dim, keepdim).to(x.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest of what counts stands, in the input's dtype or in dtype; without dim in all of it."""
    x = _cast(input, dtype)
    return _filled(x, mask, _highest(x.dtype)).argmin(dim, keepdim).to(x.dtype)


def mean(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of what counts.  ValueError for integers without a dtype.

    >>> strided.masked.mean(strided.tensor([1., 2., 6.]), mask=strided.tensor([True, False, True]))
    tensor(3.5000)
    """
    x = _cast(input, dtype)
    if not (x.is_floating_point() or x.is_complex()):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {x.dtype}"
        )
    axes = _axes(input, dim)
    if mask is None:
        return x.mean(axes, keepdim) if axes else x.mean()
    total = _filled(x, mask, 0)
    return (total.sum(axes, keepdim) if axes else total) / _count(x, axes, keepdim, mask, x.dtype)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The median of what counts along an axis, NaN left out.  ValueError if nothing counts in a row of integers."""
    x = _cast(input, dtype)
    if x.is_floating_point():
        return _filled(x, mask, math.nan).nanmedian(dim, keepdim).values
    if mask is not None and not bool(_mask(x, mask).any(dim).all()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return _filled(x.double(), mask, math.nan).nanmedian(dim, keepdim).values.to(x.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: _Axes = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``linalg.vector_norm`` of what counts."""
    order = 2.0 if ord is None else float(ord)
    x = _filled(_cast(input, dtype), mask, math.inf if order == -math.inf else 0)
    return strided.linalg.vector_norm(x, order, _axes(input, dim) or None, keepdim)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise ValueError("var: only one of unbiased and correction may be given")
    if correction is None:
        correction = 0 if unbiased is False else 1
    x = _cast(input, dtype)
    x = x if x.is_floating_point() or x.is_complex() else x.to(strided.get_default_dtype())
    real, axes = x.abs().dtype if x.is_complex() else x.dtype, _axes(input, dim)
    total = _filled(x, mask, 0)
    means = (total.sum(axes, True) if axes else total) / _count(x, axes, True, mask, real)
    away = _filled(x - means, mask, 0)
    squares = (away * away.conj()).real if x.is_complex() else away * away
    squares = squares.sum(axes, keepdim) if axes else squares
    return (squares / (_count(x, axes, keepdim, mask, real) - correction).clamp(min=0)).to(x.dtype)


def var(
    input: Tensor,
    dim: _Axes = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of what counts: squares are divided by the count less the correction, which is 1 (unbiased) or 0.

    Of complex elements it is complex, with an imaginary part of 0, as PyTorch's.
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: _Axes = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of what counts, the root of ``var``."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def logsumexp(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))) of what counts, in the input's dtype, or in dtype."""
    x = _cast(input, dtype)
    made = _filled(x, mask, _lowest(x.dtype)).logsumexp(_axes(input, dim), keepdim)
    return made.to(x.dtype)


# ---------------------------------------------------------------- along an axis


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums of what counts up to each place, in the input's dtype or in dtype."""
    x = _cast(input, dtype)
    return _filled(x, mask, 0).cumsum(dim, dtype=None if x.dtype == strided.bool else x.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Products of what counts up to each place, in the input's dtype or in dtype."""
    x = _cast(input, dtype)
    return _filled(x, mask, 1).cumprod(dim, dtype=None if x.dtype == strided.bool else x.dtype)


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """softmax of what counts; 0 elsewhere, and NaN in rows in which nothing does."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).softmax(dim)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """log(softmax) of what counts; -inf elsewhere."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).log_softmax(dim)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """softmax of what counts, of the negated elements."""
    x = _cast(input, dtype)
    return strided.nn.functional.softmin(_filled(x, mask, _highest(x.dtype)), dim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """What counts, divided by its norm along an axis, or by eps where that is larger; 0 elsewhere."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(_cast(input, dtype), mask, 0) / size.clamp(min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), with masks for both: what does not count is taken for -inf."""
    x, y = _cast(input, dtype), _cast(other, dtype)
    made = strided.logaddexp(_filled(x, input_mask, -math.inf), _filled(y, other_mask, -math.inf))
    return _cast(made, dtype)


del annotations
