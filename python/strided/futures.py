"""Results that are there later (``strided.futures``)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value, or an exception, that some thread sets once.

    Args:
        devices: unused.

    >>> future = torch.futures.Future()
    >>> later = future.then(lambda f: f.value() + 1)
    >>> future.set_result(torch.ones(2)); later.wait()
    tensor([2., 2.])
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def __class_getitem__(cls, item: Any) -> Any:
        import types

        return types.GenericAlias(cls, item)

    def done(self) -> bool:
        """Whether it is there."""
        return self._done

    def wait(self) -> Any:
        """The value, as soon as it is there; raises the exception if there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> Any:
        """The value; RuntimeError if it is not there yet."""
        if not self._done:
            raise RuntimeError("Future: value() was called before the value was set; use wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Sets the value; RuntimeError the second time."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets the exception that wait() raises; RuntimeError the second time."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._set(None, result)

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError("Future: the value was set before")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls callback(self) when the value is set, or now. What it raises goes to who sets the value."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of callback(self)."""
        following = Future()

        def run(future: Future) -> None:
            try:
                value = callback(future)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(value)

        self.add_done_callback(run)
        return following


def collect_all(futures: list[Future]) -> Future:
    """The future of the list of all, when each of them is there."""
    collected = Future()
    missing, lock = len(futures), threading.Lock()

    def one_more(_: Future) -> None:
        nonlocal missing
        with lock:
            missing -= 1
            complete = missing == 0
        if complete:
            collected.set_result(futures)

    if not futures:
        collected.set_result([])

    for future in futures:
        future.add_done_callback(one_more)
    return collected


def wait_all(futures: list[Future]) -> list[Any]:
    """The values of all, in order; raises what one of them raises."""
    return [future.wait() for future in futures]
