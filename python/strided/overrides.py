"""Types of the user's own that take calls over: ``__torch_function__``, modes, and what can be taken.

A class with a classmethod ``__torch_function__(cls, func, types, args=(), kwargs=None)`` is handed every call of a
public function, method, operator or property with one of its objects among the arguments, or in a list of them.
``func`` is the public function, ``types`` are the classes that take part.  Subclasses are asked before their bases,
else from left to right; a class declines by returning NotImplemented.  A subclass of Tensor without such a method gets
results of its own type.

>>> class Counting(strided.Tensor):
...     calls = 0
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         cls.calls += 1
...         return super().__torch_function__(func, types, args, kwargs)
>>> x = strided.ones(2).as_subclass(Counting)
>>> y = strided.exp(x) + 1
>>> type(y).__name__, Counting.calls
('Counting', 2)
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import warnings
from typing import TYPE_CHECKING

import strided

from . import _C

if TYPE_CHECKING:
    from ._typing import Any, Callable, Iterator

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "get_default_nowrap_functions", "get_ignored_functions",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
    "redispatch_function", "resolve_name", "wrap_torch_function",
]  # fmt: skip

# ---------------------------------------------------------------- in functions of the user's own

has_torch_function_unary = _C._has_torch_function_unary
has_torch_function_variadic = _C._has_torch_function_variadic


def has_torch_function(relevant_args: Any) -> bool:
    """True if a mode is on, or an object among relevant_args is of a type that takes calls over."""
    return _C._has_torch_function(relevant_args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """What the types of relevant_args make of ``public_api(*args, **kwargs)``.  TypeError if all decline.

    >>> def half(x):
    ...     if strided.overrides.has_torch_function_unary(x):
    ...         return strided.overrides.handle_torch_function(half, (x,), x)
    ...     return x / 2
    >>> half(strided.ones(1))
    tensor([0.5000])
    """
    return _C._handle_torch_function(public_api, relevant_args, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a call goes to the types of what ``dispatcher(*args, **kwargs)`` returns, if they take calls over."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Calls func, which nobody takes over; calls that func makes are taken over as ever."""
    _C._set_skip_next_torch_function(True)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _C._set_skip_next_torch_function(False)


def is_tensor_like(inp: object) -> bool:
    """True for tensors, and for objects of types with ``__torch_function__``."""
    return isinstance(inp, _C.Tensor) or hasattr(inp, "__torch_function__")


# ---------------------------------------------------------------- modes


class TorchFunctionMode:
    """Context in which every function, also one without tensors among its arguments, goes to the method
    ``__torch_function__(self, func, types, args=(), kwargs=None)`` first.  The last mode that was entered is asked
    first; while it works, it is off, so that what it calls goes to the next one.

    >>> class Doubles(strided.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         return 2 * func(*args, **(kwargs or {}))
    >>> with Doubles():
    ...     x = strided.ones(2)
    >>> x
    tensor([2., 2.])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """The old form of ``cls(*args, **kwargs)``."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    n = _C._len_torch_function_stack()
    return _C._get_function_stack_at(n - 1) if n else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    mode = _C._pop_torch_function_stack()
    try:
        yield mode
    finally:
        _C._push_on_torch_function_stack(mode)


# ---------------------------------------------------------------- what can be taken over

_MODULES = ("strided", "functional", "nn.functional", "nn.init", "linalg", "fft", "special")
# What type() gives every class, and what makes and describes subclasses, is not handed over.
_OWN = set(dir(object)) - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__str__",
    "__format__", "__reduce_ex__", "__dir__"} | {"as_subclass", "_make_subclass"}  # fmt: skip


def _namespaces():
    """(name, namespace) of the modules there are, and Tensor; names as PyTorch has them."""
    for name in _MODULES:
        if name == "strided":
            yield "torch", strided
            continue
        try:
            yield f"torch.{name}", importlib.import_module(f"strided.{name}")
        except ModuleNotFoundError:
            continue
    yield "torch.Tensor", _C.Tensor


def _is_taken(name, value):
    """May a call of this member of a namespace be taken over?"""
    if getattr(value, "_overridable", False):
        return True
    return type(value).__name__ in ("method_descriptor", "wrapper_descriptor") and name not in _OWN


@functools.lru_cache(None)
def _members():
    """[(namespace, full name, function, True if it can be taken over)], in the order of PyTorch's names."""
    found = []
    for prefix, space in _namespaces():
        for name, value in sorted(vars(space).items()):
            if isinstance(space, type) and inspect.isgetsetdescriptor(value):
                if not name.startswith("__"):
                    found.append((value, f"{prefix}.{name}.__get__", value.__get__, True))
            elif callable(value) and not isinstance(value, type) and name != "__torch_function__":
                private = name.startswith("_") and not name.startswith("__")
                if not private or isinstance(space, type):
                    found.append((space, f"{prefix}.{name}", value, _is_taken(name, value)))
    return found


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions whose calls can be taken over, by namespace; of a property its ``__get__``.

    >>> strided.add in strided.overrides.get_overridable_functions()[strided]
    True
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for space, _, function, taken in _members():
        if taken:
            found.setdefault(space, []).append(function)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions whose calls are not handed to types: ``is_tensor``, ``manual_seed``, ..."""
    return {function for _, _, function, taken in _members() if not taken}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results Tensor.__torch_function__ leaves as they are."""
    return set(_C._unwrapped_functions)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """PyTorch's name of a function that was passed to ``__torch_function__``; None for others.

    >>> strided.overrides.resolve_name(strided.Tensor.add), strided.overrides.resolve_name(strided.Tensor.shape.__get__)
    ('torch.Tensor.add', 'torch.Tensor.shape.__get__')
    """
    if isinstance(f, str):
        return f
    if isinstance(f, (strided.ops.OpOverload, strided.ops.OpOverloadPacket)):
        return str(f)
    return _names().get(f)


@functools.lru_cache(None)
def _names():
    found: dict[Any, str] = {}
    for _, name, function, taken in _members():
        if taken:
            found.setdefault(function, name)
            if name.endswith(".__get__"):
                setter = getattr(function.__self__, "__set__", None)
                found.setdefault(setter, name.removesuffix("__get__") + "__set__")
    for name, function in _C.functions.items():  # also those that a program put functions of its own in the place of
        if not name.startswith(("_", "Tensor.")) and getattr(function, "_overridable", False):
            found.setdefault(function, f"torch.{name}")
    return found


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True for methods of Tensor, and for ``__get__`` of its properties.

    >>> strided.overrides.is_tensor_method_or_property(strided.Tensor.add)
    True
    >>> strided.overrides.is_tensor_method_or_property(strided.add)
    False
    """
    return func in _methods() or func.__name__ == "__get__"


@functools.lru_cache(None)
def _methods():
    return {function for space, _, function, taken in _members() if taken and space is _C.Tensor}


@functools.lru_cache(None)
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be taken over, one with its signature that returns -1."""
    return {function: _dummy(function) for _, _, function, taken in _members() if taken}


def _dummy(function):
    def dummy(*args, **kwargs):
        return -1

    try:
        dummy.__signature__ = inspect.signature(function)
    except (TypeError, ValueError):  # a property's __get__, a slot: of self
        dummy.__signature__ = inspect.signature(lambda self: -1)
    return dummy
