"""Trees of tensors that are cut into slices and put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["length_along", "stacked"]


def length_along(name: str, leaves: list[Tensor], dim: int) -> int:
    """The length that all tensors have along `dim`; ValueError where they differ."""
    lengths = {x.size(dim) for x in leaves}
    if len(lengths) > 1:
        raise ValueError(f"{name}: lengths along dim {dim} differ: {[x.size(dim) for x in leaves]}")
    return lengths.pop()


def stacked(name: str, outputs: list[Any]) -> Any:
    """One tree, of whose leaves each is the stack of those of all outputs; RuntimeError where their trees differ."""
    (first, spec), *others = map(tree_flatten, outputs)
    for _, other in others:
        if other != spec:
            raise RuntimeError(f"{name}: the function gives different trees: {spec} and {other}")
    return tree_unflatten([strided.stack(one) for one in zip(first, *(values for values, _ in others))], spec)
