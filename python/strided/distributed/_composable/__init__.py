"""Wrappers that change modules in place (``strided.distributed._composable``)."""

from __future__ import annotations

from .fsdp import fully_shard
from .replicate import replicate

__all__ = ["fully_shard", "replicate"]
