"""Planners under PyTorch's other name (``strided.distributed.checkpoint.default_planner``)."""

from __future__ import annotations

from ._storage import DefaultLoadPlanner, DefaultSavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]
