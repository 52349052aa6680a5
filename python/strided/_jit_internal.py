"""Helpers of TorchScript that libraries import from PyTorch's module of this name. Nothing is compiled here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035 - names that programs take from here

from .jit import (
    _overload as _overload,
)
from .jit import (
    _overload_method as _overload_method,
)
from .jit import (
    export,
    ignore,
    is_scripting,
    is_tracing,
    unused,
)
from .jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "List", "Optional", "Tuple",
    "Union", "boolean_dispatch", "boolean_dispatched", "export", "ignore", "is_scripting", "is_tracing", "unused",
]  # fmt: skip

# What boolean_dispatch made: by function, its arguments.
boolean_dispatched: dict[Callable[..., Any], dict[str, Any]] = {}


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """One function of two: an argument that is True or False says which is called.

    Args:
        arg_name: the argument. arg_index: its place. default: its value where it is not given.
        if_true: called if it is True. if_false: called if it is False.
        module_name: ``__module__`` of the result. func_name: its name, or None.

    >>> f = boolean_dispatch("both", 1, False, lambda x, both: (x, x), lambda x, both=False: x, __name__, "f")
    >>> f(3), f(3, True), f(3, both=True)
    (3, (3, 3), (3, 3))
    """

    @functools.wraps(if_true if if_true.__doc__ else if_false)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        wanted = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if wanted else if_false)(*args, **kwargs)

    if func_name is not None:
        chosen.__name__ = func_name
    if module_name is not None:
        chosen.__module__ = module_name
    boolean_dispatched[chosen] = {
        "if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name,
    }  # fmt: skip
    return chosen


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` itself."""
    return fn
