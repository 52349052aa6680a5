"""The memory of tensors (``strided.storage``): bytes, and numbers of a dtype."""

from __future__ import annotations

import io
from typing import Any

from . import UntypedStorage
from ._objects.storage import TypedStorage, classes

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """The storage whose file these bytes are: what tensors and storages are in files of the module ``pickle``."""
    from .serialization import load

    return load(io.BytesIO(b))


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The name of the class of storages of each dtype: ``FloatStorage``."""
    return {kind.dtype: kind.__name__ for kind in classes()}


def _storage_type_to_dtype_map() -> dict[str, Any]:
    """The dtype of each class of storages, by its name."""
    return {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}
