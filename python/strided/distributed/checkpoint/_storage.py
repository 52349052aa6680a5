"""Checkpoints that all ranks write and read, in parts (``strided.distributed.checkpoint``).

A checkpoint is a folder with one safetensors file. Its tensors have the names of their places in the state dict, joined
by dots; other values stand in its metadata as JSON, so nothing is pickled. A checkpoint can be loaded with other ranks,
meshes and placements than it was saved with: each rank reads what its shards need.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import strided

from ...files import safetensors
from .. import files
from .._layout import Spec
from .._objects import _plain, built
from .._sharded import ShardedTensor
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..._typing import Any, Iterator

__all__ = [
    "CheckpointException", "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter",
    "async_save", "load", "load_state_dict", "save", "save_state_dict",
]  # fmt: skip

_FILE = "checkpoint.safetensors"
_VALUES = "strided.values"
_PATHS = "strided.paths"  # the keys on the way to a name that are no texts, or have dots; [i] is a place in a list


class CheckpointException(RuntimeError):
    """A checkpoint cannot be loaded into this state dict."""


class FileSystemWriter:
    """Where ``save`` writes: a folder that all ranks see.

    Args:
        overwrite: RuntimeError for False if the folder has a checkpoint. Other arguments of PyTorch's class are about
            its way to write, and have no effect.
    """

    def __init__(self, path: Any, *arguments: Any, overwrite: bool = True, **options: Any) -> None:
        self.path, self.overwrite = os.fspath(path), overwrite


class FileSystemReader:
    """Where ``load`` reads: a folder that ``save`` wrote."""

    def __init__(self, path: Any, *arguments: Any) -> None:
        self.path = os.fspath(path)

    def read_metadata(self) -> Metadata:
        """Names of a checkpoint, with dtypes and shapes of its tensors.

        Raises:
            FileNotFoundError: there is no checkpoint.
        """
        _, header, values, paths = _opened(os.path.join(self.path, _FILE))
        found: dict[str, Any] = {name: BytesStorageMetadata() for name in values}
        for name in header.tensors:
            info = header.tensors[name]
            dtype, size = safetensors._dtype(name, info), strided.Size(info.shape)
            block = ChunkStorageMetadata(strided.Size([0] * len(size)), size)
            found[name] = TensorStorageMetadata(TensorProperties(dtype), size, [block])
        ways = {name: tuple(k[0] if isinstance(k, list) else k for k in _way(name, paths)) for name in found}
        return Metadata(found, ways)


class DefaultSavePlanner:
    """PyTorch's name for what ``save`` does."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass


