"""Where libraries import ``vmap`` from that were written before ``torch.func``: ``torch._vmap_internals``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import func as _func

if TYPE_CHECKING:
    from ._typing import Any, Callable

__all__ = ["vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """``strided.vmap`` with the arguments that this older name takes.

    >>> import strided
    >>> vmap(strided.dot)(strided.ones(3, 2), strided.ones(3, 2))
    tensor([2., 2., 2.])
    """
    return _func.vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """vmap that lets func return None, in a tuple of results or alone, where ``allow_none_pass_through`` is true."""
    if not allow_none_pass_through:
        return _func.vmap(func, in_dims, out_dims)
    if not isinstance(out_dims, int):
        raise NotImplementedError("_vmap: allow_none_pass_through with out_dims that is not one int")

    def wrapped(*args: Any) -> Any:
        made: Any = ()

        def tensors_only(*inside: Any) -> Any:
            nonlocal made
            made = func(*inside)
            found = made if isinstance(made, tuple) else (made,)
            return tuple(y for y in found if y is not None)

        results = iter(_func.vmap(tensors_only, in_dims, out_dims)(*args))
        if not isinstance(made, tuple):
            return None if made is None else next(results)
        return tuple(None if y is None else next(results) for y in made)

    return wrapped
