"""What is in a file, without loading it; and files from one format to another."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _C
from .._objects import storage as _storage
from . import gguf, npy, safetensors
from ._reading import map_path, piece, take
from ._zip import Archive

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["convert", "inspect"]

_FORMATS = {".pt": "pytorch", ".pth": "pytorch", ".bin": "pytorch", ".ckpt": "pytorch",
            ".safetensors": "safetensors", ".npy": "npy", ".npz": "npz", ".gguf": "gguf"}  # fmt: skip


class Content(NamedTuple):
    """A file taken apart. ``tensors`` has a function for each tensor, which makes it; None stands for those that
    strided has no dtype for, of which ``rows`` says what they are."""

    format: str
    rows: list[dict[str, Any]]
    tensors: dict[str, Any]
    metadata: Any


def format_of(path: Any) -> str:
    """The format of a file, from its first bytes; ValueError if it is none of those that are read."""
    whole = map_path(path)
    size = whole.numel()
    head = take(whole, 0, min(size, 16))
    if head[:6] == b"\x93NUMPY":
        return "npy"
    if head[:4] == b"GGUF":
        return "gguf"
    if head[:2] == b"PK":
        with Archive(path) as archive:
            names = [e.name for e in archive.entries]
        return "pytorch" if any(n.endswith("/data.pkl") for n in names) else "npz"
    if head[:1] == b"\x80":
        return "pytorch"
    if size > 8 and head[8:9] == b"{":
        return "safetensors"
    raise ValueError(f"{os.fsdecode(path)}: no format that is known")


def _row(name: str, dtype: str, shape: Any, nbytes: int) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "shape": list(shape), "bytes": nbytes}


def _rows(tensors: dict[str, Tensor]) -> list[dict[str, Any]]:
    """A row for each tensor; those on one storage name the first of them."""
    rows, first = [], {}
    for name, t in tensors.items():
        row = _row(name, t.dtype._traits["name"], t.shape, t.numel() * t.dtype.itemsize)
        if not t.is_contiguous():
            row["strides"] = list(t.stride())
        if t.storage_offset():
            row["offset"] = t.storage_offset()
        owner = first.setdefault(t.untyped_storage(), name)
        if owner != name:
            row["shares"] = owner
        rows.append(row)
    return rows


def flatten(obj: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors in nested containers by their path, ``'model.layers.0'``; and everything else by its path."""
    tensors: dict[str, Tensor] = {}
    others: dict[str, Any] = {}
    todo, active = [("", obj)], set()
    while todo:
        path, one = todo.pop()
        if isinstance(one, _C.Tensor):
            tensors[path or "tensor"] = one
        elif isinstance(one, _storage.TypedStorage):
            tensors[path or "storage"] = one._elements
        elif isinstance(one, (dict, list, tuple)) and len(one):
            if id(one) in active:
                continue
            active.add(id(one))
            items = one.items() if isinstance(one, dict) else enumerate(one)
            todo.extend(reversed([(f"{path}.{key}" if path else str(key), value) for key, value in items]))
        else:
            others[path or "value"] = one
    return tensors, others


def _made(tensors: dict[str, Tensor]) -> dict[str, Any]:
    return {name: partial(lambda t: t, t) for name, t in tensors.items()}


def _open_pytorch(path: Any) -> Content:
    from ..serialization import load

    with open(path, "rb") as f:
        archive = f.read(2) == b"PK"
    obj = load(path, map_location=lambda storage, place: storage, mmap=archive)
    tensors, others = flatten(obj)
    return Content("pytorch", _rows(tensors), _made(tensors), others)


def _open_safetensors(path: Any) -> Content:
    whole = map_path(path)
    header = safetensors.read_header(whole)
    rows, tensors = [], {}
    for name, info in header.tensors.items():
        dtype = safetensors._FORMATS[info.dtype][1]
        rows.append(_row(name, dtype._traits["name"] if dtype else info.dtype, info.shape, info.end - info.begin))
        tensors[name] = partial(piece, whole, header.begin + info.begin, info.shape, dtype) if dtype else None
    return Content("safetensors", rows, tensors, header.metadata or {})


def _open_npy(path: Any) -> Content:
    tensors = {"array": npy.load_npy(path, mmap=True)}
    return Content("npy", _rows(tensors), _made(tensors), {})


def _open_npz(path: Any) -> Content:
    tensors = npy.load_npz(path)
    return Content("npz", _rows(tensors), _made(tensors), {})


