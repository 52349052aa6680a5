"""The names of ``strided.distributed.fsdp`` under PyTorch's other one."""

from __future__ import annotations

from . import (
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullStateDictConfig", "FullyShardedDataParallel", "MixedPrecision",
    "ShardingStrategy", "StateDictType",
]  # fmt: skip
