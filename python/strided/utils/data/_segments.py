"""How batches come from a worker: large tensors in memory that both processes see, everything else pickled.

A segment is such memory, as large as the tensors of one batch. The worker copies them into it, sends the segment's
number with the rest, and for a new segment its file descriptor beforehand. The process that reads the batch makes
tensors of the segment where it lies. Once the last of them is gone, the worker is told so with its next task, and uses
the segment again: then nothing is allocated, mapped or written to a pipe for the tensors of a batch.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
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
        return _in_segment, (at, item.dtype, tuple(item.shape))


def _fits(t: Any) -> bool:
    return (
        _HAS_SEGMENTS
        and t.is_cpu
        and t.layout is strided.strided
        and not t.requires_grad
        and not t.is_shared()
        and t.nbytes >= _LARGE
        and t.is_contiguous()
        and not (t.is_conj() or t.is_neg())
    )


def _in_segment(at: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    return _tensor(_current.segment, at, dtype, shape)


def _tensor(memory: Any, at: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    count = 1
    for n in shape:
        count *= n
    return _C.from_buffer(memory, dtype, count, at).view(shape)


class Sender:
    """What a worker keeps: its segments, and those that nobody reads any more."""

    def __init__(self, descriptors: Any) -> None:
        self.descriptors, self.made = descriptors, 0
        self.memory: dict[int, mmap.mmap] = {}
        self.free: list[int] = []

    def freed(self, numbers: Iterable[int]) -> None:
        """These are read no more."""
        self.free += numbers

    def pack(self, batch: Any) -> tuple[bytes, int | None, list[int]]:
        """(the pickled batch, the number of the segment with its tensors, numbers of segments that are given up)."""
        file = io.BytesIO()
        pickler = _Pickler(file)
        pickler.dump(batch)
        if not pickler.tensors:
            return file.getvalue(), None, []
        number = self._segment(pickler.size)
        for t, at in pickler.tensors:
            _tensor(self.memory[number], at, t.dtype, tuple(t.shape)).copy_(t)
        given_up = [self.free.pop(0) for _ in range(len(self.free) - _KEPT)]
        for n in given_up:
            del self.memory[n]
        return file.getvalue(), number, given_up

    def _segment(self, size: int) -> int:
        """The smallest free one that is large enough, or a new one."""
        enough = [n for n in self.free if len(self.memory[n]) >= size]
        if enough:
            number = min(enough, key=lambda n: len(self.memory[n]))
            self.free.remove(number)
            return number
        number, self.made = self.made, self.made + 1
        size = _up(size + size // 8, mmap.PAGESIZE)  # batches of texts differ a little
        fd = os.memfd_create("strided")
        try:
            os.ftruncate(fd, size)
            self.memory[number] = mmap.mmap(fd, size)
            reduction.send_handle(self.descriptors, fd, None)
        finally:
            os.close(fd)
        return number


class Receiver:
    """The other end: what one worker sends."""

    def __init__(self, descriptors: Any) -> None:
        self.descriptors, self.seen = descriptors, 0
        self.memory: dict[int, mmap.mmap] = {}
        self.free: deque[int] = deque()  # numbers for the worker

    def take_freed(self) -> list[int]:
        """The segments that were given back since the last call."""
        return [self.free.popleft() for _ in range(len(self.free))]

    def unpack(self, packed: tuple[bytes, int | None, list[int]]) -> Any:
        """The batch."""
        pickled, number, given_up = packed
        self._give_up(given_up)
        if number is None:
            return pickle.loads(pickled)
        held = memoryview(self._mapped(number))  # every tensor of the batch keeps it
        weakref.finalize(held, self.free.append, number).atexit = False
        _current.segment = held
        try:
            return pickle.loads(pickled)
        finally:
            del _current.segment

    def drop(self, packed: tuple[bytes, int | None, list[int]]) -> None:
        """A batch that nobody wants."""
        _, number, given_up = packed
        self._give_up(given_up)
        if number is not None:
            self._mapped(number)
            self.free.append(number)

    def _mapped(self, number: int) -> mmap.mmap:
        while number not in self.memory:  # descriptors come in the order of the numbers
            fd = reduction.recv_handle(self.descriptors)
            self.memory[self.seen] = mmap.mmap(fd, os.fstat(fd).st_size)
            self.seen += 1
            os.close(fd)
        return self.memory[number]

    def _give_up(self, numbers: list[int]) -> None:
        for n in numbers:
            del self.memory[n]
