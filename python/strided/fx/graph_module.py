"""``torch.fx.graph_module``: see ``strided.fx``."""

from __future__ import annotations

from . import GraphModule

__all__ = ["GraphModule"]

del annotations
