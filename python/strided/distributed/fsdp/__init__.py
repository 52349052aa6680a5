"""Fully sharded training (``strided.distributed.fsdp``): ``fully_shard``, and PyTorch's names for the older wrapper.

No module is a FullyShardedDataParallel, so that libraries that ask ``isinstance(model, FullyShardedDataParallel)``
go on.
"""

from __future__ import annotations

from ..._seat.core_names import absent
from ._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
    "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType",
    "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
    "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip

BackwardPrefetch = absent("BackwardPrefetch", __name__)
CPUOffload = absent("CPUOffload", __name__)
FullOptimStateDictConfig = absent("FullOptimStateDictConfig", __name__)
FullStateDictConfig = absent("FullStateDictConfig", __name__)
FullyShardedDataParallel = absent("FullyShardedDataParallel", __name__)
LocalOptimStateDictConfig = absent("LocalOptimStateDictConfig", __name__)
LocalStateDictConfig = absent("LocalStateDictConfig", __name__)
MixedPrecision = absent("MixedPrecision", __name__)
OptimStateDictConfig = absent("OptimStateDictConfig", __name__)
OptimStateKeyType = absent("OptimStateKeyType", __name__)
ShardedOptimStateDictConfig = absent("ShardedOptimStateDictConfig", __name__)
ShardedStateDictConfig = absent("ShardedStateDictConfig", __name__)
ShardingStrategy = absent("ShardingStrategy", __name__)
StateDictConfig = absent("StateDictConfig", __name__)
StateDictSettings = absent("StateDictSettings", __name__)
StateDictType = absent("StateDictType", __name__)
