"""Optimizers of several ranks (``strided.distributed.optim``)."""

from __future__ import annotations

from ..._as_torch.core_names import absent
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

DistributedOptimizer = absent("DistributedOptimizer", __name__)  # of parameters on other ranks: needs rpc
