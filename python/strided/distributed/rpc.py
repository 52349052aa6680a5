"""Calls on other ranks: there are none, and ``is_available()`` says so (``strided.distributed.rpc``)."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False
