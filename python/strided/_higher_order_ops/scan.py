"""A function along an axis, whose state goes from one slice to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..utils._pytree import tree_flatten, tree_unflatten
from ._trees import length_along, stacked

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["scan"]


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """The last state, and the outputs of all slices stacked along a new first axis.

    Args:
        combine_fn: takes the state and a slice of `xs`, gives the next state and an output.
        init: the first state, a tree of tensors. xs: a tree of tensors of one length along `dim`.
        reverse: from the last slice to the first; output i is still that of slice i.

    Raises:
        RuntimeError: `init` or `xs` holds no tensor, or the outputs are different trees. ValueError: lengths differ, or
            `xs` has no slices.

    >>> import strided
    >>> scan(lambda total, x: (total + x, total * x), strided.tensor(0.0), strided.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    leaves, spec = tree_flatten(xs)
    for what, values in (("init", tree_flatten(init)[0]), ("xs", leaves)):
        if not values or not all(isinstance(x, strided.Tensor) for x in values):
            raise RuntimeError(f"scan() operator requires {what} leaves to be Tensors, at least one.")
    length = length_along("scan", leaves, dim)
    if length == 0:
        raise ValueError(
            f"scan: xs has no slices along dim {dim}, so there is no output to tell the shape of the result"
        )
    state, outputs = init, [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        state, outputs[i] = combine_fn(state, tree_unflatten([x.select(dim, i) for x in leaves], spec))
    return state, stacked("scan", outputs)
