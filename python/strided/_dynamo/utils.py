"""What libraries ask the compiler of PyTorch; the compiler is ``strided.compile``."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["is_compile_supported", "warn_once"]

_told: set[str] = set()


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """The warning, unless this process had one with these words."""
    if msg not in _told:
        _told.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)


def is_compile_supported(device_type: Any) -> bool:
    """Does ``strided.compile`` make programs for tensors there? On the CPU."""
    return str(device_type).partition(":")[0] == "cpu"
