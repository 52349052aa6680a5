"""The device besides the CPU, if there is one (``strided.accelerator``): CUDA's."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _C, cuda

if TYPE_CHECKING:
    from ._typing import Device

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one.

    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> Any:
    """``device('cuda')``, or None where this installation has no CUDA (with check_available: no device)."""
    from .backends.cuda import is_built

    there = cuda.is_available() if check_available else is_built()
    return _C.device("cuda") if there else None


def device_count() -> int:
    """How many there are; 0 without CUDA."""
    return cuda.device_count()


def current_device_index() -> int:
    """The number of the current one. RuntimeError where there is none, as for all that follow."""
    return cuda.current_device()


def set_device_index(device: Device) -> None:
    """Makes one the current one."""
    cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """Context: device number `device` is the current one; None changes nothing."""

    def __init__(self, device: int | None) -> None:
        self._device, self._before = device, -1

    def __enter__(self) -> None:
        if self._device is not None:
            self._before = current_device_index()
            set_device_index(self._device)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._device is not None:
            set_device_index(self._before)


def current_stream(device: Device | None = None) -> Any:
    """The current stream of a device."""
    return cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Makes a stream the current one of its device."""
    cuda.set_stream(stream)


def synchronize(device: Device | None = None) -> None:
    """Waits until a device has done what was queued; without any accelerator nothing is."""
    if cuda.is_available():
        cuda.synchronize(device)


def get_device_capability(device: Device | None = None, /) -> dict[str, Any]:
    """What a device can do: ``{"supported_dtypes": ...}``, the dtypes whose tensors it takes."""
    cuda.get_device_properties(device)  # raises where there is none
    return {"supported_dtypes": set(_C.dtypes)}


def get_memory_info(device_index: Device | None = None, /) -> tuple[int, int]:
    """(free, all) bytes of a device."""
    return cuda.mem_get_info(device_index)


def empty_cache() -> None:
    """Gives memory that is kept for later tensors back to the device."""
    if cuda.is_available():
        cuda.empty_cache()


def memory_stats(device_index: Device | None = None) -> dict[str, Any]:
    """What the allocator of a device holds."""
    return cuda.memory_stats(device_index)


def memory_allocated(device_index: Device | None = None) -> int:
    """Bytes in tensors."""
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: Device | None = None) -> int:
    """The most that :func:`memory_allocated` was."""
    return cuda.max_memory_allocated(device_index)


def memory_reserved(device_index: Device | None = None) -> int:
    """Bytes in tensors and kept for later ones."""
    return cuda.memory_reserved(device_index)


def max_memory_reserved(device_index: Device | None = None) -> int:
    """The most that :func:`memory_reserved` was."""
    return cuda.max_memory_reserved(device_index)


def reset_peak_memory_stats(device_index: Device | None = None) -> None:
    """The most begins anew with what is there now."""
    cuda.reset_peak_memory_stats(device_index)
