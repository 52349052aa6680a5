"""What a rank without more batches does while others train (``DistributedDataParallel.join``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...distributed.algorithms.join import Join, JoinHook

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel


def _greatest(net: DistributedDataParallel, number: int) -> int:
    held = _C.functions["full"]((1,), number, dtype=_C.int64)
    net._comm.all_reduce(held, "max")
    return int(held.item())


def _begin(net: DistributedDataParallel, has_batch: bool) -> bool:
    """The calls at the begin of a step, the same on all ranks: whether its gradients are averaged."""
    averages = _C.functions["is_grad_enabled"]() and net.require_backward_grad_sync
    syncs = _greatest(net, 2 * net.require_forward_param_sync + averages if has_batch else 0)
    if not net.reducer.divides_by_all:
        held = _C.functions["full"]((1,), int(has_batch), dtype=_C.int64)
        net._comm.all_reduce(held)
        net.reducer.divisor = int(held.item())
    if syncs & 2 and net.broadcast_buffers and any(True for _ in net.module.buffers()):
        net._from_first(list(net.module.buffers()), _greatest(net, net._comm.rank if has_batch else -1))
    return bool(syncs & 1)


def tell(net: DistributedDataParallel) -> None:
    """A forward of a rank that has a batch begins."""
    Join.notify_join_context(net)
    _begin(net, True)


class Shadow(JoinHook):
    """The calls of a step, without a batch."""

    def __init__(self, net: DistributedDataParallel) -> None:
        self._net = net

    def main_hook(self) -> None:
        net = self._net
        if _begin(net, False):
            net.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        net = self._net
        net.reducer.divisor, net.reducer.divides_by_all = None, True
        root = _greatest(net, net._comm.rank if is_last_joiner else -1)
        net._from_first([p.detach() for p in net.module.parameters()] + list(net.module.buffers()), root)
