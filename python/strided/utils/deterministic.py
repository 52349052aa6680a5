"""Whether new memory is filled where ``use_deterministic_algorithms`` asked for the same results in every run."""

from __future__ import annotations

import sys
import types

from .._functions.determinism import _apply

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory: bool


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether ``empty`` and its like fill the memory with NaN, True or the dtype's maximum, in that mode."""
        return _apply()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(f"expected a bool, but got {type(mode)}")
        _apply(mode)


sys.modules[__name__].__class__ = _Module
