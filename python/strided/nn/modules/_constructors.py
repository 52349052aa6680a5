"""Constructors that several classes share."""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def named_by_class(base: Class) -> Class:
    """A private class whose public subclasses get the constructor that they inherit from a private one under their own
    names: errors of wrong arguments give these."""

    def own(cls: type, **options: Any) -> None:
        super(base, cls).__init_subclass__(**options)  # type: ignore[misc]
        shared = cls.__init__  # type: ignore[misc]
        private = [name.startswith("_") for name in (cls.__name__, shared.__qualname__)]
        if "__init__" not in vars(cls) and private == [False, True]:
            made = FunctionType(
                shared.__code__, shared.__globals__, shared.__name__, shared.__defaults__, shared.__closure__
            )
            made.__kwdefaults__, made.__annotations__ = shared.__kwdefaults__, shared.__annotations__
            made.__doc__, made.__module__ = shared.__doc__, shared.__module__
            made.__qualname__ = f"{cls.__name__}.__init__"
            cls.__init__ = made  # type: ignore[misc]

    base.__init_subclass__ = classmethod(own)  # type: ignore[assignment]
    return base
