"""The older name of ``strided.distributed.tensor._random``."""

from __future__ import annotations

from ..tensor._random import is_rng_supported_mesh, manual_seed

__all__ = ["is_rng_supported_mesh", "manual_seed"]
