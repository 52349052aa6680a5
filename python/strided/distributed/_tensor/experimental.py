"""The older name of ``strided.distributed.tensor.experimental``."""

from __future__ import annotations

from ..tensor.experimental import implicit_replication

__all__ = ["implicit_replication"]
