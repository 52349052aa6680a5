"""What libraries ask the compiler of PyTorch; the compiler is ``strided.compile``."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Does ``strided.compile`` make programs for tensors there? On the CPU."""
    return str(device_type).partition(":")[0] == "cpu"
