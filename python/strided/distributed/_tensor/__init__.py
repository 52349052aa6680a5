"""The older name of ``strided.distributed.tensor``."""

from __future__ import annotations

from ..tensor import DeviceMesh, DTensor, Partial, Placement, Replicate, Shard, distribute_tensor, init_device_mesh

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor", "init_device_mesh",
]  # fmt: skip
