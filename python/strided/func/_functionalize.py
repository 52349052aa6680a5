"""``functionalize``: writes in place, seen from outside."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function of the same results, and of the same writes into its arguments.

    PyTorch's shows a tracer of operations (``make_fx``) no writes in place. Here it sees them: what a caller sees of
    functionalize is what `func` shows.

    Args:
        func: takes and gives tensors. remove: "mutations" or "mutations_and_views"; RuntimeError for other texts.

    >>> def f(x):
    ...     y = x.clone()
    ...     y += 1
    ...     return y
    >>> strided.func.functionalize(f)(strided.ones(2))
    tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be removed from the "
            "program\n     remove='mutations_and_views': and all view operators too"
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized
