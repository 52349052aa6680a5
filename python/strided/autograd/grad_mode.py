"""Contexts and decorators that switch recording on and off."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, F

_get, _set = _C.functions["is_grad_enabled"], _C.functions["_set_grad_enabled"]
_set_modes, is_inference_mode_enabled = _C.functions["_set_modes"], _C.functions["is_inference_mode_enabled"]


class _Mode:
    mode = False

    def __init__(self, *args: Any) -> None:
        self._before = []  # a context may be entered again inside itself

    def __enter__(self) -> None:
        self._before.append(_get())
        _set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _set(self._before.pop())

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated: it makes a function of the class. Decorate its methods instead.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def wrapped(*args, **kwargs):
                return self._resumed(function(*args, **kwargs))

        else:

            @functools.wraps(function)
            def wrapped(*args, **kwargs):
                with self._again():
                    return function(*args, **kwargs)

        return wrapped

    def _again(self):
        return type(self)()

    def _resumed(self, generator):
        """The generator, which is in the mode while it runs and not while it waits."""
        resume = functools.partial(next, generator)
        try:
            while True:
                try:
                    with self._again():
                        value = resume()
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield value
                    resume = functools.partial(generator.send, sent)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)
        finally:
            with self._again():
                generator.close()


class no_grad(_Mode):
    """Context and decorator: operations are not recorded.

    >>> x = strided.ones(2, requires_grad=True)
    >>> with strided.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function: Any = None) -> no_grad:
        self = super().__new__(cls)
        return self if function is None else self(function)


class enable_grad(_Mode):
    """Context and decorator: operations are recorded, also inside no_grad."""

    mode = True

    def __new__(cls, function: Any = None) -> enable_grad:
        self = super().__new__(cls)
        return self if function is None else self(function)


class set_grad_enabled(_Mode):
    """Switches recording at once; as a context, until its end."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before = _get()
        _set(self.mode)

    def __enter__(self) -> None:
        _set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _set(self._before)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}(mode={self.mode})"

    def _again(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        _set(self._before)  # as a decorator it must not act now
        return super().__call__(function)


class _Threads(threading.local):
    on = True


_threads = _Threads()


def is_multithreading_enabled() -> bool:
    """What set_multithreading_enabled said last in this thread."""
    return _threads.on


class set_multithreading_enabled(_Mode):
    """Whether a backward pass may take threads of its own; as a context, until its end. It takes none here, so that
    the answer of ``is_multithreading_enabled()`` is all that changes.

    >>> with strided.autograd.set_multithreading_enabled(False):
    ...     strided.autograd.is_multithreading_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode, self._before = bool(mode), _threads.on
        _threads.on = self.mode

    def __enter__(self) -> None:
        _threads.on = self.mode

    def __exit__(self, *exc: object) -> None:
        _threads.on = self._before

    def _again(self):
        return set_multithreading_enabled(self.mode)

    def __call__(self, function: F) -> F:
        _threads.on = self._before  # as a decorator it must not act now
        return super().__call__(function)


class inference_mode(_Mode):
    """Records nothing, and what is computed in it stays out of every graph: ``is_inference()`` is True for its tensors.

    Outside they can be read, but not written to, nor used where a gradient reads them: ``clone()`` first.
    ``inference_mode(False)`` records.

    >>> with strided.inference_mode():
    ...     y = strided.ones(2) * 2
    >>> y.is_inference(), (y + 1).is_inference()
    (True, False)
    """

    def __new__(cls, mode: Any = True) -> inference_mode:
        self = super().__new__(cls)
        if not callable(mode):
            return self
        self.__init__()
        return self(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = not mode

    def __enter__(self) -> None:
        self._before.append((_get(), is_inference_mode_enabled()))
        _set_modes(self.mode, not self.mode)

    def __exit__(self, *exc: object) -> None:
        _set_modes(*self._before.pop())

    def _again(self):
        return inference_mode(not self.mode)
