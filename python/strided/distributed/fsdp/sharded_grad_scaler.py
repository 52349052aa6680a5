"""The name of PyTorch's scaler for fully sharded training, of which there is none."""

from __future__ import annotations

from ..._seat.core_names import absent

__all__ = ["ShardedGradScaler"]

ShardedGradScaler = absent("ShardedGradScaler", __name__)
