"""The bytes of event files: messages of protocol buffers, framed records, images and sounds.

Formats: the encoding of protocol buffers (protobuf.dev/programming-guides/encoding), the records of TFRecord files
(tensorflow.org/tutorials/load_data/tfrecord), PNG (RFC 2083), WAV (Multimedia Programming Interface, 1991).
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Any, Iterable


def varint(value: int) -> bytes:
    """A whole number in groups of seven bits; a negative one as its complement in 64 bits."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A field with a whole number; nothing for 0, the default."""
    return varint(field << 3) + varint(int(value)) if value else b""


def double(field: int, value: float) -> bytes:
    """A field of eight bytes; nothing for 0, the default."""
    return varint(field << 3 | 1) + struct.pack("<d", value) if value else b""


def single(field: int, value: float) -> bytes:
    """A field of four bytes.  Written for 0 too: a value that is one of several kinds must say which."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:  # finite, and more than a float32 holds
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return varint(field << 3 | 5) + packed


def block(field: int, value: bytes | str) -> bytes:
    """A field with a text, with bytes, or with another message.  Written also where it is empty."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def doubles(field: int, values: Iterable[float]) -> bytes:
    """A field with a list of numbers of eight bytes."""
    return block(field, b"".join(struct.pack("<d", v) for v in values))


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _crc_table()


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and shifted as the records want it (so that a sum over sums is no fixed point)."""
    crc = 0xFFFFFFFF
    table = _CRC
    for b in data:
        crc = crc >> 8 ^ table[(crc ^ b) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A framed record: length, its sum, the data, their sum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def png(pixels: Any) -> bytes:
    """A PNG file of a NumPy array of uint8, (height, width, channels) with 1, 2, 3 or 4 channels."""
    height, width, channels = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b"")


def wav(samples: Any, rate: int) -> bytes:
    """A WAV file of one channel: a NumPy array of int16."""
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