def _open_gguf(path: Any) -> Content:
    whole = map_path(path)
    metadata, infos = gguf.read_header(whole)
    tensors = {n: partial(piece, whole, i.begin, i.shape, i.dtype) if i.dtype else None for n, i in infos.items()}
    return Content("gguf", [_row(n, i.type, i.shape, i.nbytes) for n, i in infos.items()], tensors, metadata)


_OPEN = {"pytorch": _open_pytorch, "safetensors": _open_safetensors, "npy": _open_npy, "npz": _open_npz,
         "gguf": _open_gguf}  # fmt: skip


def _statistics(make: Any) -> dict[str, Any]:
    t = None if make is None else make()
    if t is None or t.numel() == 0:
        return {}
    t = t.detach()
    if t.dtype.is_complex:
        t = t.abs()
    t = t.to(_C.float64)
    found = {"min": t.min().item(), "max": t.max().item(), "mean": t.mean().item()}
    broken = int((~t.isfinite()).sum())
    return {**found, "not_finite": broken} if broken else found


def inspect(path: Any, *, stats: bool = False) -> dict[str, Any]:
    """What a file has: its format, its tensors (name, dtype, shape, bytes, what they share) and its metadata.

    The numbers are not read, unless the file is compressed, or from before PyTorch 1.6.

    Args:
        path: of a file of PyTorch's, safetensors, ``.npy``, ``.npz`` or GGUF.
        stats: whether each tensor's least, greatest and mean number are added; all of it is read then.

    Returns:
        A dict that JSON has a form for, with the keys ``format``, ``bytes``, ``tensors`` and ``metadata``.

    Raises:
        ValueError: a file of another format.
        RuntimeError: the file is damaged.
    """
    content = _OPEN[format_of(path)](path)
    if stats:
        for row in content.rows:
            row.update(_statistics(content.tensors[row["name"]]))
    metadata = {key: _shown(value) for key, value in content.metadata.items()}
    return {"format": content.format, "bytes": os.stat(path).st_size, "tensors": content.rows, "metadata": metadata}


def _shown(value: Any) -> Any:
    """A value for JSON: long lists are cut."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, list) and all(isinstance(one, (str, int, float, bool)) for one in value):
        return value if len(value) <= 8 else [*value[:8], f"... {len(value)} in all"]
    return repr(value)[:200]


def convert(source: Any, target: Any) -> list[str]:
    """Writes the tensors of one file as another, whose format the end of its name says.

    Args:
        source: a path; the format is seen from the content.
        target: a path that ends in ``.pt``, ``.pth``, ``.safetensors``, ``.npy`` (one tensor) or ``.npz``.

    Returns:
        What is in the source and has no place in the target: names of values that are no tensors.

    Raises:
        ValueError: a format that is not written, or several tensors for ``.npy``.
        NotImplementedError: tensors of a dtype that strided has not.
    """
    to = _FORMATS.get(os.path.splitext(os.fsdecode(target))[1].lower())
    if to is None or to == "gguf":
        raise ValueError(
            f"convert: the name must end in .pt, .pth, .safetensors, .npy or .npz, got {os.fsdecode(target)}"
        )
    content = _OPEN[format_of(source)](source)
    missing = [row for row in content.rows if content.tensors[row["name"]] is None]
    if missing:
        raise NotImplementedError(f"convert: strided has no {missing[0]['dtype']}, which {missing[0]['name']!r} has")
    tensors = {name: make() for name, make in content.tensors.items()}
    if to == "pytorch":
        from ..serialization import save

        save(tensors, target)
    elif to == "npz":
        npy.save_npz(target, tensors)
    elif to == "npy":
        if len(tensors) != 1:
            raise ValueError(f"convert: a .npy file holds one tensor, {os.fsdecode(source)} has {len(tensors)}")
        npy.save_npy(target, next(iter(tensors.values())))
    else:
        return _to_safetensors(tensors, content.metadata, target)
    return list(content.metadata)


def _to_safetensors(found: dict[str, Tensor], metadata: dict[str, Any], target: Any) -> list[str]:
    """Tensors become contiguous, and those that share memory are written once each."""
    texts = {k: v for k, v in metadata.items() if isinstance(v, str)}
    seen: set[Any] = set()
    tensors = {}
    for name, t in found.items():
        t = t.detach()
        if t.untyped_storage() in seen or not t.is_contiguous():
            t = t.clone().contiguous()
        seen.add(t.untyped_storage())
        tensors[name] = t
    safetensors.save_file(tensors, target, texts or None)
    return [key for key in metadata if key not in texts]
