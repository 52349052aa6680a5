"""Saving and loading in PyTorch's format: ``strided.save``, ``strided.load`` and what sets them.

PyTorch reads what is written here (``torch.load(..., weights_only=True)``), and the other way round. A file is data:
the pickle in it is decoded by a machine that knows a closed list of constructors, imports nothing and calls nothing
else.
"""

from __future__ import annotations

import enum
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import _C
from ._as_torch import is_installed

if TYPE_CHECKING:
    from ._typing import UntypedStorage

__all__ = [
    "LoadEndianness",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "validate_cuda_device",
]

_f = _C.functions
DEFAULT_PROTOCOL = 2

# Types that programs name in annotations.
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | str | dict[str, str] | None


class LoadEndianness(enum.Enum):
    """The byte order of a file that does not say which it has."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Settings:
    safe: dict[str, Any] = {}
    checksums = True
    endianness: LoadEndianness | None = None
    mmap_flags: int | None = None  # None: MAP_PRIVATE


# ---------------------------------------------------------------- settings


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Lets ``load`` make objects of these classes, and call these functions; ``save`` writes such objects.

    Args:
        safe_globals: classes and functions, or pairs of one and the name 'module.name' that files have for it. Those
            of strided have PyTorch's names there.

    >>> strided.serialization.add_safe_globals([range])
    >>> strided.serialization.get_safe_globals()
    [<class 'range'>]
    >>> strided.serialization.clear_safe_globals()
    """
    from .files._constructors import file_name_of

    for one in safe_globals:
        if isinstance(one, tuple):
            if len(one) != 2 or not isinstance(one[1], str):
                raise ValueError(f"add_safe_globals: a pair of a class and its name is required, got {one!r}")
            _Settings.safe[one[1]] = one[0]
        elif callable(one) and hasattr(one, "__qualname__"):
            _Settings.safe[file_name_of(one)] = one
        else:
            raise TypeError(f"add_safe_globals: a class or function is required, got {type(one).__name__}")


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` was given; pairs where the name is another than that of the class."""
    from .files._constructors import file_name_of

    return [one if file_name_of(one) == name else (one, name) for name, one in _Settings.safe.items()]


def clear_safe_globals() -> None:
    """Forgets what ``add_safe_globals`` was given."""
    _Settings.safe = {}


class safe_globals:  # noqa: N801  (PyTorch's name)
    """``with safe_globals([SomeClass]):`` adds classes and functions for a while, as :func:`add_safe_globals` does."""

    def __init__(self, safe_globals: Sequence[Any]) -> None:
        self._added = safe_globals
        self._before: dict[str, Any] = {}

    def __enter__(self) -> None:
        self._before = dict(_Settings.safe)
        add_safe_globals(self._added)

    def __exit__(self, *exception: Any) -> None:
        _Settings.safe = self._before


def get_crc32_options() -> bool:
    """Whether ``save`` writes checksums."""
    return _Settings.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``save`` writes checksums. ``load`` compares them where a file has them."""
    _Settings.checksums = bool(compute_crc32)


def get_default_load_endianness() -> LoadEndianness | None:
    """What :func:`set_default_load_endianness` was given."""
    return _Settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """The byte order of files without a record of theirs; None stands for little-endian.

    Raises:
        TypeError: something else.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _Settings.endianness = endianness


def get_default_mmap_options() -> int | None:
    """The flag of :func:`set_default_mmap_options`; 2, which is ``mmap.MAP_PRIVATE``, at first."""
    import mmap

    return mmap.MAP_PRIVATE if _Settings.mmap_flags is None else _Settings.mmap_flags


class set_default_mmap_options:  # noqa: N801  (PyTorch's name)
    """How ``load(..., mmap=True)`` maps a file: from now on, or within ``with``.

    Args:
        flags: ``mmap.MAP_PRIVATE``: writes stay in this process; ``mmap.MAP_SHARED``: they go to the file.

    Raises:
        ValueError: another flag.
    """

    def __init__(self, flags: int) -> None:
        import mmap

        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(f"Invalid argument in function set_default_mmap_options, got {flags}")
        self._before = _Settings.mmap_flags
        _Settings.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        _Settings.mmap_flags = self._before


def _byteorder() -> str:
    if _Settings.endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _Settings.endianness is LoadEndianness.BIG else "little"


# ---------------------------------------------------------------- where storages go

_packages: list[tuple[int, Callable[[Any], Any], Callable[[Any, str], Any]]] = []


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any | None]
) -> None:
    """Adds a pair of functions for storages of another kind of device.

    Args:
        priority: those of low priority are asked first; those of the library have 10 and 20.
        tagger: gives the name of a storage's place, or None.
        deserializer: ``(storage, place)`` to the storage there, or None.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda one: one[0])


def validate_cuda_device(location: str) -> Any:
    """The device of a place such as ``'cuda:1'``; RuntimeError if this machine has none."""
    from . import cuda

    if not cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    device = _C.device(location)
    if device.index is not None and device.index >= cuda.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {device.index} but torch.cuda.device_count() is "
            f"{cuda.device_count()}. Please use torch.load with map_location to map your storages to an existing "
            "device."
        )
    return device


def _restore_cuda(storage: Any, location: str) -> Any:
    if not re.fullmatch(r"cuda(:\d{1,3})?", location):
        return None
    device = validate_cuda_device(location)
    return _C.storage_as_tensor(storage, _C.uint8).to(device).untyped_storage()


def _restore_elsewhere(storage: Any, location: str) -> Any:
    if not re.fullmatch(r"xla(:\d{1,3})?|meta", location):
        return None
    return _C.storage_as_tensor(storage, _C.uint8).to(location).untyped_storage()


register_package(10, lambda s: "cpu" if s.device.type == "cpu" else None, lambda s, loc: s if loc == "cpu" else None)
register_package(20, lambda s: str(s.device) if s.device.type == "cuda" else None, _restore_cuda)
register_package(20, lambda s: str(s.device) if s.device.type in ("xla", "meta") else None, _restore_elsewhere)


def location_tag(storage: Any) -> str:
    """The name of the place of a storage, as files have it: ``'cpu'``, ``'cuda:0'``.

    >>> strided.serialization.location_tag(strided.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        if (tag := tagger(storage)) is not None:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__qualname__}")


def normalize_storage_type(storage_type: type) -> type:
    """The storage class that files name, for the class of a storage.

    >>> strided.serialization.normalize_storage_type(strided.FloatStorage)
    <class 'strided.FloatStorage'>
    """
    import strided

    return getattr(strided, storage_type.__name__)


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage at a place: itself, or a copy on another device. RuntimeError if there is no such place."""
    for _, _, deserializer in _packages:
        if (restored := deserializer(storage, location)) is not None:
            return restored
    raise RuntimeError(
        f"don't know how to restore data location of {type(storage).__qualname__} (tagged with {location})"
    )


def _untyped(storage: Any) -> UntypedStorage:
    return storage.untyped() if hasattr(storage, "untyped") else storage


_C.set_hook("restore_location", lambda storage, location: _untyped(default_restore_location(storage, location)))


# Those of the library. Where a program has added one, it is asked about every storage, and nothing goes past it.
_OWN_PACKAGES = len(_packages)


def _straight(location: str) -> Any:
    """The CUDA device of a place, to which the file's bytes may go straight; None where a function must see them."""
    if len(_packages) > _OWN_PACKAGES or not re.fullmatch(r"cuda(:\d{1,3})?", location):
        return None
    return validate_cuda_device(location)


class _Places(NamedTuple):
    """``map_location`` as functions: ``restore(storage, place)`` gives the storage where it goes, ``straight(place)``
    the CUDA device that it goes to in any case, or None."""

    restore: Callable[[Any, str], Any] | None
    straight: Callable[[str], Any] | None


def _places(map_location: Any) -> _Places:
    if map_location is None:
        return _Places(None, lambda place: None if place == "cpu" else _straight(place))
    if isinstance(map_location, dict):
        return _Places(
            lambda s, place: _untyped(default_restore_location(s, map_location.get(place, place))),
            lambda place: _straight(map_location.get(place, place)),
        )
    if isinstance(map_location, (str, bytes, _C.device)):
        to = os.fsdecode(map_location) if isinstance(map_location, (str, bytes)) else str(map_location)
        if to == "cpu":
            return _Places(lambda s, place: s, None)
        return _Places(lambda s, place: _untyped(default_restore_location(s, to)), lambda place: _straight(to))
    if not callable(map_location):
        raise TypeError(f"'{type(map_location).__name__}' object is not callable")

    def restore(storage: Any, place: str) -> Any:
        given = map_location(storage, place)
        return _untyped(default_restore_location(storage, place) if given is None else given)

    return _Places(restore, None)


# ---------------------------------------------------------------- saving


def _errors() -> None:
    """Tells the core which exceptions there are for pickles: those of Python's pickle, which is not used otherwise."""
    from pickle import PicklingError, UnpicklingError

    from ._objects.storage import typed
    from .files._zip import inflate

    _C.set_hook("typed_storage", typed)
    _C.set_hook("UnpicklingError", UnpicklingError)
    _C.set_hook("PicklingError", PicklingError)
    _C.set_hook("inflate", inflate)


def _describe(obj: Any) -> Any:
    from .files import _whole
    from .files._constructors import describe

    described = describe(obj, _Settings.safe)
    return _whole.describe(obj) if described is None and is_installed() else described


_SYSTEM = {"protocol_version": 1001, "little_endian": sys.byteorder == "little",
           "type_sizes": {"short": 2, "int": 4, "long": 4}}  # fmt: skip


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object in PyTorch's format.

    Tensors that share memory still do when they are loaded, and views stay views: a storage is written once, as a
    whole. A file at a path is replaced when the new one is complete and on the disk; until then it stays as it was.

    Args:
        obj: tensors, parameters, storages; dicts, lists, tuples, sets; numbers, texts, bytes, None; sizes, dtypes,
            devices; numbers and arrays of NumPy; and objects of the classes given to
            ``serialization.add_safe_globals``.
        f: a path, or an object with ``write``.
        pickle_module: accepted for compatibility: only Python's own, which is not used.
        pickle_protocol: 2 to 5.
        _use_new_zipfile_serialization: False: the format before PyTorch 1.6.

    Raises:
        pickle.PicklingError: the object, or one in it, is no data; the error names all their classes.
        OSError: the file cannot be written.

    >>> import io
    >>> f = io.BytesIO()
    >>> strided.save({"weight": strided.ones(2), "step": 3}, f)
    >>> _ = f.seek(0)
    >>> strided.load(f)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    _errors()
    if pickle_module is not None and getattr(pickle_module, "__name__", "") != "pickle":
        raise ValueError("save: objects are written without a pickle module; pickle_module cannot be given")
    if isinstance(pickle_protocol, bool) or not isinstance(pickle_protocol, int):
        raise TypeError(f"save: pickle_protocol must be an int, got {type(pickle_protocol).__name__}")
    if not 2 <= pickle_protocol <= 5:
        raise ValueError(f"pickle protocol must be <= 5 and >= 2, got {pickle_protocol}")
    is_path = isinstance(f, (str, bytes, os.PathLike))
    name = os.path.splitext(os.path.basename(os.fsdecode(f)))[0] or "archive" if is_path else "archive"
    prefix = re.sub(r"[^\w.-]|^\.+", "_", name, flags=re.ASCII)

    def write(to: Any) -> None:
        if _use_new_zipfile_serialization:
            _f["_save_archive"](
                obj, to, _describe, pickle_protocol, prefix, _Settings.checksums, not _disable_byteorder_record
            )
        else:
            _f["_save_stream"](obj, to, _describe, pickle_protocol, _SYSTEM)

    if not is_path:
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        write(f)
        if hasattr(f, "flush"):  # so that who opens the same file finds all of it
            f.flush()
        return
    from .files._writing import replacing

    folder = os.path.dirname(os.fsdecode(f))
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    with replacing(f) as fd:
        write(fd)


# ---------------------------------------------------------------- loading


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """The object in a file of PyTorch's, or of :func:`save`. No code in a file is ever run.

    Args:
        f: a path, or an object with ``read``, ``seek`` and ``tell``, which stands where the file begins.
        map_location: where tensors go: a device or its name; a dict of places, ``{'cuda:0': 'cpu'}``; or a function of
            a storage and its place, which returns a storage, or None for the default. None: where they were.
        pickle_module: accepted for compatibility, and not used.
        weights_only: accepted for compatibility: what True allows is what is read, always.
        mmap: whether tensors lie in the mapped file, of which only what is used is read. Needs a path.
        pickle_load_args: ``encoding`` of texts that Python 2 wrote: 'utf-8' by default, 'bytes' leaves them as bytes.

    Raises:
        pickle.UnpicklingError: the file has objects outside of the list; the error names all their classes.
        RuntimeError: the file is damaged, or of another format.
        OSError: the file cannot be read.

    >>> import io
    >>> f = io.BytesIO()
    >>> strided.save(strided.arange(3), f)
    >>> _ = f.seek(0)
    >>> strided.load(f, map_location="cpu")
    tensor([0, 1, 2])
    """
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(f"load() got an unexpected keyword argument '{next(iter(pickle_load_args))}'")
    if not isinstance(encoding, str):
        raise TypeError(f"load: encoding must be a str, got {type(encoding).__name__}")
    _errors()
    from .files import _whole
    from .files._constructors import constructors

    allowed = _Settings.safe
    if weights_only is False and is_installed():
        allowed = {**_whole.readable(), **allowed}
    lists = constructors(allowed, encoding)
    places = _places(map_location)
    if isinstance(f, (str, bytes, os.PathLike)):
        return _load_path(f, lists, places, bool(mmap))
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _load_object(f, lists, places)


def _is_archive(head: bytes) -> bool:
    if not head:
        raise EOFError("load: the file is empty")
    return head[:4] == b"PK\x03\x04"


def _refuse_tar(head: bytes) -> None:
    if head[257:262] == b"ustar":
        raise RuntimeError("load: this is a tar archive, as PyTorch before 0.1.10 wrote: it is not read")


def _load_path(path: Any, lists: Any, places: _Places, mapped: bool) -> Any:
    import mmap

    shared = mapped and get_default_mmap_options() == mmap.MAP_SHARED
    fd = os.open(path, os.O_RDWR if shared else os.O_RDONLY)
    try:
        head = os.pread(fd, 512, 0)
        if _is_archive(head):
            return _f["_load_archive"](fd, 0, lists, *places, mapped, shared, _byteorder())
        if mapped:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        _refuse_tar(head)
        with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as content:
            return _f["_load_stream"](content, lists, places.restore)[0]
    finally:
        os.close(fd)


def _load_object(f: Any, lists: Any, places: _Places) -> Any:
    for method in ("seek", "tell", "read"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file that "
                "is seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    start = f.tell()
    head = f.read(512)
    f.seek(start)
    if not isinstance(head, bytes):
        raise TypeError(f"load: the file must be opened in binary mode, read() gave {type(head).__name__}")
    if _is_archive(head):
        if type(f) is io.BytesIO:
            with f.getbuffer() as content:
                made = _f["_load_archive"](content, start, lists, *places, False, False, _byteorder())
        else:
            made = _f["_load_archive"](f, start, lists, *places, False, False, _byteorder())
        f.seek(0, os.SEEK_END)
        return made
    _refuse_tar(head)
    made, end = _f["_load_stream"](f.read(), lists, places.restore)
    f.seek(start + end)  # another object may follow
    return made


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that ``load`` would refuse, without loading it.

    Raises:
        ValueError: the file is no zip archive of PyTorch's.
    """
    from .files._constructors import known_names
    from .files._zip import Archive

    with Archive(f) as archive:
        pickles = [e for e in archive.entries if e.name.endswith("/data.pkl") and e.name.count("/") == 1]
        if not pickles:
            raise ValueError("Expected a file saved with torch.save: the archive has no data.pkl")
        names = _f["_pickled_names"](archive.read(pickles[0]))
    return [name for name in dict.fromkeys(names) if name not in known_names(_Settings.safe)]


# ---------------------------------------------------------------- small things


def mkdtemp() -> Any:
    """A context manager with the path of a new folder, which is removed at the end."""
    import tempfile

    return tempfile.TemporaryDirectory()


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """Whether ``module.__version__`` is a version or a later one; RuntimeError (or True) if it is no version."""
    try:
        have = tuple(type(want)(part) for want, part in zip(req_version_tuple, module.__version__.split(".")))
    except (AttributeError, ValueError) as problem:
        if error_if_malformed:
            raise RuntimeError(f"'{module.__name__}' module version string is malformed") from problem
        return True
    return have >= tuple(req_version_tuple)


def _get_layout(name: str) -> Any:
    """The layout of this name, for pickles of PyTorch."""
    from .files._constructors import _layout

    return _layout(name)
