"""Calls between ranks that gradients go through (``strided.distributed.nn``)."""

from __future__ import annotations

from ..._as_torch.core_names import absent
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__all__ = [
    "RemoteModule", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip

RemoteModule = absent("RemoteModule", __name__)  # a module on another rank: needs rpc

del absent, annotations
