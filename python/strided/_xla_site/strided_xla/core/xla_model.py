"""Devices, steps and random numbers of XLA, by the names of ``torch_xla.core.xla_model``.

>>> import strided_xla.core.xla_model as xm
>>> callable(xm.mark_step)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import strided as _strided
from strided._C import default_generator as _default_generator
from strided._C import functions as _functions

import strided_xla as _xla

__all__ = [
    "add_step_closure",
    "get_local_ordinal",
    "get_ordinal",
    "get_rng_state",
    "get_xla_supported_devices",
    "is_master_ordinal",
    "mark_step",
    "master_print",
    "optimizer_step",
    "rendezvous",
    "save",
    "set_rng_state",
    "wait_device_ops",
    "xla_device",
    "xla_device_hw",
    "xla_real_devices",
    "xrt_world_size",
]


def xla_device(n: int | None = None, devkind: str | None = None) -> _strided.device:
    """The device ``xla:n``, the first for None.

    Args:
        n: the number of the device.
        devkind: the platform that it must be of: ``"CPU"``, ``"TPU"``.

    Raises:
        RuntimeError: there is no such device, or no plugin.
    """
    found = _xla.device(n)
    if devkind is not None and xla_device_hw(found) != devkind.upper():
        raise RuntimeError(f"no {devkind} among the XLA devices, which are of {xla_device_hw(found)}")
    return found


def get_xla_supported_devices(devkind: str | None = None, max_devices: int | None = None) -> list[str] | None:
    """The names of the devices, ``["xla:0"]``, at most `max_devices`; None where there is none of `devkind`."""
    if _xla.device_count() == 0 or devkind is not None and devkind.upper() != _functions["_xla_platform"]().upper():
        return None
    return [str(d) for d in _xla.devices()][:max_devices]


def xla_device_hw(device: str | _strided.device) -> str:
    """What a device is: ``"CPU"``, ``"TPU"``, ``"CUDA"``."""
    if _strided.device(device).type != "xla":
        return _strided.device(device).type.upper()
    return _functions["_xla_platform"]().upper()


def xla_real_devices(devices: Sequence[str | _strided.device] | None = None) -> list[str]:
    """What the plugin calls them: ``["CPU:0"]``."""
    names = _xla.real_devices()
    return names if devices is None else [names[_strided.device(d).index or 0] for d in devices]


def mark_step(wait: bool = False) -> None:
    """Ends a step: compiles what was recorded, unless the same was compiled before, and starts it; waits if `wait`."""
    _xla.sync(wait)
    due = _closures[:]
    _closures.clear()
    for closure, args in due:
        closure(*args)


def wait_device_ops(devices: Sequence[str] = ()) -> None:
    """Returns when what was recorded has run."""
    _xla.sync(wait=True)


def optimizer_step(optimizer: Any, barrier: bool = False, optimizer_args: dict[str, Any] | None = None) -> Any:
    """``optimizer.step()`` in a program of one process, and with `barrier` the end of the step."""
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


def set_rng_state(seed: int, device: str | _strided.device | None = None) -> None:
    """Seeds the random numbers of a device, the first for None."""
    _default_generator(_strided.device(device or "xla")).manual_seed(seed)


def get_rng_state(device: str | _strided.device | None = None) -> int:
    """The seed of a device's random numbers."""
    return _default_generator(_strided.device(device or "xla")).initial_seed()


def get_ordinal(defval: int = 0) -> int:
    """The number of this process among those of the program: 0, there is one."""
    return 0


def get_local_ordinal(defval: int = 0) -> int:
    """The number of this process among those of the machine: 0, there is one."""
    return 0


def rendezvous(tag: str, payload: bytes = b"", replicas: Sequence[int] = ()) -> list[bytes]:
    """The payloads of all processes that came to this place; there is one, and its own comes back."""
    return [payload]


def add_step_closure(closure: Callable[..., object], args: tuple[Any, ...] = (), run_async: bool = False) -> None:
    """``closure(*args)`` after the next `mark_step` of this module; where it raises, so does that."""
    _closures.append((closure, args))


_closures: list[tuple[Callable[..., object], tuple[Any, ...]]] = []


def xrt_world_size(defval: int = 1) -> int:
    """The number of processes of the program: 1."""
    return 1


def is_master_ordinal(local: bool = True) -> bool:
    """Whether this process is the first one."""
    return True


def master_print(*args: Any, **kwargs: Any) -> None:
    """``print`` in the first process."""
    print(*args, **kwargs)


def save(data: Any, file_or_path: Any, master_only: bool = True, global_master: bool = False) -> None:
    """``strided.save`` of the data on the CPU."""

    def on_cpu(value: Any) -> Any:
        if isinstance(value, _strided.Tensor):
            return value.cpu()
        if isinstance(value, dict):
            return type(value)((k, on_cpu(v)) for k, v in value.items())
        if type(value) in (list, tuple):
            return type(value)(map(on_cpu, value))
        return value

    _strided.save(on_cpu(data), file_or_path)
