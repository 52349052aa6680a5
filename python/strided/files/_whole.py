"""Objects of a program's own classes in files, where strided has PyTorch's place: ``torch.save(model, path)``.

A process reads back what it wrote. ``save`` notes the classes and functions that it named, and
``load(weights_only=False)`` looks names up among those, and among the classes of modules that the program has imported.
A file still chooses from a list that it cannot extend, and nothing is imported by a name from it.
"""

from __future__ import annotations

import operator
import sys
import types
import typing
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from ._constructors import describe_tensor, file_name_of, is_of_plain_class, reduced

__all__ = ["describe", "readable"]


class Referred(tuple[Any]):
    """A function or class that a file may hold as a value, and not call."""


_written: dict[str, Any] = {}  # 'module.name' to what this process named in files


def _is_found(obj: Any) -> bool:
    """Whether a class or function is what its name stands for: not one inside of a function, nor one replaced since."""
    found = sys.modules.get(getattr(obj, "__module__", None) or "")
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def _method(obj: Any, name: str) -> Any:
    """``getattr`` in files: methods of an object, and nothing else."""
    found = getattr(obj, name)
    if not isinstance(name, str) or not isinstance(found, MethodType) or found.__self__ is not obj:
        raise TypeError("no method of an object is asked for")
    return found


def _type_form(form: Any, parameters: Any) -> Any:
    """``form[parameters]`` in files: types such as ``Optional[Tensor]``, and nothing else."""
    is_generic = isinstance(form, type) and issubclass(form, typing.Generic)  # type: ignore[arg-type]
    if getattr(form, "__module__", None) != "typing" and not is_generic:
        raise TypeError("no type is asked for")
    return form[parameters]


# What files may call although it is no Python code, with what is called instead.
_LIMITED = {getattr: ("builtins.getattr", _method), operator.getitem: ("_operator.getitem", _type_form)}


def _note_called(function: Any, obj: Any) -> str | None:
    """The name of what makes ``obj``; None for what no file may call: compiled functions of others than its class."""
    if type(function) is type(getattr) and function in _LIMITED:
        name, limited = _LIMITED[function]
        _written[name] = limited
        return name
    may_be_called = isinstance(function, (type, FunctionType)) or _is_of_package(function, type(obj))
    return _note(function) if may_be_called else None


def _is_of_package(function: Any, kind: type) -> bool:
    """Whether a compiled function is of the package of a class, which makes its objects with it."""
    top = (getattr(function, "__module__", None) or "").partition(".")[0]
    return top == kind.__module__.partition(".")[0] and top not in ("", "builtins", "__main__")


def _note(function: Any) -> str | None:
    """The name of a class or function, which files may call from now on; None for one that has no name."""
    if not hasattr(function, "__qualname__") or not _is_found(function):
        return None
    name = file_name_of(function)
    _written[name] = function
    return name


_OF_CONSTANTS = (type(None), type(...), type(NotImplemented))  # their names in `builtins` do not find them


def _describe_global(obj: Any, name: str) -> Any:
    module = getattr(obj, "__module__", "builtins")  # there for Ellipsis and NotImplemented
    if not isinstance(module, str) or getattr(sys.modules.get(module), name, None) is not obj:
        return None
    _written.setdefault(f"{module}.{name}", Referred((obj,)))
    return f"{module}.{name}", None, None


def describe(obj: Any) -> Any:
    """What ``_constructors.describe`` gives, for an object that has to be of no listed class; notes its classes.

    (name, arguments, state, items, pairs), or None where Python's pickle would fail as well.
    """
    if isinstance(obj, types.UnionType):  # int | None
        return _note_called(operator.getitem, obj), (typing.Union, obj.__args__), None, None, None
    # list[int] and Optional[int] have a name, which is that of the type without its parameters.
    is_form = isinstance(obj, types.GenericAlias) or (type(obj).__module__ == "typing" and not isinstance(obj, type))
    if hasattr(obj, "__qualname__") and not isinstance(obj, MethodType) and not is_form:  # a class or a function
        if obj in _OF_CONSTANTS:
            _written.setdefault(f"types.{obj.__name__}", Referred((obj,)))
            return f"types.{obj.__name__}", None, None
        if getattr(obj, "__module__", None) is None or not _is_found(obj):
            return None
        _written.setdefault(file_name_of(obj), Referred((obj,)))
        return file_name_of(obj), None, None
    if is_of_plain_class(obj):
        return None if (name := _note(type(obj))) is None else describe_tensor(obj, name)
    try:
        parts = reduced(obj)
    except TypeError:  # a lock, a generator, a file
        return None
    if isinstance(parts, str):  # the name of what is one in its module, such as typing.Any
        return _describe_global(obj, parts)
    if not isinstance(parts, tuple) or len(parts) > 5:
        return None
    function, args, state, items, pairs = (*parts, None, None, None)[:5]
    is_new = getattr(function, "__name__", "") == "__newobj__"
    if (name := _note_called(args[0] if is_new else function, obj)) is None:
        return None
    if (state, items, pairs) != (None, None, None) and _note(type(obj)) is None:  # only known classes are filled
        return None
    listed = None if items is None else list(items)
    mapped = None if pairs is None else [one for pair in pairs for one in pair]
    return (f"new {name}", tuple(args[1:]), state, listed, mapped) if is_new else (name, args, state, listed, mapped)


def _subclasses(base: type) -> Iterator[type]:
    for one in base.__subclasses__():
        yield one
        yield from _subclasses(one)


def readable() -> dict[str, Any]:
    """'module.name' to what ``load(weights_only=False)`` may use besides the listed constructors.

    Modules of imported classes, and as values the library's functions: ``self.act = torch.tanh``.
    """
    import strided
    from strided.nn import Module, functional

    found: dict[str, Any] = {}
    for prefix, offered in (("torch", strided), ("torch.nn.functional", functional)):
        functions = {key: one for key, one in vars(offered).items() if callable(one) and not isinstance(one, type)}
        found.update({f"{prefix}.{key}": Referred((one,)) for key, one in functions.items()})
    found.update({file_name_of(one): one for one in _subclasses(Module) if _is_found(one)})
    return {**found, **_written}
