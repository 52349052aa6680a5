"""What ``out=`` comes down to in functions that are written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any

_write = _C.functions["_write_out"]


def into(name: str, result: Any, out: Any) -> Any:
    """The result if out is None, else out, which has been given the result: a tensor, or as many as there are.

    Out is resized, cast to and refused by the rules of all functions, in this name (docs/differences.md).
    """
    if out is None:
        return result
    several = not isinstance(result, _C.Tensor)
    _write(name, list(out) if several else [out], list(result) if several else [result])
    return tuple(out) if several else out
