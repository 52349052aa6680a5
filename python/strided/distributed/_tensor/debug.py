"""The older name of ``strided.distributed.tensor.debug``."""

from __future__ import annotations

from ..tensor.debug import CommDebugMode, visualize_sharding

__all__ = ["CommDebugMode", "visualize_sharding"]
