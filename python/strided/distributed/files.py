"""Files that all ranks read and write at once, each its own part (``strided.distributed.files``).

==================================  ===============================================
``load_npy``, ``save_npy``          NumPy's ``.npy``: one array
``load_file``, ``save_file``        safetensors: several tensors by name
``Part``                            what a rank holds of a tensor, for the writers
==================================  ===============================================

Tensors that are spread over a mesh (``ShardedTensor``) are read with ``placements=`` and written as they are; parts of
plain tensors are given by an index.

Files are those of ``strided.files``: the same bytes, whoever wrote them. They must be in a folder that all ranks see.
A file is written beside the old one and takes its place when every rank has written its part; where a rank fails, all
ranks raise, and the old file stays.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from typing import TYPE_CHECKING

from .. import _C
from ..autograd import no_grad
from ..files import npy, safetensors
from ..files._reading import bytes_of, piece, swapped
from ..files._writing import _beside, _flush_folder
from ._checks import RankError
from ._comm import flat_bytes
from ._groups import resolve

if TYPE_CHECKING:
    from .._typing import Any, Callable, Iterator, Sequence, Tensor
    from ._comm import Communicator

    Ranges = list[tuple[int, int]]

__all__ = ["Part", "load_file", "load_npy", "save_file", "save_npy"]

_f = _C.functions
_AT_ONCE = 1 << 30  # bytes; systems write less than 2 GiB in one call
_SHORT = 1 << 15  # bytes; many pieces that are shorter are worth an exchange between ranks


# ---------------------------------------------------------------- regions: for each axis the ranges of indices


def _region(call: str, index: Any, shape: Sequence[int]) -> list[Ranges]:
    """The ranges that an index of slices names; axes that it does not reach are whole."""
    given = index if isinstance(index, tuple) else (index,)
    if len(given) > len(shape):
        raise IndexError(f"{call}: an index of {len(given)} slices for a tensor of shape {tuple(shape)}")
    found = []
    for k, n in enumerate(shape):
        part = given[k] if k < len(given) else slice(None)
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise TypeError(f"{call}: an index is made of slices with step 1, got {part!r}")
        start, stop, _ = part.indices(n)
        found.append([(start, stop)] if stop > start else [])
    return found


def _sizes(region: list[Ranges]) -> list[int]:
    return [sum(b - a for a, b in ranges) for ranges in region]


def _runs(shape: Sequence[int], region: list[Ranges]) -> Iterator[tuple[int, int]]:
    """(first element, how many) of the pieces of a row-major tensor that lie in a region, in the order of elements."""
    if 0 in _sizes(region):
        return
    inner, axis = 1, len(shape) - 1
    while axis >= 0 and region[axis] == [(0, shape[axis])]:
        inner *= shape[axis]
        axis -= 1
    if axis < 0:
        yield 0, inner
        return
    ends = [(a * inner, (b - a) * inner) for a, b in region[axis]]
    strides = [math.prod(shape[k + 1 :]) for k in range(axis)]

    def walk(k: int, at: int) -> Iterator[tuple[int, int]]:
        if k == axis:
            for start, n in ends:
                yield at + start, n
            return
        for a, b in region[k]:
            for i in range(a, b):
                yield from walk(k + 1, at + i * strides[k])

    yield from walk(0, 0)


def _select(t: Tensor, region: list[Ranges]) -> Tensor:
    """What lies in a region, in memory of its own."""
    for dim, ranges in enumerate(region):
        if len(ranges) == 1:
            t = t.narrow(dim, ranges[0][0], ranges[0][1] - ranges[0][0])
        elif not ranges:
            t = t.narrow(dim, 0, 0)
        else:
            t = _f["cat"]([t.narrow(dim, a, b - a) for a, b in ranges], dim)
    return _f["empty"](t.shape, dtype=t.dtype).copy_(t)


def _intersect(a: list[Ranges], b: list[Ranges]) -> bool:
    return all(any(x[0] < y[1] and y[0] < x[1] for x in p for y in q) for p, q in zip(a, b))


class Part:
    """What this rank holds of a tensor that is spread over the ranks, for :func:`save_npy` and :func:`save_file`.

    The parts of all ranks must be the whole tensor, each element in one part.

    Args:
        tensor: this rank's elements.
        shape: of the whole tensor, the same on all ranks.
        index: a slice, or a tuple of slices with step 1: where they are; axes that are not named are whole.

    Raises:
        ValueError: tensor does not have the shape of the index.

    >>> strided.distributed.files.Part(strided.ones(2, 3), (8, 3), slice(4, 6))
    Part((2, 3) of (8, 3))
    """

    def __init__(self, tensor: Tensor, shape: Sequence[int], index: Any) -> None:
        self.tensor, self.shape = tensor, tuple(shape)
        self.region: list[Ranges] | None = _region("Part", index, self.shape)
        self.placements = ""  # of a ShardedTensor, whose shards are the whole by their definition
        self.writes = True  # unless another rank has the same shard
        if _sizes(self.region) != list(tensor.shape):
            raise ValueError(
                f"Part: a tensor of shape {tuple(tensor.shape)} for an index of shape {tuple(_sizes(self.region))}"
            )

    def __repr__(self) -> str:
        return f"Part({tuple(self.tensor.shape)} of {self.shape})"


# ---------------------------------------------------------------- reading


def _mapped(path: Any) -> Tensor:
    """All bytes of a file, which may be larger than memory: nobody may write to them, so none is set aside."""
    with open(path, "rb") as f:
        if os.fstat(f.fileno()).st_size == 0:
            return _f["empty"](0, dtype=_C.uint8)
        return bytes_of(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))


def _shards(call: str, shape: Sequence[int], mesh: Any, placements: Any) -> Any:
    """The layout of a tensor that is read in these placements."""
    from ._layout import Spec
    from .placement import checked, checked_mesh

    mesh = checked_mesh(call, mesh)
    spec = Spec(mesh, checked(placements, mesh, len(shape)), shape)
    if spec.is_partial:
        raise ValueError(f"{call}: a tensor that is read is cut or replicated, got {list(spec.placements)}")
    return spec


def _sharded(local: Tensor, spec: Any) -> Tensor:
    from ._sharded import wrap

    return wrap(local.to(spec.mesh.device_type), spec)


def load_npy(path: Any, index: Any = None, *, device: Any = "cpu", mesh: Any = None, placements: Any = None) -> Tensor:
    """The part of a ``.npy`` file that an index names. Nothing else is read, and ranks need not call it together.

    Args:
        path: a path.
        index: a slice, or a tuple of slices with step 1; all of it if None.
        device: where the tensor goes.
        mesh, placements: for a ShardedTensor, of which each rank reads its shard; mesh: all ranks in a row for None.

    Raises:
        ValueError: the file is damaged, or has objects, texts or records; an index and placements; Partial.
        IndexError: more slices than axes.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> strided.files.save_npy(path, strided.arange(6).reshape(3, 2))
    >>> strided.distributed.files.load_npy(path, slice(1, 3))
    tensor([[2, 3],
            [4, 5]])
    """
    whole = _mapped(path)
    header = npy.read_header(whole)
    if mesh is not None or placements is not None:
        if index is not None:
            raise ValueError("load_npy: an index or placements, not both")
        spec = _shards("load_npy", header.shape, mesh, placements)
        return _sharded(_read_npy(whole, header, spec.ranges(spec.mesh._coordinate)), spec)
    region = _region("load_npy", () if index is None else index, header.shape)
    return _read_npy(whole, header, region).to(device)


def _read_npy(whole: Tensor, header: Any, region: list[Ranges]) -> Tensor:
    shape = header.shape[::-1] if header.fortran else header.shape
    try:
        t = piece(whole, header.begin, shape, header.dtype)
    except RuntimeError as problem:
        raise ValueError(f"npy: {problem}") from None
    t = t.permute(*range(t.ndim - 1, -1, -1)) if header.fortran and t.ndim > 1 else t
    t = _select(t, region)
    return swapped(t, header.order) if header.dtype.itemsize > 1 else t


def load_file(
    path: Any, index: dict[str, Any] | None = None, *, device: Any = "cpu", mesh: Any = None, placements: Any = None
) -> dict[str, Tensor]:
    """Parts of the tensors of a safetensors file, by name. Nothing else is read; ranks need not call it together.

    Args:
        path: a path.
        index: for names a slice or a tuple of slices with step 1; tensors that are not named are read whole.
        device: where the tensors go.
        mesh, placements: for names placements, with which they become ShardedTensors, each rank reading its shard.

    Raises:
        RuntimeError: the file is damaged.
        KeyError: index or placements name a tensor that the file does not have.
        ValueError: both name the same tensor; Partial.
        NotImplementedError: the file has a dtype that strided has not.
    """
    whole = _mapped(path)
    header = safetensors.read_header(whole)
    given, placed = dict(index or {}), dict(placements or {})
    for name in (*given, *placed):
        if name not in header.tensors:
            raise KeyError(f"File does not contain tensor {name}")
        if name in given and name in placed:
            raise ValueError(f"load_file: an index or placements, not both: {name}")
    found = {}
    for name in sorted(header.tensors):
        t = safetensors._tensor(whole, header, name)
        if name in placed:
            spec = _shards("load_file", t.shape, mesh, placed[name])
            mesh = spec.mesh
            found[name] = _sharded(_select(t, spec.ranges(mesh._coordinate)), spec)
            continue
        found[name] = _select(t, _region("load_file", given.get(name, ()), t.shape)).to(device)
    return found


# ---------------------------------------------------------------- writing


def save_npy(path: Any, tensor: Any, *, group: Any = None) -> None:
    """Writes a tensor whose parts are on the ranks as a ``.npy`` file; each rank writes its own. All ranks call it.

    Args:
        path: a path in a folder that all ranks see; the same on all ranks.
        tensor: a ShardedTensor, a :class:`Part`, or a plain tensor, which is the same on all ranks and which the first
            rank writes. Shards whose pieces of the file are short are exchanged first, so that each rank writes rows.
        group: who takes part; if None the ranks of the mesh, else the default group, all ranks without one.

    Raises:
        TypeError: a dtype that NumPy does not have.
        ValueError: parts overlap, or are not the whole tensor; a ShardedTensor is Partial.
        OSError: this rank could not write; RankError on the others. The old file stays.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> def program():
    ...     rank = strided.distributed.world().rank
    ...     mine = strided.distributed.files.Part(strided.full((1, 2), rank), (3, 2), slice(rank, rank + 1))
    ...     strided.distributed.files.save_npy(path, mine)
    >>> _ = strided.distributed.simulate(3, program)
    >>> strided.files.load_npy(path).tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    group = _of_mesh("save_npy", [tensor]) if group is None else group
    part = _part("save_npy", "the tensor", tensor)
    head = npy.header_bytes(part.tensor.dtype, part.shape)
    _write("save_npy", path, head, {"the tensor": part}, {"the tensor": 0}, group)


