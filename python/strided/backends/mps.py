"""Apple's GPUs are not supported; programs ask before they use them."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False
