"""CUDA devices: which there are, their streams, events and memory.

The library with the kernels is opened when a device is first asked for; without it, or without a device,
``is_available()`` is False and everything that needs a device raises one clear RuntimeError.
"""

from __future__ import annotations

from typing import Any as _Any

from .._as_torch.places import modules_of
from .._functions.creation import typed
from .._objects.layouts import OutOfMemoryError
from . import _nvidia as _nvidia
from . import amp
from ._device import (
    _lazy_call as _lazy_call,
)
from ._device import (
    _lazy_init as _lazy_init,
)
from ._device import (
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_current_stream_capturing,
    is_initialized,
    is_tf32_supported,
    set_device,
    synchronize,
)
from ._elementwise_kernel import ElementwiseKernel
from ._graphs import CUDAGraph, graph, graph_pool_handle
from ._memory import (
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
)
from ._random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from ._streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

globals().update(
    {n: t for n, t in typed("cuda").items() if n.removesuffix("Tensor") in
     ("Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")}
)  # fmt: skip

__all__ = [
    "CUDAGraph", "StreamContext",
    "ElementwiseKernel", "Event", "Stream", "amp", "current_device", "current_stream", "default_stream", "device",
    "device_count",
    "device_of", "empty_cache", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
    "get_rng_state_all", "graph", "graph_pool_handle", "init", "initial_seed", "ipc_collect", "is_available",
    "is_bf16_supported", "is_tf32_supported",
    "is_current_stream_capturing",
    "is_initialized", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_cached", "memory_reserved",
    "memory_stats", "memory_summary", "max_memory_cached", "OutOfMemoryError",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "set_stream",
    "stream",
    "synchronize",
]  # fmt: skip

_module = modules_of("cuda")


def __getattr__(name: str) -> _Any:
    return is_initialized() if name == "_initialized" else _module(name)
