"""Futures of calls between ranks, which no thread of their own brings to an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..futures import Future

if TYPE_CHECKING:
    from .._typing import Any, Callable
    from ._collectives import Work


class CallFuture(Future):
    """The result of a call, or what callbacks make of it: waiting for it ends the call, and calls them."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def _end(self) -> None:
        if self._done:
            return
        try:
            self._work.wait()
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(self._work.result())

    def done(self) -> bool:
        """Whether it is there."""
        if not self._done and self._work.is_completed():
            self._end()
        return self._done

    def wait(self) -> Any:
        """The value; raises what went wrong."""
        self._end()
        return super().wait()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of callback(self)."""
        made, plain = CallFuture(self._work), super().then(callback)
        made._end = lambda: _pass_on(self, plain, made)  # type: ignore[method-assign]
        return made


def _pass_on(first: CallFuture, plain: Future, made: Future) -> None:
    if made._done:
        return
    first._end()
    try:
        made.set_result(plain.wait())
    except Exception as error:
        made.set_exception(error)
