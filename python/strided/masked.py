"""Names of masked tensors, which are tensors that carry a mask (``strided.masked``).  There are none here."""

from __future__ import annotations

from typing import Any

from ._core_names import absent

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

MaskedTensor = absent("MaskedTensor", __name__)


def is_masked_tensor(obj: Any, /) -> bool:
    """False."""
    return False


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("masked_tensor: strided's tensors carry no masks")


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("as_masked_tensor: strided's tensors carry no masks")


del annotations
