"""What libraries ask the compiler of PyTorch; the compiler is ``strided.compile``."""

from __future__ import annotations

from typing import Any

from .._calls.once import warn_once_of

__all__ = ["is_compile_supported", "warn_once"]


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """The warning, unless this process had one with these words."""
    warn_once_of(msg, msg, stacklevel)


def is_compile_supported(device_type: Any) -> bool:
    """Does ``strided.compile`` make programs for tensors there? On the CPU."""
    return str(device_type).partition(":")[0] == "cpu"
