"""Where the PJRT plugin of device ``xla`` is: looked up when a device is first wanted, and never imported.

Where there is one, the package ``strided_xla`` can be imported too, as ``torch_xla`` can where it is installed:
programs ask whether it is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from . import _C

_SITE = os.path.join(os.path.dirname(__file__), "_xla_site")


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


class _Finder:
    """Finds ``strided_xla``, and nothing else."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "strided_xla" or not (os.environ.get("STRIDED_PJRT_PLUGIN") or find()):
            return None
        return PathFinder.find_spec(name, [_SITE])


_C.set_hook("find_pjrt_plugin", find)
sys.meta_path.append(_Finder)
