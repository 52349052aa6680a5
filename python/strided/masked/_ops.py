"""Reductions, running sums and normalisations of the elements that a mask names."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import strided

from ._sparse import counting as _counting
from ._sparse import reduced as _reduced

if TYPE_CHECKING:
    from .._typing import DType, F, Tensor

_Axes = int | tuple[int, ...] | None


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


def _mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """A mask in the shape of the input."""
    if mask.layout != strided.strided:
        mask = mask.to_dense()
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = mask.expand(input.shape)
    return mask.to(strided.bool)


def _mask(input: Tensor, mask: Tensor | None) -> Tensor | None:
    return None if mask is None else _mask_of(input, mask)


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


def _of_all(function: F) -> F:
    """Lets a function of dense tensors take a masked tensor, whose mask counts, and a sparse one, of whose elements
    only those count that are stored."""
    name = function.__name__

    @functools.wraps(function)
    def taking(input: Any, *args: Any, **options: Any) -> Any:
        own = getattr(input, "_masked_mask", None)
        if own is not None:
            mask = options.get("mask")
            options["mask"] = own if mask is None else _mask_of(input._masked_data, mask) & own
            input = input._masked_data
        if input.layout != strided.strided:
            return _reduced(name, input, *args, **options)
        mask = options.get("mask")
        if mask is not None and mask.layout != strided.strided:
            options["mask"] = mask.to_dense()
        return function(input, *args, **options)

    return taking


# ---------------------------------------------------------------- reductions


@_of_all
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


@_of_all
def prod(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product of what counts."""
    axes, x = () if dim == [] else _axes(input, dim), _filled(_cast(input, dtype), mask, 1)
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim)
    return x if axes or input.ndim else x.prod()  # (PyTorch reduces nothing for dim=[])


@_of_all
def amax(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The largest of what counts; the dtype's least number, or -inf, where nothing does."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).amax(_axes(input, dim), keepdim)


@_of_all
def amin(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest of what counts; the dtype's largest number, or inf, where nothing does."""
    x = _cast(input, dtype)
    return _filled(x, mask, _highest(x.dtype)).amin(_axes(input, dim), keepdim)


@_of_all
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


@_of_all
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


@_of_all
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


@_of_all
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


@_of_all
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


@_of_all
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


@_of_all
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


@_of_all
def logsumexp(
    input: Tensor, dim: _Axes = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))) of what counts, in the input's dtype, or in dtype."""
    x = _cast(input, dtype)
    made = _filled(x, mask, _lowest(x.dtype)).logsumexp(_axes(input, dim), keepdim)
    return made.to(x.dtype)


# ---------------------------------------------------------------- along an axis


@_of_all
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums of what counts up to each place, in the input's dtype or in dtype."""
    x = _cast(input, dtype)
    return _filled(x, mask, 0).cumsum(dim, dtype=None if x.dtype == strided.bool else x.dtype)


@_of_all
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Products of what counts up to each place, in the input's dtype or in dtype."""
    x = _cast(input, dtype)
    return _filled(x, mask, 1).cumprod(dim, dtype=None if x.dtype == strided.bool else x.dtype)


@_of_all
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """softmax of what counts; 0 elsewhere, and NaN in rows in which nothing does."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).softmax(dim)


@_of_all
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """log(softmax) of what counts; -inf elsewhere."""
    x = _cast(input, dtype)
    return _filled(x, mask, _lowest(x.dtype)).log_softmax(dim)


@_of_all
def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """softmax of what counts, of the negated elements."""
    x = _cast(input, dtype)
    return strided.nn.functional.softmin(_filled(x, mask, _highest(x.dtype)), dim)


@_of_all
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


# ---------------------------------------------------------------- under the names that PyTorch's module has them


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The axes that are reduced, in order; all of them for None and ()."""
    if dim in ((), []):
        dim = None
    if dim is None:
        return tuple(range(ndim))
    found: list[int] = []
    n = max(ndim, 1)
    for d in (dim,) if isinstance(dim, int) else dim:
        if d % n in found:
            raise RuntimeError(f"dim={d % n} appears multiple times in the list of dims")
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        found.append(d % n)
    return tuple(sorted(found))


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Any:
    """What an operation begins with, 0-d, in the dtype of the input; None if there is no such number."""
    dtype, name = input.dtype, op_name.rsplit(".", 1)[-1]
    number: Any
    if name in ("sum", "cumsum"):
        number = 0
    elif name in ("prod", "cumprod"):
        number = 1
    elif name in ("amax", "argmax", "logaddexp", "logsumexp"):
        number = _lowest(dtype)
    elif name in ("amin", "argmin"):
        number = _highest(dtype)
    elif name in ("softmax", "log_softmax"):
        number = -math.inf
    elif name == "softmin":
        number = math.inf
    elif name == "norm":
        order = args[0] if args else 2
        number = math.inf if order == -math.inf else 0
    elif name == "median":
        dtype = dtype if input.is_floating_point() else strided.float64
        number = math.nan
    elif name in ("mean", "var", "std"):
        return None
    else:
        raise NotImplementedError(f"identity of {op_name} on {dtype} input")
    return strided.tensor(number, dtype=dtype, device=input.device)


def _input_mask(input: Any, *args: Any, mask: Tensor | None = None, **options: Any) -> Tensor:
    """The mask that stands for `mask` and an input: of its shape and layout. Without one all that is stored counts."""
    own = getattr(input, "_masked_mask", None)
    if own is not None:
        return own if mask is None else _mask_of(input._masked_data, mask) & own
    if input.layout not in (strided.strided, strided.sparse_coo, strided.sparse_csr):
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = (mask if mask.layout == strided.strided else mask.to_dense()).expand(input.shape)
    if mask.layout != input.layout:
        if input.layout == strided.strided:
            mask = mask.to_dense()
        elif input.layout == strided.sparse_coo:
            mask = mask.to_sparse_coo() if mask.layout != strided.strided else mask.to_sparse(input.sparse_dim())
        else:
            mask = mask.to_sparse_csr()
    if mask.layout == strided.sparse_coo:
        mask = mask.coalesce()
    return mask.to(strided.bool)


def _output_mask(op: Any, input: Tensor, *args: Any, **options: Any) -> Tensor:
    """The mask of what an operation of this module makes: where something counts."""
    name = op if isinstance(op, str) else op.__name__
    mask = _input_mask(input, *args, **options)
    if name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin", "normalize"):
        return mask
    axes = args[1:2] if name == "norm" else args[:1]
    dim = options.get("dim", axes[0] if axes else None)
    dense = mask if mask.layout == strided.strided else mask.to_dense()
    made = dense.any(_canonical_dim(dim, input.ndim), keepdim=options.get("keepdim", False)) if input.ndim else dense
    return made if mask.layout == strided.strided else made.to_sparse()


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """The input where the mask is True, in the mask's layout: fill_value elsewhere if that is dense, else nothing."""
    if mask.layout == strided.strided:
        return strided.where(mask, input if input.layout == strided.strided else input.to_dense(), fill_value)
    kept = _counting(input, mask)
    return kept.to_sparse_csr() if mask.layout == strided.sparse_csr else kept


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """The input with what op begins with where nothing counts; without a mask the input."""
    if getattr(input, "_masked_mask", None) is None and mask is None:
        return input
    counts = _input_mask(input, mask=mask)
    data = getattr(input, "_masked_data", input)
    return _where(counts, data, _reduction_identity(op if isinstance(op, str) else op.__name__, data, *args))
