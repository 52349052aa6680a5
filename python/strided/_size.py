"""The shape of a tensor: a tuple that prints as ``torch.Size([2, 3])``."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex, overload

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """The sizes of a tensor's axes; a tuple in every respect, but slices and sums of it are ``Size`` again.

    The constructor is tuple's own, unchecked, since it runs whenever a shape is asked for.

    >>> s = strided.Size([2, 3, 4])
    >>> s, s[1:], s + (5,), s.numel()
    (torch.Size([2, 3, 4]), torch.Size([3, 4]), torch.Size([2, 3, 4, 5]), 24)
    >>> s == (2, 3, 4) and hash(s) == hash((2, 3, 4))
    True
    """

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes: elements of a tensor of this shape (1 for no axes)."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if index.__class__ is slice else found

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
