"""The safetensors format: a header in JSON, then the bytes of the tensors, one after the other.

The functions are those of the package ``safetensors.torch``, and write the same bytes. A header is checked as strictly:
the tensors tile the file without a gap or an overlap, no name is there twice, sizes agree with shapes.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _C
from ._reading import bytes_of, map_path, opened, piece, take
from ._writing import replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._typing import Tensor

__all__ = ["load", "load_file", "safe_open", "save", "save_file"]

_f = _C.functions
LONGEST_HEADER = 100_000_000

# The format's names, in the order in which its writer sorts tensors: aligned numbers first. Bits of one number; the
# dtype, None where strided has none.
_FORMATS = {
    name: (bits, getattr(_C, dtype) if dtype else None)
    for name, bits, dtype in (
        ("BOOL", 8, "bool"), ("F4", 4, ""), ("F6_E2M3", 6, ""), ("F6_E3M2", 6, ""), ("U8", 8, "uint8"),
        ("I8", 8, "int8"), ("F8_E5M2", 8, "float8_e5m2"), ("F8_E4M3", 8, "float8_e4m3fn"), ("F8_E8M0", 8, ""),
        ("F8_E4M3FNUZ", 8, ""), ("F8_E5M2FNUZ", 8, ""), ("I16", 16, "int16"), ("U16", 16, "uint16"),
        ("F16", 16, "float16"), ("BF16", 16, "bfloat16"), ("I32", 32, "int32"), ("U32", 32, "uint32"),
        ("F32", 32, "float32"), ("C64", 64, "complex64"), ("F64", 64, "float64"), ("I64", 64, "int64"),
        ("U64", 64, "uint64"),
    )
}  # fmt: skip
_NAMES = {dtype: name for name, (_, dtype) in _FORMATS.items() if dtype is not None}
_RANK = {name: k for k, name in enumerate(_FORMATS)}


class Info(NamedTuple):
    """What a header says of one tensor. ``begin`` and ``end`` count from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """The tensors of a file in the order of their bytes, its metadata, and where the bytes begin."""

    tensors: dict[str, Info]
    metadata: dict[str, str] | None
    begin: int


# ---------------------------------------------------------------- headers


