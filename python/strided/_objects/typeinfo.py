"""Limits of the number types: :class:`finfo` and :class:`iinfo`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import _C

__all__ = ["finfo", "iinfo"]

_DTYPES = {d._traits["name"]: d for d in _C.dtypes}
_PARTS = {"complex32": "float16"}  # a name without tensors, whose parts have a dtype
# Python's own types stand for the widest of their kind.
_PYTHON = {float: "float64", complex: "float64", int: "int64", bool: "bool"}


def _name_of(kind: str, dtype: Any) -> str:
    """``float32`` for ``torch.float32``; TypeError, naming ``kind``, for what is no dtype."""
    if dtype.__class__ is type and dtype in _PYTHON:
        return _PYTHON[dtype]
    if type(dtype).__name__ != "dtype" or not str(dtype).startswith("torch."):
        raise TypeError(f"{kind}(): argument 'type' (position 1) must be torch.dtype, not {type(dtype).__name__}")
    return str(dtype)[len("torch.") :]


class _Info:
    """What both have: read-only attributes, a text made of some of them, equality by value, no hash."""

    __slots__ = ("_type", "bits", "max", "min", "dtype")
    _shown: tuple[str, ...] = ()
    _type: Any
    bits: int
    dtype: str
    _made: ClassVar[dict[Any, Any]]  # by dtype: nothing can be changed in them, and programs ask again and again

    @classmethod
    def _new(cls, type: Any) -> Any:  # noqa: A002  (PyTorch's keyword)
        made = object.__new__(cls)
        made._find(type)
        if type is not None:  # the default dtype, which may change
            cls._made[type] = made
        return made

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.{type(self).__name__}' objects is not writable")

    def __eq__(self, other: object) -> bool:
        # Numbers decide, so the limits of complex64 equal those of float32.
        return type(other) is type(self) and other.dtype == self.dtype

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        return type(self), (self._type,)

    def __repr__(self) -> str:
        numbers = "".join(f"{name}={getattr(self, name):g}, " for name in self._shown)
        return f"{type(self).__name__}({numbers}dtype={self.dtype})"


class finfo(_Info):  # noqa: N801  (PyTorch's name)
    """Limits of a floating dtype; of a complex one, those of its parts.

    Args:
        type: float16, bfloat16, float32, float64, complex32, complex64 or complex128; the default dtype if left out.

    Attributes:
        bits: bits of one number (of one part, for complex).
        eps: 1.0 to the next larger number.
        max, min: the largest finite number, and its negative.
        tiny, smallest_normal: the smallest positive number of full precision.
        resolution: 10**-n, where n decimal digits survive the way into this type and back.
        dtype: name of the (real) type, a string.

    Raises:
        TypeError: not a dtype, or an integer or bool one.

    >>> finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("eps", "tiny", "smallest_normal", "resolution")
    max: float
    min: float
    eps: float
    tiny: float
    smallest_normal: float
    resolution: float
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    _made = {}

    def __new__(cls, type: Any | None = None) -> finfo:  # noqa: A002
        try:
            made: finfo | None = cls._made.get(type)
        except TypeError:  # it has no hash, so it is no dtype
            made = None
        return cls._new(type) if made is None else made

    def _find(self, type: Any | None) -> None:  # noqa: A002
        if type is None:
            from strided import get_default_dtype

            type = get_default_dtype()
        name = _name_of("finfo", type)
        real = _DTYPES[_PARTS.get(name, name)].to_real() if _PARTS.get(name, name) in _DTYPES else None
        if real is None or not real.is_floating_point:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.{name}'"
            )
        traits = real._traits
        digits, largest, tiny = traits["digits"], traits["greatest"], traits["smallest_normal"]
        eps = 2.0 ** (1 - digits)
        # d decimal digits always survive when 10**d < 2**(digits - 1): D. W. Matula, "In-and-out conversions",
        # Communications of the ACM 11(1), 1968.
        survive = math.floor((digits - 1) * math.log10(2))
        self._set(_type=type, bits=8 * real.itemsize, max=largest, min=-largest, dtype=traits["name"], eps=eps,
                  tiny=tiny, smallest_normal=tiny, resolution=float(f"1e-{survive}"))  # fmt: skip


class iinfo(_Info):  # noqa: N801  (PyTorch's name)
    """Limits of an integer dtype.

    Args:
        type: int8 to int64 or uint8 to uint64.

    Attributes:
        bits, max, min: Python integers.
        dtype: name of the type, a string.

    Raises:
        TypeError: not a dtype, or not an integer one.

    >>> iinfo(torch.int16)
    iinfo(min=-32768, max=32767, dtype=int16)
    >>> iinfo(torch.uint64).max
    18446744073709551615
    """

    __slots__ = ()
    max: int
    min: int
    _shown = ("min", "max")

    _made = {}

    def __new__(cls, type: Any) -> iinfo:  # noqa: A002
        try:
            made: iinfo | None = cls._made.get(type)
        except TypeError:
            made = None
        return cls._new(type) if made is None else made

    def _find(self, type: Any) -> None:  # noqa: A002
        name = _name_of("iinfo", type)
        if name == "bool":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        dtype = _DTYPES.get(name)
        if dtype is None or dtype._traits["kind"] != "int":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.{name}'")
        largest = 2 ** dtype._traits["digits"] - 1
        least = -largest - 1 if dtype.is_signed else 0
        self._set(_type=type, bits=8 * dtype.itemsize, max=largest, min=least, dtype=name)


finfo.__module__ = iinfo.__module__ = "strided"
