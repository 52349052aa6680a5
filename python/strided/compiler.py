"""Compilation of Python functions (``strided.compiler``): there is none, and functions run as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ._once import warn_once

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip


def compile(model: Any = None, *args: Any, disable: bool = False, **options: Any) -> Any:
    """`model` itself, a function or a module; without one a decorator. There is one warning.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> f = torch.compile(lambda x: x + 1)
    >>> f(torch.ones(2))
    tensor([2., 2.])
    """
    if model is None:
        return lambda function: compile(function, *args, disable=disable, **options)
    if not callable(model):
        raise TypeError(f"compile: a callable is required, got {type(model).__name__}")
    if not disable:
        warn_once("torch.compile", "strided compiles no Python; functions and modules are returned as they are")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """`fn` itself, which is not compiled; without one a decorator."""
    return _same if fn is None else fn


def _same(function: Any) -> Any:
    return function


def allow_in_graph(fn: Any) -> Any:
    """`fn` itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """`fn` itself, which is called each time."""
    return fn


def wrap_numpy(fn: Any) -> Any:
    """A function of tensors that gives `fn` arrays of NumPy, and makes tensors of the arrays it returns.

    >>> torch.compiler.wrap_numpy(lambda a: a * 2)(torch.ones(2))
    tensor([2., 2.])
    """
    import functools

    import numpy

    from . import Tensor, from_numpy
    from .utils._pytree import tree_map_only

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(numpy.ndarray, from_numpy, fn(*args, **kwargs))

    return wrapped


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing: there is no graph to substitute in."""
    return _same


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The backends of compilation: none."""
    return []


def reset() -> None:
    """Nothing: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: no graph is recorded."""


@contextlib.contextmanager
def set_stance(stance: str = "default", **options: Any) -> Iterator[None]:
    """A context and decorator that changes nothing."""
    yield
