"""What an object has besides its values: attributes and slots."""

from __future__ import annotations

import copyreg
from typing import Any

__all__ = ["slot_names", "slots_of", "state_of"]


def slot_names(kind: type) -> list[str]:
    """The slots of a class and of those that it is derived from."""
    return copyreg._slotnames(kind)  # type: ignore[attr-defined]


def slots_of(obj: Any) -> dict[str, Any]:
    """The slots that hold something, of classes of the user's own."""
    return {name: getattr(obj, name) for name in slot_names(type(obj)) if hasattr(obj, name)}


def state_of(obj: Any) -> Any:
    """What a pickle of PyTorch's keeps of a tensor of a user's class beside its values: its attributes, both they and
    its slots, or what its ``__getstate__`` says."""
    own = getattr(type(obj), "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return obj.__getstate__()
    attributes = {name: value for name, value in obj.__dict__.items() if not name.startswith("_strided_")}
    slots = slots_of(obj)
    return (attributes, slots) if slots else attributes