class DefaultLoadPlanner:
    """What ``load`` does.

    Args:
        allow_partial_load: what the checkpoint does not have stays as it is; else that is an error.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load


def _folder(call, checkpoint_id, storage, kind):
    if storage is not None and not isinstance(storage, kind):
        raise NotImplementedError(f"checkpoint.{call}: a {kind.__name__} is required, got {type(storage).__name__}")
    path = checkpoint_id if checkpoint_id is not None else getattr(storage, "path", None)
    if path is None:
        raise RuntimeError(f"checkpoint.{call}: checkpoint_id or {kind.__name__}(path) is required")
    return os.fspath(path)


def _checked_planner(call, planner, kind):
    if planner is not None and not isinstance(planner, kind):
        raise NotImplementedError(f"checkpoint.{call}: a {kind.__name__} is required, got {type(planner).__name__}")


def _communicator(process_group, no_dist):
    return files._alone() if no_dist else files._communicator(process_group)


def _has_tensors(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_tensors(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(v) for v in value)
    return isinstance(value, strided.Tensor)


class _Place(int):
    """The number of an element of a list, among keys of dicts."""

    def __str__(self) -> str:
        return int.__repr__(self)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """(keys on the way, value) of tensors and other values; containers of other values only are values."""
    if isinstance(value, dict) and (value or not path):
        for key, v in value.items():
            yield from _leaves(v, (*path, key))
    elif isinstance(value, (list, tuple)) and _has_tensors(value):
        for i, v in enumerate(value):
            yield from _leaves(v, (*path, _Place(i)))
    else:
        yield path, {} if isinstance(value, dict) and not value else value


def _flat(call: str, state_dict: dict) -> dict[str, tuple[tuple[Any, ...], Any]]:
    """name -> (keys on the way, value)."""
    found: dict[str, tuple[tuple[Any, ...], Any]] = {}
    for path, value in _leaves(state_dict):
        name = ".".join(map(str, path))
        if name in found:
            raise ValueError(f"checkpoint.{call}: {path} and {found[name][0]} have one name, {name!r}")
        found[name] = path, value
    return found


def _dicts(state_dict: dict) -> dict:
    """The state dict, with those of modules and optimizers in their places."""
    return {k: v.state_dict() if hasattr(v, "state_dict") else v for k, v in state_dict.items()}


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Writes a state dict; every rank writes its parts of sharded tensors. All ranks call it.

    Args:
        state_dict: nested dicts and lists of tensors and plain values; objects with ``state_dict()`` in it (modules,
            optimizers) give that. Plain tensors and values are those of the first rank.
        checkpoint_id: the folder, or
        storage_writer: ``FileSystemWriter(folder)``.
        process_group: the ranks that write; all for None. no_dist: this rank alone.

    Raises:
        TypeError: a value that would have to be pickled.
        ValueError: two places have one name; a dtype that safetensors has not.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> net = strided.nn.Linear(2, 2)
    >>> strided.distributed.checkpoint.save({"model": net, "step": 3}, checkpoint_id=folder)
    >>> state = {"model": strided.nn.Linear(2, 2), "step": 0}
    >>> strided.distributed.checkpoint.load(state, checkpoint_id=folder)
    >>> state["step"], bool((state["model"].weight == net.weight).all())
    (3, True)
    """
    _checked_planner("save", planner, DefaultSavePlanner)
    folder = _folder("save", checkpoint_id, storage_writer, FileSystemWriter)
    comm = _communicator(process_group, no_dist)
    path = os.path.join(folder, _FILE)
    tensors: dict[str, Any] = {}
    values: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for name, (way, value) in _flat("save", _dicts(state_dict)).items():
        if any(not isinstance(k, str) or "." in k for k in way):
            paths[name] = [[int(k)] if isinstance(k, _Place) else k for k in way]
            if any(k is not None and not isinstance(k, (str, int, float, bool, list)) for k in paths[name]):
                del paths[name]  # keys that JSON has not
        if isinstance(value, strided.Tensor):
            tensors[name] = value.detach()
        else:
            values[name] = _plain(value, [], name)

    def prepare():
        if not getattr(storage_writer, "overwrite", True) and os.path.exists(path):
            raise RuntimeError(f"checkpoint.save: {folder} has a checkpoint, and overwrite=False")
        os.makedirs(folder, exist_ok=True)

    _, problem = files._tried(prepare) if comm.rank == 0 else (None, None)
    files._agree(comm, "checkpoint.save", problem)
    texts = {_VALUES: json.dumps(values), **({_PATHS: json.dumps(paths)} if paths else {})}
    files.save_file(tensors, path, texts, group=comm)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    **options: Any,
) -> Future:
    """save; the future that it returns is done: no thread writes while the program goes on."""
    from concurrent.futures import Future

    save(
        state_dict, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner,
        process_group=process_group, no_dist=no_dist,
    )  # fmt: skip
    done: Future = Future()
    done.set_result(None)
    return done


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Reads what the state dict has from a checkpoint into it; what else the checkpoint has is left. All ranks call it.

    Tensors are written in place; sharded ones keep their placements, whatever they were saved with. Other values are
    replaced in their dicts. Objects with ``load_state_dict()`` get what was read for their ``state_dict()``.

    Raises:
        CheckpointException: a name is missing, or a tensor has another shape.
        FileNotFoundError: there is no checkpoint.
    """
    _checked_planner("load", planner, DefaultLoadPlanner)
    folder = _folder("load", checkpoint_id, storage_reader, FileSystemReader)
    comm = _communicator(process_group, no_dist)
    own = _dicts(state_dict)
    _, problem = files._tried(
        lambda: _read(os.path.join(folder, _FILE), own, getattr(planner, "allow_partial_load", False))
    )
    files._agree(comm, "checkpoint.load", problem)
    for key, value in own.items():
        given = state_dict[key]
        if hasattr(given, "state_dict"):
            given.load_state_dict(value)
        else:
            state_dict[key] = value


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """The older name of save."""
    save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """The older name of load."""
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)


def _opened(path: str) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """(the file, its header, values by name, ways by name) of a checkpoint"""
    whole = files._mapped(path)
    header = safetensors.read_header(whole)
    known = header.metadata or {}
    return whole, header, json.loads(known.get(_VALUES, "{}")), json.loads(known.get(_PATHS, "{}"))


def _way(name: str, paths: dict[str, Any]) -> list[Any]:
    """The keys on the way to a name."""
    return paths.get(name) or name.split(".")


def read_whole(folder: Any) -> dict[str, Any]:
    """The state dict of a checkpoint, with whole tensors."""
    whole, header, values, paths = _opened(os.path.join(os.fspath(folder), _FILE))
    found = {name: built(value) for name, value in values.items()}
    found.update({name: safetensors._tensor(whole, header, name).clone() for name in header.tensors})
    made: dict[Any, Any] = {}
    for name, value in found.items():
        into, way = made, _way(name, paths)
        for key in way[:-1]:
            into = into.setdefault(_key(key), {})
        into[_key(way[-1])] = value
    return _with_lists(made)


def _key(key: Any) -> Any:
    return _Place(key[0]) if isinstance(key, list) else key


def _with_lists(value: Any) -> Any:
    """Dicts of places are lists."""
    if not isinstance(value, dict):
        return value
    made = {k: _with_lists(v) for k, v in value.items()}
    if made and all(isinstance(k, _Place) for k in made):
        return [made[k] for k in sorted(made)]
    return made


def _read(path: str, state: dict, partial: bool) -> None:
    whole, header, values, _ = _opened(path)
    for name, (way, own) in _flat("load", state).items():
        if isinstance(own, strided.Tensor) and name in header.tensors:
            there = safetensors._tensor(whole, header, name)
            if there.shape != own.shape:
                raise CheckpointException(
                    f"checkpoint.load: {name} has the shape {tuple(there.shape)} in the checkpoint, here {tuple(own.shape)}"
                )
            with strided.no_grad():
                if isinstance(own, ShardedTensor):
                    spec: Spec = own._spec
                    if spec.is_partial:
                        raise CheckpointException(f"checkpoint.load: {name} is a sum of terms, {spec!r}")
                    own._local.detach().copy_(files._select(there, spec.ranges(spec.mesh._coordinate)))
                else:
                    own.detach().copy_(there)
        elif name in values and not isinstance(own, strided.Tensor):
            _put(state, way, built(values[name]))
        elif not partial:
            raise CheckpointException(f"checkpoint.load: the checkpoint has no {name}")


def _put(state: Any, way: tuple[Any, ...], value: Any) -> None:
    for key in way[:-1]:
        state = state[key]
    if not isinstance(state, tuple):
        state[way[-1]] = value
