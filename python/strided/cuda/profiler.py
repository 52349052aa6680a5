"""The switch of NVIDIA's profilers (``strided.cuda.profiler``): for programs to import; one that is used says so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

__all__ = ["init", "profile", "start", "stop"]


def _none(name: str) -> NoReturn:
    raise NotImplementedError(
        f"cuda.profiler.{name}: strided does not switch NVIDIA's profilers; profiler.profile is strided's own"
    )


def init(output_file: str, flags: list[str] | None = None, output_mode: str = "key_value") -> None:
    """NotImplementedError: would say where results go."""
    _none("init")


def start() -> None:
    """NotImplementedError: would begin what the profiler records."""
    _none("start")


def stop() -> None:
    """NotImplementedError: would end it."""
    _none("stop")


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """NotImplementedError when it is entered: would record a block."""
    _none("profile")
    yield
