"""What PyTorch has in the compiled part of process groups (``torch._C._distributed_c10d``)."""

from ..distributed.distributed_c10d import (
    FileStore,
    HashStore,
    PrefixStore,
    ProcessGroup,
    ReduceOp,
    Store,
    TCPStore,
)
from ..nn.parallel._reducer import GradBucket, Reducer

__all__ = [
    "FileStore", "GradBucket", "HashStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Reducer", "Store", "TCPStore",
]  # fmt: skip
