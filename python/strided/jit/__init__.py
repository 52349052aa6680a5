"""The names of TorchScript (``strided.jit``). Nothing is compiled: functions and modules come back as they are.

What a module raises after ``script`` or ``trace`` is an Error too, and still of the class that it was:

>>> class Checked(strided.nn.Module):
...     def forward(self, x):
...         assert x.ndim == 2
...         return x
>>> try:
...     strided.jit.script(Checked())(strided.ones(3))
... except RuntimeError as e:
...     isinstance(e, strided.jit.Error), isinstance(e, AssertionError)
(True, True)
"""

from __future__ import annotations

import builtins
import contextlib
import types
import typing
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .._calls.once import warn_once
from ..futures import Future

__all__ = [
    "Attribute", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "ScriptWarning", "TracerWarning", "annotate",
    "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance",
    "load", "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing", "script_method",
    "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

_WHY = "strided has no TorchScript; functions and modules are returned as they are, and run as Python"


class Error(RuntimeError):
    """What a module raises that went through ``script`` or ``trace``."""


def _as_error(e: Exception) -> Exception:
    if builtins.isinstance(e, Error):
        return e
    own = type(e)
    try:
        error = type(own.__name__, (Error, own), {"__module__": own.__module__})(*e.args)
    except TypeError:  # a class with another layout, or whose __init__ wants other arguments than it keeps
        error = Error(*e.args)
    return error


def _reporting(obj: Any) -> Any:
    from ..nn import Module

    if builtins.isinstance(obj, Module):
        obj.__dict__["_scripted"] = True  # nn.Module._call_impl looks for it
    return obj


class ScriptWarning(Warning):
    """A category of warnings; nothing here warns so."""


class TracerWarning(Warning):
    """A category of warnings; nothing here warns so."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing: there are none."""


class _Absent(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{cls.__name__}: strided has no TorchScript")


class ScriptModule(metaclass=_Absent):
    """No object is one: for ``isinstance``."""


class RecursiveScriptModule(ScriptModule):
    """No object is one: for ``isinstance``."""


class ScriptFunction(metaclass=_Absent):
    """No object is one: for ``isinstance``."""


class Attribute(NamedTuple):
    """A value with the type it is declared to have."""

    value: Any
    type: Any


def script(obj: Any, *args: Any, **options: Any) -> Any:
    """`obj` itself, a function, class or module. There is one warning."""
    warn_once("torch.jit.script", _WHY)
    return _reporting(obj)


def trace(func: Any = None, *args: Any, **options: Any) -> Any:
    """`func` itself, a function or module; without one a decorator. There is one warning.

    What Python decides stays open: a trace would keep how it was decided for the example.
    """
    warn_once("torch.jit.trace", _WHY)
    return _same if func is None else _reporting(func)


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """NotImplementedError: there are no compiled programs to store. ``strided.save`` stores a module's state dict."""
    raise NotImplementedError(
        "jit.save: strided has no TorchScript; strided.save(m.state_dict(), f) stores the tensors"
    )


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """NotImplementedError: programs that ``torch.jit.save`` stored cannot be read."""
    raise NotImplementedError("jit.load: strided has no TorchScript; it loads state dicts, by strided.load")


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: no graph of a traced program is made. ``strided.export`` and ``make_fx`` make graphs."""
    raise NotImplementedError(
        "jit._get_trace_graph: strided has no TorchScript; make_fx records a program's operations"
    )


def trace_module(mod: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """`mod` itself. There is one warning."""
    warn_once("torch.jit.trace_module", _WHY)
    return _reporting(mod)


def _same(obj: Any) -> Any:
    return obj


def script_if_tracing(fn: Any) -> Any:
    """`fn` itself: nothing is traced."""
    return fn


def script_method(fn: Any) -> Any:
    """`fn` itself."""
    return fn


def export(fn: Any) -> Any:
    """`fn` itself."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself; ``ignore(drop=...)`` is a decorator."""
    return drop if callable(drop) else _same


def unused(fn: Any) -> Any:
    """`fn` itself."""
    return fn


def interface(obj: Any) -> Any:
    """The class itself."""
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`."""
    return the_value


def freeze(mod: Any, *args: Any, **options: Any) -> Any:
    """`mod` itself. There is one warning."""
    warn_once("torch.jit.freeze", _WHY)
    return mod


def optimize_for_inference(mod: Any, *args: Any, **options: Any) -> Any:
    """`mod` itself. There is one warning."""
    warn_once("torch.jit.optimize_for_inference", _WHY)
    return mod


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object has a type, or one of a tuple of types. Elements of containers count, so that an empty one has
    every such type.

    Raises RuntimeError for a list, tuple or dict of anything.

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance({"a": None}, dict[str, int])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any([isinstance(obj, t) for t in target_type])
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is typing.Union or origin is types.UnionType:
        return any([isinstance(obj, t) for t in inner])
    kind = origin or target_type
    if (kind is list or kind is tuple or kind is dict) and not inner and target_type != tuple[()]:
        name, what, some = kind.__name__ if origin is None else kind.__name__.capitalize(), "a contained type", "int"
        if kind is dict:
            what, some = "contained types", "int, int"
        raise RuntimeError(f"Attempted to use {name} without {what}. Please add {what}, e.g. {name}[{some}]")
    if not builtins.isinstance(obj, kind):
        return False
    if origin is list:
        return all(isinstance(x, inner[0]) for x in obj)
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple:
        if inner[1:] == (...,):
            return all(isinstance(x, inner[0]) for x in obj)
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    return True


def fork(func: Any, *args: Any, **kwargs: Any) -> Future:
    """The future of ``func(*args, **kwargs)``, which is called at once.

    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1))
    tensor([2., 2.])
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """Its result."""
    if future is None:
        raise RuntimeError("Future can't be None")
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context that changes nothing."""
    yield


@contextlib.contextmanager
def strict_fusion() -> Iterator[None]:
    """A context that changes nothing."""
    yield


# Names with which libraries mark overloads.
_overload = _overload_method = _script_if_tracing = _same
