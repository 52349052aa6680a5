"""Placements under PyTorch's name (``strided.distributed.tensor.placement_types``)."""

from __future__ import annotations

from ..._as_torch.core_names import absent
from ..placement import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

_StridedShard = absent("_StridedShard", __name__)
