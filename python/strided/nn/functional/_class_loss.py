"""Losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided
from strided._functions.checks import every_sample

from ... import _C
from ..._calls.overrides import shown_as
from ._activation import logsigmoid
from ._compiled import compiled
from ._reduction import chosen, reduced, scalar_type

if TYPE_CHECKING:
    from ..._typing import Tensor

__all__ = [
    "cross_entropy", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
]  # fmt: skip


def _check_classes(input, target, weight):
    """The axis of the classes.  Errors for shapes and dtypes that do not fit."""
    axis = 0 if input.ndim == 1 else 1
    shape = input.shape
    if (
        weight is None
        and target.dtype is strided.int64
        and shape
        and target.shape == (*shape[:axis], *shape[axis + 1 :])
    ):
        return axis
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if input.ndim != 1 and input.size(0) != target.size(0) if target.ndim else input.ndim > 1:
        have = target.size(0) if target.ndim else 0
        raise ValueError(f"Expected input batch_size ({input.size(0)}) to match target batch_size ({have}).")
    if input.ndim <= 2 and target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dtype not in (strided.int64, strided.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_type(target)}")
    if tuple(target.shape) != (*input.shape[:axis], *input.shape[axis + 1 :]):
        if input.ndim <= 2:
            raise RuntimeError(f"size mismatch (got input: {list(input.shape)}, target: {list(target.shape)})")
        want = [*input.shape[:axis], *input.shape[axis + 1 :]]
        raise RuntimeError(f"Expected target size {want}, got {list(target.shape)}")
    if weight is not None and tuple(weight.shape) != (input.size(axis),):
        raise RuntimeError(
            f"weight tensor should be defined either for all {input.size(axis)} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(input)} but found {scalar_type(weight)}")
    return axis


def _kept(target, classes, ignore_index):
    """Targets with 0 for those to be ignored, and which are kept: None if all are.  IndexError for other classes."""
    target = target.long()
    if not target.is_cpu or not target.numel():
        kept = target != ignore_index
        return target.masked_fill(~kept, 0), kept
    low, high = every_sample(target).aminmax()
    low, high = low.item(), high.item()
    if low >= 0 and high < classes and not low <= ignore_index <= high:
        return target, None
    kept = target != ignore_index
    target = target.masked_fill(~kept, 0)
    every = every_sample(target)
    wrong = every[(every < 0) | (every >= classes)]
    if wrong.numel():
        raise IndexError(f"Target {int(wrong[0])} is out of bounds.")
    return target, kept


@compiled
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-x[class] of log-probabilities x, times the weight of the class; the mean is divided by the weights.

    Args:
        input: (classes,), (batch, classes) or (batch, classes, ...). target: int64, the same shape without classes.
        ignore_index: a class that counts for nothing.

    >>> strided.nn.functional.nll_loss(strided.tensor([[-1., -2.]]), strided.tensor([1]))
    tensor(2.)
    """
    reduction = chosen(size_average, reduce, reduction)
    return _nll(input, target, weight, ignore_index, reduction)


def _nll(input, target, weight, ignore_index, reduction):
    axis = _check_classes(input, target, weight)
    target, kept = _kept(target, input.size(axis), ignore_index)
    loss = -input.gather(axis, target.unsqueeze(axis)).squeeze(axis)
    if weight is None and kept is None:
        return reduced(loss, reduction)
    factors = kept.to(input.dtype) if weight is None else weight[target]
    if kept is not None:
        factors, loss = factors.masked_fill(~kept, 0), loss.masked_fill(~kept, 0)
    loss = loss if weight is None else loss * factors
    return loss.sum() / factors.sum() if reduction == "mean" else reduced(loss, reduction)


def _smooth(log_p, target, weight, ignore_index, smoothing, reduction):
    """Label smoothing (Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016)."""
    axis = _check_classes(log_p, target, weight)
    classes = log_p.size(axis)
    sure = _nll(log_p, target, weight, ignore_index, reduction)
    shape = [-1 if i == axis else 1 for i in range(log_p.ndim)]
    loss = -(log_p if weight is None else log_p * weight.view(shape)).sum(axis)
    target, kept = _kept(target, classes, ignore_index)
    if kept is not None:
        loss = loss.masked_fill(~kept, 0)
    if reduction != "mean":
        spread = reduced(loss, reduction)
    elif weight is not None:
        factors = weight[target]
        spread = loss.sum() / (factors if kept is None else factors.masked_fill(~kept, 0)).sum()
    else:
        spread = loss.mean() if kept is None else loss.sum() / kept.sum()
    return (1 - smoothing) * sure + smoothing / classes * spread


