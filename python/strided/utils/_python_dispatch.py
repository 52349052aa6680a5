"""Modes that see each operation below autograd (``strided.utils._python_dispatch``), and tensor subclasses.

What is reported and what is not: docs/dispatch.md.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "any_torch_dispatch_mode_on_stack", "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing",
    "transform_subclass",
]  # fmt: skip


class TorchDispatchMode:
    """Context in which each operation goes to ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``.

    func is an overload of ``strided.ops.aten``; ``func(*args, **kwargs)`` computes it. Functions that consist of
    several operations arrive as these: ``linear`` as ``t`` and ``addmm``. The mode that was entered last is asked
    first; while it works it is off, so that what it calls goes to the next one. What it returns is the result.

    >>> class Names(strided.utils._python_dispatch.TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = strided.nn.functional.linear(strided.ones(1, 2), strided.ones(3, 2), strided.ones(3)) * 2
    aten.ones.default
    aten.ones.default
    aten.ones.default
    aten.t.default
    aten.addmm.default
    aten.mul.Tensor
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        from .. import _dispatch

        _dispatch.enter(self)
        return self

    def __exit__(self, *exc: object) -> None:
        from .. import _dispatch

        _dispatch.leave()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of the class."""
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _modes() -> list[Any]:
    loaded = sys.modules.get(f"{__package__.rpartition('.')[0]}._dispatch")
    return [] if loaded is None else loaded.state.modes


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Is a mode on, in this thread?"""
    return bool(_modes())


def any_torch_dispatch_mode_on_stack(**options: Any) -> bool:
    """Is a mode on, in this thread?"""
    return bool(_modes())


def _get_current_dispatch_mode() -> Any:
    """The mode that is asked first, or None."""
    return next(reversed(_modes()), None)


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes, the one that is asked first at the end."""
    return list(_modes())


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context in which no mode is asked."""
    if not _modes():
        yield []
        return
    from .. import _dispatch

    with _dispatch.without_modes() as modes:
        yield modes


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """A context in which the mode that is asked first is not asked; gives it. RuntimeError without one."""
    if not _modes():
        raise RuntimeError("_pop_mode_temporarily: no mode is on")
    from .. import _dispatch

    mode = _modes()[-1]
    _dispatch.leave()
    try:
        yield mode
    finally:
        _dispatch.enter(mode)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors says how it is taken apart: ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return (
        issubclass(t, _C.Tensor)
        and t is not _C.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is of such a class of tensors."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor of a subclass, made again of what a function gives for each of its inner tensors.

    Args:
        callback: gets the name of an inner tensor and the tensor.
        outer_size, outer_stride: for ``__tensor_unflatten__``; those of t if None.
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What the ``__torch_dispatch__`` of a class gives back for an operation: `out`, but of an operation that writes
    the tensor it writes to.

    ``func.__name__`` of a write in place that changes a shape (``transpose_``) changes that of the wrapper too.
    """
    schema = func._schema
    if not schema.is_mutable:
        return out
    if func._overload == "out":
        return kwargs.get("out", out)
    from .._dispatch.subclasses import reshape_in_place

    reshape_in_place(func, args, kwargs)
    return args[0] if args and isinstance(args[0], _C.Tensor) else out
