"""What a checkpoint has, without its tensors (``strided.distributed.checkpoint.metadata``)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorProperties", "TensorStorageMetadata"]


@dataclasses.dataclass
class TensorProperties:
    """dtype: of a tensor."""

    dtype: Any = None


@dataclasses.dataclass
class ChunkStorageMetadata:
    """offsets, sizes: of a block of a tensor."""

    offsets: Any
    sizes: Any


@dataclasses.dataclass
class TensorStorageMetadata:
    """properties, size, chunks: of a tensor, which is one block of the file."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclasses.dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclasses.dataclass
class Metadata:
    """state_dict_metadata: by name, TensorStorageMetadata or BytesStorageMetadata; planner_data: by name, the keys on
    the way to the value in the state dict."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
