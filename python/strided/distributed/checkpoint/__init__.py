"""Names of PyTorch's checkpoints of several ranks: there are none; see ``strided.distributed.files``.

State dicts by the names of parameters are in ``state_dict``.
"""

from __future__ import annotations

from typing import Any

from ..._core_names import absent
from . import state_dict as state_dict

__all__ = ["FileSystemReader", "FileSystemWriter", "load", "save"]

FileSystemReader = absent("FileSystemReader", __name__)
FileSystemWriter = absent("FileSystemWriter", __name__)


def save(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError(
        "checkpoint.save: strided has no such checkpoints; distributed.files writes sharded tensors"
    )


def load(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError(
        "checkpoint.load: strided has no such checkpoints; distributed.files reads sharded tensors"
    )
