"""Settings of PyTorch's compiler (``_dynamo.config``, ``_inductor.config``, ``_functorch.config``).

There is no such compiler here: programs set them, read what they set, and nothing follows.  A name that a program reads
before it sets it has PyTorch's default where it stands in the module, and is an AttributeError elsewhere.
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any

_MISSING = object()


def _place(owner: Any, name: str) -> tuple[Any, str]:
    """The group of settings, and the name in it, of ``"group.name"``."""
    *groups, last = name.split(".")
    for group in groups:
        owner = getattr(owner, group)
    return owner, last


class _Patch(contextlib.ContextDecorator):
    def __init__(self, owner: Any, changes: dict[str, Any]) -> None:
        self._owner, self._changes, self._before = owner, changes, []

    def __enter__(self) -> None:
        before = []
        for name, value in self._changes.items():
            owner, last = _place(self._owner, name)
            before.append((owner, last, vars(owner).get(last, _MISSING)))
            setattr(owner, last, value)
        self._before.append(before)

    def __exit__(self, *exc: object) -> None:
        for owner, name, value in reversed(self._before.pop()):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


class Settings(types.ModuleType):
    """A module of settings."""

    def patch(self, name: Any = None, value: Any = None, **changes: Any) -> Any:
        """Context, or decorator, in which settings have other values: ``patch(a=1)``, ``patch("b.c", 1)``,
        ``patch({"b.c": 1})``."""
        if isinstance(name, dict):
            changes = {**name, **changes}
        elif name is not None:
            changes[name] = value
        return _Patch(self, changes)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__name__}.{name}: strided has no compiler with this setting, and it was not set")


def take(module: str) -> None:
    """Makes a module that was just defined one of settings."""
    sys.modules[module].__class__ = Settings
