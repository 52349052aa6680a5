"""GGUF, the files of llama.cpp: versions 2 and 3. Tensors that are not quantised are read, quantised ones are listed.

The format is described in ``docs/gguf.md`` of https://github.com/ggml-org/ggml.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _C
from ._reading import map_path, piece, take

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["load_gguf"]

# Numbers of types, to dtypes; what is not here is quantised, and its size is in blocks.
_DTYPES = {0: _C.float32, 1: _C.float16, 24: _C.int8, 25: _C.int16, 26: _C.int32, 27: _C.int64, 28: _C.float64,
           30: _C.bfloat16}  # fmt: skip
# Quantised types: elements and bytes of a block.
_BLOCKS = {
    2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 29: ("IQ1_M", 256, 56),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


class Info(NamedTuple):
    """One tensor: its type by name, its dtype (None if it is quantised), and where its bytes are in the file."""

    type: str
    dtype: Any
    shape: tuple[int, ...]
    begin: int
    nbytes: int


def _wrong(why: str) -> RuntimeError:
    return RuntimeError(f"gguf: {why}")


class _Cursor:
    """Values one after the other. Every length is compared with what is left before anything is read."""

    def __init__(self, whole: Tensor) -> None:
        self._whole, self.at, self._size = whole, 0, whole.numel()
        self._window, self._from = b"", 0

    def bytes(self, n: int) -> bytes:
        if n > self._size - self.at:
            raise _wrong("the file ends in its header")
        if self.at + n > self._from + len(self._window):
            self._from = self.at
            self._window = take(self._whole, self.at, min(max(n, 65536), self._size - self.at))
        begin = self.at - self._from
        self.at += n
        return self._window[begin : begin + n]

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.bytes(struct.calcsize("<" + code)))[0]

    def count(self, least: int, what: str) -> int:
        """The number of things that follow, each of which takes ``least`` bytes."""
        n = self.number("Q")
        if n > (self._size - self.at) // least:
            raise _wrong(f"{n} {what} do not fit into the file")
        return n

    def text(self) -> str:
        try:
            return self.bytes(self.count(1, "bytes of a text")).decode("utf-8")
        except UnicodeDecodeError:
            raise _wrong("a text is not UTF-8") from None

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            if kind not in _NUMBERS:
                raise _wrong(f"a value of unknown type {kind}")
            return self.number(_NUMBERS[kind])
        if depth > 3:
            raise _wrong("lists are nested too deeply")
        kind = self.number("I")
        if kind in _NUMBERS:
            size = struct.calcsize("<" + _NUMBERS[kind])
            n = self.count(size, "numbers")
            return list(struct.unpack(f"<{n}{_NUMBERS[kind]}", self.bytes(n * size)))
        return [self.value(kind, depth + 1) for _ in range(self.count(8, "values"))]


def _tensor_info(cursor: _Cursor, name: str) -> Info:
    dims = cursor.number("I")
    if dims > 4:
        raise _wrong(f"{name!r} has {dims} axes")
    shape = tuple(cursor.number("Q") for _ in range(dims))[::-1]  # the fastest axis comes first in the file
    kind, begin = cursor.number("I"), cursor.number("Q")
    count = 1
    for n in shape:
        count *= n
    if count >= 2**59 or any(n >= 2**63 for n in shape):  # also beside an axis of size 0
        raise _wrong(f"the size of {name!r} of shape {shape} overflows")
    if kind in _DTYPES:
        dtype = _DTYPES[kind]
        return Info(dtype._traits["name"], dtype, shape, begin, count * dtype.itemsize)
    if kind not in _BLOCKS:
        raise _wrong(f"{name!r} has an unknown type {kind}")
    name_of_type, elements, nbytes = _BLOCKS[kind]
    if count % elements or (shape and shape[-1] % elements):
        raise _wrong(f"{name!r} of shape {shape} is not made of blocks of {elements}")
    return Info(name_of_type, None, shape, begin, count // elements * nbytes)


def read_header(whole: Tensor) -> tuple[dict[str, Any], dict[str, Info]]:
    """Metadata and tensors of a file; RuntimeError if it is damaged."""
    cursor = _Cursor(whole)
    if whole.numel() < 24 or cursor.bytes(4) != b"GGUF":
        raise _wrong("this is no GGUF file")
    version = cursor.number("I")
    if version not in (2, 3):
        raise _wrong(f"version {version} is unknown, or in another byte order")
    tensors, pairs = cursor.count(24, "tensors"), cursor.count(13, "values")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = cursor.text()
        if key in metadata:
            raise _wrong(f"the value {key!r} is there twice")
        metadata[key] = cursor.value(cursor.number("I"))
    found: dict[str, Info] = {}
    for _ in range(tensors):
        name = cursor.text()
        if name in found:
            raise _wrong(f"the tensor {name!r} is there twice")
        found[name] = _tensor_info(cursor, name)
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 1 <= alignment <= 2**20 or alignment & (alignment - 1):
        raise _wrong(f"the alignment {alignment!r} is no power of two")
    return metadata, _placed(found, -(-cursor.at // alignment) * alignment, alignment, whole.numel())


def _placed(found: dict[str, Info], begin: int, alignment: int, size: int) -> dict[str, Info]:
    """The tensors with their places in the file. None may overlap another one, or reach beyond the end."""
    placed = {name: info._replace(begin=begin + info.begin) for name, info in found.items()}
    at = begin
    for name, info in sorted(placed.items(), key=lambda item: (item[1].begin, item[1].nbytes)):
        if info.begin % alignment:
            raise _wrong(f"{name!r} is not at a multiple of {alignment}")
        if info.begin < at:
            raise _wrong(f"{name!r} overlaps another tensor")
        at = info.begin + info.nbytes
        if at > size:
            raise _wrong(f"the file ends before {name!r} does")
    return placed


def load_gguf(filename: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a GGUF file by name, on mapped memory, and its metadata.

    Args:
        filename: a path.

    Raises:
        RuntimeError: the file is damaged.
        NotImplementedError: tensors are quantised; the error names their types.
    """
    whole = map_path(filename)
    metadata, infos = read_header(whole)
    quantised = sorted({info.type for info in infos.values() if info.dtype is None})
    if quantised:
        raise NotImplementedError(f"gguf: quantised tensors are not read: {', '.join(quantised)}")
    return {name: piece(whole, info.begin, info.shape, info.dtype) for name, info in infos.items()}, metadata
