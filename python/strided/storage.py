"""The memory of tensors (``strided.storage``): bytes, and numbers of a dtype."""

from __future__ import annotations

import io
from typing import Any

from . import UntypedStorage
from ._storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """The storage whose file these bytes are: what tensors and storages are in files of the module ``pickle``."""
    from .serialization import load

    return load(io.BytesIO(b))
