"""Operations below autograd, as ``utils._python_dispatch.TorchDispatchMode`` sees them.

strided computes public functions; it has no second layer of operations. While a mode is on, a function mode that is
asked after all others (``_Layer``) takes the public calls, says of which operations of ``ops.aten`` they consist
(``composites``, ``overloads``), and hands each of them to the mode. What the mode calls is computed by the public
functions again (``kernels``), which record the gradient. Results that have a gradient get a hook that reports the
operations of the backward pass (``gradients``); the gradient itself is computed by the engine.

Without a mode nothing of this is imported.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from .. import _C, is_grad_enabled, ops
from ..autograd.grad_mode import _set as _set_grad
from ..overrides import TorchFunctionMode, redispatch_function

if TYPE_CHECKING:
    from .._typing import Callable, Iterator

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class _State(threading.local):
    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.grad: bool | None = None  # inside a mode: whether the program records gradients
        self.computes = False  # a kernel runs: what it calls is no operation of the program
        self.backward = 0  # backward passes that run


state = _State()
_lock = threading.Lock()
_users = 0  # modes of all threads
_classes: Any = None  # `subclasses`, once there is a class with a __torch_dispatch__


def enter(mode: Any) -> None:
    """The mode is asked from now on."""
    global _users
    if not state.modes:
        above = [_C._pop_torch_function_stack() for _ in range(_C._len_torch_function_stack())]
        for other in (_layer, *reversed(above)):
            _C._push_on_torch_function_stack(other)
    state.modes.append(mode)
    with _lock:
        _users += 1
        ops._taken = dispatch


def leave() -> None:
    """The mode that was entered last is asked no more."""
    global _users
    state.modes.pop()
    with _lock:
        _users -= 1
        if not _users:
            ops._taken = None
    if not state.modes:
        above = [_C._pop_torch_function_stack() for _ in range(_C._len_torch_function_stack())]
        for other in reversed(above):
            if other is not _layer:
                _C._push_on_torch_function_stack(other)


def watch_operations(subclasses: Any) -> None:
    """Operations are looked at from now on, by this module: there is a class with a ``__torch_dispatch__``."""
    global _classes, _users
    with _lock:
        _users += _classes is None
        _classes = subclasses
        ops._taken = dispatch


@contextlib.contextmanager
def without_modes() -> Iterator[list[Any]]:
    """A context in which no mode is asked; gives those that were."""
    modes, state.modes = state.modes, []
    try:
        yield modes
    finally:
        state.modes = modes


def dispatch(op: ops.OpOverload, args: Any, kwargs: Any) -> Any:
    """What the mode that was entered last makes of an operation; its result if no mode is left."""
    if _classes is not None:
        found = _classes.objects(args, kwargs)
        if found or _classes.state.taken:
            return _classes.run(op, args, kwargs, found)
    if not state.modes or state.computes:
        return _compute(op, args, kwargs)
    return _ask_mode(op, args, kwargs, is_grad_enabled())


def _ask_mode(op: Any, args: Any, kwargs: Any, grad: bool) -> Any:
    outermost = state.grad is None
    if outermost:
        state.grad = grad
    modes = state.modes
    mode = modes.pop()
    recorded = is_grad_enabled()
    try:
        _set_grad(False)
        given = (op, _types(args, kwargs), tuple(args), dict(kwargs))
        if not (modes and outermost):
            return mode.__torch_dispatch__(*given)
        with _layer:
            return mode.__torch_dispatch__(*given)
    finally:
        _set_grad(recorded)
        modes.append(mode)
        if outermost:
            state.grad = None


def dispatch_registered(op: Any, args: Any, kwargs: Any) -> Any:
    """What the mode that was entered last, else a class of the arguments makes of an operation of the program's own,
    whose gradient is recorded around the call; NotImplemented where neither is to be asked."""
    if _classes is not None:
        found = _classes.objects(args, kwargs)
        if found and not _classes.state.disabled:
            return _classes.ask(op, args, kwargs, found)
    if not state.modes or state.computes:
        return NotImplemented
    return _ask_mode(op, args, kwargs, False)


def _types(args: Any, kwargs: Any) -> tuple[type, ...]:
    if _classes is None:
        return ()
    kinds = {type(a): None for a in (*args, *kwargs.values()) if isinstance(a, _C.Tensor)}
    return tuple(kind for kind in kinds if hasattr(kind, "__strided_dispatch__"))


def _compute(op: ops.OpOverload, args: Any, kwargs: Any) -> Any:
    grad = state.grad
    if grad is None or state.computes:
        return op._run(*args, **kwargs)
    recorded = is_grad_enabled()
    state.computes = True
    try:
        _set_grad(grad)
        result = op._run(*args, **kwargs)
    finally:
        _set_grad(recorded)
        state.computes = False
    if grad:
        _tables()[1](op, args, kwargs, result)
    return result


@functools.cache
def _tables() -> tuple[Any, Any]:
    """What reports public functions, and what watches results: of modules that import this one. (An import in each call
    would take as long as a short operation.)"""
    from .overloads import handlers
    from .table import watch

    return handlers(), watch


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """The operation ``aten.name`` under the modes."""
    packet, _, overload = name.partition(".")
    return dispatch(getattr(getattr(ops.aten, packet), overload or "default"), args, kwargs)


def _by_the_program() -> bool:
    """In a backward pass: did code outside the package make this call?  (Formulas of gradients are the engine's.)"""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code is run_backward.__code__:
            return False
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return True


def run_backward(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """A backward pass, in which functions of the user's own are seen as everywhere."""
    for mode in state.modes:
        getattr(mode, "_refuse_backward", lambda: None)()
    state.backward += 1
    try:
        with _layer:
            return redispatch_function(func, types, args, kwargs)
    finally:
        state.backward -= 1


class _Layer(TorchFunctionMode):
    """Takes public calls and reports operations."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if state.computes or not state.modes or (state.backward and not _by_the_program()):
            return func(*args, **kwargs)
        if types and _C._get_torch_function_state() == 0:
            for kind in types:  # types are asked before operations are seen
                if getattr(kind.__torch_function__, "__func__", None) is not _usual and kind is not _C.Tensor:
                    with self:
                        found = kind.__torch_function__(func, types, args, kwargs)
                    if found is not NotImplemented:
                        return found
        handler = _tables()[0].get(func)
        if handler is not None:
            return handler(func, types, args, kwargs)
        if hasattr(func, "__wrapped__"):  # written in Python: the functions it calls are seen
            with self:
                return redispatch_function(func, types, args, kwargs)
        return func(*args, **kwargs)


_usual = getattr(_C.Tensor.__torch_function__, "__func__", None)
_layer = _Layer()
