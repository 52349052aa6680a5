"""Memory of the devices.  All figures are bytes; ``device`` None is the current one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ._device import index_of

if TYPE_CHECKING:
    from .._typing import Device

_f = _C.functions


def memory_stats(device: Device | None = None) -> dict[str, int]:
    """What the allocator holds, under PyTorch's names."""
    s = _f["_cuda_memory_stats"](index_of(device))
    return {
        "allocated_bytes.all.current": s["allocated"], "allocated_bytes.all.peak": s["max_allocated"],
        "reserved_bytes.all.current": s["reserved"], "reserved_bytes.all.peak": s["max_reserved"],
        "num_alloc_retries": s["retries"],
    }  # fmt: skip


def memory_allocated(device: Device | None = None) -> int:
    """Bytes of all living tensors."""
    return _f["_cuda_memory_stats"](index_of(device))["allocated"] if _f["_cuda_count"]() else 0


def max_memory_allocated(device: Device | None = None) -> int:
    """The most bytes that living tensors took since the start, or since reset_peak_memory_stats."""
    return _f["_cuda_memory_stats"](index_of(device))["max_allocated"] if _f["_cuda_count"]() else 0


def memory_reserved(device: Device | None = None) -> int:
    """Bytes taken from the driver, those kept for later included."""
    return _f["_cuda_memory_stats"](index_of(device))["reserved"] if _f["_cuda_count"]() else 0


def max_memory_reserved(device: Device | None = None) -> int:
    """The most bytes taken from the driver."""
    return _f["_cuda_memory_stats"](index_of(device))["max_reserved"] if _f["_cuda_count"]() else 0


def reset_peak_memory_stats(device: Device | None = None) -> None:
    """The peaks start anew."""
    _f["_cuda_reset_peak"](index_of(device))


def reset_max_memory_allocated(device: Device | None = None) -> None:
    """reset_peak_memory_stats by its older name."""
    reset_peak_memory_stats(device)


def empty_cache() -> None:
    """Gives memory that no tensor uses back to the driver."""
    _f["_cuda_empty_cache"]()


def mem_get_info(device: Device | None = None) -> tuple[int, int]:
    """(free, total) bytes of a device, as the driver says."""
    return _f["_cuda_memory_info"](index_of(device))


def memory_cached(device: Device | None = None) -> int:
    """memory_reserved by its older name."""
    return memory_reserved(device)


def max_memory_cached(device: Device | None = None) -> int:
    """max_memory_reserved by its older name."""
    return max_memory_reserved(device)


def memory_summary(device: Device | None = None, abbreviated: bool = False) -> str:
    """What tensors take and what is taken from the driver, now and at most, in a text of a few lines."""
    rows = [
        ("Allocated memory", memory_allocated(device), max_memory_allocated(device)),
        ("Reserved memory", memory_reserved(device), max_memory_reserved(device)),
    ]
    lines = [f"{'Metric':<18}{'Current, bytes':>18}{'Peak, bytes':>18}"]
    return "\n".join(lines + [f"{name:<18}{now:>18}{most:>18}" for name, now, most in rows])


def ipc_collect() -> None:
    """Nothing: no memory of a device is shared with other processes."""
