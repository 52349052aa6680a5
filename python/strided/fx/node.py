"""``torch.fx.node``: see ``strided.fx``."""

from __future__ import annotations

from . import Node

__all__ = ["Node"]

del annotations
