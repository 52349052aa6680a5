"""The names of ``strided.distributed.fsdp`` under PyTorch's other one."""

from . import _options
from ._options import *
from ._wrapper import FullyShardedDataParallel

__all__ = ["FullyShardedDataParallel", *_options.__all__]  # noqa: F405
