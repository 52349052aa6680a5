"""What a function reads besides its arguments.

A trace may stand for later calls only if nothing else decides what the function does.  So its code is looked through:
each global name and each name of an enclosing function must lead to something that cannot change (a number, a text, a
function of this package, a function whose code passes the same examination), or whose identity can be checked before
each call (tensors, modules of layers).  Code that writes to anything but its own names, or that reads anything else,
is not traced.
"""

from __future__ import annotations

import builtins
import dis
import math
import operator
import types
from typing import Any

import strided

from .. import _C
from ._trace import Untraceable

_MISSING = object()
_HARMLESS_BUILTINS = frozenset({
    abs, all, any, bool, complex, dict, divmod, enumerate, float, getattr, hasattr, int, isinstance, len, list, map,
    max, min, pow, range, reversed, round, slice, sorted, str, sum, tuple, zip, AssertionError, ValueError,
    TypeError, RuntimeError,
    NotImplementedError,
})  # fmt: skip
_HARMLESS_MODULES = (math, operator)
# Functions that no mode sees, and that read nothing but their arguments or what a trace's key holds.
_HARMLESS_NAMES = frozenset({
    "is_tensor", "is_grad_enabled", "get_default_dtype", "finfo", "iinfo", "result_type", "promote_types",
    "broadcast_shapes", "is_floating_point", "is_complex", "can_cast", "Size", "device", "Tensor", "Parameter",
    "typename",
})  # fmt: skip
# Attributes of tensors (not those that a user gave them), of containers, and of results with named parts.
_KNOWN_ATTRIBUTES = frozenset().union(
    *map(dir, (strided.Tensor, list, tuple, dict, str, int, float, complex, slice, strided.Size, strided.finfo)),
    ("values", "indices", "Q", "R", "L", "U", "S", "Vh", "eigenvalues", "eigenvectors", "mean", "var", "std"),
    ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"),
)
_WRITES = frozenset({"STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "DELETE_DEREF"})
_READ_ROOT = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_READ_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_GENERATES = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines of all kinds (inspect.CO_GENERATOR, ...)
_VALUES = (type(None), bool, int, float, complex, str, bytes, type(...), strided.dtype, strided.device)


def is_value(x: Any) -> bool:
    """Whether x can never change."""
    return isinstance(x, _VALUES) or (type(x) in (tuple, frozenset, strided.Size) and all(map(is_value, x)))


class Guards:
    """What the code of ``function`` reads besides its arguments, compared before each call.

    Untraceable if it cannot be compared.
    """

    def __init__(self, function: Any):
        self.bindings: list[tuple[Any, str, Any]] = []  # (a dict or a cell, name, what it holds)
        self.tensors: dict[int, Any] = {}
        self.layers: list[LayerState] = []
        self._seen: set[int] = set()
        self._attributes: set[str] = set()  # that the code reads of what is not known before it runs
        self._take(function, "the function")
        known = _KNOWN_ATTRIBUTES.union(*(state.names for state in self.layers))
        if not self._attributes <= known:
            raise Untraceable(
                f"it reads the attribute {min(self._attributes - known)}, whose changes would not be seen"
            )

    def is_unchanged(self) -> bool:
        for holder, name, value in self.bindings:
            if holder.__class__ is dict:
                if holder.get(name, _MISSING) is not value:
                    return False
            elif _cell_contents(holder) is not value:
                return False
        return all(layer.is_unchanged() for layer in self.layers)

    def _take(self, x: Any, name: str) -> None:
        if is_value(x) or id(x) in self._seen:
            return
        if isinstance(x, strided.Tensor):
            self.tensors[id(x)] = x
            return
        self._seen.add(id(x))
        original = getattr(x, "_strided_original", None)
        if original is not None and not isinstance(x, strided.Tensor):
            return self._take(original, name)
        if isinstance(x, strided.nn.Module):
            return self._take_layer(x)
        if isinstance(x, types.MethodType):
            self._take(x.__self__, name)
            return self._take(x.__func__, name)
        if isinstance(x, types.FunctionType) and not is_ours(x):
            return self._take_function(x)
        if _is_harmless(x):
            return
        raise Untraceable(f"it reads {name}, of type {type(x).__name__}, whose changes would not be seen")

    def _take_function(self, f: types.FunctionType) -> None:
        for default in (f.__defaults__ or (), (f.__kwdefaults__ or {}).values()):
            for value in default:
                self._take(value, f"a default of {f.__name__}")
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
        if f.__code__.co_flags & _GENERATES:
            raise Untraceable("it is a generator or a coroutine")
        self._take_code(f.__code__, f.__globals__, cells)

    def _take_layer(self, layer: Any) -> None:
        self.layers.append(LayerState(layer))
        for part in (*layer._parameters.values(), *layer._buffers.values()):
            if part is not None:
                self.tensors[id(part)] = part
        for child in layer._modules.values():
            if child is not None:
                self._take(child, "a layer")
        for value in self.layers[-1].functions:
            self._take(value, "a function of a layer")
        for cls in type(layer).__mro__:
            if cls is strided.nn.Module or is_ours(cls):
                break
            for name in _used_names(type(layer), "forward"):
                method = cls.__dict__.get(name)
                method = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
                if isinstance(method, types.FunctionType):
                    self._take_function(method)
                elif isinstance(method, property):
                    self._take_function(method.fget)
                elif method is not None:
                    self._take(method, f"{cls.__name__}.{name}")

    def _take_code(self, code: types.CodeType, names: dict[str, Any], cells: dict[str, Any]) -> None:
        at, path = _MISSING, ""
        for step in dis.get_instructions(code):
            if step.opname in _WRITES or (step.opname == "STORE_DEREF" and step.argval in code.co_freevars):
                raise Untraceable(f"it writes to {step.argval}")
            if step.opname in _READ_ROOT:
                self._finish(at, path)
                at, path = self._root(step.argval, names, cells), step.argval
            elif step.opname in _READ_ATTRIBUTE and isinstance(at, types.ModuleType):
                at, path = getattr(at, step.argval, _MISSING), f"{path}.{step.argval}"
            elif step.opname in _READ_ATTRIBUTE:
                self._attributes.add(step.argval)
                self._finish(at, path)
                at = _MISSING
            elif step.opname not in ("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG"):
                self._finish(at, path)
                at = _MISSING
        self._finish(at, path)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._take_code(constant, names, cells)

    def _root(self, name: str, names: dict[str, Any], cells: dict[str, Any]) -> Any:
        if name in cells:
            value = _cell_contents(cells[name])
            self.bindings.append((cells[name], name, value))
            return value
        if name in names:
            self.bindings.append((names, name, names[name]))
            return names[name]
        return getattr(builtins, name, _MISSING)  # _MISSING: a name of the function's own

    def _finish(self, x: Any, path: str) -> None:
        if x is not _MISSING:
            self._take(x, path)


class LayerState:
    """What a layer holds, to be compared later."""

    def __init__(self, layer: Any):
        self.layer = layer
        self.functions: list[Any] = []
        self.ids = self._ids()
        self.names = {*dir(type(layer)), *dir(layer)}
        for name, value in layer.__dict__.items():
            if name.startswith("_") and isinstance(value, (dict, set)):
                if name.endswith(("hooks", "hooks_with_kwargs")) and value:
                    raise Untraceable(f"{type(layer).__name__} has hooks")
            elif isinstance(value, types.FunctionType) or _is_harmless(value):
                self.functions.append(value)
            elif not is_value(value) and name != "_compiled_call_impl":  # Module.compile changes no result
                raise Untraceable(f"{type(layer).__name__} has the attribute {name}, whose changes would not be seen")

    def _ids(self) -> list[int]:
        d = self.layer.__dict__
        return [
            len(d),
            *map(id, d.values()),
            *map(id, d["_parameters"].values()),
            *map(id, d["_buffers"].values()),
            *map(id, d["_modules"].values()),
            *(len(v) for k, v in d.items() if k.endswith("hooks")),
        ]

    def is_unchanged(self) -> bool:
        return self._ids() == self.ids


def _cell_contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return _MISSING


def is_ours(x: Any) -> bool:
    """Whether a function, or the class of an object, is the package's."""
    return _is_our_module(getattr(x, "__module__", None) or "")


def _is_our_module(name: str) -> bool:
    return name.partition(".")[0] in ("strided", strided.__name__)  # in PyTorch's place modules and classes are torch's


def _used_names(cls: type, name: str) -> set[str]:
    """The names of methods that ``cls.name`` may call, itself among them."""
    found, rest = set(), [name]
    while rest:
        name = rest.pop()
        method = getattr(cls, name, None)
        code = getattr(method, "__code__", None) or getattr(getattr(method, "fget", None), "__code__", None)
        if name in found or (code is None and not hasattr(cls, name)):
            continue
        found.add(name)
        rest.extend(code.co_names if code else ())
    return {n for n in found if not hasattr(strided.nn.Module, n) or n == name or n == "forward"}


def _is_harmless(x: Any) -> bool:
    if isinstance(x, types.ModuleType):
        return _is_our_module(x.__name__) or x in _HARMLESS_MODULES
    try:
        if x in _HARMLESS_BUILTINS:
            return True
    except TypeError:
        return False
    if getattr(x, "__module__", None) in ("math", "_operator"):
        return True
    if not is_ours(x):
        return False
    if isinstance(x, _C.OverridableFunction) or getattr(x, "_overridable", False):  # modes see its calls
        return True
    return getattr(x, "__name__", "") in _HARMLESS_NAMES