def save_file(tensors: dict[str, Any], path: Any, metadata: dict[str, str] | None = None, *, group: Any = None) -> None:
    """Writes tensors whose parts are on the ranks as a safetensors file; each rank writes its own. All ranks call it.

    Args:
        tensors: by name a ShardedTensor, a :class:`Part`, or a plain tensor, which is the same on all ranks.
        path, group: as for :func:`save_npy`.
        metadata: texts by name.

    Raises:
        ValueError: parts overlap, or are not the whole tensor; a dtype that the format has not.
        TypeError: names or metadata are no texts.
        OSError: this rank could not write; RankError on the others. The old file stays.
    """
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise TypeError("save_file: tensors by name are required")
    if metadata is not None and not all(isinstance(x, str) for pair in metadata.items() for x in pair):
        raise TypeError("save_file: metadata must be texts by name")
    group = _of_mesh("save_file", list(tensors.values())) if group is None else group
    parts = {name: _part("save_file", repr(name), t) for name, t in tensors.items()}
    for name, part in parts.items():
        if part.tensor.dtype not in safetensors._NAMES:
            raise ValueError(f"save_file: safetensors has no {part.tensor.dtype}, which {name!r} has")
    head, begins = safetensors.header_bytes({name: (p.tensor.dtype, p.shape) for name, p in parts.items()}, metadata)
    _write("save_file", path, head, parts, begins, group)


