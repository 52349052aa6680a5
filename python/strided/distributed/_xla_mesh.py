"""Tensors that are sharded over XLA devices of one process: what XLA is told, and what each device has."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .._C import functions as _f

_FORM = re.compile(r"\{devices=\[([\d,]+)\]")


def text_of(devices: Sequence[int], mesh_shape: Sequence[int], axes_of: Sequence[Sequence[int]]) -> str:
    """A sharding in XLA's words.

    axes_of[d]: the axes of the mesh that cut axis d of the tensor, the outermost first.
    """
    used = [axis for axes in axes_of for axis in axes]
    if len(set(used)) < len(used):
        raise ValueError(f"sharding: an axis of the mesh cuts one axis of a tensor once, got {axes_of}")
    if not used:
        return "{replicated}"
    rest = [axis for axis in range(len(mesh_shape)) if axis not in used]
    tiles = [math.prod(mesh_shape[axis] for axis in axes) for axes in axes_of]
    copies = math.prod(mesh_shape[axis] for axis in rest)
    steps = [math.prod(mesh_shape[axis + 1 :]) for axis in range(len(mesh_shape))]
    places = [0]
    for axis in used + rest:
        places = [at + i * steps[axis] for at in places for i in range(mesh_shape[axis])]
    ids = ",".join(str(devices[at]) for at in places)
    if copies == 1:
        return f"{{devices=[{','.join(map(str, tiles))}]{ids}}}"
    return f"{{devices=[{','.join(map(str, [*tiles, copies]))}]{ids} last_tile_dim_replicate}}"


def shard(tensor: Any, devices: Sequence[int], mesh_shape: Sequence[int], axes_of: Sequence[Sequence[int]]) -> None:
    """From now on the tensor, which is on xla:0, is sharded; ValueError where its sizes do not divide."""
    if len(axes_of) != tensor.ndim:
        raise ValueError(f"sharding: the tensor has {tensor.ndim} axes, the sharding has {len(axes_of)}")
    text = text_of(devices, mesh_shape, axes_of)
    for d, axes in enumerate(axes_of):
        pieces = math.prod(mesh_shape[axis] for axis in axes)
        if tensor.shape[d] % pieces:
            raise ValueError(f"sharding: axis {d} of size {tensor.shape[d]} does not divide into {pieces} equal pieces")
    if sorted(devices) != list(range(len(devices))):
        raise ValueError(
            f"sharding: a mesh has the devices xla:0 to xla:{len(devices) - 1} in any order, got {devices}"
        )
    # Of one device, or where all have the same, nothing is cut.
    _f["_xla_shard"](tensor, text, 0 if len(devices) == 1 or text == "{replicated}" else len(devices))


def tiles_of(text: str, ndim: int) -> list[int]:
    """The number of pieces along each axis."""
    found = _FORM.match(text)
    return [int(n) for n in found[1].split(",")][:ndim] if found else [1] * ndim


def local_shard(tensor: Any, device: int) -> Any:
    """What one device of the mesh has of a sharded tensor, on the CPU."""
    text = _f["_xla_sharding"](tensor)
    if not text:
        raise ValueError("sharding: the tensor is not sharded")
    tiles = tiles_of(text, tensor.ndim)
    return _f["_xla_shard_of"](tensor, device, [n // t for n, t in zip(tensor.shape, tiles)])


def distribute(tensor: Any, mesh: Any, placements: Any) -> Any:
    """distribute_tensor for a mesh of XLA devices: a tensor of xla:0 that is sharded over them."""
    from .placement import Replicate, Shard

    placements = (Replicate(),) * mesh.ndim if placements is None else tuple(placements)
    if len(placements) != mesh.ndim:
        raise ValueError(f"distribute_tensor: {len(placements)} placements for a mesh of {mesh.ndim} axes")
    axes_of: list[list[int]] = [[] for _ in range(tensor.ndim)]
    for axis, placement in enumerate(placements):
        if isinstance(placement, Replicate):
            continue
        if type(placement) is not Shard:
            raise NotImplementedError(f"distribute_tensor over XLA devices: Shard and Replicate, not {placement!r}")
        if not -tensor.ndim <= placement.dim < tensor.ndim:
            raise ValueError(f"distribute_tensor: {placement!r} of a tensor of {tensor.ndim} axes")
        axes_of[placement.dim % tensor.ndim].append(axis)
    there = tensor.detach().to("xla:0").clone(memory_format=_contiguous())
    shard(there, list(range(math.prod(mesh.shape))), mesh.shape, axes_of)
    return there.requires_grad_(tensor.requires_grad)


def _contiguous() -> Any:
    import strided

    return strided.contiguous_format
