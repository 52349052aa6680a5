"""Names of PyTorch's fully sharded training, of which there is none (``strided.distributed.fsdp``).

No module is one of these classes, so that libraries that ask ``isinstance(model, FullyShardedDataParallel)`` go on.
"""

from __future__ import annotations

from typing import Any

from ..._core_names import absent

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
    "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType",
    "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
    "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard",
]  # fmt: skip

BackwardPrefetch = absent("BackwardPrefetch", __name__)
CPUOffload = absent("CPUOffload", __name__)
CPUOffloadPolicy = absent("CPUOffloadPolicy", __name__)
FSDPModule = absent("FSDPModule", __name__)
FullOptimStateDictConfig = absent("FullOptimStateDictConfig", __name__)
FullStateDictConfig = absent("FullStateDictConfig", __name__)
FullyShardedDataParallel = absent("FullyShardedDataParallel", __name__)
LocalOptimStateDictConfig = absent("LocalOptimStateDictConfig", __name__)
LocalStateDictConfig = absent("LocalStateDictConfig", __name__)
MixedPrecision = absent("MixedPrecision", __name__)
MixedPrecisionPolicy = absent("MixedPrecisionPolicy", __name__)
OffloadPolicy = absent("OffloadPolicy", __name__)
OptimStateDictConfig = absent("OptimStateDictConfig", __name__)
OptimStateKeyType = absent("OptimStateKeyType", __name__)
ShardedOptimStateDictConfig = absent("ShardedOptimStateDictConfig", __name__)
ShardedStateDictConfig = absent("ShardedStateDictConfig", __name__)
ShardingStrategy = absent("ShardingStrategy", __name__)
StateDictConfig = absent("StateDictConfig", __name__)
StateDictSettings = absent("StateDictSettings", __name__)
StateDictType = absent("StateDictType", __name__)
UnshardHandle = absent("UnshardHandle", __name__)


def fully_shard(module: Any, **options: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("fully_shard: strided shards tensors (distribute_tensor), not the training of a module")
