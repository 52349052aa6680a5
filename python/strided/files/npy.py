"""NumPy's files: ``.npy`` with one array (versions 1 to 3), ``.npz`` with several in a zip archive.

The format is described in ``numpy.lib.format``. Arrays of objects would need code to be run, and are refused.
"""

from __future__ import annotations

import math
import os
import re
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _C
from ._progress import counted
from ._reading import bytes_of, is_path, map_path, opened, piece, swapped, take
from ._writing import replacing
from ._zip import Archive

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["load_npy", "load_npz", "save_npy", "save_npz"]

_f = _C.functions
_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000  # as NumPy: a longer one takes long to parse, and only records need it
_CODES = {
    "b1": "bool", "u1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u2": "uint16",
    "u4": "uint32", "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64",
    "c16": "complex128",
}  # fmt: skip
_DTYPES = {code: getattr(_C, name) for code, name in _CODES.items()}
_OF = {dtype: code for code, dtype in _DTYPES.items()}
_ITEM = re.compile(
    r"""\s*(['"])(descr|fortran_order|shape)\1\s*:\s*("""
    r"""(?P<descr>(?P<q>['"])[^'"\\]*(?P=q))|(?P<flag>True|False)|\((?P<shape>[\d\sL,]*)\))\s*(,|(?=\}))\s*"""
)


class Header(NamedTuple):
    """What the header of an array says: the numbers begin at ``begin``, in byte order ``order``."""

    dtype: Any
    order: str
    fortran: bool
    shape: tuple[int, ...]
    begin: int


def _wrong(why: str) -> ValueError:
    return ValueError(f"npy: {why}")


def _parse(text: str, begin: int) -> Header:
    """The header is a literal of Python: a dict of three items. It is taken apart, not evaluated."""
    body = text.strip(" \n\0")
    if body[:1] != "{" or body[-1:] != "}":
        raise _wrong("the header is no dictionary")
    at, found = 1, {}
    while at < len(body) - 1:
        item = _ITEM.match(body, at)
        if item is None or item[2] in found:
            if re.match(r"\s*['\"]descr['\"]\s*:\s*[\[(]", body[at:]):
                raise _wrong("arrays of records are not read, only of plain numbers")
            raise _wrong(f"the header is damaged at {body[at : at + 40]!r}")
        found[item[2]] = item.group({"descr": "descr", "fortran_order": "flag", "shape": "shape"}[item[2]])
        at = item.end()
    if len(found) != 3 or None in found.values():
        raise _wrong("the header does not have exactly descr, fortran_order and shape")
    descr = found["descr"][1:-1]
    if "O" in descr:
        raise _wrong("arrays of objects are not read: that would run code")
    if descr[1:] not in _DTYPES or descr[0] not in "<>=|":
        raise _wrong(f"arrays of dtype {descr!r} are not read, only of plain numbers")
    sizes = [n.strip() for n in found["shape"].replace("L", "").split(",")]
    if sizes[-1] == "":
        sizes.pop()
    elif len(sizes) == 1:
        raise _wrong("the shape is no tuple")
    if not all(n.isdigit() and len(n) < 20 and int(n) < 2**63 for n in sizes) or len(sizes) > 64:
        raise _wrong("the shape is no tuple of sizes")
    order = descr[0] if descr[0] in "<>" else "<"
    return Header(_DTYPES[descr[1:]], order, found["flag"] == "True" if "flag" in found else
                  found["fortran_order"] == "True", tuple(int(n) for n in sizes), begin)  # fmt: skip


def read_header(whole: Tensor) -> Header:
    """Reads the header of an array; ValueError if it is damaged, or of an array that is not read."""
    size = whole.numel()
    if size < 10 or take(whole, 0, 6) != _MAGIC:
        raise _wrong("this is no .npy file")
    major, minor = take(whole, 6, 2)
    if (major, minor) not in ((1, 0), (2, 0), (3, 0)):
        raise _wrong(f"version {major}.{minor} is unknown")
    width = 2 if major == 1 else 4
    if size < 8 + width:
        raise _wrong("the file ends in its header")
    (length,) = struct.unpack("<H" if major == 1 else "<I", take(whole, 8, width))
    if length > _LONGEST_HEADER:
        raise _wrong(f"a header of {length} bytes is longer than {_LONGEST_HEADER}")
    if length > size - 8 - width:
        raise _wrong("the file ends in its header")
    try:
        text = take(whole, 8 + width, length).decode("utf-8" if major == 3 else "latin1")
    except UnicodeDecodeError:
        raise _wrong("the header is no text") from None
    return _parse(text, 8 + width + length)


def _array(whole: Tensor, header: Header, copied: bool) -> Tensor:
    shape = header.shape[::-1] if header.fortran else header.shape
    try:
        t = piece(whole, header.begin, shape, header.dtype)
    except RuntimeError as problem:
        raise _wrong(str(problem)) from None
    t = swapped(t, header.order) if header.dtype.itemsize > 1 else t
    t = t.clone() if copied else t
    return t.permute(*range(t.ndim - 1, -1, -1)) if header.fortran and t.ndim > 1 else t


