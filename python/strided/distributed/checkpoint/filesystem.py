"""Folders under PyTorch's other name (``strided.distributed.checkpoint.filesystem``)."""

from __future__ import annotations

from ._storage import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
