"""Transforms of functions that stand in the main namespace; strided.func, which has them, loads when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function of a batch, made of a function of one sample: see strided.func.vmap.

    >>> strided.vmap(strided.dot)(strided.ones(3, 2), strided.arange(6.).view(3, 2))
    tensor([1., 5., 9.])
    """
    from .. import func as transforms

    return transforms.vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)
