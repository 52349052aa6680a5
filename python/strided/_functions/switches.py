"""Where new tensors are made, and PyTorch's switches that have little to switch here."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

from .. import _C
from .._calls.once import warn_once
from ..autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .creation import _TypedMeta

if TYPE_CHECKING:
    from .._typing import Any, Device, DType

__all__ = [
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "compiled_with_cxx11_abi",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "get_default_device",
    "get_device_module", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "is_distributed", "is_vulkan_available",
    "is_warn_always_enabled", "set_anomaly_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
    "set_default_device", "set_default_tensor_type", "set_flush_denormal", "set_num_interop_threads",
    "set_warn_always",
]  # fmt: skip

_HERE = __package__.partition(".")[0]

_f = _C.functions

# ---------------------------------------------------------------- where new tensors are made


def set_default_device(device: Device | None) -> None:
    """Where this thread's factories (``zeros``, ``tensor``, ``arange``, ``rand``, ...) make tensors that they are given
    no device for; None is the CPU again. ``with device:`` goes before it.

    >>> torch.set_default_device("meta")
    >>> torch.ones(2, 3)
    tensor(..., device='meta', size=(2, 3))
    >>> torch.set_default_device(None)
    """
    _f["_set_default_device"](None if device is None else _C.device(device))


def get_default_device() -> _C.device:
    """That device, by ``with device:`` or set_default_device; else the CPU.

    >>> with torch.device("meta"):
    ...     torch.get_default_device()
    device(type='meta')
    """
    return _f["_default_device"]() or _C.device("cpu")


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype, and for CUDA's names the default device. Deprecated in PyTorch.

    Args:
        t: ``torch.DoubleTensor`` or its name, ``"torch.cuda.FloatTensor"``.

    Raises:
        TypeError: no such type, or none of floating-point numbers; CUDA's, and there is no device.
    """
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        stacklevel=2,
    )
    place, _, name = t.rpartition(".") if isinstance(t, str) else ("torch", "", getattr(t, "__name__", ""))
    dtype = next((d for d in _C.dtypes if name == f"{d._cpp_name}Tensor"), None)
    known = place.removeprefix("strided").removeprefix("torch") in ("", ".cuda")
    if dtype is None or not known or not (isinstance(t, (str, _TypedMeta))):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    device = "cuda" if place.endswith(".cuda") else None
    if device and not _f["_cuda_count"]():
        raise TypeError(f"type torch.cuda.{name} not available. {_f['_cuda_why_none']()}")
    _f["set_default_dtype"](dtype)
    set_default_device(device)


def get_device_module(device: Device | None = None) -> Any:
    """``torch.cpu`` or ``torch.cuda``: the module for a device; by default the accelerator's, if there is one.

    Raises:
        RuntimeError: the device has none.
    """
    from .. import cuda

    if device is None:
        device = "cuda" if cuda.is_available() else "cpu"
    kind = _C.device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return importlib.import_module(f"{_HERE}.{kind}")


# ---------------------------------------------------------------- switches


def set_flush_denormal(mode: bool) -> bool:
    """Tiny numbers are never made zero: True for False, and False (it cannot be had) for True."""
    return not mode


def set_num_interop_threads(num: int) -> None:
    """Independent operations run one after the other: any number above 0 is taken, with one warning unless it is 1."""
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if num != 1:
        warn_once("torch.set_num_interop_threads", "operations run one after the other; get_num_interop_threads() is 1")


def set_warn_always(b: bool) -> None:
    """Whether warnings that come once in a process come at each call; ``warnings.simplefilter`` chooses among them."""
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always(): argument must be bool, not {type(b).__name__}")
    _C.set_warn_always(b)


def is_warn_always_enabled() -> bool:
    """What was set."""
    return _C.warn_always()


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """``autograd.set_detect_anomaly``, without its context."""
    from .. import autograd

    autograd.set_detect_anomaly(mode, check_nan)


# ---------------------------------------------------------------- autocast


def _casts() -> Any:
    from ..amp._casts import state

    return state


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether operands on this device (by default: CUDA) are cast, see amp.autocast."""
    return _casts().enabled.get(_C.device(device_type or "cuda").type, False)


def _warn_of_old(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``."""
    _warn_of_old("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def is_autocast_cache_enabled() -> bool:
    """Whether autocast keeps casts of parameters."""
    return _casts().keeps


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Casts on this device (with one argument: CUDA) or not, in this thread from now on; amp.autocast does it for the
    time of a context.

    Raises:
        RuntimeError: nothing is cast on such a device.
    """
    from ..amp._casts import switch

    device, on = ("cuda", device_type) if enabled is None else (device_type, enabled)
    switch(_C.device(device).type, bool(on))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)``."""
    _warn_of_old("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether autocast keeps casts of parameters, in this thread from now on."""
    _casts().keeps = bool(enabled)


def autocast_increment_nesting() -> int:
    """Counts a context of autocast as entered, and gives how many are open: for what switches casts by itself."""
    from ..amp._casts import nest

    return nest(1)


def autocast_decrement_nesting() -> int:
    """Counts it as left. With the last one the casts of parameters go that were kept."""
    from ..amp._casts import nest

    return nest(-1)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """What this thread's autocast contexts cast to, if they name no dtype."""
    _casts().dtype[_C.device(device_type).type] = dtype


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """``set_autocast_dtype("cpu", dtype)``."""
    _warn_of_old("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """``set_autocast_dtype("cuda", dtype)``."""
    _warn_of_old("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def clear_autocast_cache() -> None:
    """Forgets the casts of parameters that autocast kept."""
    _casts().kept.clear()


def get_autocast_dtype(device_type: str) -> DType:
    """What autocast casts to: at first bfloat16 on the CPU, float16 on CUDA."""
    return _casts().dtype[_C.device(device_type).type]


def get_autocast_cpu_dtype() -> DType:
    """``get_autocast_dtype("cpu")``."""
    _warn_of_old("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> DType:
    """``get_autocast_dtype("cuda")``."""
    _warn_of_old("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


# ---------------------------------------------------------------- questions with one answer


def is_vulkan_available() -> bool:
    """False."""
    return False


def is_distributed(input: Any) -> bool:
    """False."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True."""
    return True


# ---------------------------------------------------------------- questions under older names

OLDER_QUESTIONS = {
    "has_cuda": "backends.cuda.is_built", "has_cudnn": "backends.cudnn.is_available",
    "has_mkldnn": "backends.mkldnn.is_available", "has_mps": "backends.mps.is_built",
}  # fmt: skip


def answer_of(name: str) -> bool:
    """What ``strided.has_cuda`` and its like are: the answer of the function that took their place, with a warning."""
    function = OLDER_QUESTIONS[name]
    warnings.warn(f"'{name}' is deprecated, please use 'torch.{function}()'", stacklevel=3)
    place, _, question = function.rpartition(".")
    return bool(getattr(importlib.import_module(f"{_HERE}.{place}"), question)())
