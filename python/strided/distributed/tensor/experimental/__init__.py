"""``implicit_replication`` under PyTorch's name (``strided.distributed.tensor.experimental``)."""

from __future__ import annotations

from ..._sharded import implicit_replication

__all__ = ["implicit_replication"]
