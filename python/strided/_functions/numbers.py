"""PyTorch's functions of sizes that may be symbols while a program is exported. Here sizes are Python's numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


def sym_float(a: Any) -> float:
    """``float(a)``."""
    return float(a)


def sym_int(a: Any) -> int:
    """a rounded towards zero."""
    return math.trunc(a)


def _as_either(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


def sym_max(a: Any, b: Any) -> Any:
    """The larger one, a float if one is a float.

    >>> strided.sym_max(3, 1.0)
    3.0
    """
    return _as_either(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller one, a float if one is a float."""
    return _as_either(min(a, b), a, b)


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """t if b, else f: of one type. TypeError where b is no bool, or the types differ."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise TypeError(f"sym_ite: expected a bool and two values of one type, got {b!r}, {t!r} and {f!r}")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """``math.sqrt(a)``."""
    return math.sqrt(a)
