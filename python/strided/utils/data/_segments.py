"""How batches come from a worker: large tensors in memory that both processes see, everything else pickled.

A segment is such memory, as large as the tensors of one batch. The worker copies them into it, sends the segment's
number with the rest, and for a new segment its file descriptor beforehand. The process that reads the batch makes
tensors of the segment where it lies. Once the last of them is gone, the worker is told so with its next task, and uses
the segment again: then nothing is allocated, mapped or written to a pipe for the tensors of a batch. Segments that a
forked process may see are not used again.
"""

from __future__ import annotations

import array
import contextlib
import io
import math
import mmap
import os
import pickle
import socket
import threading
import weakref
from collections import deque
from multiprocessing import reduction
from typing import TYPE_CHECKING

import strided

from ... import _C

if TYPE_CHECKING:
    from ..._typing import Any, Iterable

_HAS_SEGMENTS = hasattr(os, "memfd_create")  # Linux; elsewhere batches are pickled whole
_LARGE = 1 << 14  # bytes of a tensor that is worth a segment
_KEPT = 4  # segments that wait to be used again
_MOST = 32  # that one worker's reader holds: each takes a file descriptor in both. Further batches are pickled whole
_NUMBER = 8  # bytes of a segment's number
_ALIGNED = 64
_current = threading.local()  # .segment: where the tensors lie that are being unpickled


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


