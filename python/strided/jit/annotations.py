"""Names for annotations that TorchScript reads: a size, or one number for each axis. Nothing reads them here."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3"]

_T = TypeVar("_T")


class _BroadcastingList(list[_T]):
    """``BroadcastingList2[int]`` in an annotation."""


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList
