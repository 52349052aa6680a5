"""PyTorch's names for how batches are made."""

from __future__ import annotations

from . import collate

__all__ = ["collate"]
