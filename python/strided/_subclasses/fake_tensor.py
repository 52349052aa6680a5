"""Tensors without data.  Those of device ``meta`` are ordinary tensors, and none is of these types."""

from __future__ import annotations

from typing import Any

from .._as_torch.core_names import absent

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]

FakeTensor = absent("FakeTensor", __name__)
FakeTensorMode = absent("FakeTensorMode", __name__)


def is_fake(x: Any) -> bool:
    """False."""
    return False
