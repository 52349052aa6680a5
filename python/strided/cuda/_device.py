"""Which devices there are, and which one is current."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, Callable, Device, Tensor

_f = _C.functions


def is_available() -> bool:
    """True if a CUDA device can be used."""
    return _f["_cuda_count"]() > 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True if there is a CUDA device; if not ``including_emulation``, one that multiplies bfloat16 (8.0 or newer)."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """True if there is a CUDA device that multiplies in tf32 (8.0 or newer)."""
    return is_bf16_supported(including_emulation=False)


def is_initialized() -> bool:
    """True if a CUDA device was used in this process."""
    return _f["_cuda_is_open"]()


def device_count() -> int:
    """Number of CUDA devices that can be used."""
    return _f["_cuda_count"]()


def index_of(device: Device | None) -> int:
    """The number of a device given as None (the current one), int, string or device; -1 for the current one."""
    if device is None:
        return -1
    if not isinstance(device, _C.device):
        device = _C.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return -1 if device.index is None else device.index


def current_device() -> int:
    """Index of the current device of this thread."""
    return _f["_cuda_current"]()


def set_device(device: Device) -> None:
    """Makes a device the current one of this thread."""
    index = index_of(device)
    if index >= 0:
        _f["_cuda_set_device"](index)


def synchronize(device: Device | None = None) -> None:
    """Waits for all work on a device.  IndexError if a kernel met an index out of range since the last time."""
    _f["_cuda_synchronize"](index_of(device))


class _DeviceProperties(NamedTuple):
    """What the driver says of a device; memory in bytes."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    warp_size: int
    total_memory: int
    L2_cache_size: int


def get_device_properties(device: Device | None = None) -> _DeviceProperties:
    """Name, compute capability, memory and sizes of a device."""
    return _DeviceProperties(**_f["_cuda_properties"](index_of(device)))


def get_device_name(device: Device | None = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: Device | None = None) -> tuple[int, int]:
    """The compute capability of a device: (major, minor)."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


class device:
    """Context in which a CUDA device is the current one.  A negative index changes nothing.

    >>> callable(strided.cuda.device)
    True
    """

    def __init__(self, device: Device | None) -> None:
        self.idx = device if isinstance(device, int) and device < 0 else index_of(device)

    def __enter__(self) -> None:
        self._before = current_device()
        if self.idx >= 0:
            _f["_cuda_set_device"](self.idx)
        return self

    def __exit__(self, *exc: object) -> None:
        _f["_cuda_set_device"](self._before)
        return False


class device_of(device):
    """Context in which the device of a tensor is the current one; nothing for a tensor of the CPU."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)

    def __enter__(self) -> None:
        return super().__enter__() if self.idx >= 0 else self

    def __exit__(self, *exc: object) -> None:
        return super().__exit__(*exc) if self.idx >= 0 else False


def init() -> None:
    """Opens the devices, which the first use does by itself.  RuntimeError where there is none."""
    current_device()


_lazy_init = init  # the name that libraries call


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Calls the function where there is a device; without one it would wait for ever."""
    if is_available():
        callable()


def is_current_stream_capturing() -> bool:
    """True while this thread captures a CUDA graph on the current device."""
    return is_initialized() and _f["_cuda_is_capturing"](-1)
