"""Dtypes and devices: what can be asked about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._C import Tensor
from .._functions import standard as _standard
from .._functions.standard import KINDS, isdtype
from .._objects import typeinfo
from ._array import NUMBERS, standard

if TYPE_CHECKING:
    from .._typing import Any, Device, DType

_f = _C.functions
__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

astype = standard(_standard.astype)


def _dtype_of(x):
    return x.dtype if isinstance(x, Tensor) else x


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether promotion leads from one dtype (or that of an array) to the other: no value is lost.

    PyTorch's ``can_cast`` also allows a narrower dtype of the same kind.

    >>> strided.array_api.can_cast(strided.float32, strided.float64), strided.can_cast(strided.float64, strided.float32)
    (True, True)
    """
    return _f["promote_types"](_dtype_of(from_), to) == to


def result_type(*arrays_and_dtypes: Tensor | DType | complex) -> DType:
    """The dtype of a result of these operands: arrays, dtypes and numbers.

    Arrays count by their dtypes whatever their dimensions, numbers by their kind.  ValueError without an array or
    dtype, TypeError for other objects.

    >>> strided.array_api.result_type(strided.int8, strided.tensor(1), 2)
    torch.int64
    """
    common, numbers = None, []
    for x in arrays_and_dtypes:
        if isinstance(x, NUMBERS):
            numbers.append(x)
        elif isinstance(x, Tensor) or _C.is_dtype(x):
            common = _dtype_of(x) if common is None else _f["promote_types"](common, _dtype_of(x))
        else:
            raise TypeError(f"result_type(): needs arrays, dtypes and numbers, not {type(x).__name__}")
    if common is None:
        raise ValueError("result_type(): needs an array or a dtype")
    for number in numbers:
        common = _f["result_type"](_f["empty"]((1,), dtype=common), number)
    return common


class _Limits:
    """What finfo and iinfo of the standard have: PyTorch's, but dtypes for dtypes."""

    __slots__ = ("_of", "dtype")

    def __init__(self, of, dtype):
        self._of, self.dtype = of, dtype

    def __getattr__(self, name):
        return getattr(self._of, name)

    def __repr__(self):
        return repr(self._of)


def _limits(kind, x):
    if not isinstance(x, Tensor) and not _C.is_dtype(x):
        raise TypeError(f"{kind.__name__}(): needs a dtype or an array, not {type(x).__name__}")
    dtype = _dtype_of(x)
    return _Limits(kind(dtype), dtype.to_real() if dtype.is_complex else dtype)


def finfo(type: DType | Tensor, /) -> Any:  # noqa: A002  (the standard's name)
    """Limits of a floating-point dtype, or of the parts of a complex one; of an array, those of its dtype.

    Attributes: bits, eps, max, min, smallest_normal, and dtype, a (real) dtype.  TypeError for other dtypes.

    >>> strided.array_api.finfo(strided.complex64).dtype
    torch.float32
    """
    return _limits(typeinfo.finfo, type)


def iinfo(type: DType | Tensor, /) -> Any:  # noqa: A002  (the standard's name)
    """Limits of an integer dtype, or of an array's: bits, max, min, and dtype.  TypeError for other dtypes.

    >>> strided.array_api.iinfo(strided.int8).max
    127
    """
    return _limits(typeinfo.iinfo, type)


class _Info:
    """What ``__array_namespace_info__()`` gives: devices, dtypes and defaults."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on data are there; tensors have at most 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where arrays are made when nothing says otherwise."""
        return _f["empty"](0).device

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The dtypes of Python's numbers, and of indices, on every device."""
        real = _f["get_default_dtype"]()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The standard's dtypes by name, all or those of a kind or of several (:func:`isdtype` lists them).

        ValueError for an unknown kind.
        """
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for k in kinds:
            if k not in KINDS:
                raise ValueError(f"dtypes(): unknown kind {k!r}; there are {', '.join(map(repr, KINDS))}")
        return {name: getattr(_C, name) for k in kinds for name in KINDS[k]}

    def devices(self) -> tuple[Device, ...]:
        """The CPU, and every CUDA device."""
        from .. import cuda

        return (_C.device("cpu"), *(_C.device("cuda", i) for i in range(cuda.device_count())))


def __array_namespace_info__() -> _Info:  # noqa: N807  (the standard's name)
    """What can be asked about the namespace: ``capabilities()``, ``default_device()``, ``default_dtypes()``,
    ``dtypes()`` and ``devices()``.

    >>> strided.array_api.__array_namespace_info__().default_dtypes()['indexing']
    torch.int64
    """
    return _Info()
