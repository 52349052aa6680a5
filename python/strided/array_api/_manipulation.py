"""Shapes and orders of elements; picking elements by index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._C import Tensor
from .._calls import broadcast
from .._functions import standard as _standard
from ._array import promoted, standard

if TYPE_CHECKING:
    from .._typing import Sequence

_f = _C.functions
__all__ = []
for _name in "broadcast_arrays expand_dims permute_dims take_along_axis unstack".split():
    globals()[_name] = standard(getattr(_standard, _name))
    __all__.append(_name)


def _public(function):
    __all__.append(function.__name__)
    return standard(function)


def _axes(axis):
    return (axis,) if isinstance(axis, int) else tuple(axis)


@_public
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.  ValueError (PyTorch: RuntimeError) if they do not.

    >>> strided.array_api.broadcast_shapes((3,), (2, 1))
    (2, 3)
    """
    try:
        return tuple(broadcast.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from error


@_public
def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array broadcast to a shape: a view, with stride 0 where it repeats.

    >>> strided.array_api.broadcast_to(strided.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _f["broadcast_to"](x, shape)


@_public
def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays joined along one axis, in their common dtype; flattened first if axis is None.

    >>> strided.array_api.concat([strided.tensor([1]), strided.tensor([[2], [3]])], axis=None)
    tensor([1, 2, 3])
    """
    arrays = promoted(*arrays)
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    return _f["cat"](arrays, axis)


@_public
def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis, in their common dtype.

    >>> strided.array_api.stack([strided.tensor([1, 2]), strided.tensor([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])
    """
    return _f["stack"](promoted(*arrays), axis)


@_public
def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The order of elements reversed along some axes, or all.

    >>> strided.array_api.flip(strided.tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return _f["flip"](x, tuple(range(x.ndim)) if axis is None else _axes(axis))


@_public
def moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor:
    """The axes at `source` moved to `destination`; the others keep their order.

    >>> strided.array_api.moveaxis(strided.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return _f["moveaxis"](x, source, destination)


@_public
def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element (or slice along an axis) several times; of the flattened array if axis is None.

    PyTorch's ``Tensor.repeat`` is the standard's :func:`tile`.

    >>> strided.array_api.repeat(strided.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if isinstance(repeats, Tensor):
        repeats = repeats.to(_C.int64)
    return _f["repeat_interleave"](x, repeats, axis)


@_public
def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape, in C order; one size may be -1.

    Args:
        copy: None for a view where possible, True for a copy, False for a view or a ValueError.

    >>> strided.array_api.reshape(strided.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    if copy:
        return _f["reshape"](x.clone(), shape)
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(
                f"reshape(): shape {tuple(shape)} needs a copy of {tuple(x.shape)}, or does not fit"
            ) from error
    return _f["reshape"](x, shape)


@_public
def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Elements moved along axes, those beyond the end to the beginning; of the flattened array if axis is None.

    >>> strided.array_api.roll(strided.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if axis is None:
        return _f["roll"](x, shift)
    shifts, axes = _axes(shift), _axes(axis)
    return _f["roll"](x, shifts * len(axes) if len(shifts) == 1 else shifts, axes)


@_public
def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """The array without some axes of one element.  ValueError for an axis of another size.

    >>> strided.array_api.squeeze(strided.zeros(1, 3, 1), 0).shape
    torch.Size([3, 1])
    """
    axes = _axes(axis)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze(): axis {a} has size {x.shape[a]}, not 1")
    return _f["squeeze"](x, axes)


@_public
def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array several times along each axis.

    >>> strided.array_api.tile(strided.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    return _f["tile"](x, _axes(repetitions))


@_public
def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Slices of x along one axis, in the order of `indices` (1-d; negative ones count from the end).

    PyTorch's ``take`` picks from the flattened tensor.  ValueError if axis is None and x is not 1-d.

    >>> strided.array_api.take(strided.tensor([[1, 2, 3]]), strided.tensor([2, 0]), axis=1)
    tensor([[3, 1]])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take(): axis must be given unless there is one dimension, got {x.ndim}")
        axis = 0
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"take(): axis {axis} is out of range for {x.ndim} dimensions")
    return x[(slice(None),) * (axis % x.ndim) + (indices,)]
