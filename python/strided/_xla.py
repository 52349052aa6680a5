"""Where the PJRT plugin of device ``xla`` is: looked up when a device is first wanted, and never imported."""

from __future__ import annotations

import os

from . import _C


def _file_of(package: str, name: str) -> str:
    import importlib.util

    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # of the parent
        return ""
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if os.path.exists(path := os.path.join(folder, name)):
            return path
    return ""


def find() -> str:
    """The path of a plugin, or an empty string: libtpu where there is a TPU, else XLA for the CPU."""
    if os.path.exists("/dev/accel0") and (path := _file_of("libtpu", "libtpu.so")):
        return path
    return _file_of("xla_plugins.xla_cpu_pjrt", "xla_cpu_pjrt.so")


_C.set_hook("find_pjrt_plugin", find)
