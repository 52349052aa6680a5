"""Functions of the Array API standard for which PyTorch has no name, or the same meaning under another one.

They are in the main namespace, for programs written to the standard, and ``strided.array_api`` has them too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .. import return_types
    from .._typing import Device, DType, F, Sequence, Tensor

_f = _C.functions

__all__ = []

# The standard's kinds of dtypes, and the dtypes of each.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


def _public(function: F) -> F:
    __all__.append(function.__name__)
    return function


# ---------------------------------------------------------------- dtypes


@_public
def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Tensor:
    """A copy of x in another dtype (Array API); x itself if nothing changes and copy is False.

    >>> strided.astype(strided.tensor([1.5, -1.5]), strided.int8)
    tensor([ 1, -1], dtype=torch.int8)
    """
    return x.to(dtype=dtype, device=device, copy=copy)


def _is_of_kind(dtype, kind):
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype(): unknown kind {kind!r}; there are {', '.join(map(repr, KINDS))}")
        own = dtype._traits
        if kind in ("real floating", "complex floating") or kind == "numeric":  # float16 and the like too
            real, imaginary = dtype.is_floating_point, dtype.is_complex
            return (
                real
                and kind != "complex floating"
                or imaginary
                and kind != "real floating"
                or own["name"] in KINDS[kind]
            )
        return own["name"] in KINDS[kind]
    if not _C.is_dtype(kind):
        raise TypeError(f"isdtype(): 'kind' must be a dtype, a string or a tuple of them, not {type(kind).__name__}")
    return dtype == kind


@_public
def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is of a kind (Array API).

    Args:
        kind: a dtype, or 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
            'complex floating' or 'numeric'; or a tuple of these: any of them.

    Raises:
        ValueError: an unknown kind. TypeError: no dtype.

    >>> strided.isdtype(strided.float16, 'real floating'), strided.isdtype(strided.int8, ('bool', strided.int16))
    (True, False)
    """
    if not _C.is_dtype(dtype):
        raise TypeError(f"isdtype(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return any(_is_of_kind(dtype, k) for k in kind) if isinstance(kind, tuple) else _is_of_kind(dtype, kind)


# ---------------------------------------------------------------- shapes


@_public
def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes in another order (Array API): a view.

    >>> strided.permute_dims(strided.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    return _f["permute"](x, axes)


@_public
def matrix_transpose(x: Tensor, /) -> Tensor:
    """The matrices of the last two dimensions transposed (Array API): a view.  ValueError for fewer dimensions.

    >>> strided.matrix_transpose(strided.zeros(2, 3, 4)).shape
    torch.Size([2, 4, 3])
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose(): needs two dimensions or more, got {x.ndim}")
    return _f["transpose"](x, -2, -1)


@_public
def expand_dims(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """New dimensions of one element at the places `axis` of the result (Array API): a view.

    IndexError for a place out of range, ValueError for one that occurs twice.

    >>> strided.expand_dims(strided.zeros(3), (0, 2)).shape
    torch.Size([1, 3, 1])
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = x.ndim + len(axes)
    for a in axes:
        if not -ndim <= a < ndim:
            raise IndexError(f"expand_dims(): axis {a} is out of range for a result of {ndim} dimensions")
    places = {a % ndim for a in axes}
    if len(places) != len(axes):
        raise ValueError(f"expand_dims(): an axis occurs twice in {axes}")
    for a in sorted(places):
        x = _f["unsqueeze"](x, a)
    return x


@_public
def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along one dimension (Array API): views, as :func:`unbind` gives.

    >>> strided.unstack(strided.tensor([[1, 2], [3, 4]]), axis=1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    return tuple(_f["unbind"](x, axis))


@_public
def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The tensors broadcast to their common shape (Array API): views, as :func:`broadcast_tensors` gives.

    >>> [x.shape for x in strided.broadcast_arrays(strided.zeros(3), strided.zeros(2, 1))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    return tuple(_f["broadcast_tensors"](*arrays)) if arrays else ()


# ---------------------------------------------------------------- elements


@_public
def bitwise_invert(x: Tensor, /) -> Tensor:
    """Every bit inverted; not, for bool (Array API): as :func:`bitwise_not`.

    >>> strided.bitwise_invert(strided.tensor([0, 1]))
    tensor([-1, -2])
    """
    return _f["bitwise_not"](x)


@_public
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements of x along one dimension, picked by indices of as many dimensions (Array API).

    Indices are of an integer dtype; negative ones count from the end.  The other dimensions broadcast.

    >>> x = strided.tensor([[30, 10, 20]])
    >>> strided.take_along_axis(x, strided.argsort(x))
    tensor([[10, 20, 30]])
    """
    indices = indices.to(_C.int64)
    n = x.size(axis)
    return _f["take_along_dim"](x, _f["where"](indices < 0, indices + n, indices), axis)


@_public
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum of conj(x1) * x2 along one dimension (Array API), in the common dtype; the others broadcast.

    ValueError if the sizes along the axis differ.

    >>> strided.vecdot(strided.tensor([[1, 2], [3, 4]]), strided.tensor([1, 1]))
    tensor([3, 7])
    """
    if x1.size(axis) != x2.size(axis):
        raise ValueError(f"vecdot(): sizes along axis {axis} differ: {tuple(x1.shape)} and {tuple(x2.shape)}")
    common = _f["promote_types"](x1.dtype, x2.dtype)
    return _f["linalg.vecdot"](x1.to(common), x2.to(common), dim=axis)


# ---------------------------------------------------------------- running sums and products


def _cumulative(name, core, first, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}(): axis must be given unless there is one dimension, got {x.ndim}")
        axis = 0
    made = _f[core](x, axis, dtype=dtype or accumulation_dtype(x.dtype))
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        made = _f["cat"]([_f["full"](shape, first, dtype=made.dtype, device=made.device), made], axis)
    return made


def accumulation_dtype(dtype: DType) -> DType:
    """What the standard sums in: the widest integer of the same sign, or the floating-point dtype itself."""
    if dtype.is_floating_point or dtype.is_complex:
        return dtype
    return _C.int64 if dtype.is_signed or dtype == _C.bool else _C.uint64


@_public
def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Sums of the elements up to each one (Array API).

    Args:
        axis: the dimension; may be left out if there is one. ValueError if it must be given.
        dtype: of the result; int64 for signed integers and bool, uint64 for unsigned ones, else x's.
        include_initial: whether a zero comes first, so that there is one element more.

    >>> strided.cumulative_sum(strided.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", "cumsum", 0, x, axis, dtype, include_initial)


@_public
def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Products of the elements up to each one (Array API); arguments as :func:`cumulative_sum`, with a one first.

    >>> strided.cumulative_prod(strided.tensor([1, 2, 3]))
    tensor([1, 2, 6])
    """
    return _cumulative("cumulative_prod", "cumprod", 1, x, axis, dtype, include_initial)


# ---------------------------------------------------------------- sets


def _named(name, *values):
    from .. import return_types

    return return_types._remake(name, getattr(return_types, name).__match_args__, values)


def _distinct(x):
    """The distinct elements, sorted, the place of each element among them, and how often each occurs."""
    if not x.dtype.is_complex:
        return _f["unique"](x, return_inverse=True, return_counts=True)
    # Complex numbers: in the order of real parts, then of imaginary ones. Adding 0 makes 0.0 of -0.0.
    flat = x.reshape(-1)
    order = _f["argsort"](flat.imag + 0, stable=True)
    order = order[_f["argsort"]((flat.real + 0)[order], stable=True)]
    ordered = flat[order]
    starts = _f["ones"](flat.shape, dtype=_C.bool, device=x.device)
    starts[1:] = ordered[1:] != ordered[:-1]
    group = starts.cumsum(0) - 1
    inverse = _f["empty_like"](order).scatter(0, order, group)
    return ordered[starts], inverse, _f["bincount"](group)


@_public
def unique_all(x: Tensor, /) -> return_types.unique_all:
    """The distinct elements, sorted, of the flattened tensor (Array API).  Every NaN is distinct.
    Complex numbers are in the order of their real parts, then of their imaginary ones.

    Returns a named tuple: values; indices, where each occurs first in the flattened tensor; inverse_indices, of x's
    shape, with values[inverse_indices] equal to x; counts.

    >>> strided.unique_all(strided.tensor([2, 1, 2])).indices
    tensor([1, 0])
    """
    values, inverse, counts = _distinct(x)
    n = math.prod(x.shape)
    flat = inverse.reshape(-1)
    order = _f["arange"](n, dtype=_C.int64, device=x.device)
    first = _f["full"]((values.shape[0],), n, dtype=_C.int64, device=x.device)
    first = first.scatter_reduce(0, flat, order, "amin")
    return _named("unique_all", values, first, inverse.reshape(x.shape), counts)


@_public
def unique_counts(x: Tensor, /) -> return_types.unique_counts:
    """The distinct elements, sorted, and how often each occurs (Array API): a named tuple (values, counts).

    >>> strided.unique_counts(strided.tensor([2, 1, 2])).counts
    tensor([1, 2])
    """
    values, _, counts = _distinct(x)
    return _named("unique_counts", values, counts)


@_public
def unique_inverse(x: Tensor, /) -> return_types.unique_inverse:
    """The distinct elements, sorted, and for each element of x its place among them (Array API): a named tuple
    (values, inverse_indices), the latter of x's shape.

    >>> strided.unique_inverse(strided.tensor([2, 1, 2])).inverse_indices
    tensor([1, 0, 1])
    """
    values, inverse, _ = _distinct(x)
    return _named("unique_inverse", values, inverse.reshape(x.shape))


@_public
def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements of the flattened tensor, sorted (Array API).  Every NaN is distinct.

    >>> strided.unique_values(strided.tensor([2, 1, 2]))
    tensor([1, 2])
    """
    return _distinct(x)[0] if x.dtype.is_complex else _f["unique"](x)
