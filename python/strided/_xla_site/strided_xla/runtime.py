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
    "global_runtime_device_count",
    "is_spmd",
    "local_ordinal",
    "local_process_count",
    "process_count",
    "process_index",
    "use_spmd",
    "world_size",
]

_spmd = False


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
    """From now on is_spmd() is true. Tensors are sharded by ``distributed.spmd.mark_sharding``, also without this.

    Args:
        auto: NotImplementedError for True: shardings are not found, they are given.
    """
    global _spmd
    if auto:
        raise NotImplementedError("strided_xla: use_spmd(auto=True): shardings are not found, mark_sharding gives them")
    _spmd = True


def is_spmd() -> bool:
    """Whether use_spmd() was called."""
    return _spmd


def global_runtime_device_count() -> int:
    """Number of devices that a mesh can have."""
    return _xla.device_count()
