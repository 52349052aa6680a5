"""``torch.fx.graph``: see ``strided.fx``."""

from __future__ import annotations

from . import Graph

__all__ = ["Graph"]

del annotations
