"""Reductions, running sums, orders, searches and sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._C import Tensor
from .._functions import standard as _standard
from .._functions.standard import accumulation_dtype
from ._array import NUMBERS, operands, standard

if TYPE_CHECKING:
    from .._typing import DType, Number

    Axis = int | tuple[int, ...] | None

_f = _C.functions
__all__ = []
for _name in "cumulative_prod cumulative_sum unique_all unique_counts unique_inverse unique_values".split():
    globals()[_name] = standard(getattr(_standard, _name))
    __all__.append(_name)


def _public(function):
    __all__.append(function.__name__)
    return standard(function)


def _axes(x: Tensor, axis: Axis) -> tuple[int, ...]:
    """The axes meant, from 0; all for None.  IndexError out of range."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise IndexError(f"axis {a} is out of range for {x.ndim} dimensions")
    return tuple(a % x.ndim for a in axes)


def _over(core, x, axis, keepdims, **options):
    """A function that takes a list of dims, over the axes; over none of them, it is asked along a new one."""
    axes = _axes(x, axis)
    if not axes:
        return core(x.unsqueeze(0), 0, False, **options)
    return core(x, axes, keepdims, **options)


@_public
def sum(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The sum of elements, of all or along some axes.

    In dtype if given; else int64 for signed integers and bool, uint64 for unsigned ones, x's dtype for the others.

    >>> strided.array_api.sum(strided.tensor([1, 2], dtype=strided.uint8)).dtype
    torch.uint64
    """
    return _over(_f["sum"], x, axis, keepdims, dtype=dtype or accumulation_dtype(x.dtype))


@_public
def prod(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The product of elements, of all or along some axes; dtypes as for :func:`sum`.

    >>> strided.array_api.prod(strided.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([3, 8])
    """
    made = x.to(dtype or accumulation_dtype(x.dtype))
    for a in sorted(_axes(x, axis), reverse=True):
        made = _f["prod"](made, a, keepdims, dtype=made.dtype)
    return made.clone() if made is x else made


@_public
def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The largest element, of all or along some axes; NaN if there is one.

    >>> strided.array_api.max(strided.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([3, 4])
    """
    return _over(_f["amax"], x, axis, keepdims)


@_public
def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The least element, of all or along some axes; NaN if there is one.

    >>> strided.array_api.min(strided.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([1, 2])
    """
    return _over(_f["amin"], x, axis, keepdims)


@_public
def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean of floating-point or complex elements, of all or along some axes.

    >>> strided.array_api.mean(strided.tensor([1., 2.]))
    tensor(1.5000)
    """
    return _over(_f["mean"], x, axis, keepdims)


@_public
def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance, of all elements or along some axes: squared distances from the mean over N - correction.

    PyTorch's correction is 1 unless given.

    >>> strided.array_api.var(strided.tensor([1., 3.]))
    tensor(1.)
    """
    return _over(lambda x, dim, keep: _f["var"](x, dim, correction=correction, keepdim=keep), x, axis, keepdims)


@_public
def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of the variance (:func:`var`).

    >>> strided.array_api.std(strided.tensor([1., 3.]))
    tensor(1.)
    """
    return _over(lambda x, dim, keep: _f["std"](x, dim, correction=correction, keepdim=keep), x, axis, keepdims)


@_public
def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether all elements are nonzero, or all along some axes: bool.

    >>> strided.array_api.all(strided.tensor([[1, 0], [1, 1]]), axis=1)
    tensor([False,  True])
    """
    return _over(_f["all"], x != 0 if x.dtype != _C.bool else x, axis, keepdims)


@_public
def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether an element is nonzero, or one along some axes: bool.

    >>> strided.array_api.any(strided.tensor([[0, 0], [1, 0]]), axis=1)
    tensor([False,  True])
    """
    return _over(_f["any"], x != 0 if x.dtype != _C.bool else x, axis, keepdims)


@_public
def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements are nonzero, of all or along some axes: int64.

    >>> strided.array_api.count_nonzero(strided.tensor([[0, 1], [1, 1]]), axis=1)
    tensor([1, 2])
    """
    return _over(_f["sum"], x != 0, axis, keepdims, dtype=_C.int64)


@_public
def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along an axis, n times; prepend and append are joined to x first.

    >>> strided.array_api.diff(strided.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    return _f["diff"](x, n, axis, prepend, append)


# ---------------------------------------------------------------- orders


@_public
def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis, NaN last (first if descending).

    >>> strided.array_api.sort(strided.tensor([3, 1, 2]), descending=True)
    tensor([3, 2, 1])
    """
    return _f["sort"](x, stable=stable, dim=axis, descending=descending)[0]


@_public
def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Where the elements of the sorted array stand in x, along an axis: int64.

    >>> strided.array_api.argsort(strided.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return _f["sort"](x, stable=stable, dim=axis, descending=descending)[1]


@_public
def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the largest element, of the flattened array or along an axis: int64.

    >>> strided.array_api.argmax(strided.tensor([3, 9, 2]))
    tensor(1)
    """
    return _f["argmax"](x, axis, keepdims)


@_public
def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the least element, of the flattened array or along an axis: int64.

    >>> strided.array_api.argmin(strided.tensor([3, 9, 2]))
    tensor(2)
    """
    return _f["argmin"](x, axis, keepdims)


@_public
def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of the nonzero elements: a vector of indices for each axis.  ValueError for a 0-d array.

    >>> strided.array_api.nonzero(strided.tensor([0, 5, 6]))
    (tensor([1, 2]),)
    """
    if x.ndim == 0:
        raise ValueError("nonzero(): a 0-d array has no axis to give indices of")
    return tuple(_f["nonzero"](x, as_tuple=True))


@_public
def searchsorted(x1: Tensor, x2: Tensor | Number, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where to insert the elements of x2 into the sorted vector x1: int64, of x2's shape.

    Args:
        side: 'left' for the first place, 'right' for the last one.
        sorter: indices that sort x1, if it is not.

    >>> strided.array_api.searchsorted(strided.tensor([1, 3, 5]), strided.tensor([3, 6]))
    tensor([1, 3])
    """
    x1, x2 = operands("searchsorted", x1, x2)
    if sorter is not None:
        x1 = x1[sorter]
    return _f["searchsorted"](x1, x2, side=side)


@_public
def where(condition: Tensor, x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
    """Elements of x1 where the condition holds, of x2 elsewhere; in their common dtype, broadcast.

    >>> strided.array_api.where(strided.tensor([True, False]), strided.tensor([1, 2]), 0)
    tensor([1, 0])
    """
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        x1 = _C.tensor_from_object(x1, None).to(condition.device)
    return _f["where"](condition, *operands("where", x1, x2))


@_public
def isin(x1: Tensor | Number, x2: Tensor | Number, /, *, invert: bool = False) -> Tensor:
    """Whether each element of x1 is among those of x2 (or is not, with invert): bool, of x1's shape.

    >>> strided.array_api.isin(strided.tensor([1, 2, 3]), strided.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    return _f["isin"](*operands("isin", x1, x2), invert=invert)
