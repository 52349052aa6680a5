"""Ranks arranged in a grid with named axes: ``DeviceMesh``."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING

from .._C import Size
from ._comm import Communicator, rank_state

if TYPE_CHECKING:
    from .._typing import Any
    from ._groups import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The ranks of a communicator in an n-dimensional grid, in row-major order.

    device_type: "cpu" or "cuda", where shards live, or "xla": XLA devices of this process, which are no ranks; shape;
    mesh_dim_names: names of the axes, or None.  All ranks make the same meshes in the same order: a mesh has a
    communicator for each of its axes.

    Args:
        mesh: a nest of rank numbers: all ranks, or some of them, in any order.  Every rank makes the mesh; where a rank
            is not in it, ``get_coordinate()`` is None, and it makes no tensors on it.
        comm: whose ranks; those of the program for None.

    >>> def program():
    ...     mesh = strided.distributed.DeviceMesh("cpu", [2, 0])
    ...     return mesh.get_coordinate()
    >>> strided.distributed.simulate(3, program)
    [[1], None, [0]]
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        comm: Communicator | None = None,
        _shape: tuple[int, ...] | None = None,
    ) -> None:
        if device_type == "xla":
            return self._of_xla(mesh, mesh_dim_names, comm, _shape)
        from . import world

        comm = world() if comm is None else comm
        if _shape is None:
            ranks, _shape = _flat(mesh)
            if not ranks or math.prod(_shape) != len(ranks):
                raise ValueError(f"DeviceMesh: a nest of equal rows, of at least one rank, is required, got {mesh}")
            if ranks != list(range(comm.size)):
                comm = self._of_some(comm, ranks)
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in _shape):
            raise ValueError(f"DeviceMesh: sizes of axes are ints of at least 1, got {tuple(_shape)}")
        if comm is not None and math.prod(_shape) != comm.size:
            raise ValueError(
                f"DeviceMesh: a mesh of shape {tuple(_shape)} has {math.prod(_shape)} ranks, not {comm.size}"
            )
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"DeviceMesh: device_type is 'cpu', 'cuda' or 'xla', got {device_type!r}")
        if mesh_dim_names is not None and (
            len(mesh_dim_names) != len(_shape) or len(set(mesh_dim_names)) < len(_shape)
        ):
            raise ValueError(f"DeviceMesh: {len(_shape)} different names for {len(_shape)} axes, got {mesh_dim_names}")
        self.device_type, self.shape, self.ndim = device_type, tuple(_shape), len(_shape)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self.comm = comm
        self._plans: dict[
            Any, Any
        ] = {}  # how operands of some layouts come together (_rules_elementwise.py, _rules_matrices.py)
        self._specs: dict[Any, Any] = {}  # layouts over this mesh (_layout.py)
        self._moves: dict[Any, Any] = {}  # what moves between two layouts are made of (_move.py)
        self._everywhere: dict[Any, Any] = {}  # layouts of tensors that are the same on every rank, by shape
        self._parts: dict[tuple[Any, ...], DeviceMesh] = {}  # meshes of some of the axes
        self._rows: dict[str, tuple[DeviceMesh, tuple[int, ...]]] = {}  # what _flatten made, of which axes of this mesh
        self._whole: tuple[DeviceMesh, tuple[int, ...]] | None = (
            None  # the mesh that this one is a part of, and its axes
        )
        if comm is None:
            return  # this rank is not in the mesh
        self._coordinate = self.coordinate_of(comm.rank)
        self._axes = [self._along(axis) for axis in range(self.ndim)]

    def _of_some(self, comm, ranks):
        """The communicator of some ranks, in this order; None where this rank is none of them."""
        n = comm.size
        if any(isinstance(r, bool) or not isinstance(r, int) or not 0 <= r < n for r in ranks):
            raise ValueError(f"DeviceMesh: the ranks of a mesh are 0 to {n - 1}, got {ranks}")
        if len(set(ranks)) != len(ranks):
            raise ValueError(f"DeviceMesh: each rank stands once in a mesh, got {ranks}")
        inside = comm.rank in ranks
        self._ranks = [comm.members()[r] for r in ranks]
        return comm.split(f"mesh {ranks}" if inside else None, ranks.index(comm.rank) if inside else 0)

    def _of_xla(self, mesh, names, comm, shape):
        """XLA devices of this process: no ranks, and no communicators."""
        from .._C import functions

        if comm is not None:
            raise ValueError("DeviceMesh: a mesh of XLA devices is of one process, and takes no comm")
        ids, shape = (list(range(math.prod(shape))), shape) if mesh is None else _flat(mesh)
        if ids != list(range(len(ids))):
            raise ValueError(f"DeviceMesh: XLA devices of a mesh are in order, xla:0 to xla:{len(ids) - 1}, got {ids}")
        if len(ids) > (there := functions["_xla_device_count"]()):
            raise ValueError(f"DeviceMesh: a mesh of {len(ids)} XLA devices, there are {there}")
        if names is not None and (len(names) != len(shape) or len(set(names)) < len(shape)):
            raise ValueError(f"DeviceMesh: {len(shape)} different names for {len(shape)} axes, got {names}")
        self.device_type, self.shape, self.ndim = "xla", tuple(shape), len(shape)
        self.mesh_dim_names = None if names is None else tuple(names)
        self.comm, self._specs = None, {}
        self._coordinate = (0,) * self.ndim

    _ranks: list[int] | None = None  # by their numbers in the program, of a mesh of some ranks

    def __getattr__(self, name):
        if self.__dict__.get("_ranks") is not None and name in ("_axes", "_coordinate"):
            raise ValueError(f"this rank is not in {self!r}, whose ranks are {self._ranks}")
        if name in ("_axes", "_parts", "_rows"):
            raise NotImplementedError("DeviceMesh: XLA devices of one process have no communicators")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _along(self, axis):
        if self.ndim == 1:
            return self.comm
        at = list(self._coordinate)
        at[axis] = 0
        return self.comm.split(f"{axis}:{at}", self._coordinate[axis])

    @property
    def mesh(self) -> Any:
        """The rank numbers in the program as a tensor of the shape of the mesh."""
        from .._C import int32
        from .._functions.creation import tensor

        ranks = self._ranks
        if ranks is None:
            ranks = list(range(math.prod(self.shape))) if self.comm is None else list(self.comm.members())
        return tensor(ranks, dtype=int32).view(self.shape)

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """The mesh of the ranks of a process group, in a row.

        Args:
            group: or one for each axis of `mesh`, whose ranks they have; the mesh makes groups of its own.
            mesh: a nest of rank numbers; needed for several groups.
        """
        from ._groups import resolve

        if isinstance(group, (list, tuple)) and len(group) != 1:
            if mesh is None:
                raise ValueError("DeviceMesh.from_group: several groups need mesh, the numbers of the ranks")
            _, shape = _flat(mesh)
            if len(shape) != len(group):
                raise ValueError(f"DeviceMesh.from_group: {len(group)} groups for a mesh of {len(shape)} axes")
            return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names)
        group = group[0] if isinstance(group, (list, tuple)) else group
        if mesh is not None and (pg := resolve(group)) is not None and _flat(mesh) != (pg._ranks, (pg.size(),)):
            raise ValueError(f"DeviceMesh.from_group: mesh is {mesh}, but the group has the ranks {pg._ranks}")
        pg = resolve(group)
        if pg is None:
            raise ValueError("DeviceMesh.from_group: this rank is not in the group")
        comm = pg.communicator
        return DeviceMesh(device_type, None, mesh_dim_names=mesh_dim_names, comm=comm, _shape=(comm.size,))

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The ranks of this mesh in a row, under a name that ``mesh[name]`` takes then."""
        name = "_".join(self.mesh_dim_names or map(str, range(self.ndim))) if mesh_dim_name is None else mesh_dim_name
        made, _ = self._rows.get(name, (None, ()))
        if made is None:
            if self.mesh_dim_names and name in self.mesh_dim_names:
                raise ValueError(f"DeviceMesh: {name!r} is an axis of {self!r}")
            made = DeviceMesh(self.device_type, None, mesh_dim_names=(name,), comm=self.comm, _shape=(self.size(),))
            of, axes = self, tuple(range(self.ndim))
            while of is not None:
                of._rows[name] = made, axes
                of, within = of._whole or (None, ())
                axes = tuple(within[axis] for axis in axes) if of is not None else ()
        return made

    def __enter__(self) -> DeviceMesh:
        """Until the end of the context, functions without a mesh take this one."""
        rank_state().setdefault("meshes", []).append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        rank_state()["meshes"].pop()

    def coordinate_of(self, rank: int) -> tuple[int, ...]:
        """Where a rank stands in the grid."""
        if not isinstance(rank, int):
            raise TypeError(f"DeviceMesh: the number of a rank is an int, got {type(rank).__name__}")
        found = []
        for n in reversed(self.shape):
            rank, i = divmod(rank, n)
            found.append(i)
        return tuple(reversed(found))

    @functools.cached_property
    def coordinates(self) -> list[tuple[int, ...]]:
        """The coordinates of all ranks, in their order."""
        return list(itertools.product(*map(range, self.shape)))

    def get_coordinate(self) -> list[int] | None:
        """Where this rank stands in the grid; None where it is not in it."""
        return None if self.comm is None and self._ranks is not None else list(self._coordinate)

    def axis(self, mesh_dim: int | str | None) -> int:
        """The number of an axis given by name or number; a mesh of one axis needs neither."""
        if mesh_dim is None:
            if self.ndim != 1:
                raise RuntimeError(f"DeviceMesh: which of {self.ndim} axes is meant? Give mesh_dim")
            return 0
        if isinstance(mesh_dim, str):
            if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
                raise KeyError(f"DeviceMesh: no axis {mesh_dim!r}; axes are {self.mesh_dim_names}")
            return self.mesh_dim_names.index(mesh_dim)
        if not isinstance(mesh_dim, int):
            raise TypeError(f"DeviceMesh: an axis is an int or a name, got {mesh_dim!r}")
        if not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"DeviceMesh: no axis {mesh_dim} of {self.ndim}")
        return mesh_dim % self.ndim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The process group of the ranks along an axis, through this rank; ``.communicator`` is what carries its calls.

        Of a mesh of one axis over all ranks it is the default group, where there is one.
        """
        from . import _groups, world

        comm = self._axes[self.axis(mesh_dim)]
        default = _groups.group.WORLD
        found = default if default is not None and comm is world() else _groups.resolve(comm)
        assert found is not None  # this rank is in it
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """get_group of each axis."""
        return [self.get_group(axis) for axis in range(self.ndim)]

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The coordinate of this rank along an axis."""
        return self._coordinate[self.axis(mesh_dim)]

    def get_rank(self) -> int:
        """The number of this rank in the program."""
        if self.comm is None and self._ranks is not None:
            from . import world

            return world().members()[world().rank]
        return 0 if self.comm is None else self.comm.members()[self.comm.rank]

    def size(self, mesh_dim: int | str | None = None) -> int:
        """How many ranks there are, or how many along an axis."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[self.axis(mesh_dim)]

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of some axes, in their order here: the ranks along them through this rank. Every rank asks for it.

        >>> def program():
        ...     mesh = strided.distributed.init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("pp", "dp", "tp"))
        ...     return mesh["dp", "tp"].shape, mesh["pp"].size()
        >>> strided.distributed.simulate(4, program)[0]
        ((1, 2), 2)
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if len(names) == 1 and names[0] in self._rows:
            return self._rows[names[0]][0]
        parts = [self._rows[name][1] if name in self._rows else (self.axis(name),) for name in names]
        axes = tuple(axis for part in parts for axis in part)
        if not axes or list(axes) != sorted(set(axes)):
            raise KeyError(f"DeviceMesh: axes are named in their order, {self.mesh_dim_names}, each once; got {names}")
        plain = len(axes) == len(names)  # without names of _flatten
        if plain and len(axes) == self.ndim:
            return self
        key = axes if plain else tuple(parts)
        made = self._parts.get(key)
        if made is None:
            shape = tuple(math.prod(self.shape[axis] for axis in part) for part in parts)
            comm = self._axes[axes[0]] if len(axes) == 1 else self._through(axes)
            made = DeviceMesh(self.device_type, None, mesh_dim_names=names, comm=comm, _shape=shape)
            if plain:
                made._whole = self, axes
            self._parts[key] = made
        return made

    def _through(self, axes):
        """The communicator of the ranks along some axes through this one."""
        at = [0 if axis in axes else i for axis, i in enumerate(self._coordinate)]
        number = 0
        for axis in axes:
            number = number * self.shape[axis] + self._coordinate[axis]
        return self.comm.split(f"{axes}:{at}", number)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceMesh)
            and (self.shape, self.device_type, self.mesh_dim_names)
            == (other.shape, other.device_type, other.mesh_dim_names)
            and self.comm is other.comm
            and self._ranks == other._ranks
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.device_type, id(self.comm)))

    def __repr__(self) -> str:
        names = self.mesh_dim_names or [None] * self.ndim
        axes = ", ".join(f"{name}={n}" if name else str(n) for name, n in zip(names, self.shape))
        return f"DeviceMesh({self.device_type!r}, ({axes}))"

    def show(self, shape: Any, placements: Any = None) -> str:
        """A picture of who owns which block of a tensor: its ranks, one line for each block of rows.

        Args:
            shape: of a tensor with one or two axes, or a ShardedTensor.

        >>> def program():
        ...     mesh = strided.distributed.init_device_mesh("cpu", (2, 2))
        ...     return mesh.show((5, 4), [strided.distributed.Shard(0), strided.distributed.Shard(1)])
        >>> print(strided.distributed.simulate(4, program)[0])
              0:2  2:4
        0:3   0    1
        3:5   2    3
        """
        from ._layout import Spec
        from .placement import checked

        if hasattr(shape, "placements"):
            shape, placements = shape.shape, shape.placements
        if not isinstance(shape, (tuple, list)):
            raise TypeError(f"show: a shape or a sharded tensor is required, got {type(shape).__name__}")
        shape = Size(shape)
        if len(shape) not in (1, 2):
            raise ValueError(f"show: a picture has one or two axes, the tensor has {len(shape)}")
        if any(n < 0 for n in shape):
            raise ValueError(f"show: sizes of a tensor are 0 or more, got {tuple(shape)}")
        spec = Spec(self, checked(placements, self, len(shape)), shape)
        owned = [spec.ranges(c) for c in self.coordinates]
        cuts = []
        for dim, n in enumerate(shape):
            ends = {0, n} | {end for ranges in owned for r in ranges[dim] for end in r}
            ordered = sorted(ends)
            cuts.append(list(zip(ordered, ordered[1:])))
        rows, columns = cuts[0], cuts[1] if len(shape) == 2 else [None]

        # For each rank and axis the numbers of its parts.
        numbers = [[{part[end]: i for i, part in enumerate(parts)} for end in (0, 1)] for parts in cuts]
        parts_of = [
            [
                {i for a, b in r if a < b for i in range(first[a], last[b] + 1)}
                for r, (first, last) in zip(ranges, numbers)
            ]
            for ranges in owned
        ]

        def owners(row, column):
            both = lambda has: row in has[0] and (column is None or column in has[1])
            return ",".join(str(rank) for rank, has in enumerate(parts_of) if both(has))

        table = [["", *(f"{c[0]}:{c[1]}" if c else "" for c in columns)]]
        table += [
            [f"{r[0]}:{r[1]}", *(owners(i, None if c is None else j) for j, c in enumerate(columns))]
            for i, r in enumerate(rows)
        ]
        widths = [max(len(line[i]) for line in table) + 2 for i in range(len(table[0]))]
        widths[0] += 1
        lines = ["".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in table]
        return "\n".join(line for line in lines if line)


def current() -> DeviceMesh:
    """The mesh of the innermost ``with mesh:`` of this rank; all ranks in a row without one."""
    from . import world

    meshes = rank_state().get("meshes")
    return meshes[-1] if meshes else init_device_mesh("cpu", (world().size,))


def _flat(mesh):
    """(rank numbers in order, shape) of a nest of lists or a tensor."""
    mesh = mesh.tolist() if hasattr(mesh, "tolist") else mesh
    shape, level = [], mesh
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if level else None
    flat = mesh
    for _ in shape[1:]:
        flat = [x for part in flat for x in part]
    return list(flat), tuple(shape)


def init_device_mesh(
    device_type: str,
    mesh_shape: Any,
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    comm: Communicator | None = None,
) -> DeviceMesh:
    """A DeviceMesh of this shape over all ranks of the program (or of comm).  Every rank calls it.

    >>> def program():
    ...     mesh = strided.distributed.init_device_mesh("cpu", (2, 3), mesh_dim_names=("rows", "columns"))
    ...     return mesh.get_local_rank("rows"), mesh.size("columns")
    >>> strided.distributed.simulate(6, program)[5]
    (1, 3)
    """
    if not isinstance(mesh_shape, (int, tuple, list)):
        raise TypeError(f"init_device_mesh: mesh_shape is a tuple of ints, got {mesh_shape!r}")
    shape = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(mesh_shape)
    names = mesh_dim_names
    if names is not None and not (isinstance(names, (tuple, list)) and all(isinstance(n, str) for n in names)):
        raise TypeError(f"init_device_mesh: mesh_dim_names is a tuple of str, got {names!r}")
    return DeviceMesh(device_type, None, mesh_dim_names=mesh_dim_names, comm=comm, _shape=shape)
