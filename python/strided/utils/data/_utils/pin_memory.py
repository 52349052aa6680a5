"""Batches in pinned memory."""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ...._typing import Any

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """The same data with all tensors in it copied to pinned memory; what has a method pin_memory is asked for it."""
    if isinstance(data, strided.Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        made = {k: pin_memory(v, device) for k, v in data.items()}
        return made if type(data) is dict else type(data)(made)  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, (list, tuple)):  # a tuple becomes a list, as in PyTorch
        return [pin_memory(v, device) for v in data]
    return data
