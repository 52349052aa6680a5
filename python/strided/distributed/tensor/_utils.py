"""Where the part of a rank begins, under PyTorch's name (``strided.distributed.tensor._utils``)."""

from __future__ import annotations

from typing import Any

from .._layout import Spec
from ..placement import checked


def compute_local_shape_and_global_offset(
    global_shape: Any, mesh: Any, placements: Any
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape of this rank's part of a sharded tensor, and the index of its first element.

    Raises:
        NotImplementedError: the part is not one block (``BlockCyclic``).

    >>> from strided.distributed.tensor._utils import compute_local_shape_and_global_offset as where
    >>> mesh = strided.distributed.init_device_mesh("cpu", (1,))
    >>> where((4, 3), mesh, [strided.distributed.Shard(0)])
    ((4, 3), (0, 0))
    """
    shape = tuple(global_shape)
    ranges = Spec(mesh, checked(placements, mesh, len(shape)), shape).ranges(tuple(mesh.get_coordinate()))
    if any(len(parts) > 1 for parts in ranges):
        raise NotImplementedError("compute_local_shape_and_global_offset: the part of this rank is not one block")
    sizes = tuple(sum(stop - start for start, stop in parts) for parts in ranges)
    return sizes, tuple(parts[0][0] if parts else size for parts, size in zip(ranges, shape))
