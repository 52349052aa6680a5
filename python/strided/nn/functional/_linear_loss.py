"""The cross entropy of a linear layer, whole or by parts of the batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from ._class_loss import cross_entropy
from ._linear import linear

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """cross_entropy of linear(input, linear_weight, linear_bias).

    Args:
        input: (features,) or (batch, features). linear_weight: (classes, ..., features), where linear_bias has
            (classes, ...) and the target no classes, or as many.
        ignore_index: -100 if None and the target has classes; an error for a target of probabilities.
        options: a ``nn.LinearCrossEntropyOptions``: the logits of a part of the batch are there at a time, and again in
            the backward pass. None: all at once.

    >>> strided.nn.functional.linear_cross_entropy(strided.ones(1, 3), strided.zeros(2, 3), strided.tensor([1]))
    tensor(0.6931)
    """
    classes = _checked(input, linear_weight, linear_bias)
    probabilities = target.shape == (*input.shape[:-1], *classes)
    if probabilities and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    flat_bias = None if linear_bias is None else linear_bias.reshape(-1)
    flat_weight = linear_weight.reshape(-1, linear_weight.shape[-1])
    dtype = input.dtype if options is None else options._dtype(input.dtype)

    def losses(x, y, matrix, bias, factors, reduction):
        logits = linear(x, matrix, bias).reshape(*x.shape[:-1], *classes)
        if dtype != x.dtype:
            logits, factors = logits.to(dtype), None if factors is None else factors.to(dtype)
            y = y.to(dtype) if y.is_floating_point() else y
        return cross_entropy(
            logits, y, factors, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
        ).to(x.dtype)

    size = None if options is None or input.ndim == 1 else options._rows(len(input), input.shape[1], classes[0])
    if size is None or size >= len(input) or reduction not in ("none", "mean", "sum"):
        return losses(input, target, flat_weight, flat_bias, weight, reduction)
    from ...utils.checkpoint import checkpoint

    parts = [
        checkpoint(
            losses, x, y, flat_weight, flat_bias, weight, "none", use_reentrant=False, preserve_rng_state=False
        )
        for x, y in zip(input.split(size), target.split(size))
    ]  # fmt: skip
    every = strided.cat(parts)
    if reduction == "none":
        return every
    total = every.sum()
    return total if reduction == "sum" else total / _count(target, weight, ignored, probabilities, every)


def _checked(input, linear_weight, linear_bias):
    """The shape of the classes.  Errors for shapes that do not fit."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and "
            f"{linear_weight.shape[-1]}, respectively"
        )
    classes = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != classes:
        raise RuntimeError(f"expected linear_bias shape {classes}, got {tuple(linear_bias.shape)}")
    if len(classes) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    return classes


def _count(target, weight, ignored, probabilities, losses):
    """What the mean divides by: samples, or the weights of their classes."""
    if probabilities:
        return math.prod(losses.shape)
    there = target != ignored
    if weight is None:
        return there.sum()
    return weight[target.masked_fill(~there, 0)].masked_fill(~there, 0).sum()
