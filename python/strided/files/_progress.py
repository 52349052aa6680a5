"""How far the reading or writing of a long file is."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C

__all__ = ["counted", "progress"]

_f = _C.functions


class _Bar:
    """A bar of tqdm's where that is installed, else one of our own, which a terminal alone shows."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm, self._bar, self._start = tqdm, None, 0.0

    def __call__(self, done: int, total: int) -> None:
        if self._tqdm is None:
            self._draw(done, total)
            return
        if done == 0 or self._bar is None:
            self._bar = self._tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024)
        self._bar.update(done - self._bar.n)
        if done == total:
            self.close()

    def _draw(self, done: int, total: int) -> None:
        from .._commands.terminal import Screen

        if done == 0:
            self._start = time.perf_counter()
        screen = Screen(sys.stderr)
        if done < total:
            screen.bar(done, total, f"{total / 2**20:.1f} MiB", self._start)
        else:
            screen.bar_gone()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


@contextlib.contextmanager
def progress(callback: Callable[[int, int], Any] | None = None) -> Iterator[None]:
    """Tells how far the files are that this thread reads and writes inside of the block.

    Of each file ``callback(done, total)`` hears at the beginning (``done`` is 0), about every hundredth part, and at
    the end (``done`` is ``total``). Files that are mapped are not read, and tell nothing; nor do files without numbers,
    and those that the callback itself reads and writes.

    Args:
        callback: a function of the bytes that moved and of all bytes. What it raises ends the reading or writing; a
            file that was to be replaced then stays as it was. None: a bar of tqdm's where that is installed, else a
            bar on standard error if that is a terminal.

    >>> import io
    >>> with strided.files.progress(lambda done, total: print(done, "of", total)):
    ...     strided.save(strided.ones(4), io.BytesIO())
    0 of 16
    16 of 16
    """
    bar = None if callback else _Bar()
    before = _f["_set_progress"](callback or bar)
    try:
        yield
    finally:
        _f["_set_progress"](before)
        if bar:
            bar.close()


@contextlib.contextmanager
def counted(total: int) -> Iterator[Callable[[int], None]]:
    """Counts the bytes of one file that Python reads or writes; gives the function to be told how many moved."""
    finished = False
    outer = _f["_progress_begins"](total)
    try:
        yield _f["_progress_moved"]
        finished = True
    finally:
        if outer:
            _f["_progress_ends"](finished)
