"""Networks on several ranks (``strided.nn.parallel``)."""

from __future__ import annotations

from .distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel"]

del annotations