def _probabilities(log_p, target, weight, smoothing, reduction):
    """Cross entropy to targets that are probabilities of classes."""
    axis = 0 if log_p.ndim == 1 else 1
    classes = log_p.size(axis)
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    if weight is not None:
        log_p = log_p * weight.view([-1 if i == axis else 1 for i in range(log_p.ndim)])
    loss = -(log_p * target)
    if reduction == "mean":
        return loss.sum() / (log_p.numel() // classes if classes else 0)
    return loss.sum(axis) if reduction == "none" else reduced(loss, reduction)


@compiled
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax(x); the target may be probabilities of classes too.

    Args:
        input: (classes,), (batch, classes) or (batch, classes, ...). target: int64, the same shape without classes;
            or floating, of the shape of input. label_smoothing: how much of the target is spread over all classes.

    >>> strided.nn.functional.cross_entropy(strided.zeros(1, 2), strided.tensor([1]))
    tensor(0.6931)
    """
    reduction = chosen(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    log_p = strided.log_softmax(input, 0 if input.ndim <= 1 else 1)
    if input.shape == target.shape and (target.dtype.is_floating_point or input.ndim > 0):
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.type().split('.')[-1].removesuffix('Tensor')}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _probabilities(log_p, target, weight, label_smoothing, reduction)
    if label_smoothing > 0.0:
        return _smooth(log_p, target, weight, ignore_index, label_smoothing, reduction)
    return _nll(log_p, target, weight, ignore_index, reduction)


def _margin_in_one_step(x, target, p=1, margin=1.0, weight=None):
    """The loss of each row, where the device has it: None elsewhere, and for types of the user's own."""
    if type(x) is type(target) is strided.Tensor and (weight is None or type(weight) is strided.Tensor):
        return _C.functions["_margin_loss"](x, target, p, margin, weight)
    return None


def _rows(input):
    """A number is one sample of one class, a vector one sample; only the batch may be empty."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return input if input.ndim == 2 else input.reshape(-1, input.shape[-1] if input.ndim else 1)


@shown_as("MultiMarginLossBackward0")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sum over the other classes i of max(0, margin - x[y] + x[i]) ** p, divided by the number of classes; p is 1 or
    2."""
    reduction = chosen(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    x = _rows(input)
    if target.ndim > 1 or target.numel() != len(x):
        raise RuntimeError(
            f"multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target size [{len(x)}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != x.size(1):
        raise RuntimeError(f"inconsistent weight size, expected {x.size(1)} but got {list(weight.shape)}")
    if target.dtype != strided.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_type(target)}")
    y = target.reshape(-1)
    loss = _margin_in_one_step(x, y, p, margin, weight)
    if loss is not None:
        return reduced(loss if target.ndim else loss.reshape(()), reduction)
    y, _ = _kept(y, x.size(1), -(2**62))
    gaps = (margin - x.gather(1, y.unsqueeze(1)) + x).clamp_min(0)
    gaps = gaps if p == 1 else gaps * gaps
    gaps = gaps if weight is None else gaps * weight[y].unsqueeze(1)
    loss = gaps.scatter(1, y.unsqueeze(1), 0.0).sum(1) / x.size(1)
    return reduced(loss if target.ndim else loss.reshape(()), reduction)


@shown_as("MultilabelMarginLossBackward0")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sum over labels j and other classes i of max(0, 1 - x[y[j]] + x[i]), divided by the number of classes.

    target has the shape of input: labels stand first, then -1.
    """
    reduction = chosen(size_average, reduce, reduction)
    x = _rows(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    y = target.reshape(x.shape)
    loss = _margin_in_one_step(x, y)
    if loss is not None:
        return reduced(loss if input.ndim == 2 else loss.reshape(()), reduction)
    real = (y < 0).cumsum(1) == 0
    labels = y.masked_fill(~real, 0)
    is_label = labels.new_zeros(x.shape).scatter_add_(1, labels, real.long()) > 0
    gaps = (1 - x.gather(1, labels).unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)
    gaps = gaps.masked_fill(~real.unsqueeze(2) | is_label.unsqueeze(1), 0)
    loss = gaps.sum((1, 2)) / x.size(1)
    return reduced(loss if input.ndim == 2 else loss.reshape(()), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of -(y log(sigmoid(x)) + (1 - y) log(sigmoid(-x)))."""
    reduction = chosen(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = (loss if weight is None else loss * weight).sum(-1) / input.size(-1)
    return reduced(loss, reduction)
