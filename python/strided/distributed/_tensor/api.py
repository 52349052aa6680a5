"""The older name of ``strided.distributed.tensor``, of what it defines itself in PyTorch."""

from __future__ import annotations

from ..tensor import DTensor, distribute_module, distribute_tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]
