"""XLA devices, by the names of ``torch_xla``: operations are recorded, compiled by XLA and run by a PJRT plugin.

>>> import strided, strided_xla
>>> strided_xla.device_count() >= 0
True

The devices need a plugin: ``pip install 'strided[xla]'`` brings one for the CPU, ``libtpu`` one for TPUs, and
``STRIDED_PJRT_PLUGIN`` names another by its path. ``docs/xla.md`` in the sources tells how programs come about.
"""

from __future__ import annotations

import strided as _strided
from strided._C import functions as _functions

__all__ = ["device", "device_count", "devices", "real_devices", "sync"]


def device_count() -> int:
    """Number of XLA devices; 0 without a plugin."""
    return _functions["_xla_device_count"]()


def _require() -> int:
    if (n := device_count()) == 0:
        why = _functions["_xla_why_none"]() or "the PJRT plugin finds no device"
        raise RuntimeError(f"XLA is not available: {why}")
    return n


def device(index: int | None = None) -> _strided.device:
    """The XLA device of that number, the first one for None; RuntimeError where there is none."""
    n = _require()
    index = 0 if index is None else int(index)
    if not 0 <= index < n:
        raise RuntimeError(f"there is no device xla:{index}: there are {n}")
    return _strided.device("xla", index)


def devices() -> list[_strided.device]:
    """All XLA devices; RuntimeError where there is none."""
    return [device(i) for i in range(_require())]


def real_devices() -> list[str]:
    """What the plugin calls them: ``["CPU:0"]``."""
    return [f"{_functions['_xla_platform']().upper()}:{i}" for i in range(_require())]


def sync(wait: bool = False) -> None:
    """Compiles and runs what is recorded for every device. Results are there when they are read; so is an error."""
    for i in range(device_count()):
        _functions["_xla_run"](i)