def load_npy(f: Any, *, mmap: bool = False) -> Tensor:
    """The array of a ``.npy`` file as a tensor with the same strides.

    Args:
        f: a path, or an object with ``read``.
        mmap: whether the tensor lies in the mapped file, of which only what is used is read. Needs a path. Writes stay
            in this process.

    Raises:
        ValueError: the file is damaged, or has objects, texts or records.

    >>> import io, numpy
    >>> f = io.BytesIO()
    >>> numpy.save(f, numpy.arange(3))
    >>> _ = f.seek(0)
    >>> strided.files.load_npy(f)
    tensor([0, 1, 2])
    """
    if is_path(f):
        if not mmap:
            return _read_npy(f)
        whole = map_path(f)
        return _array(whole, read_header(whole), False)
    if mmap:
        raise ValueError("load_npy: f must be a path to be mapped")
    whole = bytes_of(f.read())
    return _array(whole, read_header(whole), True)


def _read_npy(path: Any) -> Tensor:
    with opened(path) as fd:
        header = read_header(bytes_of(os.pread(fd, _LONGEST_HEADER + 64, 0)))
        count = math.prod(header.shape)
        if count * header.dtype.itemsize > max(os.fstat(fd).st_size - header.begin, 0):
            raise _wrong(f"the file ends before an array of shape {header.shape} does")
        numbers = _f["_read_piece"](fd, header.begin, count, header.dtype)
    return _array(numbers, header._replace(begin=0), False)


def header_bytes(dtype: Any, shape: tuple[int, ...], fortran: bool = False) -> bytes:
    """The header of an array; TypeError for a dtype that NumPy does not have."""
    if dtype not in _OF:
        raise TypeError(f"save_npy: NumPy's files have no {dtype}; convert the tensor first")
    order = "|" if dtype.itemsize == 1 else "<"
    text = f"{{'descr': '{order}{_OF[dtype]}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    # NumPy leaves room for the longest number of rows, and brings the numbers to a multiple of 64.
    room = 21 - len(repr(shape[-1 if fortran else 0])) if shape else 0
    text += " " * room
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return _MAGIC + b"\1\0" + struct.pack("<H", len(text)) + text.encode("latin1")


def _header_of(t: Tensor) -> tuple[bytes, Tensor]:
    """The header, and the tensor whose elements in their order are those of the file."""
    fortran = not t.is_contiguous() and t.ndim > 1 and t.permute(*range(t.ndim - 1, -1, -1)).is_contiguous()
    head = header_bytes(t.dtype, t.shape, fortran)
    t = t.detach().cpu()
    t = t.permute(*range(t.ndim - 1, -1, -1)) if fortran else t.contiguous()
    return head, swapped(t, "<").reshape(-1).view(_C.uint8) if t.numel() else t.reshape(-1)


def save_npy(f: Any, t: Tensor) -> None:
    """Writes a tensor as a ``.npy`` file, which replaces the old one when it is complete.

    Args:
        f: a path, or an object with ``write``.
        t: a tensor of a dtype that NumPy has: no ``bfloat16`` and no 8-bit float.

    Raises:
        TypeError: another dtype, or no tensor.
        OSError: the file cannot be written.
    """
    if not isinstance(t, _C.Tensor):
        raise TypeError(f"save_npy: a Tensor is required, got {type(t).__name__}")
    head, body = _header_of(t)
    if not is_path(f):
        return _f["_write_tensors"](f, head, [body])
    with replacing(f) as fd:
        _f["_write_tensors"](fd, head, [body])


# ---------------------------------------------------------------- several


def load_npz(f: Any) -> dict[str, Tensor]:
    """The arrays of a ``.npz`` file by name, compressed or not.

    Args:
        f: a path, or an object with ``read`` and ``seek``.

    Raises:
        RuntimeError: the archive is damaged.
        ValueError: an array in it is damaged, or has objects, texts or records.
    """
    found = {}
    with Archive(f) as archive, counted(sum(entry.size for entry in archive.entries)) as moved:
        for entry in archive.entries:
            if not entry.name.endswith(".npy"):
                raise ValueError(f"npz: entry {entry.name!r} is no array")
            whole = bytes_of(archive.read(entry))
            moved(entry.size)
            found[entry.name[:-4]] = _array(whole, read_header(whole), True)
    return found


def save_npz(f: Any, tensors: dict[str, Tensor], *, compressed: bool = False) -> None:
    """Writes tensors as a ``.npz`` file, which replaces the old one when it is complete.

    Args:
        f: a path, or an object with ``write``.
        tensors: by name.
        compressed: whether they are deflated.
    """
    if not isinstance(tensors, dict):
        raise TypeError(f"save_npz: tensors by name are required, got {type(tensors).__name__}")
    for name, t in tensors.items():
        if not isinstance(name, str) or not isinstance(t, _C.Tensor):
            raise TypeError(f"save_npz: tensors by name are required, got {type(name).__name__}: {type(t).__name__}")
    if not is_path(f):
        return _write_npz(f, tensors, compressed)
    with replacing(f) as fd, os.fdopen(fd, "wb", closefd=False) as to:
        _write_npz(to, tensors, compressed)


def _write_npz(to: Any, tensors: dict[str, Tensor], compressed: bool) -> None:
    import zipfile

    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    total = sum(t.numel() * t.dtype.itemsize for t in tensors.values())
    with zipfile.ZipFile(to, "w", method) as archive, counted(total) as moved:
        for name, t in tensors.items():
            head, body = _header_of(t)
            info = zipfile.ZipInfo(f"{name}.npy")  # the year 1980: the same content gives the same file
            info.compress_type = method
            with archive.open(info, "w", force_zip64=True) as entry:
                entry.write(head)
                if body.numel():
                    entry.write(memoryview(body.numpy()))
            moved(t.numel() * t.dtype.itemsize)
