"""How a tensor is laid out along one axis of a mesh: Shard, BlockCyclic, Replicate, Partial."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["BlockCyclic", "Partial", "Placement", "Replicate", "Shard"]

_OPS = ("sum", "avg", "prod", "min", "max", "band", "bor", "bxor")


class Placement:
    """Base of the placements.  A tensor has one for each axis of its mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is cut along the axis `dim`; along any axis for None."""
        return isinstance(self, (Shard, BlockCyclic)) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every rank along the mesh axis has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the values are combinations of what the ranks have."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


def _require_ints(name: str, **values: Any) -> None:
    for key, value in values.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name}: {key} is an int, got {value!r}")


@dataclass(frozen=True)
class Shard(Placement):
    """The axis `dim` of the tensor is cut into one piece for each rank along the mesh axis, ceil(n / ranks) elements
    each.

    The last pieces may be shorter, and empty.  Several mesh axes may cut one axis: the earlier one cuts first.
    """

    dim: int

    def __post_init__(self) -> None:
        _require_ints("Shard", dim=self.dim)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


@dataclass(frozen=True)
class BlockCyclic(Placement):
    """The axis `dim` is cut into blocks of `block` elements, dealt to the ranks in turn.

    This is how factorisations of matrices are laid out: every rank has work until the end.
    """

    dim: int
    block: int

    def __post_init__(self) -> None:
        _require_ints("BlockCyclic", dim=self.dim, block=self.block)
        if self.block < 1:
            raise ValueError(f"BlockCyclic: block must be at least 1, got {self.block}")

    def __repr__(self) -> str:
        return f"BlockCyclic(dim={self.dim}, block={self.block})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank along the mesh axis has the same."""

    def __repr__(self) -> str:
        return "Replicate()"


@dataclass(frozen=True)
class Partial(Placement):
    """Every rank along the mesh axis has a term: the value is their sum (or the combination by another operation)."""

    reduce_op: str = "sum"

    def __post_init__(self) -> None:
        if self.reduce_op not in _OPS:
            raise ValueError(f"Partial: there is no reduction {self.reduce_op!r}; there are {', '.join(_OPS)}")

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


def checked(placements: Any, mesh: Any, ndim: int) -> tuple[Placement, ...]:
    """One placement for each axis of the mesh (all Replicate for None), with axes counted from 0."""
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if isinstance(placements, Placement):
        placements = (placements,)
    if not isinstance(placements, (tuple, list)):
        raise TypeError(f"placements are a list with one for each axis of the mesh, got {placements!r}")
    found: list[Placement] = []
    for p in placements:
        if not isinstance(p, Placement):
            raise TypeError(f"placements are Shard, BlockCyclic, Replicate or Partial, got {p!r}")
        if isinstance(p, (Shard, BlockCyclic)):
            if not -ndim <= operator.index(p.dim) < ndim:
                raise IndexError(f"{p!r}: the tensor has {ndim} axes")
            dim = p.dim % ndim
            p = Shard(dim) if isinstance(p, Shard) else BlockCyclic(dim, p.block)
        found.append(p)
    if len(found) != mesh.ndim:
        raise ValueError(f"{len(found)} placements for a mesh of {mesh.ndim} axes: there is one for each")
    return tuple(found)


def checked_mesh(call: str, mesh: Any) -> Any:
    """The mesh; for None that of the innermost ``with mesh:``, else all ranks in a row.

    TypeError for anything else.
    """
    from . import device_mesh

    if mesh is None:
        return device_mesh.current()
    if not isinstance(mesh, device_mesh.DeviceMesh):
        raise TypeError(f"{call}: a DeviceMesh is required, got {type(mesh).__name__}")
    if mesh._ranks is not None and mesh.comm is None:
        raise ValueError(f"{call}: this rank is not in {mesh!r}, whose ranks are {mesh._ranks}")
    return mesh
