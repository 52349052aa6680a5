"""The processes and devices of a program, by the names of ``torch_xla.runtime``.

>>> import strided_xla.runtime as xr
>>> xr.world_size(), xr.global_ordinal()
(1, 0)
"""

from __future__ import annotations

from strided._C import functions as _functions

import strided_xla as _xla

__all__ = [
    "addressable_device_count",
    "device_type",
    "global_device_count",
    "global_ordinal",
    "local_ordinal",
    "local_process_count",
    "process_count",
    "process_index",
    "use_spmd",
    "world_size",
]


def device_type() -> str | None:
    """What the devices are: ``"CPU"``, ``"TPU"``, ``"CUDA"``; None where there is none."""
    return _functions["_xla_platform"]().upper() if _xla.device_count() else None


def addressable_device_count() -> int:
    """Number of devices that this process can use."""
    return _xla.device_count()


def global_device_count() -> int:
    """Number of devices of all processes: of this one, there is no other."""
    return _xla.device_count()


def world_size() -> int:
    """Number of processes that work together: 1."""
    return 1


def process_count() -> int:
    """Number of processes of the program: 1."""
    return 1


def local_process_count() -> int:
    """Number of processes of the program on this machine: 1."""
    return 1


def global_ordinal() -> int:
    """The number of this process: 0."""
    return 0


def local_ordinal() -> int:
    """The number of this process on this machine: 0."""
    return 0


def process_index() -> int:
    """The number of this process: 0."""
    return 0


def use_spmd(auto: bool = False) -> None:
    """Raises NotImplementedError: tensors are not sharded over the devices of a mesh."""
    raise NotImplementedError("strided_xla: tensors are not sharded over the devices of a mesh")
