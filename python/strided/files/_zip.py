"""Zip archives: the directory is read and checked in C++, compressed entries are unpacked here."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import _C
from ._reading import is_path

__all__ = ["Archive", "Entry", "inflate"]

_f = _C.functions
STORED, DEFLATED = 0, 8


def inflate(packed: bytes, size: int) -> bytes:
    """Unpacks a deflated entry of exactly ``size`` bytes; RuntimeError if it is damaged, or has more or fewer."""
    import zlib

    machine = zlib.decompressobj(-15)
    try:
        content = machine.decompress(packed, size + 1)
    except zlib.error as problem:
        raise RuntimeError(f"zip: a compressed entry is damaged: {problem}") from None
    if len(content) != size or not machine.eof:
        raise RuntimeError(f"zip: a compressed entry does not have the {size} bytes that the directory says")
    return content


class Entry(NamedTuple):
    """One file of an archive. ``begin`` is where its ``packed`` bytes are; it has ``size`` bytes when unpacked."""

    name: str
    begin: int
    packed: int
    size: int
    method: int
    crc: int


class Archive:
    """The entries of a zip archive, which was checked: none overlap, no name twice, none that leads out of a folder.

    Args:
        f: a path, or an object with ``read`` and ``seek``.

    Raises:
        RuntimeError: it is no zip archive, or a damaged one.
    """

    def __init__(self, f: Any) -> None:
        self._owned = is_path(f)
        self.file: Any = os.open(f, os.O_RDONLY) if self._owned else f
        try:
            self.entries = [Entry(*row) for row in _f["_archive_entries"](self.file, 0)]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file, if it was opened here."""
        if self._owned:
            os.close(self.file)
            self._owned = False

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def read_packed(self, begin: int, n: int) -> bytes:
        """n bytes from a place in the archive."""
        if isinstance(self.file, int):
            found = os.pread(self.file, n, begin)
            while len(found) < n:
                more = os.pread(self.file, n - len(found), begin + len(found))
                if not more:
                    raise RuntimeError("zip: the file became shorter while it was read")
                found += more
            return found
        self.file.seek(begin)
        return self.file.read(n)

    def read(self, entry: Entry) -> bytes:
        """The content of an entry, whose checksum is compared; RuntimeError if it is damaged."""
        content = self.read_packed(entry.begin, entry.packed)
        if entry.method == DEFLATED:
            content = inflate(content, entry.size)
        if entry.crc and _f["_crc32"](content, 0) != entry.crc:
            raise RuntimeError(f"zip: the content of entry {entry.name!r} is damaged")
        return content
