"""Contexts and decorators that switch recording on and off."""

from __future__ import annotations

import functools

from .. import _C

_get, _set = _C.functions["is_grad_enabled"], _C.functions["_set_grad_enabled"]


class _Mode:
    mode = False

    def __enter__(self):
        self._before = _get()
        _set(self.mode)

    def __exit__(self, *exc):
        _set(self._before)

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)._again(self):
                return function(*args, **kwargs)

        return wrapped

    def _again(self):
        return type(self)()


class no_grad(_Mode):
    """Context and decorator: operations are not recorded.

    >>> x = strided.ones(2, requires_grad=True)
    >>> with strided.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else self(function)


class enable_grad(_Mode):
    """Context and decorator: operations are recorded, also inside no_grad."""

    mode = True

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else self(function)


class set_grad_enabled(_Mode):
    """Switches recording at once; as a context, until its end."""

    def __init__(self, mode):
        self.mode = bool(mode)
        self._before = _get()
        _set(self.mode)

    def __enter__(self):
        _set(self.mode)

    def _again(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function):
        _set(self._before)  # as a decorator it must not act now
        return super().__call__(function)


class inference_mode(_Mode):
    """As no_grad; ``inference_mode(False)`` records."""

    def __init__(self, mode=True):
        self.mode = not mode

    def _again(self):
        return inference_mode(not self.mode)