def _wrong(why: str) -> RuntimeError:
    return RuntimeError(f"safetensors: {why}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _wrong(f"the header has {next(n for n in names if names.count(n) > 1)!r} twice")
    return found


def _no_constant(text: str) -> Any:
    raise _wrong(f"the header has {text}, which is no JSON")


def _parse(text: bytes) -> dict[str, Any]:
    if text[:1] != b"{":
        raise _wrong("the header does not begin with '{'")
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise _wrong(f"the header is no JSON: {problem}") from None
    if type(header) is not dict:
        raise _wrong("the header is no object")
    return header


def _counts(value: Any, name: str, what: str) -> tuple[int, ...]:
    if type(value) is not list or not all(type(n) is int and 0 <= n < 2**63 for n in value):
        raise _wrong(f"the {what} of {name!r} is no list of sizes")
    return tuple(value)


def _info(name: str, entry: Any) -> Info:
    if type(entry) is not dict or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise _wrong(f"{name!r} has no dtype, shape and data_offsets")
    dtype, offsets = entry["dtype"], _counts(entry["data_offsets"], name, "place")
    if type(dtype) is not str or dtype not in _FORMATS:
        raise _wrong(f"{name!r} has an unknown dtype {dtype!r}")
    shape = _counts(entry["shape"], name, "shape")
    if len(offsets) != 2:
        raise _wrong(f"the place of {name!r} is no beginning and end")
    bits = _FORMATS[dtype][0]
    for n in shape:
        bits *= n
        if bits >= 2**64:
            raise _wrong(f"the size of {name!r} of shape {shape} overflows")
    if bits % 8 or offsets[1] - offsets[0] != bits // 8:
        raise _wrong(
            f"{name!r} of shape {shape} and dtype {dtype} takes {bits / 8:g} bytes, its place {offsets} differs"
        )
    return Info(dtype, shape, offsets[0], offsets[1])


def read_header(whole: Tensor) -> Header:
    """Reads and checks the header of a file; RuntimeError if anything is wrong with it or with the file's length."""
    size = whole.numel()
    if size < 8:
        raise _wrong("the file is shorter than 8 bytes")
    (length,) = struct.unpack("<Q", take(whole, 0, 8))
    if length > LONGEST_HEADER:
        raise _wrong(f"a header of {length} bytes is longer than {LONGEST_HEADER}")
    if length > size - 8:
        raise _wrong(f"a header of {length} bytes does not fit into a file of {size}")
    header = _parse(take(whole, 8, length))
    metadata = header.pop("__metadata__", None)
    if metadata is not None and (
        type(metadata) is not dict or not all(type(value) is str for value in metadata.values())
    ):
        raise _wrong("the metadata are no texts by name")
    tensors = {name: _info(name, entry) for name, entry in header.items()}
    tensors = dict(sorted(tensors.items(), key=lambda item: item[1][2:]))
    at = 0
    for name, info in tensors.items():
        if info.begin != at:
            raise _wrong(f"{name!r} begins at {info.begin}, what is before it ends at {at}")
        at = info.end
    if at != size - 8 - length:
        raise _wrong(f"the tensors take {at} bytes, the file has {size - 8 - length} after its header")
    return Header(tensors, metadata, 8 + length)


def _dtype(name: str, info: Info) -> Any:
    dtype = _FORMATS[info.dtype][1]
    if dtype is None:
        raise NotImplementedError(f"safetensors: strided has no dtype for {info.dtype}, which {name!r} has")
    return dtype


def _tensor(whole: Tensor, header: Header, name: str) -> Tensor:
    info = header.tensors[name]
    return piece(whole, header.begin + info.begin, info.shape, _dtype(name, info))


# ---------------------------------------------------------------- reading


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in a file's bytes, by name, each with memory of its own.

    >>> strided.files.load(strided.files.save({"x": strided.ones(2)}))
    {'x': tensor([1., 1.])}
    """
    whole = bytes_of(data)
    header = read_header(whole)
    return {name: _tensor(whole, header, name).clone() for name in sorted(header.tensors)}


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name. On the CPU they lie in the mapped file, and nothing is copied; to a
    CUDA device they go through page-locked memory.

    Args:
        filename: a path.
        device: where the tensors go.

    Raises:
        RuntimeError: the file is damaged.
        NotImplementedError: it has a dtype that strided has not.
    """
    whole = map_path(filename)
    header = read_header(whole)
    device = _C.device(device)
    if device.type == "cuda":
        places = [(header.begin + i.begin, i.shape, _dtype(name, i)) for name, i in header.tensors.items()]
        with opened(filename) as fd:
            found = dict(zip(header.tensors, _f["_read_to_device"](fd, places, device)))
        return {name: found[name] for name in sorted(found)}
    found = {name: _tensor(whole, header, name) for name in sorted(header.tensors)}
    return found if device.type == "cpu" else {name: t.to(device) for name, t in found.items()}


class Slice:
    """A tensor of a file that is not read yet: an index reads what it names, and no more."""

    def __init__(self, tensor: Callable[[], Tensor], info: Info) -> None:
        self._tensor, self._info = tensor, info

    def get_shape(self) -> list[int]:
        """The sizes."""
        return list(self._info.shape)

    def get_dtype(self) -> str:
        """The format's name of the dtype: ``'F32'``."""
        return self._info.dtype

    def __getitem__(self, index: Any) -> Tensor:
        return self._tensor()[index].clone()


class safe_open:  # noqa: N801  (the name in the package safetensors)
    """Opens a safetensors file: ``with safe_open(path, "pt") as f: f.get_tensor("weight")``.

    Args:
        filename: a path.
        framework: 'pt', 'torch' or 'strided'; tensors are strided's.
        device: where tensors go.

    Raises:
        RuntimeError: the file is damaged.
    """

    def __init__(self, filename: Any, framework: str = "pt", device: Any = "cpu") -> None:
        if framework not in ("pt", "torch", "pytorch", "strided"):
            raise ValueError(f"safe_open: framework must be 'pt', got {framework!r}")
        self._whole: Tensor | None = map_path(filename)
        self._header = read_header(self._whole)
        self._device = _C.device(device)

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._whole = None

    def keys(self) -> list[str]:
        """The names, sorted."""
        return sorted(self._header.tensors)

    def offset_keys(self) -> list[str]:
        """The names in the order of the file."""
        return list(self._header.tensors)

    def metadata(self) -> dict[str, str] | None:
        """The texts that came with the tensors; None if there are none."""
        return self._header.metadata

    def _get(self, name: str) -> Tensor:
        if self._whole is None:
            raise RuntimeError("safe_open: the file is closed")
        if name not in self._header.tensors:
            raise KeyError(f"File does not contain tensor {name}")
        return _tensor(self._whole, self._header, name)

    def get_tensor(self, name: str) -> Tensor:
        """A tensor, which lies in the mapped file if it is on the CPU."""
        return self._get(name).to(self._device)

    def get_slice(self, name: str) -> Slice:
        """The tensor's shape and dtype, and parts of it by index."""
        self._get(name)
        return Slice(lambda: self._get(name), self._header.tensors[name])


# ---------------------------------------------------------------- writing


def _layout(tensors: Any, metadata: Any) -> tuple[bytes, list[Tensor]]:
    """The header and its length, and the tensors in the order of the file."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(x, str) for pair in metadata.items() for x in pair)
    ):
        raise TypeError("save_file: metadata must be texts by name")
    storages: dict[Any, list[str]] = {}
    for name, t in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"save_file: names must be str, got {type(name).__name__}")
        if not isinstance(t, _C.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        if t.dtype not in _NAMES:
            raise ValueError(f"save_file: safetensors has no {t.dtype}, which {name!r} has")
        if not t.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you "
                "are trying to save tensors which are reference of each other in which case it's recommended to save "
                "only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to "
                "pack it before saving."
            )
        if t.numel():
            storages.setdefault(t.untyped_storage(), []).append(name)
    shared = [names for names in storages.values() if len(names) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk: {shared}")
    head, begins = header_bytes({name: (t.dtype, tuple(t.shape)) for name, t in tensors.items()}, metadata)
    return head, [tensors[name] for name in begins]


def header_bytes(
    tensors: dict[str, tuple[Any, tuple[int, ...]]], metadata: dict[str, str] | None
) -> tuple[bytes, dict[str, int]]:
    """The header and its length, for tensors of these dtypes and shapes; and in the order of the file where each
    begins, counted from the end of the header."""
    order = sorted(tensors.items(), key=lambda item: (-_RANK[_NAMES[item[1][0]]], item[0].encode()))
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    begins, at = {}, 0
    for name, (dtype, shape) in order:
        end = at + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [at, end]}
        begins[name], at = at, end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise ValueError(f"save_file: the header takes {len(text)} bytes, the format allows {LONGEST_HEADER}")
    return struct.pack("<Q", len(text)) + text, begins


def _bytes(t: Tensor) -> Tensor:
    return t.detach().cpu().view(-1).view(_C.uint8) if t.numel() else t


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file; arguments and errors are those of :func:`save_file`."""
    head, order = _layout(tensors, metadata)
    return b"".join([head, *(bytes(memoryview(_bytes(t).numpy())) for t in order if t.numel())])


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Writes tensors to a safetensors file, which replaces the old one when it is complete.

    Args:
        tensors: contiguous tensors by name, no two of them on the same memory.
        filename: a path.
        metadata: texts by name.

    Raises:
        ValueError: something is no contiguous tensor, or of a dtype that the format has not.
        RuntimeError: tensors share memory.
        OSError: the file cannot be written.
    """
    head, order = _layout(tensors, metadata)
    with replacing(filename) as fd:
        _f["_write_tensors"](fd, head, [_bytes(t) for t in order])
