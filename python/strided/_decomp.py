"""Tables of what operations are made of: there are none (``strided._decomp``)."""

from __future__ import annotations

from .export import default_decompositions

__all__ = ["core_aten_decompositions"]


def core_aten_decompositions() -> dict:
    """NotImplementedError: would give what operations of exported programs are made of."""
    return default_decompositions()
