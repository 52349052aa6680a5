"""Tensors that are sharded over the devices of a mesh, by the names of ``torch_xla.distributed.spmd``.

>>> import strided_xla.distributed.spmd as xs
>>> xs.Mesh([0, 1, 2, 3], (2, 2), ("data", "model")).shape()
{'data': 2, 'model': 2}

One process has all devices of the mesh. A tensor that is marked stays a tensor of ``xla:0``; programs that read or
write it run on all devices of the mesh, and XLA divides their operations. Results that nobody marked are the same on
each.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from strided._C import functions as _functions
from strided.distributed import _xla_mesh

import strided_xla as _xla

__all__ = [
    "Mesh",
    "ShardingSpec",
    "XLAShard",
    "XLAShardedTensor",
    "clear_sharding",
    "get_1d_mesh",
    "get_global_mesh",
    "mark_sharding",
    "set_global_mesh",
]

PartitionSpec = Sequence[Any]


class Mesh:
    """Devices in an n-dimensional grid.

    Args:
        device_ids: numbers of devices, 0 to n - 1 in any order, in row-major order of the grid.
        mesh_shape: sizes of its axes.
        axis_names: names of the axes; None: they have numbers only.
    """

    def __init__(self, device_ids: Any, mesh_shape: tuple[int, ...], axis_names: tuple[str, ...] | None = None) -> None:
        self.device_ids = [int(i) for i in device_ids]
        self.mesh_shape = tuple(int(n) for n in mesh_shape)
        self.axis_names = None if axis_names is None else tuple(axis_names)
        if math.prod(self.mesh_shape) != len(self.device_ids):
            raise ValueError(f"Mesh: {len(self.device_ids)} devices do not fill a mesh of shape {self.mesh_shape}")
        if sorted(self.device_ids) != list(range(len(self.device_ids))):
            raise ValueError(f"Mesh: devices are 0 to {len(self.device_ids) - 1} in any order, got {self.device_ids}")
        if self.axis_names is not None and (
            len(self.axis_names) != len(self.mesh_shape) or len(set(self.axis_names)) < len(self.axis_names)
        ):
            raise ValueError(f"Mesh: {len(self.mesh_shape)} different names of axes, got {self.axis_names}")

    def size(self) -> int:
        """Number of devices."""
        return len(self.device_ids)

    def shape(self) -> dict[Any, int]:
        """The size of each axis, by its name (its number where it has none)."""
        names = self.axis_names or tuple(range(len(self.mesh_shape)))
        return dict(zip(names, self.mesh_shape, strict=True))

    def axis(self, name: int | str) -> int:
        """The number of an axis; ValueError where there is none."""
        if isinstance(name, str):
            if self.axis_names is None or name not in self.axis_names:
                raise ValueError(f"Mesh: no axis {name!r}, there are {self.axis_names}")
            return self.axis_names.index(name)
        if not 0 <= name < len(self.mesh_shape):
            raise ValueError(f"Mesh: no axis {name} of {len(self.mesh_shape)}")
        return name


_global_mesh: Mesh | None = None


def set_global_mesh(mesh: Mesh) -> None:
    """The mesh that get_global_mesh() gives."""
    global _global_mesh
    _global_mesh = mesh


def get_global_mesh() -> Mesh | None:
    """What set_global_mesh() was given; None before."""
    return _global_mesh


def get_1d_mesh(axis_name: str | None = None) -> Mesh:
    """All devices in a row."""
    n = _xla.device_count()
    return Mesh(range(n), (n,), None if axis_name is None else (axis_name,))


def mark_sharding(t: Any, mesh: Mesh, partition_spec: PartitionSpec) -> Any:
    """Shards a tensor over a mesh, and returns it.

    Writes in place keep the sharding.

    Args:
        t: on ``xla:0``; all of its storage, contiguous.
        partition_spec: for each axis of the tensor an axis of the mesh (its number or name) that cuts it, several of
            them, the first the outermost, or None. Sizes divide evenly, else ValueError.
    """
    t = getattr(t, "global_tensor", t)
    axes_of = [
        [] if entry is None else [mesh.axis(a) for a in (entry if isinstance(entry, (tuple, list)) else (entry,))]
        for entry in partition_spec
    ]
    _xla_mesh.shard(t, mesh.device_ids, mesh.mesh_shape, axes_of)
    return t


def clear_sharding(t: Any) -> Any:
    """The tensor is sharded no longer."""
    t = getattr(t, "global_tensor", t)
    _functions["_xla_shard"](t, "", 0)
    return t


@dataclasses.dataclass
class ShardingSpec:
    """A mesh and how its axes cut a tensor."""

    mesh: Mesh
    partition_spec: PartitionSpec

    def apply(self, t: Any) -> None:
        """Shards the tensor."""
        mark_sharding(t, self.mesh, self.partition_spec)


@dataclasses.dataclass
class XLAShard:
    """What one device has: a tensor of the CPU."""

    data: Any
    shard_device: str


class XLAShardedTensor:
    """A sharded tensor, to be asked for its shards."""

    def __init__(self, elem: Any) -> None:
        self.global_tensor = elem

    @property
    def sharding_spec(self) -> str:
        """The sharding in XLA's words; empty where there is none."""
        return _functions["_xla_sharding"](self.global_tensor)

    @property
    def local_shards(self) -> list[XLAShard]:
        """The shards of all devices, in order of the devices' numbers; runs what is recorded."""
        n = _count(self.sharding_spec)
        return [XLAShard(_xla_mesh.local_shard(self.global_tensor, i), f"XLA:{i}") for i in range(n)]


def _count(text: str) -> int:
    if not text:
        raise ValueError("XLAShardedTensor: the tensor is not sharded")
    return text.count(",", text.index("]")) + 1
