"""The types in annotations and stubs.  Nothing here is needed when the package runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias, TypeVar

from numpy import ndarray

from ._C import Generator, Size, Tensor, UntypedStorage, device, dtype

F = TypeVar("F", bound=Callable[..., Any])

Number: TypeAlias = int | float | complex
TensorOrNumber: TypeAlias = Tensor | Number
Sizes: TypeAlias = int | Sequence[int]
Tensors: TypeAlias = Tensor | Sequence[Tensor]
# dtypes may be given as Python's types, devices as names or numbers.
DType: TypeAlias = dtype | type[bool] | type[int] | type[float] | type[complex]
Device: TypeAlias = device | str | int
Index: TypeAlias = None | SupportsIndex | slice | EllipsisType | Tensor | Sequence[Any] | ndarray[Any, Any]

__all__ = [
    "Any", "Callable", "DType", "Device", "F", "Generator", "Index", "Iterable", "Iterator", "Mapping", "Number",
    "Sequence", "Size", "Sizes", "Tensor", "TensorOrNumber", "Tensors", "UntypedStorage", "device", "dtype",
]  # fmt: skip
