"""Functions whose usual calls are compiled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._calls.overrides import overridable

if TYPE_CHECKING:
    from ..._typing import Callable, Tensor


def compiled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function; calls that fit the compiled one of its name, behind a `_`, go there. Where that one returns None
    the function itself is called."""
    function.__module__ = __package__  # where pickle finds what stands in its place
    return overridable(function, _C.functions["_" + function.__name__])