class _Pickler(reduction.ForkingPickler):
    """Leaves large tensors out, and collects them with their places in a segment."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors: list[tuple[Any, int]] = []
        self.size = 0

    def reducer_override(self, item: Any) -> Any:
        if type(item) is not _C.Tensor or not _fits(item):
            return NotImplemented
        at, self.size = self.size, self.size + _up(item.nbytes, _ALIGNED)
        self.tensors.append((item, at))
        return _in_segment, (at, item.dtype, tuple(item.shape), item.stride())


def _fits(t: Any) -> bool:
    return (
        t.is_cpu
        and t.layout is strided.strided
        and not t.requires_grad
        and not t.is_shared()
        and t.nbytes >= _LARGE
        and t.is_contiguous()
        and not (t.is_conj() or t.is_neg() or t.__dict__)
    )


def _in_segment(at: int, dtype: Any, shape: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    return _tensor(_current.segment, at, dtype, shape, stride)


def _tensor(memory: Any, at: int, dtype: Any, shape: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    return _C.from_buffer(memory, dtype, math.prod(shape), at).as_strided(shape, stride, 0)


class Sender:
    """What a worker keeps: its segments, and those that nobody reads any more."""

    def __init__(self, descriptors: Any) -> None:
        self.socket, self.made = _socket(descriptors), 0
        self.memory: dict[int, mmap.mmap] = {}
        self.free: list[int] = []

    def returned(self, free: Iterable[int], gone: Iterable[int]) -> None:
        """These are read no more; those of `gone` are not to be written to, either."""
        self.free += free
        for n in gone:
            del self.memory[n]

    def pack(self, batch: Any) -> tuple[bytes, int | None, list[int]]:
        """(the pickled batch, the number of the segment with its tensors, numbers of segments that are given up)."""
        number = None
        if _HAS_SEGMENTS and len(self.memory) - len(self.free) < _MOST:
            file = io.BytesIO()
            pickler = _Pickler(file)
            pickler.dump(batch)
            if not pickler.tensors:
                return file.getvalue(), None, []
            number = self._segment(pickler.size)
        if number is None:
            return bytes(reduction.ForkingPickler.dumps(batch, pickle.HIGHEST_PROTOCOL)), None, []
        for t, at in pickler.tensors:
            _tensor(self.memory[number], at, t.dtype, tuple(t.shape), t.stride()).copy_(t)
        given_up = [self.free.pop(0) for _ in range(len(self.free) - _KEPT)]
        for n in given_up:
            del self.memory[n]
        return file.getvalue(), number, given_up

    def _segment(self, size: int) -> int | None:
        """The smallest free one that is large enough, or a new one; None where the system has none left."""
        enough = [n for n in self.free if len(self.memory[n]) >= size]
        if enough:
            number = min(enough, key=lambda n: len(self.memory[n]))
            self.free.remove(number)
            return number
        size = _up(size + size // 8, mmap.PAGESIZE)  # batches of texts differ a little
        try:
            fd = os.memfd_create("strided")
            try:
                os.ftruncate(fd, size)
                memory = mmap.mmap(fd, size)
                _send(self.socket, self.made, fd)
            finally:
                os.close(fd)
        except OSError:
            return None
        number, self.made = self.made, self.made + 1
        self.memory[number] = memory
        return number


class Receiver:
    """The other end: what one worker sends."""

    def __init__(self, descriptors: Any) -> None:
        self.socket = _socket(descriptors)
        self.memory: dict[int, mmap.mmap] = {}
        self.lost: set[int] = set()  # whose descriptors this process could not take
        self.held: dict[int, weakref.finalize] = {}
        self.free: deque[int] = deque()  # numbers for the worker
        self.gone: deque[int] = deque()
        _receivers.add(self)

    def take_returned(self) -> tuple[list[int], list[int]]:
        """The segments that were given back since the last call, and those of them that are not used again."""
        free = [self.free.popleft() for _ in range(len(self.free))]
        gone = [self.gone.popleft() for _ in range(len(self.gone))]
        self._give_up(gone)
        return free, gone

    def unpack(self, packed: tuple[bytes, int | None, list[int]]) -> Any:
        """The batch."""
        pickled, number, given_up = packed
        self._give_up(given_up)
        if number is None:
            return pickle.loads(pickled)
        held = memoryview(self._mapped(number))  # every tensor of the batch keeps it
        self._watch(held, self.free, number)
        before = getattr(_current, "segment", None)  # an object that is unpickled may read another batch
        _current.segment = held
        try:
            return pickle.loads(pickled)
        finally:
            _current.segment = before

    def drop(self, packed: tuple[bytes, int | None, list[int]]) -> None:
        """A batch that nobody wants."""
        _, number, given_up = packed
        self._give_up(given_up)
        if number is not None:
            with contextlib.suppress(RuntimeError):
                self._mapped(number)
                self.free.append(number)

    def keep_from_reuse(self) -> None:
        """For a process that is about to be forked, and sees the batches that there are: they are not written over."""
        for number, watch in list(self.held.items()):
            if (found := watch.detach()) is not None:
                self._watch(found[0], self.gone, number)

    def _watch(self, view: memoryview, to: deque[int], number: int) -> None:
        self.held[number] = watch = weakref.finalize(view, to.append, number)
        watch.atexit = False

    def _mapped(self, number: int) -> mmap.mmap:
        while number not in self.memory and number not in self.lost:
            came, fd = _receive(self.socket)
            try:
                if fd is not None:
                    self.memory[came] = mmap.mmap(fd, os.fstat(fd).st_size)
            except OSError:
                pass
            finally:
                if fd is not None:
                    os.close(fd)
            if came not in self.memory:
                self.lost.add(came)
                self.gone.append(came)
        if number in self.lost:
            raise RuntimeError(
                "DataLoader: a batch is in shared memory that this process cannot open; there may be too many open "
                "files (ulimit -n) or too little memory"
            )
        return self.memory[number]

    def _give_up(self, numbers: list[int]) -> None:
        for n in numbers:
            self.memory.pop(n, None)
            self.held.pop(n, None)


_receivers: weakref.WeakSet[Receiver] = weakref.WeakSet()


def _before_fork() -> None:
    for receiver in list(_receivers):
        receiver.keep_from_reuse()


if _HAS_SEGMENTS:
    os.register_at_fork(before=_before_fork)


def _socket(connection: Any) -> socket.socket:
    return socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)


def _send(to: socket.socket, number: int, fd: int) -> None:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    to.sendmsg([number.to_bytes(_NUMBER, "little")], rights)


def _receive(from_: socket.socket) -> tuple[int, int | None]:
    """(the number of a segment, its descriptor or None where this process can have no more)."""
    message, rights, *_ = from_.recvmsg(_NUMBER, socket.CMSG_SPACE(array.array("i").itemsize))
    if len(message) != _NUMBER:
        raise EOFError("DataLoader: the worker has ended")
    found = array.array("i")
    for level, kind, data in rights:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: found.itemsize])
    return int.from_bytes(message, "little"), found[0] if found else None
