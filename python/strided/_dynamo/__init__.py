"""Names of PyTorch's compiler that libraries use; the compiler is ``strided.compile``."""

from __future__ import annotations

from typing import Any

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset
from . import config as config
from . import eval_frame as eval_frame
from . import exc as exc

__all__ = [
    "allow_in_graph", "assume_constant_result", "config", "disable", "is_compiling", "list_backends",
    "mark_dynamic",
    "explain", "mark_static", "mark_static_address", "optimize", "reset",
]  # fmt: skip


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The compilers: one."""
    return ["inductor"]


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: it would tell a compiler something about the tensor."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: it would tell a compiler something about the tensor."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: it would tell a compiler something about the tensor."""


def __getattr__(name: str) -> Any:
    return getattr(eval_frame, name)


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """``explain(f)(*args)``: what compilation makes of the call, as ``strided.compile(f).explain(*args)``."""
    from ..compiler import compile

    def tell(*args: Any, **kwargs: Any) -> Any:
        return compile(f).explain(*args, **kwargs)

    return tell(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else tell


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """A decorator: ``strided.compile``."""
    from ..compiler import compile

    return compile(backend=backend, fullgraph=options.get("nopython", False), disable=options.get("disable", False))
