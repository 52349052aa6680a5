"""The memory of tensors (``strided.storage``): bytes, and numbers of a dtype."""

from __future__ import annotations

from . import UntypedStorage
from ._storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
