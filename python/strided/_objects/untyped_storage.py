"""Methods of ``UntypedStorage``, which is a C++ object: its bytes one by one, parts of it, and files as memory."""

from __future__ import annotations

import io
import operator
import re
import sys
from collections.abc import Iterator
from typing import Any

from .. import _C

__all__: list[str] = []


def _bytes(self: Any) -> Any:
    return _C.storage_as_tensor(self, _C.uint8)


def _check_has_data(self: Any) -> None:
    if self.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


def __getitem__(self: Any, index: Any) -> Any:
    """A byte as a number, or a storage on a part of the memory."""
    _check_has_data(self)
    if isinstance(index, slice):
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        part = _C.functions["_piece_of"](_bytes(self), start, [max(stop - start, 0)], _C.uint8)
        return part.untyped_storage()
    if isinstance(index, bool) or not hasattr(type(index), "__index__"):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
    at = operator.index(index)
    if not -self.nbytes() <= at < self.nbytes():
        raise IndexError(f"index {at} out of range for storage of size {self.nbytes()}")
    return _bytes(self)[at].item()


def __setitem__(self: Any, index: Any, value: Any) -> None:
    """Writes a byte, or one number to each byte of a part."""
    _check_has_data(self)
    _bytes(self)[index] = _byte(value, "can only set storage content with a int types, but got {} instead")


def _byte(value, error):
    """The lowest eight bits of a whole number."""
    if not isinstance(value, int):
        raise RuntimeError(error.format(type(value).__name__))
    return value & 255


def __iter__(self: Any) -> Iterator[int]:
    return iter(_bytes(self).tolist())


def __repr__(self: Any) -> str:
    lines = "...\n" if self.device.type == "meta" else "".join(f" {n}\n" for n in tolist(self))
    return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


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
    from .tensor_memory import _shared

    return self.device.type == "cuda" or self.data_ptr() in _shared


@classmethod  # type: ignore[misc]
def _new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
    """Memory of `size` bytes that other processes see: functions that collate batches in a worker write to it."""
    from .tensor_memory import new_shared

    return new_shared(size) if _C.device(device).type == "cpu" else cls(size, device=device)


@classmethod  # type: ignore[misc]
def from_file(cls: Any, filename: Any, shared: bool = False, nbytes: int = 0) -> Any:
    """The first `nbytes` bytes of a file as memory.

    Args:
        filename: a path. shared: whether writes go to the file, which is made, or made longer, if it is too short.

    Raises:
        RuntimeError: the file has fewer bytes, and is not shared. OSError: it cannot be opened.
    """
    from .._functions.from_file import from_file as mapped

    return mapped(filename, shared, nbytes, dtype=_C.uint8).untyped_storage()


def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
    """The storage itself, or a copy on another device."""
    t = _bytes(self)
    moved = t.to(device, non_blocking=non_blocking)
    return self if moved.device == t.device else moved.untyped_storage()


def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    """The storage itself, or a copy on a CUDA device: the current one if None."""
    where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
    return to(self, device=where, non_blocking=non_blocking)


def copy_(self: Any, source: Any, non_blocking: bool | None = None) -> Any:
    """Copies the bytes of another storage of the same size; RuntimeError for another size. Returns self."""
    if not hasattr(source, "untyped"):
        raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type(source).__name__}")
    if self.nbytes() != source.nbytes():
        raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
    _bytes(self).copy_(_bytes(source.untyped()), non_blocking=bool(non_blocking))
    return self


def fill_(self: Any, value: Any) -> Any:
    """Writes one number to each byte; returns self."""
    _bytes(self).fill_(_byte(value, "fill_ expects int, but got {}"))
    return self


def new(self: Any) -> Any:
    """A storage without bytes on the same device."""
    return _bytes(self).new_empty((0,)).untyped_storage()


def get_device(self: Any) -> int:
    """The number of the device; -1 on the CPU."""
    return _bytes(self).get_device()


def is_pinned(self: Any, device: Any = "cuda") -> bool:
    """Whether the memory is page-locked."""
    return _bytes(self).is_pinned()


