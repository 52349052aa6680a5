"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Any

__all__ = ["replacing"]


def _beside(target: str) -> str:
    """The name of a new file in the same folder, which no other process takes."""
    folder, name = os.path.split(target)
    unique = f"{os.getpid()}-{os.urandom(6).hex()}.tmp"
    return os.path.join(folder, f".{name[:100]}.{unique}")


def _flush_folder(folder: str) -> None:
    """The new name is on the disk when this returns, where the system can tell."""
    with contextlib.suppress(OSError):
        fd = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[int]:
    """The descriptor of a new file that takes the place of ``path`` when the block ends without an exception.

    Until then whoever opens ``path`` finds the old file, or none. The new one stands beside it, is flushed to the disk
    and renamed. What is no regular file (a pipe, a device) is written to directly.

    Args:
        path: str, bytes or os.PathLike. The target of a symbolic link is replaced, not the link.

    Raises:
        OSError: the folder is missing or may not be written to, or the disk is full.
    """
    target = os.path.realpath(os.fsdecode(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{target} is a directory")
    if mode is not None and not stat.S_ISREG(mode):
        fd = os.open(target, os.O_WRONLY)
        try:
            yield fd
        finally:
            os.close(fd)
        return
    made = _beside(target)
    fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            if mode is not None:
                os.fchmod(fd, stat.S_IMODE(mode))
            yield fd
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(made, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise
    _flush_folder(os.path.dirname(target))
