"""Tensors of modules that all ranks have alike (``strided.distributed.utils``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ..autograd import no_grad

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .._typing import Any, Tensor
    from ..nn import Module

__all__ = ["fill_from", "views"]

_TOGETHER = 25 << 20  # bytes of parameters or buffers that one broadcast takes


def views(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Parts of a flat tensor in the shapes of others."""
    return [part.view(p.shape) for part, p in zip(flat.split([p.numel() for p in like]), like)]


@no_grad()
def fill_from(comm: Any, tensors: Sequence[Tensor], root: int = 0, together: int = _TOGETHER) -> None:
    """Fills tensors with those of a rank, many in one call of about ``together`` bytes."""
    by_kind: dict[Any, list[Tensor]] = {}
    for t in tensors:
        by_kind.setdefault((t.dtype, t.device), []).append(t)
    for kind in by_kind.values():
        while kind:
            some, size = [], 0
            while kind and (not some or size < together):
                some.append(kind.pop(0))
                size += some[-1].numel() * some[-1].dtype.itemsize
            flat = _C.functions["cat"]([t.reshape(-1) for t in some])
            comm.broadcast(flat, root)
            for t, found in zip(some, views(flat, some)):
                t.copy_(found)


def _sync_module_states(
    module: Module, process_group: Any, broadcast_bucket_size: int, src: int,
    params_and_buffers_to_ignore: Container[str], broadcast_buffers: bool = True,
) -> None:  # fmt: skip
    """Fills the parameters of a module, and its buffers, with those of rank ``src`` of the group."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    tensors = [t.detach() for name, t in named if name not in params_and_buffers_to_ignore]
    fill_from(process_group.communicator, tensors, src, broadcast_bucket_size)
