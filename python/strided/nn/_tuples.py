"""Arguments as tuples."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


def _ints(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """The same for functions: one number in a list stands for all axes, too."""

    def parse(x: Any) -> tuple[Any, ...]:
        found = tuple(x) if isinstance(x, Iterable) else (x,)
        return found * n if len(found) == 1 else found

    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")
