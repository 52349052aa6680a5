"""``torch.fx.interpreter``: see ``strided.fx``."""

from __future__ import annotations

from . import Interpreter, Transformer

__all__ = ["Interpreter", "Transformer"]

del annotations
