"""The memory of a tensor seen as a one-dimensional array of numbers: ``t.storage()``.

The bytes themselves belong to ``UntypedStorage``, a C++ object; here is only how they read as numbers of a dtype.
:func:`install` hands this file the three things it needs from below, so that it imports nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C
from .._calls.once import warn_once_of

__all__ = ["TypedStorage", "install", "typed"]


class _Below:
    """What comes from the layer below, filled in by :func:`install`."""

    as_tensor: Callable[[Any, Any], Any]  # (untyped, dtype) -> 1-d tensor over all whole elements of the storage
    new_untyped: Callable[[int, Any], Any]  # (bytes, device) -> untyped storage
    tensor: Callable[..., Any]  # tensor(data, dtype=, device=): copies data
    default_dtype: Callable[[], Any]


def warn_of_typed(stacklevel: int) -> None:
    """Once, at the first use of a typed storage; stacklevel as of ``warn_once_of``."""
    warn_once_of(
        "TypedStorage",
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
        "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        "tensor.untyped_storage() instead of tensor.storage()",
        stacklevel,
    )


class TypedStorage:
    """A tensor's memory as numbers: length, indexing, assignment; every tensor on it sees what is written.

    Every object is of the class of its dtype (``FloatStorage``, ``LongStorage``, ...), also one asked of
    ``TypedStorage``.

    Args:
        size_or_data: elements to make room for (their values are arbitrary), or the numbers; nothing makes an empty
            storage.
        wrap_storage: an ``UntypedStorage`` to read, instead of new memory.
        dtype: only for ``TypedStorage`` itself (the classes have theirs); the default dtype if None.
        device: only for new memory; the CPU if None.

    Raises:
        TypeError: arguments of another kind.
        ValueError: a negative size; data that is not one-dimensional.
        RuntimeError: arguments that exclude each other.

    >>> s = torch.arange(3.).storage()
    >>> s
     0.0
     1.0
     2.0
    [torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]
    >>> s[1], len(s), isinstance(s, torch.FloatStorage)
    (1.0, 3, True)
    """

    __slots__ = ("_untyped",)
    _untyped: Any
    dtype: Any = None
    is_sparse = False

    def __new__(
        cls, *size_or_data: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None
    ) -> TypedStorage:
        warn_of_typed(2)
        return cls._made(*size_or_data, wrap_storage=wrap_storage, dtype=dtype, device=device)

    @classmethod
    def _made(cls, *size_or_data: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> TypedStorage:
        cls = cls._kind(dtype)
        if len(size_or_data) > 1:
            raise RuntimeError(f"{cls.__name__}: one size or one sequence is taken, got {len(size_or_data)} arguments")
        if wrap_storage is None:
            untyped = cls._new_memory(size_or_data[0] if size_or_data else 0, device)
        elif size_or_data or device is not None:
            raise RuntimeError(f"{cls.__name__}: wrap_storage cannot be given together with a size, data or a device")
        else:
            if not isinstance(wrap_storage, _C.UntypedStorage):
                raise TypeError(
                    f"{cls.__name__}: wrap_storage must be UntypedStorage, not {type(wrap_storage).__name__}"
                )
            untyped = wrap_storage
        self = object.__new__(cls)
        self._untyped = untyped
        return self

    @classmethod
    def _new_memory(cls, content: Any, device: Any) -> Any:
        device = "cpu" if device is None else device
        if isinstance(content, int):
            if content < 0:
                raise ValueError(f"{cls.__name__}: size must not be negative, got {content}")
            return _Below.new_untyped(content * cls.dtype.itemsize, device)
        if isinstance(content, str) or not (hasattr(content, "__len__") and hasattr(content, "__getitem__")):
            given = type(content).__name__
            raise TypeError(f"{cls.__name__}: a size or a sequence of numbers is required, got {given}")
        t = _Below.tensor(list(content), dtype=cls.dtype, device=device)
        if t.dim() != 1:
            raise ValueError(f"{cls.__name__}: data must be one-dimensional, got shape {tuple(t.shape)}")
        return t.untyped_storage()

    @property
    def _elements(self) -> Any:
        """All elements as a 1-d tensor on this memory."""
        return _Below.as_tensor(self._untyped, self.dtype)

    @property
    def device(self) -> Any:
        """The device the memory is on."""
        return self._untyped.device

    @property
    def is_cuda(self) -> bool:
        return bool(self.device.type == "cuda")

    def untyped(self) -> Any:
        """The ``UntypedStorage`` underneath."""
        return self._untyped

    @property
    def _untyped_storage(self) -> Any:
        return self._untyped

    @property
    def _cdata(self) -> int:
        return int(self._untyped._cdata)

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
    ) -> TypedStorage:
        """A storage with a copy of numbers in an object with the buffer protocol.

        Args:
            buffer: bytes and the like.
            byte_order: of the numbers there: 'native', 'little' or 'big'. Needed where they have several bytes.
            count: how many numbers; -1 for all that follow.
            offset: bytes before the first one.
            dtype: only for ``TypedStorage`` itself; the default dtype if None.

        Raises:
            TypeError: a dtype of several bytes without a byte order.
            ValueError: another byte order, or the buffer is too short.
        """
        kind = cls._kind(dtype)
        made = _C.UntypedStorage.from_buffer(buffer, byte_order, count, offset, dtype=kind.dtype)
        return kind(wrap_storage=made)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first ``size`` numbers of a file as memory.

        Args:
            filename: a path.
            shared: whether writes go to the file, which is made, or made longer, if it is too short.

        Raises:
            RuntimeError: the file has fewer numbers, and is not shared.
            OSError: it cannot be opened.
        """
        kind = cls._kind(None)
        made = _C.UntypedStorage.from_file(filename, shared, size * kind.dtype.itemsize)
        return kind(wrap_storage=made)

    @classmethod
    def _kind(cls, dtype: Any) -> type[TypedStorage]:
        if cls is TypedStorage:
            return _class_of(_Below.default_dtype() if dtype is None else dtype)
        if dtype is not None:
            raise RuntimeError(f"{cls.__name__}: dtype cannot be given, it is {cls.dtype}")
        return cls

    def size(self) -> int:
        """Number of elements."""
        return int(self._untyped.nbytes() // self.dtype.itemsize)

    __len__ = size

    def nbytes(self) -> int:
        """Number of bytes."""
        return int(self._untyped.nbytes())

    def __sizeof__(self) -> int:
        """Bytes of the object and of its memory."""
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return int(self._untyped.data_ptr())

    def get_device(self) -> int:
        """Index of the CUDA device, -1 on the CPU."""
        return self.device.index if self.is_cuda else -1

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        """Memory of `size` elements of the same dtype that other processes see."""
        made = _C.UntypedStorage._new_shared(size * self.dtype.itemsize, device=device or "cpu")
        return type(self)(wrap_storage=made)

    def is_shared(self) -> bool:
        """Whether other processes can see the memory: after ``Tensor.share_memory_``; on a CUDA device always."""
        return bool(self._untyped.is_shared())

    def _check_index(self, index: Any) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        if isinstance(index, slice):
            return
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise TypeError(f"can't index a {type(self).__name__} with {type(index).__name__}")
        n = self.size()
        if not -n <= index.__index__() < n:
            raise IndexError(f"index {index} out of range for storage of size {n}")

    def __getitem__(self, index: Any) -> Any:
        """A Python number; for a slice, a list of them (a copy)."""
        self._check_index(index)
        if not isinstance(index, slice):
            return self._elements[index.__index__()].item()
        positions = range(*index.indices(self.size()))
        if not positions:
            return []
        first, last = min(positions[0], positions[-1]), max(positions[0], positions[-1])
        numbers = self._elements[first : last + 1].tolist()
        return [numbers[i - first] for i in positions]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes a number, or for a slice one number everywhere or a sequence of as many.

        Raises:
            IndexError: no such element.
            ValueError: more or fewer values than the slice has elements; nothing is written then.
        """
        self._check_index(index)
        if not isinstance(index, slice):
            self._elements[index.__index__()] = value
            return
        positions = range(*index.indices(self.size()))
        many = hasattr(value, "__len__")
        if many and len(value) != len(positions):
            raise ValueError(
                f"{type(self).__name__}: a slice of {len(positions)} elements takes as many values, got {len(value)}"
            )
        if not positions:
            return
        if positions.step < 0:
            positions, value = positions[::-1], list(value)[::-1] if many else value
        if many:
            # Converted as a whole before the first is written, so an unfit value changes nothing.
            value = _Below.tensor(list(value), dtype=self.dtype, device=self.device)
        self._elements[positions.start : positions.stop : positions.step] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """All elements as a list of Python numbers."""
        return self._elements.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Sets every element."""
        self._elements.fill_(value)
        return self

    def copy_(self, source: TypedStorage) -> TypedStorage:
        """Copies the numbers of another storage of the same length, converted to this dtype.

        Raises:
            TypeError: ``source`` is no typed storage.
            RuntimeError: the lengths differ.
        """
        if not isinstance(source, TypedStorage):
            raise TypeError(f"copy_: a typed storage is required, got {type(source).__name__}")
        if len(source) != len(self):
            raise RuntimeError(f"copy_: size does not match, self has {len(self)} elements but source {len(source)}")
        self._elements.copy_(source._elements)
        return self

    def resize_(self, size: int) -> None:
        """Changes the number of elements, keeping those that fit; tensors on the storage see the new memory."""
        self._untyped.resize_(size * self.dtype.itemsize)

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return _storage_of(self._elements.clone())

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return _storage_of(self._elements.detach().__deepcopy__(memo))  # shared with copies of tensors of this memory

    def to(self, device: Any) -> TypedStorage:
        """A copy on another device; this storage itself where it is there already."""
        t = self._elements
        moved = t.to(device)
        return self if moved.device == t.device else _storage_of(moved)

    def cpu(self) -> TypedStorage:
        """:meth:`to` the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> TypedStorage:
        """:meth:`to` a CUDA device, the current one if None."""
        return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is page-locked."""
        return self._untyped.is_pinned()

    def pin_memory(self, device: Any = "cuda") -> TypedStorage:
        """The storage itself, or a copy in page-locked memory."""
        return self if self.is_pinned() else typed(self._untyped.pin_memory(), self.dtype)

    def resizable(self) -> bool:
        """Whether :meth:`resize_` may change the size."""
        return self._untyped.resizable()

    @property
    def filename(self) -> None:
        """None: no storage has the name of a file."""

    def pickle_storage_type(self) -> str:
        """The name of the class that pickles have: ``'FloatStorage'``."""
        return type(self).__name__

    def type(self, dtype: Any | None = None) -> Any:
        """The name, ``'torch.FloatStorage'``; with a dtype, the numbers converted to it (itself if it is its own)."""
        if dtype is None:
            return f"torch.{'cuda.' if self.is_cuda else ''}{type(self).__name__}"
        return self if dtype == self.dtype else _storage_of(self._elements.to(dtype))

    def __repr__(self) -> str:
        lines = "...\n" if self.device.type == "meta" else "".join(f" {n}\n" for n in self.tolist())
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _converter(name: str, dtype: str) -> Callable[[TypedStorage], TypedStorage]:
    def convert(self: TypedStorage) -> TypedStorage:
        return self.type(_CLASSES[dtype].dtype)

    convert.__name__ = name
    convert.__qualname__ = f"TypedStorage.{name}"
    convert.__doc__ = f"The numbers as {dtype}: a copy, or this storage if they are."
    return convert


_CLASSES: dict[str, type[TypedStorage]] = {}
for _traits in (d._traits for d in _C.dtypes):
    # PyTorch's words: ComplexFloatStorage, and complex_float() to convert to it.
    _dtype, _name = _traits["name"], f"{_traits['cpp_name']}Storage"
    _method = re.sub("(?<=[a-z])(?=[A-Z])", "_", _traits["cpp_name"]).lower()
    _CLASSES[_dtype] = type(
        _name, (TypedStorage,), {"__slots__": (), "__doc__": f"Memory of {_dtype} numbers.", "__module__": "strided"}
    )
    setattr(TypedStorage, _method, _converter(_method, _dtype))


def _class_of(dtype: Any) -> type[TypedStorage]:
    found = _CLASSES.get(str(dtype).removeprefix("torch."))
    if found is None or isinstance(dtype, str):
        raise TypeError(f"TypedStorage: dtype must be a torch.dtype, got {dtype!r}")
    return found


def classes() -> list[type[TypedStorage]]:
    """The classes of the storages of each dtype."""
    return list(_CLASSES.values())


def _storage_of(t: Any) -> TypedStorage:
    return typed(t.untyped_storage(), t.dtype)


def typed(untyped: Any, dtype: Any) -> TypedStorage:
    """The typed view of an untyped storage: what ``t.storage()`` returns.

    >>> type(typed(torch.zeros(2).untyped_storage(), torch.float32)).__name__
    'FloatStorage'
    """
    return _class_of(dtype)._made(wrap_storage=untyped)


def memory_for(storage: Any, dtype: Any) -> Any:
    """The untyped storage of a storage whose numbers have this dtype, a tensor's; RuntimeError for another one."""
    if not isinstance(storage, TypedStorage):
        return storage
    if storage.dtype != dtype:
        wanted, given = (_class_of(t).__name__.removesuffix("Storage") for t in (dtype, storage.dtype))
        raise RuntimeError(f"Expected a Storage of type {wanted} or an UntypedStorage, but got {given}")
    return storage.untyped()


def install(
    namespace: dict[str, Any],
    as_tensor: Callable[[Any, Any], Any],
    new_untyped: Callable[[int, Any], Any],
) -> None:
    """Gives the classes their dtypes and puts them into the package.

    Args:
        namespace: the package's names; the dtypes, ``tensor`` and ``get_default_dtype`` are taken from it, and
            ``TypedStorage``, ``FloatStorage``, ... added.
        as_tensor: ``(untyped, dtype)`` to the 1-d tensor over all elements of that memory.
        new_untyped: ``(bytes, device)`` to a new untyped storage.
    """
    _Below.as_tensor = staticmethod(as_tensor)
    _Below.new_untyped = staticmethod(new_untyped)
    _Below.tensor = staticmethod(namespace["tensor"])
    _Below.default_dtype = staticmethod(namespace["get_default_dtype"])
    for dtype, cls in _CLASSES.items():
        cls.dtype = namespace[dtype]
        namespace[cls.__name__] = cls
    namespace["TypedStorage"] = TypedStorage
