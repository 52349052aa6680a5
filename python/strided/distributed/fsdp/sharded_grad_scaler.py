"""Scaling of losses for networks with sharded parameters (``strided.distributed.fsdp.sharded_grad_scaler``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...amp.grad_scaler import GradScaler
from .._sharded import ShardedTensor

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["ShardedGradScaler"]


class _Plain:
    """An optimizer of the parts of sharded gradients, for the scaler's eyes."""

    def __init__(self, optimizer: Any) -> None:
        self.param_groups = [
            {"params": [_Part(p) for p in group["params"] if p.grad is not None]} for group in optimizer.param_groups
        ]


class _Part:
    def __init__(self, param: Any) -> None:
        self.grad = param.grad._local if isinstance(param.grad, ShardedTensor) else param.grad


class ShardedGradScaler(GradScaler):
    """A GradScaler of which all ranks leave the same steps out: where one of them has an infinite or NaN gradient.

    Args:
        device, init_scale, backoff_factor, growth_factor, growth_interval, enabled: as of GradScaler.
        process_group: the ranks; the default group if None, and all ranks before there is one.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(
            device,
            init_scale=init_scale,
            backoff_factor=backoff_factor,
            growth_factor=growth_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        self.process_group = process_group

    def _communicator(self) -> Any:
        from .. import world
        from .._groups import is_initialized, resolve

        if self.process_group is None and not is_initialized():
            return world()
        pg = resolve(self.process_group)
        if pg is None:
            raise ValueError("ShardedGradScaler: this rank is not in process_group")
        return pg.communicator

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool) -> Any:
        found = super()._unscale_grads_(_Plain(optimizer), inv_scale, found_inf, True)
        if not found:  # this rank has no part of a gradient, others may
            found[found_inf.device] = found_inf
        comm = self._communicator()
        for one in found.values():
            comm.all_reduce(one, "max")
        return found
