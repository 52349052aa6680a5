"""Batches in pinned memory, under PyTorch's name: libraries pin parts of their own batches with it."""

from __future__ import annotations

import collections.abc
import copy
from typing import TYPE_CHECKING

import strided

from .._collate import _rebuilt

if TYPE_CHECKING:
    from ...._typing import Any, Device

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Device | None = None) -> Any:
    """The same with its tensors in pinned memory, wherever they are in mappings and sequences.

    Objects with a method ``pin_memory`` give what it returns. Containers keep their types where that can be done; those
    that can be changed are copied first, and keep their attributes.

    Args:
        data: the batch.
        device: of which accelerator the memory is, as in PyTorch: there is one.

    Raises:
        RuntimeError: data has a tensor, and there is no CUDA device.

    >>> from strided.utils.data._utils.pin_memory import pin_memory
    >>> pin_memory({"name": "a", "sizes": (1, 2)})
    {'name': 'a', 'sizes': (1, 2)}
    """
    if isinstance(data, strided.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        parts = {key: pin_memory(value, device) for key, value in data.items()}
        return _refilled(data, parts) if isinstance(data, collections.abc.MutableMapping) else _rebuilt(data, parts)
    if isinstance(data, collections.abc.Sequence):
        items = [pin_memory(value, device) for value in data]
        if isinstance(data, collections.abc.MutableSequence):
            return _refilled(data, dict(enumerate(items)))
        return _rebuilt(data, items)
    return data


def _refilled(data: Any, parts: dict[Any, Any]) -> Any:
    made = copy.copy(data)
    for key, value in parts.items():
        made[key] = value
    return made


del annotations
