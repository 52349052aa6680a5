"""Names of PyTorch's compiler: there is none."""

from __future__ import annotations

from typing import Any

__all__ = ["OptimizedModule", "is_dynamo_supported"]


class OptimizedModule:
    """No object is one: for ``isinstance``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("OptimizedModule: strided compiles no Python")


def is_dynamo_supported() -> bool:
    """False."""
    return False
