"""Apple's GPUs (``strided.mps``) are not supported; programs ask before they use them."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def empty_cache() -> None:
    """Nothing: there is no such memory."""


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of such a device."""
