"""Arrays from numbers, sequences and other libraries' arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C
from .._C import Tensor
from .._functions import creation
from ._array import Array, creates, standard

if TYPE_CHECKING:
    from .._typing import Any, Device, DType, Number, Sizes

_f = _C.functions
__all__ = []


def _public(function):
    __all__.append(function.__name__)
    return function


@_public
def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None
) -> Tensor:
    """`obj` as an array: a tensor itself, other arrays on the same memory, numbers and sequences as a new Array.

    Args:
        copy: True for a copy always, False for a ValueError where one would be needed.

    A tensor keeps its history of gradients, unlike in PyTorch's ``asarray``.

    >>> strided.array_api.asarray([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]])
    """
    if not isinstance(obj, Tensor):
        from ._array import array

        return array(creation.asarray(obj, dtype=dtype, device=device, copy=copy))
    made = obj.to(dtype=dtype, device=device, copy=bool(copy))
    if copy is False and made is not obj:
        raise ValueError("asarray(): another dtype or device needs a copy, and copy is False")
    return Array_like(obj, made)


def Array_like(given: Tensor, made: Tensor) -> Tensor:  # noqa: N802
    """`made`, as an Array if the tensor that it was made of is one."""
    if isinstance(given, Array) and made is not given:
        made.__class__ = Array
    return made


@_public
@creates
def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """An Array on the memory of any object with ``__dlpack__``; a copy of it if copy is True.

    With copy=False, ValueError where the device asks for one.

    >>> strided.array_api.from_dlpack(strided.arange(3))
    Array([0, 1, 2])
    """
    made = creation.from_dlpack(x, copy=copy)
    if device is None or _C.device(device) == made.device:
        return made
    if copy is False:
        raise ValueError(f"from_dlpack(): device {device} needs a copy, and copy is False")
    return made.to(device)


@_public
@creates
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """start, start + step, ... below stop (above it for a negative step); from 0 if stop is None.

    int64 for ints, else the default floating-point dtype.  Empty where no step leads to stop; ValueError for step 0.

    >>> strided.array_api.arange(5, 0, -2), strided.array_api.arange(3, 0).shape
    (Array([5, 3, 1]), torch.Size([0]))
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange(): step must not be zero")
    if dtype is None and not all(isinstance(v, int) for v in (start, stop, step)):
        dtype = _f["get_default_dtype"]()
    if (stop - start) * math.copysign(1, step) <= 0:
        return _f["empty"]((0,), dtype=dtype or _C.int64, device=device)
    return _f["arange"](start, stop, step, dtype=dtype, device=device)


@_public
@creates
def empty(shape: Sizes, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array with any numbers in it.

    >>> strided.array_api.empty((2, 3)).shape
    torch.Size([2, 3])
    """
    return _f["empty"](_shape(shape), dtype=dtype, device=device)


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


@_public
@creates
def zeros(shape: Sizes, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of zeros, of the default floating-point dtype unless given.

    >>> strided.array_api.zeros(2)
    Array([0., 0.])
    """
    return _f["zeros"](_shape(shape), dtype=dtype, device=device)


@_public
@creates
def ones(shape: Sizes, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of ones, of the default floating-point dtype unless given.

    >>> strided.array_api.ones(2)
    Array([1., 1.])
    """
    return _f["ones"](_shape(shape), dtype=dtype, device=device)


@_public
@creates
def full(shape: Sizes, fill_value: Number, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of one number, of the number's dtype unless given.

    >>> strided.array_api.full(2, 7)
    Array([7, 7])
    """
    return _f["full"](_shape(shape), fill_value, dtype=dtype, device=device)


@_public
@standard
def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of x's shape with any numbers in it, in x's dtype unless given."""
    return _f["empty_like"](x, dtype=dtype, device=device)


@_public
@standard
def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """Zeros of x's shape, in x's dtype unless given."""
    return _f["zeros_like"](x, dtype=dtype, device=device)


@_public
@standard
def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """Ones of x's shape, in x's dtype unless given."""
    return _f["ones_like"](x, dtype=dtype, device=device)


@_public
@standard
def full_like(x: Tensor, /, fill_value: Number, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """One number in x's shape, in x's dtype unless given."""
    return _f["full_like"](x, fill_value, dtype=dtype, device=device)


@_public
@creates
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """A matrix with ones on the k-th diagonal (above the main one for k > 0), and zeros elsewhere.

    >>> strided.array_api.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    made = _f["zeros"]((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    if -made.shape[0] < k < made.shape[1]:
        made.diagonal(k).fill_(1)
    return made


@_public
@creates
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """num evenly spaced numbers from start to stop, which is left out if endpoint is False.

    >>> strided.array_api.linspace(0, 1, 4, endpoint=False)
    Array([0.0000, 0.2500, 0.5000, 0.7500])
    """
    made = _f["linspace"](start, stop, num if endpoint else num + 1, dtype=dtype, device=device)
    return made if endpoint else made[:-1]


@_public
@standard
def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid from the vectors of its axes, as many as there are axes.

    Args:
        indexing: 'xy', where the first two axes of the results are swapped, or 'ij'. ValueError for another.

    >>> strided.array_api.meshgrid(strided.tensor([1, 2]), strided.tensor([3]))
    (tensor([[1, 2]]), tensor([[3, 3]]))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(): indexing must be 'xy' or 'ij', got {indexing!r}")
    return tuple(_f["meshgrid"](*arrays, indexing=indexing)) if arrays else ()


@_public
@standard
def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices with zeros above the k-th diagonal.

    >>> strided.array_api.tril(strided.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _f["tril"](x, k)


@_public
@standard
def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices with zeros below the k-th diagonal.

    >>> strided.array_api.triu(strided.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return _f["triu"](x, k)
