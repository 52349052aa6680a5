"""Hooks for ``DistributedDataParallel.register_comm_hook`` (``strided.distributed.algorithms.ddp_comm_hooks``)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook

if TYPE_CHECKING:
    from ...._typing import Any

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class _Registers:
    """Registers a hook. (A functools.partial is a method in the body of a class from Python 3.14 on, and no value.)"""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, model: Any, state: Any) -> None:
        model.register_comm_hook(state, self.hook)


class DDPCommHookType(enum.Enum):
    """Hooks by name."""

    ALLREDUCE = _Registers(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Registers(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Registers(default_hooks.bf16_compress_hook)
    POWER_SGD = _Registers(powerSGD_hook.powerSGD_hook)
    BATCHED_POWER_SGD = _Registers(powerSGD_hook.batched_powerSGD_hook)
    NOOP = _Registers(debugging_hooks.noop_hook)
    POST_LOCAL_SGD = _Registers(post_localSGD_hook.post_localSGD_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """``model.register_comm_hook(state, hook)`` with the hook of this name."""
    comm_hook_type.value(model=model, state=state)
