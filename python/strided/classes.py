"""Compiled classes of other packages (``strided.classes``): none are registered."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


class _Namespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"Class {self._name}.{name} is not registered: strided loads no libraries compiled for PyTorch"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)
