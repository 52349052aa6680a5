"""Streams and events of any device (``strided.Stream``, ``strided.Event``): those of CUDA where it is the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, Device

__all__ = ["Event", "Stream"]


def _device(device: Any) -> _C.device:
    """The device that is meant; None: a GPU if there is one."""
    if device is not None:
        return _C.device("cuda", device) if isinstance(device, int) else _C.device(device)
    from .. import cuda

    return _C.device("cuda" if cuda.is_available() else "cpu")


class _OfDevices(type):
    """Makes the class of the device that is named: Stream("cuda") is a cuda.Stream."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls not in (Stream, Event):
            return type.__call__(cls, *args, **options)
        device = _device(args[0] if args else options.pop("device", None))
        if device.type != "cuda":
            return type.__call__(cls, device, *args[1:], **options)
        from .. import cuda

        if cls is Stream:
            return cuda.Stream(device, *args[1:], **options)
        with cuda.device(device):
            return cuda.Event(*args[1:], **options)


class Stream(metaclass=_OfDevices):
    """The order of work on a device.

    On the CPU each call has ended when it returns, so that there is nothing to wait for; for CUDA this makes a
    ``cuda.Stream``.

    Args:
        device: a GPU, if there is one, and the CPU otherwise, where it is None.
        priority: as of ``cuda.Stream``.

    >>> strided.Stream("cpu").query()
    True
    """

    def __init__(self, device: Device | None = None, priority: int = 0) -> None:
        self.device = _device(device)
        self.device_index = -1 if self.device.index is None else self.device.index

    stream_id = 0

    def query(self) -> bool:
        """True if all work in the stream is done."""
        return True

    def synchronize(self) -> None:
        """Waits for all work in the stream."""

    def record_event(self, event: Event | None = None) -> Event:
        """RuntimeError: the CPU has no events."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def wait_event(self, event: Event) -> None:
        """RuntimeError: the CPU has no events."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def wait_stream(self, stream: Stream) -> None:
        """Work queued from now on waits for what is in the other stream now."""
        if stream.device.type == "cuda":
            stream.synchronize()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


class Event(metaclass=_OfDevices):
    """A mark in a stream; for CUDA this makes a ``cuda.Event``.

    Args:
        device: a GPU, if there is one, and the CPU otherwise, where it is None.
        enable_timing, blocking, interprocess: as of ``cuda.Event``.

    >>> strided.Event("cpu").query()
    True
    """

    def __init__(
        self,
        device: Device | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = _device(device)

    event_id = 0

    def record(self, stream: Stream | None = None) -> None:
        """RuntimeError: the CPU has no events."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing: it was never recorded."""

    def query(self) -> bool:
        """True: there is no work before it."""
        return True

    def synchronize(self) -> None:
        """Nothing: it was never recorded."""

    def elapsed_time(self, end_event: Event) -> float:
        """ValueError: it was never recorded."""
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id={self.event_id}"
