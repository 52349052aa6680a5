"""Names of PyTorch's compiler that programs import from here."""

from __future__ import annotations

from typing import Any

__all__ = ["is_dynamo_supported"]


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":  # a subclass of Module, which is loaded when it is asked for
        from .._compile._module import OptimizedModule

        return OptimizedModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_dynamo_supported() -> bool:
    """True."""
    return True
