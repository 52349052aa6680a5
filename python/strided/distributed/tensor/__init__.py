"""PyTorch's names for tensors that are spread over a mesh (``strided.distributed.tensor``).

>>> from strided.distributed.tensor import DTensor
>>> DTensor is strided.distributed.ShardedTensor
True
"""

from __future__ import annotations

from .._factories import distribute_tensor, empty, full, ones, rand, randn, zeros
from .._modules import distribute_module
from .._move import implicit_replication
from .._sharded import ShardedTensor
from ..device_mesh import DeviceMesh, init_device_mesh
from ..placement import BlockCyclic, Partial, Placement, Replicate, Shard

DTensor = ShardedTensor

__all__ = [
    "BlockCyclic", "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "ShardedTensor",
    "distribute_module", "distribute_tensor",
    "empty", "full", "implicit_replication", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip
