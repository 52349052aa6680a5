"""Which library orders the products of einsum: strided does it itself, with two operands at a time."""

from __future__ import annotations

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = False
strategy = None


def is_available() -> bool:
    """False: opt_einsum is not used."""
    return False


def get_opt_einsum() -> None:
    """None."""
    return None
