"""Streams: queues of work on a device; and events: marks in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._objects import streams
from ._device import current_device, device, index_of

if TYPE_CHECKING:
    from .._typing import Any, Device

_f = _C.functions


class Stream(streams.Stream):
    """A queue of work.  Work of different streams may overlap; what one stream needs of another it has to wait for.

    priority: negative goes before others.  Streams come from a pool and are handed out by turns.
    """

    def __init__(self, device: Device | None = None, priority: int = 0, **handle: Any) -> None:
        at = index_of(device)
        self.device_index = current_device() if at < 0 else at
        self.cuda_stream = (
            handle["stream_ptr"] if "stream_ptr" in handle else _f["_cuda_new_stream"](self.device_index, priority)
        )
        self.priority = priority

    @property
    def device(self) -> _C.device:  # type: ignore[override]
        return _C.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:  # type: ignore[override]
        return self.cuda_stream

    def synchronize(self) -> None:
        """Waits for all work in the stream."""
        _f["_cuda_synchronize_stream"](self.device_index, self.cuda_stream)

    def query(self) -> bool:
        """True if all work in the stream is done."""
        return _f["_cuda_stream_is_done"](self.device_index, self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Puts an event (a new one if None) behind the work in the stream, and returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Work queued from now on waits for the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Work queued from now on waits for what is in the other stream now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._context = _Use(self)
        self._context.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        return self._context.__exit__(*exc)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.cuda_stream) == (
            other.device_index,
            other.cuda_stream,
        )

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


def current_stream(device: Device | None = None) -> Stream:
    """The stream this thread puts work for the device into."""
    at = index_of(device)
    at = current_device() if at < 0 else at
    return Stream(at, stream_ptr=_f["_cuda_current_stream"](at))


def default_stream(device: Device | None = None) -> Stream:
    """The stream that is current at first, and that others wait for."""
    at = index_of(device)
    return Stream(current_device() if at < 0 else at, stream_ptr=0)


def set_stream(stream: Stream | None) -> None:
    """Makes a stream the current one of its device, and the device the current one."""
    if stream is not None:
        _f["_cuda_set_device"](stream.device_index)
        _f["_cuda_set_stream"](stream.device_index, stream.cuda_stream)


class _Use:
    """Context in which a stream is the current one."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._device = current_device()
        self._before = current_stream(self.stream.device_index)
        set_stream(self.stream)

    def __exit__(self, *exc: object) -> None:
        if self.stream is None:
            return
        set_stream(self._before)
        _f["_cuda_set_device"](self._device)


def stream(stream: Stream | None) -> _Use:
    """Context in which a stream (None: no other than before) is the current one."""
    return _Use(stream)


class Event(streams.Event):
    """A mark in a stream.  With enable_timing, two of them measure time.

    blocking and interprocess are accepted; interprocess events raise NotImplementedError.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if interprocess:
            raise NotImplementedError("Event: interprocess=True is not implemented")
        self._timing = bool(enable_timing)
        self._handle = 0

    @property
    def cuda_event(self) -> int:
        return self._handle

    def record(self, stream: Stream | None = None) -> None:
        """Puts the event behind the work in the stream (the current one if None)."""
        stream = current_stream() if stream is None else stream
        if not self._handle:
            self._handle = _f["_cuda_new_event"](stream.device_index, self._timing)
            self._index = stream.device_index
        _f["_cuda_record_event"](self._handle, stream.device_index, stream.cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Work queued into the stream from now on waits for the event; nothing if it was never recorded."""
        stream = current_stream() if stream is None else stream
        if self._handle:
            _f["_cuda_wait_event"](stream.device_index, stream.cuda_stream, self._handle)

    def query(self) -> bool:
        """True if all work before the event is done."""
        return not self._handle or _f["_cuda_event_is_done"](self._handle)

    def synchronize(self) -> None:
        """Waits for the event."""
        if self._handle:
            _f["_cuda_synchronize_event"](self._handle, self._index)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to the other.  RuntimeError unless both measure time and have happened."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._handle and end_event._handle):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return _f["_cuda_elapsed"](self._handle, end_event._handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            _f["_cuda_free_event"](self._handle)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self._handle:#x}>" if self._handle else "<torch.cuda.Event uninitialized>"


__all__ = ["Event", "Stream", "current_stream", "default_stream", "device", "set_stream", "stream"]


StreamContext = _Use  # the class of what stream() gives
