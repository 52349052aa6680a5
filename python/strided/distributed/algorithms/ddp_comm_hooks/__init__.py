"""Hooks for ``DistributedDataParallel.register_comm_hook`` (``strided.distributed.algorithms.ddp_comm_hooks``)."""

from __future__ import annotations

from . import default_hooks

__all__ = ["default_hooks"]

del annotations