def _part(call: str, name: str, t: Any) -> Part:
    if isinstance(t, Part):
        return t
    if hasattr(t, "_spec"):
        return _part_of_mesh(call, name, t)
    if not isinstance(t, _C.Tensor):
        raise TypeError(f"{call}: {name} is a Tensor or a Part, got {type(t).__name__}")
    made = Part(t, t.shape, ())
    made.region = None  # the first rank writes all of it
    return made


def _part_of_mesh(call: str, name: str, t: Any) -> Part:
    """What this rank writes of a ShardedTensor: its shard, unless other ranks have the same one and come first."""
    from .placement import Replicate, Shard

    if t._spec.is_partial:
        raise ValueError(f"{call}: {name} is Partial; redistribute it first, which adds up what the ranks have")
    spec = t._spec
    first = spec.ranges((0,) * spec.mesh.ndim)
    run = next(_runs(spec.shape, first), (0, 0))[1]
    if 0 < run * t.dtype.itemsize < _SHORT and math.prod(_sizes(first)) > 16 * run:
        with no_grad():
            t = t.redistribute(placements=[Shard(0)] * spec.mesh.ndim)
    spec, local = t._spec, t._local.detach()
    made = Part(local, local.shape, ())
    twins = [c for p, c in zip(spec.placements, spec.mesh._coordinate) if isinstance(p, Replicate)]
    made.shape, made.placements = tuple(spec.shape), repr(spec)
    made.region, made.writes = spec.ranges(spec.mesh._coordinate), not any(twins)
    return made


def _of_mesh(call: str, tensors: Sequence[Any]) -> Any:
    """The communicator of the mesh that tensors are spread over; None if none is."""
    meshes = [t._spec.mesh for t in tensors if hasattr(t, "_spec")]
    if any(mesh.comm is not meshes[0].comm for mesh in meshes):
        raise ValueError(f"{call}: tensors of one file are spread over the same ranks")
    return meshes[0].comm if meshes else None


