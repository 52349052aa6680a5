"""Training on several machines (``strided.distributed``) is not supported; programs ask before they use it."""

from __future__ import annotations

__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False
