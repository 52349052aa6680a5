"""What ``import functorch.compile`` gives with strided in PyTorch's place: the names that need no compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import config
from ..aot_autograd import make_boxed_compiler, make_boxed_func

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["config", "make_boxed_compiler", "make_boxed_func", "nop"]


def nop(module: Any, inputs: Any) -> Any:
    """The compiler that gives back what it is given.

    >>> nop(max, None) is max
    True
    """
    return module
