"""Checkpoints of several ranks (``strided.distributed.checkpoint``): ``save``, ``load``, and state dicts by names.

State dicts of models and optimizers by the names of parameters are in ``state_dict``.
"""

from __future__ import annotations

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
    save,
)

__all__ = [
    "CheckpointException", "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter",
    "async_save", "load", "save",
]  # fmt: skip
