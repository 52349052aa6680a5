"""References that keep nothing alive, and dictionaries whose keys are told apart by identity (``utils.weak``)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any
from weakref import ref

from .._C import Tensor

__all__ = [
    "TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakRef", "WeakTensorKeyDictionary", "WeakTensorRefKey",
]  # fmt: skip

WeakRef = ref


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A reference that equals others to the same object, whatever the object equals."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        theirs = other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs

    def __ne__(self, other: object) -> bool:  # not that of weakref, which compares the objects
        return not self == other


WeakTensorRefKey = WeakIdRef


class WeakIdKeyDictionary(MutableMapping):  # type: ignore[type-arg]
    """A dictionary of objects that it does not keep alive, told apart by which they are.

    Args:
        dict: items it begins with. ref_type: how it refers to the keys.

    >>> from strided.utils.weak import WeakIdKeyDictionary
    >>> x, y = torch.ones(2), torch.ones(2)
    >>> d = WeakIdKeyDictionary({x: 1, y: 2})
    >>> del y
    >>> d[x], len(d)
    (1, 1)
    """

    def __init__(self, dict: Any = None, ref_type: Callable[..., Any] = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        me = weakref.ref(self)

        def forget(reference: Any) -> None:
            alive = me()
            if alive is not None:
                alive.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing can refer to it
            return False

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def keyrefs(self) -> list[Any]:
        """The references to the keys, some perhaps to none by now."""
        return list(self.data)

    def copy(self) -> Any:
        """A dictionary of the same keys and values."""
        made = type(self)(ref_type=self.ref_type)
        made.update(self)
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        import copy

        made = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            made[key] = copy.deepcopy(value, memo)
        return made

    def popitem(self) -> tuple[Any, Any]:
        """Takes the item away that came last. KeyError if there is none."""
        while self.data:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value
        raise KeyError("popitem(): dictionary is empty")

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)(ref_type=self.ref_type)
        made.update(other)
        made.update(self)
        return made

    def __ior__(self, other: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A reference to a tensor, which is called to get it, or None when it is gone. AssertionError for other objects."""

    ref: weakref.ref[Any]

    def __init__(self, tensor: Any) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()