def _communicator(group: Any) -> Communicator:
    from . import Communicator, is_initialized, world

    if isinstance(group, Communicator):
        return group
    if group is None and not is_initialized():
        return world()
    pg = resolve(group)
    if pg is None:
        raise ValueError("this rank is not in the group")
    return pg.communicator


def _alone() -> Communicator:
    """The communicator of this rank by itself."""
    from . import _threads, world

    return _threads.alone(world().checks, world().timeout)


def _agree(comm: Communicator, call: str, problem: Exception | None) -> None:
    """All ranks go on, or none: where one has a problem it raises that, and the others a RankError that names it."""
    text = None if problem is None else f"{type(problem).__name__}: {problem}"
    for rank, theirs in enumerate(comm.all_gather_object(text)):
        if theirs is not None:
            if problem is not None:
                raise problem
            error = RankError(f"{call}: rank {rank}: {theirs}")
            error.rank = rank
            raise error


def _check_cover(comm: Communicator, call: str, parts: dict[str, Part]) -> None:
    """ValueError on all ranks, unless the parts of each tensor are disjoint and together all of it."""
    mine = [
        [name, list(p.shape), str(p.tensor.dtype), p.placements, None if p.placements else p.region]
        for name, p in parts.items()
    ]
    every = comm.all_gather_object(mine)
    for rank, theirs in enumerate(every):
        if [entry[:4] for entry in theirs] != [entry[:4] for entry in every[0]]:
            raise ValueError(f"{call}: rank {rank} gives other names, shapes, dtypes or placements than rank 0")
    for k, (name, p) in enumerate(parts.items()):
        regions = [theirs[k][4] for theirs in every]
        if all(region is None for region in regions):
            continue
        if any(region is None for region in regions):
            raise ValueError(f"{call}: {name} is a Part on some ranks, and a plain tensor on others")
        held = [math.prod(_sizes(region)) for region in regions]
        for r in range(comm.size):
            for s in range(r):
                if held[r] and held[s] and _intersect(regions[r], regions[s]):
                    raise ValueError(f"{call}: the parts of {name} on ranks {s} and {r} overlap")
        if sum(held) != math.prod(p.shape):
            raise ValueError(f"{call}: the parts of {name} have {sum(held)} of its {math.prod(p.shape)} elements")


def _write_at(fd: int, data: memoryview, at: int) -> None:
    while len(data):
        n = os.pwrite(fd, data[:_AT_ONCE], at)
        data, at = data[n:], at + n


def _write_part(fd: int, begin: int, part: Part, first: bool) -> None:
    if not (part.writes if part.region is not None else first):
        return
    region = _region("", (), part.shape) if part.region is None else part.region
    if 0 in _sizes(region):
        return
    data = memoryview(flat_bytes(swapped(part.tensor.detach().cpu().contiguous(), "<")).numpy())
    size, at = part.tensor.dtype.itemsize, 0
    for start, n in _runs(part.shape, region):
        _write_at(fd, data[at : at + n * size], begin + start * size)
        at += n * size


def _create(target: str, head: bytes, size: int) -> str:
    """A new file of that size beside the target, with the header; its name."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(f"{target} is no regular file, and cannot be written by several ranks")
    made = _beside(target)
    fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        if mode is not None:
            os.fchmod(fd, stat.S_IMODE(mode))
        os.truncate(fd, size)
        _write_at(fd, memoryview(head), 0)
    finally:
        os.close(fd)
    return made


def _tried(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return work(), None
    except Exception as problem:  # told to all ranks, and raised there
        return None, problem


def _write(call: str, path: Any, head: bytes, parts: dict[str, Part], begins: dict[str, int], group: Any) -> None:
    comm = _communicator(group)
    first, target = comm.rank == 0, os.path.realpath(os.fsdecode(path))
    _check_cover(comm, call, parts)
    size = len(head) + max(
        (begins[k] + math.prod(p.shape) * p.tensor.dtype.itemsize for k, p in parts.items()), default=0
    )
    made, problem = _tried(lambda: _create(target, head, size)) if first else (None, None)
    _agree(comm, call, problem)
    made, begin = comm.broadcast_object((made, len(head)), 0)  # the first rank's head is in the file

    def write() -> None:
        fd = os.open(made, os.O_WRONLY | os.O_CLOEXEC)
        try:
            for name, part in parts.items():
                _write_part(fd, begin + begins[name], part, first)
            os.fsync(fd)
        finally:
            os.close(fd)

    _, problem = _tried(write)
    try:
        _agree(comm, call, problem)
    except Exception:
        if first:
            _tried(lambda: os.unlink(made))
        raise
    _, problem = (
        _tried(lambda: (os.replace(made, target), _flush_folder(os.path.dirname(target)))) if first else (None, None)
    )
    _agree(comm, call, problem)
