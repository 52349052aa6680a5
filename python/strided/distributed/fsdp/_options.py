"""What ``FullyShardedDataParallel`` is told: strategies, dtypes, and what state dicts have in them."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING

from ...nn.modules.batchnorm import _BatchNorm

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType",
    "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
    "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(enum.Enum):
    """What each rank keeps.

    FULL_SHARD keeps parts of the parameters, and gathers them for forward and for backward; SHARD_GRAD_OP keeps the
    whole ones from forward to backward; NO_SHARD has them whole always.  With HYBRID_SHARD and _HYBRID_SHARD_ZERO2
    ranks of one machine share, as in the first two, and machines have the same.
    """

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """Accepted, without effect: backward gathers parameters when it needs them."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


@dataclasses.dataclass
class MixedPrecision:
    """Dtypes of a wrapped module, whose parameters keep their own.

    Args:
        param_dtype: parameters are gathered, and the module computes, in it; None: their own.
        reduce_dtype: gradients are averaged in it; None: that of the computation.
        buffer_dtype: buffers are cast to it; None: their own.
        keep_low_precision_grads: False: gradients have the dtype of their parameters.
        cast_forward_inputs: floating inputs are cast to param_dtype.
        cast_root_forward_inputs: those of the outermost wrapper are.
        _module_classes_to_ignore: modules that compute in float32, where a policy wraps.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: tuple[type, ...] = (_BatchNorm,)


@dataclasses.dataclass
class CPUOffload:
    """Whether shards wait in the memory of the CPU.  With a module of the CPU they are there."""

    offload_params: bool = False


class StateDictType(enum.Enum):
    """What tensors of a state dict are: whole ones, this rank's parts, or sharded tensors."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclasses.dataclass
class StateDictConfig:
    """offload_to_cpu: tensors of state dicts are copied to the CPU."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """rank0_only: the first rank gets whole tensors, others an empty dict."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of dicts with this rank's parts."""


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of dicts with sharded tensors.  They are DTensors always."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """offload_to_cpu: tensors of state dicts are copied to the CPU."""

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """rank0_only: the first rank gets whole tensors, others an empty dict."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of dicts with this rank's parts."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of dicts with sharded tensors.  They are DTensors always."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """What the state dicts of a wrapped module, and of its optimizer, have in them."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


class OptimStateKeyType(enum.Enum):
    """Whether an optimizer's state dict has the names of parameters, or their numbers."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


CONFIGS: dict[StateDictType, tuple[type, type]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
