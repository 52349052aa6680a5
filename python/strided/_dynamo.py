"""Names of PyTorch's compiler that libraries use to keep it away from their functions; there is no compiler here."""

from __future__ import annotations

import types
from typing import Any

from .compiler import allow_in_graph, disable, is_compiling, reset

__all__ = ["OptimizedModule", "allow_in_graph", "config", "disable", "is_compiling", "reset"]


class OptimizedModule:
    """No object is one: for ``isinstance``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("OptimizedModule: strided compiles no Python")


config = types.SimpleNamespace()  # takes whatever is set
