"""What moves the bytes, under PyTorch's names: MPI, or connections by TCP ("gloo") between processes without it."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any

__all__ = [
    "Backend", "DebugLevel", "get_debug_level", "get_default_backend_for_device", "is_backend_available",
    "is_gloo_available", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available",
]  # fmt: skip

_ELSEWHERE = ("gloo", "nccl", "ucc", "xccl", "hccl")  # what programs name; MPI does their work here


class Backend(str):
    """The name of what moves the bytes, in lower case: ``"mpi"`` or ``"gloo"``."""

    UNDEFINED, MPI, GLOO, NCCL, UCC, XCCL = "undefined", "mpi", "gloo", "nccl", "ucc", "xccl"
    backend_list = ["undefined", "mpi", "gloo"]
    default_device_backend_map = {"cpu": "gloo", "cuda": "gloo"}  # between processes that no MPI has started

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def named_elsewhere(call: str, backend: Any) -> list[str]:
    """The names in a backend for which MPI is taken; ValueError if there is an unknown one."""
    parts = [] if backend is None else str(backend).lower().split(",")
    names = {part.rpartition(":")[2].strip() for part in parts} - {"mpi", "undefined"}
    for name in sorted(names.difference(_ELSEWHERE)):
        raise ValueError(f"{call}: there is no backend {name!r}; strided has 'mpi' and 'gloo'")
    return sorted(names)


def get_default_backend_for_device(device: Any) -> str:
    """``"mpi"`` for ranks that MPI has started, and simulated ones; else ``"gloo"``.

    ValueError for devices that no backend takes.
    """
    from .. import _C
    from ._comm import this_rank
    from ._mpi import started_by_mpi

    backend = Backend.default_device_backend_map.get(_C.device(device).type)
    if backend is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return "mpi" if this_rank.world is not None or started_by_mpi() else backend


def is_mpi_available() -> bool:
    """Whether mpi4py is installed, which programs of several processes need."""
    import importlib.util

    return importlib.util.find_spec("mpi4py") is not None


def is_backend_available(backend: str) -> bool:
    """Whether a backend is there: ``"gloo"``, and ``"mpi"`` where mpi4py is."""
    name = str(backend).lower()
    return name == "gloo" or name == "mpi" and is_mpi_available()


def is_nccl_available() -> bool:
    """False."""
    return False


def is_gloo_available() -> bool:
    """True: processes that MPI has not started connect by TCP."""
    return True


def is_ucc_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher of PyTorch's started this process: it sets TORCHELASTIC_RUN_ID."""
    return "TORCHELASTIC_RUN_ID" in os.environ


class DebugLevel(enum.Enum):
    """How much is checked and told. Calls are compared across ranks at every level here."""

    OFF = 0
    INFO = 1
    DETAIL = 2


def get_debug_level() -> DebugLevel:
    """TORCH_DISTRIBUTED_DEBUG of the environment; OFF without it."""
    return DebugLevel.__members__.get(os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper(), DebugLevel.OFF)


def is_xccl_available() -> bool:
    """False."""
    return False
