"""``parallelize_module`` under PyTorch's other name (``strided.distributed.tensor.parallel.api``)."""

from __future__ import annotations

from . import parallelize_module

__all__ = ["parallelize_module"]
