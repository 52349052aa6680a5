"""Running combinations by a function of the user's (Blelloch, "Prefix Sums and Their Applications", 1990)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from ..utils._pytree import tree_flatten, tree_unflatten
from ._trees import length_along

if TYPE_CHECKING:
    from .._typing import Callable

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Element i of the result combines elements 0 ... i of `xs` along `dim`, in about 2 log2(n) calls of `combine_fn`.

    Args:
        combine_fn: takes two trees like `xs`, of slices of any one length along `dim`, and gives one like them. It must
            be associative. xs: a tensor, or a tree of tensors of one length along `dim`. reverse: from the end.
        combine_mode: "pointwise" or "generic": what PyTorch's compiler may assume; the same here.

    Raises:
        ValueError: `xs` holds no tensor; lengths differ; another `combine_mode`.
        RuntimeError: `combine_fn` gives another number of tensors.

    >>> import strided
    >>> associative_scan(lambda a, b: a * b, strided.tensor([1.0, 2.0, 3.0]), 0, combine_mode="generic")
    tensor([1., 2., 6.])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(x, strided.Tensor) for x in leaves):
        raise ValueError("xs leaves must be Tensors")
    length_along("associative_scan", leaves, dim)
    moved = [x.movedim(dim, 0) for x in leaves]
    if reverse:
        moved = [x.flip(0) for x in moved]

    def combine(first, second):
        back = (tree_unflatten([x.movedim(0, dim) for x in part], spec) for part in (first, second))
        made = tree_flatten(combine_fn(*back))[0]
        if len(made) != len(first):
            raise RuntimeError(f"associative_scan: combine_fn gave {len(made)} tensors for {len(first)}")
        return [x.movedim(dim, 0) for x in made]

    done = _scan(combine, moved)
    if reverse:
        done = [x.flip(0) for x in done]
    return tree_unflatten([x.movedim(0, dim) for x in done], spec)


def _scan(combine, parts):
    """Pairs are combined, scanned, and give the odd elements; each even element but the first adds itself to one."""
    length = parts[0].size(0)
    if length < 2:
        return parts
    odd = _scan(combine, combine([x[: length - 1 : 2] for x in parts], [x[1::2] for x in parts]))
    first = [x[:1] for x in parts]
    if length == 2:
        return [strided.cat(pair) for pair in zip(first, odd)]
    later = combine([x[: (length - 1) // 2] for x in odd], [x[2::2] for x in parts])
    even = [strided.cat(pair) for pair in zip(first, later)]
    woven = (strided.stack([a[: b.size(0)], b], 1).flatten(0, 1) for a, b in zip(even, odd))
    return [w if length % 2 == 0 else strided.cat([w, a[-1:]]) for w, a in zip(woven, even)]
