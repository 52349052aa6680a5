"""Methods of ``UntypedStorage``, which is a C++ object: its bytes one by one, parts of it, and files as memory."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from . import _C

__all__: list[str] = []


def _bytes(self: Any) -> Any:
    return _C.storage_as_tensor(self, _C.uint8)


def __getitem__(self: Any, index: Any) -> Any:
    """A byte as a number, or a storage on a part of the memory."""
    if isinstance(index, slice):
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        part = _C.functions["_piece_of"](_bytes(self), start, [max(stop - start, 0)], _C.uint8)
        return part.untyped_storage()
    try:
        at = operator.index(index)
    except TypeError:
        raise TypeError(f"can't index a UntypedStorage with {type(index).__name__}") from None
    if not -self.nbytes() <= at < self.nbytes():
        raise IndexError(f"index {at} out of range for storage of size {self.nbytes()}")
    return _bytes(self)[at].item()


def __setitem__(self: Any, index: Any, value: Any) -> None:
    """Writes a byte, or one number to each byte of a part."""
    _bytes(self)[index] = value


def __iter__(self: Any) -> Iterator[int]:
    return iter(_bytes(self).tolist())


def tolist(self: Any) -> list[int]:
    """The bytes as numbers."""
    return _bytes(self).tolist()


def untyped(self: Any) -> Any:
    """The storage itself."""
    return self


def clone(self: Any) -> Any:
    """A storage with a copy of the bytes."""
    return _bytes(self).clone().untyped_storage()


def cpu(self: Any) -> Any:
    """The storage itself on the CPU, else a copy there."""
    return self if self.device.type == "cpu" else _bytes(self).cpu().untyped_storage()


def element_size(self: Any) -> int:
    """1: the elements are bytes."""
    return 1


def is_shared(self: Any) -> bool:
    """Whether other processes can see the memory: after ``Tensor.share_memory_``; on a CUDA device always."""
    from ._tensor_memory import _shared

    return self.device.type == "cuda" or self.data_ptr() in _shared


@classmethod  # type: ignore[misc]
def from_file(cls: Any, filename: Any, shared: bool = False, nbytes: int = 0) -> Any:
    """The first `nbytes` bytes of a file as memory.

    Args:
        filename: a path. shared: whether writes go to the file, which is made, or made longer, if it is too short.

    Raises:
        RuntimeError: the file has fewer bytes, and is not shared. OSError: it cannot be opened.
    """
    from ._from_file import from_file as mapped

    return mapped(filename, shared, nbytes, dtype=_C.uint8).untyped_storage()


def install() -> None:
    """Puts the functions above into the class."""
    for name in ("__getitem__ __setitem__ __iter__ tolist untyped clone cpu element_size is_shared from_file").split():
        setattr(_C.UntypedStorage, name, globals()[name])
    _C.UntypedStorage.is_cuda = property(lambda self: self.device.type == "cuda")
