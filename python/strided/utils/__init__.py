"""Tools around tensors: timing of snippets, recomputation instead of memory, trees of containers, DLPack."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

# The modules load when they are first used.
_later = {m.name for m in pkgutil.iter_modules(__spec__.submodule_search_locations) if not m.name.startswith("__")}


def __getattr__(name: str) -> Any:
    if name == "swap_tensors":
        return importlib.import_module(f"{__name__}._swap").swap_tensors
    if name in _later:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(globals().keys() | {n for n in _later if not n.startswith("_")} | {"swap_tensors"})
