"""Meta's accelerators (``strided.mtia``) are not supported; programs ask before they use them."""

from __future__ import annotations

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0
