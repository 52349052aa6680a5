"""Handles of hooks (``strided.utils.hooks``)."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["RemovableHandle"]

_ids = itertools.count()


class _HandleMeta(type):
    def __instancecheck__(cls, obj):
        return type.__instancecheck__(cls, obj) or isinstance(obj, _C.RemovableHandle)


class RemovableHandle(metaclass=_HandleMeta):
    """Removes a hook: takes its key out of the dict of hooks, and out of further dicts that say something about it.

    As a context it removes the hook at its end.  The dicts are not kept alive.
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self._dicts = [weakref.ref(d) for d in (hooks_dict, *extra) if d is not None]

    @property
    def hooks_dict_ref(self) -> Any:
        """The weak reference to the dict of hooks."""
        return self._dicts[0]

    @property
    def extra_dict_ref(self) -> tuple[Any, ...]:
        """Weak references to the further dicts."""
        return tuple(self._dicts[1:])

    def remove(self) -> None:
        """Takes the hook away; does nothing the second time."""
        for ref in self._dicts:
            if (hooks := ref()) is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return [ref() for ref in self._dicts], self.id

    def __setstate__(self, state: Any) -> None:
        dicts, self.id = state
        self._dicts = [weakref.ref(d) for d in dicts if d is not None]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
