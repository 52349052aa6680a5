"""Checkpoints of several ranks (``strided.distributed.checkpoint``): ``save``, ``load``, and state dicts by names.

State dicts of models and optimizers by the names of parameters are in ``state_dict``.
"""

from __future__ import annotations

from . import format_utils as format_utils
from . import metadata as metadata
from . import state_dict as state_dict
from . import stateful as stateful
from ._storage import (
    CheckpointException,
    DefaultLoadPlanner,
    DefaultSavePlanner,
    FileSystemReader,
    FileSystemWriter,
    async_save,
    load,
    load_state_dict,
    save,
    save_state_dict,
)
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .stateful import Stateful

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "Metadata", "Stateful", "TensorStorageMetadata", "async_save", "load",
    "load_state_dict", "save", "save_state_dict",
]  # fmt: skip
