"""Operations that take functions; libraries import them from here."""

from __future__ import annotations

from .associative_scan import associative_scan

__all__ = ["associative_scan"]
