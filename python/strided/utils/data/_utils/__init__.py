"""PyTorch's names for how batches are made."""

from __future__ import annotations

from . import collate, fetch, pin_memory, worker

__all__ = ["collate", "fetch", "pin_memory", "worker"]

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds; what libraries' own loops wait for
