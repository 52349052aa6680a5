"""Handles of hooks (``strided.utils.hooks``)."""

from __future__ import annotations

from .._C import RemovableHandle

__all__ = ["RemovableHandle"]
