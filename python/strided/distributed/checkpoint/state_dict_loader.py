"""``load`` under PyTorch's other name (``strided.distributed.checkpoint.state_dict_loader``)."""

from __future__ import annotations

from ._storage import load, load_state_dict

__all__ = ["load", "load_state_dict"]
