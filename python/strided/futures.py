"""Results that are there later (``strided.futures``)."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]

_log = logging.getLogger(__name__)


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
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future], Any]) -> None:
        try:
            callback(self)
        except Exception:
            _log.exception("a callback of a Future raised; the other callbacks are called all the same")

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls callback(self) when the value is set, or now. What it raises is logged, and nobody else sees it."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of callback(self). What that raises is the text of a RuntimeError there."""
        following = Future()

        def run(future: Future) -> None:
            try:
                value = callback(future)
            except Exception as error:
                words = "".join(traceback.format_exception(type(error), error, error.__traceback__))
                said = RuntimeError(f"Got the following error when running the callback: {words}")
                said.__cause__ = error
                following.set_exception(said)
            else:
                following.set_result(value)

        self.add_done_callback(run)
        return following

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")


def _check_are_futures(futures: Iterable[Any]) -> None:
    if any(future is None for future in futures):
        raise RuntimeError("Future can't be None")


def collect_all(futures: list[Future]) -> Future:
    """The future of the list of all, when each of them is there."""
    _check_are_futures(futures)
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
    _check_are_futures(futures)
    return [future.wait() for future in futures]
