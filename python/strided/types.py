"""The types that PyTorch's programs annotate with (``strided.types``)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from ._C import Size, Tensor
from ._C import device as _device
from ._C import dtype as _dtype

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
_int, _float, _bool, _complex, _size = int, float, bool, complex, Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_dtype = _dtype
_symint: TypeAlias = int


def __getattr__(name: str) -> Any:
    if name == "Storage":  # which needs the package whole
        from . import TypedStorage, UntypedStorage

        return UntypedStorage | TypedStorage
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
