"""Hooks for ``DistributedDataParallel.register_comm_hook`` (``strided.distributed.algorithms.ddp_comm_hooks``)."""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING

from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook

if TYPE_CHECKING:
    from ...._typing import Any

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _register(hook: Any, model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


class DDPCommHookType(enum.Enum):
    """Hooks by name."""

    ALLREDUCE = functools.partial(_register, default_hooks.allreduce_hook)
    FP16_COMPRESS = functools.partial(_register, default_hooks.fp16_compress_hook)
    BF16_COMPRESS = functools.partial(_register, default_hooks.bf16_compress_hook)
    POWER_SGD = functools.partial(_register, powerSGD_hook.powerSGD_hook)
    BATCHED_POWER_SGD = functools.partial(_register, powerSGD_hook.batched_powerSGD_hook)
    NOOP = functools.partial(_register, debugging_hooks.noop_hook)
    POST_LOCAL_SGD = functools.partial(_register, post_localSGD_hook.post_localSGD_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """``model.register_comm_hook(state, hook)`` with the hook of this name."""
    comm_hook_type.value(model=model, state=state)
