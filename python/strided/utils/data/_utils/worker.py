"""PyTorch's names for what a worker knows of itself."""

from __future__ import annotations

from .._worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
