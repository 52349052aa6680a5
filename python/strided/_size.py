"""The shape of a tensor: a tuple that prints as ``torch.Size([2, 3])``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any, SupportsIndex, overload

__all__ = ["Size"]


def _whole(i: int, size: Any) -> Any:
    """The size as it is stored: integers of NumPy stay what they are."""
    if isinstance(size, int):
        return size
    try:
        number = index(size)
    except TypeError:
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(size).__name__}')") from None
    return size if type(size).__module__ == "numpy" else number


class Size(tuple[int, ...]):
    """The sizes of a tensor's axes; a tuple in every respect, but slices and sums of it are ``Size`` again.

    A size is an int, or an integer of another kind, a tensor with one element for instance, which becomes an int.
    TypeError for anything else. (A tensor's own shape is made without this constructor.)

    >>> s = strided.Size([2, 3, 4])
    >>> s, s[1:], s + (5,), s.numel()
    (torch.Size([2, 3, 4]), torch.Size([3, 4]), torch.Size([2, 3, 4, 5]), 24)
    >>> s == (2, 3, 4) and hash(s) == hash((2, 3, 4))
    True
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[SupportsIndex] = ()) -> Size:
        made = tuple.__new__(cls, iterable)
        for size in made:
            if type(size) is not int:
                return tuple.__new__(cls, [_whole(i, k) for i, k in enumerate(made)])
        return made

    def numel(self) -> int:
        """The product of the sizes: elements of a tensor of this shape (1 for no axes)."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, at: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Size: ...
    def __getitem__(self, at: Any) -> Any:
        found = tuple.__getitem__(self, at)
        return tuple.__new__(Size, found) if at.__class__ is slice else found

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, times: SupportsIndex) -> Size:
        found = tuple.__mul__(self, times)
        return found if found is NotImplemented else Size(found)

    __rmul__ = __mul__


# A pickled shape names strided.Size, not the file the class happens to live in.
Size.__module__ = "strided"
