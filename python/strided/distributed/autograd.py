"""Backward passes over several ranks by remote calls: there are none (``strided.distributed.autograd``)."""

from __future__ import annotations

from .._as_torch.core_names import absent

__all__ = ["context", "is_available"]

context = absent("context", __name__)


def is_available() -> bool:
    """False."""
    return False
