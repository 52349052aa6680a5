"""Marks for NVIDIA's profilers (``strided.cuda.nvtx``): for programs to import; one that is set says there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _none(name: str) -> NoReturn:
    raise NotImplementedError(
        f"cuda.nvtx.{name}: strided sets no marks for NVIDIA's profilers; autograd.profiler.record_function names "
        "parts of a program for strided's own"
    )


def range_push(msg: str) -> int:
    """NotImplementedError: would begin a range that is named."""
    _none("range_push")


def range_pop() -> int:
    """NotImplementedError: would end the range that began last."""
    _none("range_pop")


def range_start(msg: str) -> int:
    """NotImplementedError: would begin a range that any thread may end."""
    _none("range_start")


def range_end(range_id: int) -> None:
    """NotImplementedError: would end a range of range_start()."""
    _none("range_end")


def mark(msg: str) -> None:
    """NotImplementedError: would mark a moment."""
    _none("mark")


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """NotImplementedError when it is entered: would be a range around a block."""
    _none("range")
    yield
