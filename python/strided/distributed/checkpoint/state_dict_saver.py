"""``save`` under PyTorch's other name (``strided.distributed.checkpoint.state_dict_saver``)."""

from __future__ import annotations

from ._storage import async_save, save, save_state_dict

__all__ = ["async_save", "save", "save_state_dict"]
