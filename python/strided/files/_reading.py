"""A file as a tensor of bytes, of which the readers take pieces."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["bytes_of", "is_path", "map_path", "opened", "piece", "swapped", "take"]

_f = _C.functions


def is_path(f: Any) -> bool:
    """Whether f names a file; else it is taken for a file object. TypeError for a number: no descriptor was meant."""
    if isinstance(f, int):
        raise TypeError(f"a path or a file object is required, not {type(f).__name__}")
    return isinstance(f, (str, bytes, os.PathLike))


@contextlib.contextmanager
def opened(path: Any, flags: int = os.O_RDONLY) -> Iterator[int]:
    """The descriptor of a file, open for the block."""
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def map_path(path: Any, shared: bool = False) -> Tensor:
    """All bytes of a file as a tensor on mapped memory; writes stay in this process, unless ``shared``."""
    with opened(path, os.O_RDWR if shared else os.O_RDONLY) as fd:
        return _f["_map_file"](fd, shared)


def piece(whole: Tensor, begin: int, shape: Any, dtype: Any) -> Tensor:
    """A tensor on a part of a file's bytes, with a storage of its own; RuntimeError if the file ends before."""
    return _f["_piece_of"](whole, begin, list(shape), dtype)


def take(whole: Tensor, begin: int, n: int) -> bytes:
    """n bytes of a file; RuntimeError if it ends before."""
    return bytes(memoryview(piece(whole, begin, (n,), _C.uint8).numpy())) if n else b""


def bytes_of(data: Any) -> Tensor:
    """A tensor of bytes on the memory of an object with the buffer protocol."""
    if len(memoryview(data)) == 0:
        return _f["empty"]((0,), dtype=_C.uint8)
    return _C.from_buffer(data, _C.uint8, -1, 0)


def swapped(t: Tensor, order: str) -> Tensor:
    """The tensor itself, or, if its numbers are in the other byte order ('<' or '>'), a copy with their bytes turned
    around."""
    if order == ("<" if sys.byteorder == "little" else ">"):
        return t
    size = t.dtype.to_real().itemsize if t.dtype.is_complex else t.dtype.itemsize
    return t.contiguous().view(-1).view(_C.uint8).view(-1, size).flip(1).reshape(-1).view(t.dtype).view(t.shape)
