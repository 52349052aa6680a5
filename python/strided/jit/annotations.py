"""Names for annotations that TorchScript reads: a size, or one number for each axis. Nothing reads them here."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, TypeVar, Union  # noqa: UP035 - names that programs take from here

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional", "Tuple", "Union",
]  # fmt: skip

_T = TypeVar("_T")


class _BroadcastingList(list[_T]):
    """``BroadcastingList2[int]`` in an annotation."""


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList
