"""PyTorch's module of process groups (``strided.distributed.distributed_c10d``): the same calls, and what libraries ask
about groups."""

from __future__ import annotations

from typing import Any

from . import _backends, _collectives, _groups, _messages, _objects, _stores
from ._backends import *
from ._collectives import *
from ._groups import *
from ._groups import GroupMember, ProcessGroup, get_global_rank, resolve
from ._messages import *
from ._objects import *
from ._store_tcp import TCPStore
from ._stores import *
from .constants import default_pg_timeout

__all__ = [
    "TCPStore", "default_pg_timeout",
    *_backends.__all__, *_collectives.__all__, *_groups.__all__, *_messages.__all__, *_objects.__all__,
    *_stores.__all__,
]  # fmt: skip


def _get_default_group() -> ProcessGroup:
    """The default group; ValueError before ``init_process_group``."""
    made = resolve(None)
    assert made is not None  # every rank is in it
    return made


def _get_global_rank(group: Any, rank: int) -> int:
    """An older name of ``get_global_rank``."""
    return get_global_rank(group, rank)


def _rank_not_in_group(group: Any) -> bool:
    """Whether `group` is what a rank that is not in a group gets for it."""
    return group is GroupMember.NON_GROUP_MEMBER
