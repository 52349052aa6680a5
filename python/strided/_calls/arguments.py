"""Arguments of functions that are written in Python: TypeError in PyTorch's words for wrong kinds."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: of classes written in Python


def kind_of(value):
    """The type's name as the compiled part and PyTorch write it: numpy.ndarray, but Array for a class of a program."""
    t = type(value)
    return t.__name__ if t.__flags__ & _HEAP or t.__module__ == "builtins" else f"{t.__module__}.{t.__qualname__}"


def check_tensor(function: str, argument: str, position: int | None, value: Any) -> None:
    """TypeError for what is no tensor; the position is None for arguments that are named."""
    if not isinstance(value, _C.Tensor):
        place = "" if position is None else f" (position {position})"
        raise TypeError(f"{function}(): argument '{argument}'{place} must be Tensor, not {kind_of(value)}")


def _is_whole(x: Any) -> bool:
    if isinstance(x, _C.Tensor):
        return x.ndim == 0 and not (x.is_floating_point() or x.is_complex() or x.dtype is _C.bool)
    return type(x) is int or (hasattr(x, "__index__") and not isinstance(x, bool))


def whole(function: str, argument: str, position: int, value: Any) -> int:
    """The int that is given, or what stands for one: also an integer tensor of no axes."""
    if type(value) is not int and not _is_whole(value):
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be int, not {kind_of(value)}")
    return index(value)


def wholes(function: str, argument: str, position: int, value: Any, single: bool = True) -> Any:
    """The value if it is a list or tuple of ints; with `single` an int too."""
    if type(value) is int and single:
        return value
    start = f"{function}(): argument '{argument}'"
    if not isinstance(value, (list, tuple)):
        if not (single and _is_whole(value)):
            raise TypeError(f"{start} (position {position}) must be tuple of ints, not {kind_of(value)}")
        return index(value)
    for i, x in enumerate(value):
        if type(x) is int or _is_whole(x) or (i and isinstance(x, bool)):  # PyTorch looks at the first one closely
            continue
        kind = kind_of(x)
        if i == 0:
            raise TypeError(
                f"{start} (position {position}) must be tuple of ints, but found element of type {kind} at pos 0"
            )
        raise TypeError(
            f'{start} failed to unpack the object at pos {i + 1} with error "type must be tuple of ints,but got {kind}"'
        )
    return value
