"""What public functions do with tensors of a class written in Python (nested, masked): a rule for each name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ..overrides import resolve_name

if TYPE_CHECKING:
    from .._typing import Any, Callable


class Rules(dict[str, "Callable[..., Any]"]):
    """The rules of one class by the names of functions (``name_of``)."""

    def of(self, *names: str) -> Callable[..., Any]:
        """A decorator: the function is the rule of these names."""

        def add(f: Callable[..., Any]) -> Callable[..., Any]:
            self.update(dict.fromkeys(names, f))
            return f

        return add


@functools.lru_cache(None)
def name_of(func: Any) -> str:
    """The last part of a function's name; ``shape__get__`` for the getter of a property."""
    full = resolve_name(func) or getattr(func, "__name__", str(func))
    space, _, name = full.rpartition(".")
    return space.rpartition(".")[2] + name if name in ("__get__", "__set__") else name
