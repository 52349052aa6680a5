"""The CPU as a device with streams (``strided.cpu``): one stream, in which every call has ended when it returns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import amp
from ._capabilities import get_capabilities

__all__ = [
    "Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "get_capabilities",
    "is_available", "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """The order of calls."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing: there is nothing to wait for."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event, which has happened."""
        return event or Event()

    def wait_event(self, event: Event) -> None:
        """Nothing: it has happened."""


class Event:
    """A point in the order of calls."""

    def query(self) -> bool:
        """True: it has happened."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing."""

    def synchronize(self) -> None:
        """Nothing."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _stream


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[Stream | None]:
    """A context that changes nothing."""
    yield stream


StreamContext = stream


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing: calls have ended when they return."""
