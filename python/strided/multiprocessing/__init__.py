"""Processes (``strided.multiprocessing``): the standard library's ``multiprocessing``, and ``spawn``.

Tensors that are sent to other processes are copied, unless ``Tensor.share_memory_`` or ``Module.share_memory`` moved
them to memory that all see.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from .._calls.once import warn_once
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,  # the function, in place of the module, as in PyTorch
    start_processes,
)

__all__ = [
    *_multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip

_strategies = ("file_descriptor", "file_system")
_strategy = _strategies[0]


def get_all_sharing_strategies() -> set[str]:
    """PyTorch's names of the ways in which tensors reach other processes."""
    return set(_strategies)


def get_sharing_strategy() -> str:
    """The name that was set."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembers the name, with one warning: there is one way. AssertionError for another name."""
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(f"unknown sharing strategy {new_strategy!r}, there are {', '.join(_strategies)}")
    warn_once(
        "torch.multiprocessing.set_sharing_strategy",
        "tensors go to other processes in one way: shared ones by a file descriptor",
    )
    _strategy = new_strategy
