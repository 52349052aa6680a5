"""Random numbers of sharded tensors, under PyTorch's names (``strided.distributed.tensor._random``).

They depend on the generator of the first rank and on the place in the whole tensor, so nothing is to be kept in step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._functions.random import manual_seed as _seed
from ..placement import checked_mesh

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["is_rng_supported_mesh", "manual_seed"]


def is_rng_supported_mesh(device_mesh: Any) -> bool:
    """True: random functions have rules on every mesh."""
    return True


def manual_seed(seed: int, device_mesh: Any) -> None:
    """Seeds the generator of this rank; all ranks give the same seed.

    Raises:
        RuntimeError: ranks of the mesh give different seeds.
    """
    mesh = checked_mesh("manual_seed", device_mesh)
    seeds = mesh.comm.all_gather_object(int(seed))
    if any(other != seeds[0] for other in seeds):
        raise RuntimeError(f"manual_seed: ranks of the mesh give different seeds, {seeds}")
    _seed(int(seed))
