"""A choice between two functions (``torch.cond``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .._core_modules._functorch import is_batchedtensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten

if TYPE_CHECKING:
    from .._typing import Any, Callable, Tensor

__all__ = ["cond"]


def cond(
    pred: bool | int | float | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """``true_fn(*operands)`` if `pred` is true, else ``false_fn(*operands)``; gradients go through the one that ran.

    Where `vmap` makes `pred` differ between samples, both run, and each sample takes its own result.

    Args:
        pred: a number, or a tensor of one element. operands: a tuple or list of tensors, or of trees of tensors.

    Raises:
        RuntimeError: `pred` is anything else, a leaf of `operands` is no tensor, or the two give different trees.

    >>> import strided
    >>> x = strided.tensor([0.0, 1.0])
    >>> strided.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    tensor([1., 2.])
    """
    is_tensor = isinstance(pred, strided.Tensor)
    if not (isinstance(pred, (bool, int, float)) or is_tensor and pred.numel() == 1):
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(x, strided.Tensor) for x in tree_leaves(operands)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    if not (is_tensor and is_batchedtensor(pred)):
        return (true_fn if pred else false_fn)(*operands)
    (chosen, spec), (other, other_spec) = (tree_flatten(branch(*operands)) for branch in (true_fn, false_fn))
    if spec != other_spec:
        raise RuntimeError(f"cond: the branches give different trees: {spec} and {other_spec}")
    return tree_unflatten([strided.where(pred.reshape(()), a, b) for a, b in zip(chosen, other)], spec)
