"""Names of PyTorch's compiler that libraries use to keep it away from their functions; there is no compiler here."""

from __future__ import annotations

import types
from typing import Any

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset
from . import eval_frame as eval_frame
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "is_compiling", "list_backends",
    "mark_dynamic",
    "mark_static", "mark_static_address", "reset",
]  # fmt: skip


config = types.SimpleNamespace()  # takes whatever is set


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The compilers: none."""
    return []


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: it would tell a compiler something about the tensor."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: it would tell a compiler something about the tensor."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: it would tell a compiler something about the tensor."""
