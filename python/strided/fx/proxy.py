"""``torch.fx.proxy``: see ``strided.fx``."""

from __future__ import annotations

from . import Proxy

__all__ = ["Proxy"]

del annotations
