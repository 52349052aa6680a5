"""A function of each slice along the first axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..utils._pytree import tree_flatten, tree_unflatten
from ._trees import length_along, stacked

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:  # noqa: A001
    """``f(x, *args)`` for each slice `x` along the first axis of `xs`, one after the other, stacked.

    `vmap` calls `f` once for all of them; this is for functions that cannot be batched.

    Args:
        xs: a tensor, or a tree of tensors of one length along the first axis. args: the same in each call.

    Raises:
        ValueError: `xs` holds no tensor, a scalar, or no slices, or lengths differ. RuntimeError: `f` gives different
            trees.

    >>> import strided
    >>> strided._higher_order_ops.map(lambda x, y: x + y, strided.tensor([[1.0, 2.0], [3.0, 4.0]]), strided.tensor(1.0))
    tensor([[2., 3.],
            [4., 5.]])
    """
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(x, strided.Tensor) and x.ndim for x in leaves):
        raise ValueError("map: xs must hold tensors of at least one dimension")
    if length_along("map", leaves, 0) == 0:
        raise ValueError("map: xs has no slices, so there is no result to tell the shape of")
    return stacked("map", [f(tree_unflatten(list(slices), spec), *args) for slices in zip(*leaves)])
