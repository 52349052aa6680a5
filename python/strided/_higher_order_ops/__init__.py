"""Operations that take functions; libraries import them from here."""

from __future__ import annotations

from .associative_scan import associative_scan
from .cond import cond
from .map import map  # noqa: A004
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
