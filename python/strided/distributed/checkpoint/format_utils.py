"""Checkpoints of several ranks, and files of ``save`` (``strided.distributed.checkpoint.format_utils``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import _storage

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Writes the whole state dict of a checkpoint with ``save``; one process does.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> strided.distributed.checkpoint.save({"a": [strided.ones(2), 3]}, checkpoint_id=folder)
    >>> path = os.path.join(folder, "whole.pt")
    >>> strided.distributed.checkpoint.format_utils.dcp_to_torch_save(folder, path)
    >>> strided.load(path)
    {'a': [tensor([1., 1.]), 3]}
    """
    strided.save(_storage.read_whole(dcp_checkpoint_dir), torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Writes a checkpoint with what a file of ``save`` has; one process does."""
    _storage.save(strided.load(torch_save_path), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
