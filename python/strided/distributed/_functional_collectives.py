"""PyTorch's calls between ranks that give new tensors (``strided.distributed._functional_collectives``).

A call has ended when it returns, so that waiting is nothing.
"""

from __future__ import annotations

from typing import Any

from .. import empty
from . import _collectives as calls
from ._groups import get_world_size

__all__ = ["all_gather_tensor", "all_reduce", "all_to_all_single_autograd", "wait_tensor"]


def wait_tensor(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


def all_reduce(self: Any, reduceOp: str, group: Any = None, tag: str = "") -> Any:
    """The sum ("sum"), or "avg", "min", "max", "product", over the ranks of a group, in a new tensor."""
    made = self.clone()
    calls.all_reduce(made, getattr(calls.ReduceOp, reduceOp.upper()), group)
    return made


def all_gather_tensor(self: Any, gather_dim: int, group: Any = None, tag: str = "") -> Any:
    """The tensors of all ranks, one after the other along an axis."""
    from .. import cat

    parts = [empty(self.shape, dtype=self.dtype, device=self.device) for _ in range(get_world_size(group))]
    calls.all_gather(parts, self.contiguous(), group)
    return cat(parts, gather_dim)


def all_to_all_single_autograd(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError(
        "all_to_all_single_autograd: strided has distributed.all_to_all_single, without gradients"
    )
