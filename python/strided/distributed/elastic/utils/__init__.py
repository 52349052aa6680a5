"""What programs of a launcher use (``strided.distributed.elastic.utils``)."""

from __future__ import annotations

from . import data, distributed

__all__ = ["data", "distributed"]

del annotations
