"""``implicit_replication`` and ``local_map`` under PyTorch's name (``strided.distributed.tensor.experimental``)."""

from __future__ import annotations

from ..._sharded import implicit_replication
from ._local_map import local_map

__all__ = ["implicit_replication", "local_map"]