def pin_memory(self: Any, device: Any = "cuda") -> Any:
    """The storage itself, or a copy in page-locked memory."""
    return self if is_pinned(self) else _bytes(self).pin_memory().untyped_storage()


def byteswap(self: Any, dtype: Any) -> None:
    """Turns the bytes of each number of a dtype around; of a complex number, those of its parts."""
    size = dtype.to_real().itemsize if dtype.is_complex else dtype.itemsize
    t = _bytes(self).view(-1, size)
    t.copy_(t.flip(1))


def _type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the class; with a dtype, the bytes as numbers of that dtype, a storage of their own."""
    if dtype is None:
        return f"torch.{'cuda' if self.device.type == 'cuda' else 'storage'}.UntypedStorage"
    return _bytes(self).to(dtype).storage()


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) not in memo:
        key: Any = ("strided storage", hash(self))  # as tensors of this memory do
        if key not in memo:
            memo[key] = _C.storage_as_tensor(self, _C.uint8).clone()
        memo[id(self)] = _C.untyped_storage(memo[key])
    return memo[id(self)]


@classmethod  # type: ignore[misc]
def from_buffer(
    cls: Any, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
) -> Any:
    """A storage with a copy of numbers in an object with the buffer protocol.

    Args:
        buffer: bytes and the like.
        byte_order: of the numbers there: 'native', 'little' or 'big'. Needed where they have several bytes.
        count: how many numbers; -1 for all that follow.
        offset: bytes before the first one.
        dtype: of the numbers. uint8 by default.

    Raises:
        TypeError: a dtype of several bytes without a byte order.
        ValueError: another byte order, or the buffer is too short.
    """
    dtype = _C.uint8 if dtype is None else dtype
    if byte_order is None and dtype.itemsize > 1:
        raise TypeError("from_buffer: byte_order is needed for numbers of several bytes")
    if byte_order not in (None, "native", "little", "big"):
        raise ValueError(f"from_buffer: byte_order must be 'native', 'little' or 'big', got {byte_order!r}")
    if dtype == _C.bool:  # any byte that is not zero is true
        made = (_C.from_buffer(buffer, _C.uint8, count, offset) != 0).untyped_storage()
    else:
        made = _C.from_buffer(buffer, dtype, count, offset).clone().untyped_storage()
    if byte_order not in (None, "native", sys.byteorder):
        byteswap(made, dtype)
    return made


def _conversion(name: str, dtype: Any) -> Any:
    def convert(self: Any) -> Any:
        return _type(self, dtype)

    convert.__name__ = name
    convert.__qualname__ = f"UntypedStorage.{name}"
    convert.__doc__ = f"The bytes as numbers of {dtype}, a typed storage of their own."
    return convert


def __reduce__(self: Any) -> Any:
    """For pickle and copies: a file with the storage, which ``load`` reads."""
    from ..serialization import save
    from ..storage import _load_from_bytes

    file = io.BytesIO()
    save(self, file)
    return _load_from_bytes, (file.getvalue(),)


def __sizeof__(self: Any) -> int:
    """Bytes of the object and of its memory: ``sys.getsizeof`` says what a storage holds."""
    return object.__sizeof__(self) + self.nbytes()


def install() -> None:
    """Puts the functions above into the class."""
    names = (
        "__getitem__ __setitem__ __iter__ __repr__ tolist untyped clone cpu element_size is_shared from_file to cuda copy_ fill_ "
        "_new_shared new get_device is_pinned pin_memory byteswap from_buffer __sizeof__ "
        "__reduce__"
    )
    for name in names.split():
        setattr(_C.UntypedStorage, name, globals()[name])
    _C.UntypedStorage.__copy__ = clone
    _C.UntypedStorage.type = _type
    _C.UntypedStorage.__deepcopy__ = _deepcopy
    for dtype in _C.dtypes:
        cpp_name = dtype._traits["cpp_name"]  # ComplexFloat: complex_float()
        method = re.sub("(?<=[a-z])(?=[A-Z])", "_", cpp_name).lower()
        setattr(_C.UntypedStorage, method, _conversion(method, dtype))
    _C.UntypedStorage.filename = None
    _C.UntypedStorage.is_sparse = False
    _C.UntypedStorage.is_cuda = property(lambda self: self.device.type == "cuda")
