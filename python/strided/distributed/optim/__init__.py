"""Names of PyTorch's optimizers whose state is spread over ranks: there are none (``strided.distributed.optim``)."""

from __future__ import annotations

from .._seat.core_names import absent

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

DistributedOptimizer = absent("DistributedOptimizer", __name__)
PostLocalSGDOptimizer = absent("PostLocalSGDOptimizer", __name__)
ZeroRedundancyOptimizer = absent("ZeroRedundancyOptimizer", __name__)
