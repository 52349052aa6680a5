"""Contexts for those who write a ``__torch_dispatch__``."""

from __future__ import annotations

from .. import _C

__all__ = ["all_same_mode", "no_dispatch"]

no_dispatch = _C._DisableTorchDispatch


def all_same_mode(modes: list[object]) -> bool:
    """Whether all modes are the first one."""
    return all(mode == modes[0] for mode in modes)
