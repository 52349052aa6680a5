"""The instruction set of the CPU."""

from __future__ import annotations

from .._C import build_info

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The one whose loops run, by PyTorch's names.

    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    chosen = build_info()["instruction set chosen"]
    return "AVX512" if "v4" in chosen else "AVX2" if "v3" in chosen else "DEFAULT"
