"""Contexts that are decorators too (``strided.utils._contextlib``)."""

from __future__ import annotations

import functools
import inspect
from typing import Any

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def _resumed(contexts, generator):
    """The generator, with a fresh context around each of its steps and none while it waits."""
    step, given = generator.send, None
    while True:
        try:
            with contexts():
                made = step(given)
        except StopIteration as end:
            return end.value
        try:
            step, given = generator.send, (yield made)
        except GeneratorExit:
            with contexts():
                generator.close()
            raise
        except BaseException as error:
            step, given = generator.throw, error


def context_decorator(ctx: Any, func: Any) -> Any:
    """``func`` inside a context: ``ctx``, or what calling it gives, anew for every call.

    A generator function has the context in each step.  TypeError for a context that is also a callable.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise TypeError(f"Passed in {ctx} is both callable and also a valid context manager")
    contexts = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor is meant")

    @functools.wraps(func)
    def within(*args: Any, **kwargs: Any) -> Any:
        if inspect.isgeneratorfunction(func):
            return _resumed(contexts, func(*args, **kwargs))
        with contexts():
            return func(*args, **kwargs)

    return within


class _DecoratorContextManager:
    """Makes a context a decorator: subclasses have ``__enter__``, ``__exit__``, and ``clone`` where they have state."""

    def __call__(self, orig_func: Any) -> Any:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another context of the same kind."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, for contexts without arguments: ``@context`` needs no parentheses."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
