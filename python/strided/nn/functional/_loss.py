"""Losses of regression and of pairs."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import strided
from strided._functions.checks import every_sample

from ... import _C
from ..._calls.overrides import shown_as
from ._activation import logsigmoid
from ._reduction import chosen, reduced, scalar_type

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "gaussian_nll_loss",
    "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def _pair(input, target):
    """Both broadcast; a warning where their sizes differ."""
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
    return input, target


def _cast(loss, like):
    """Of the dtype of `like`, to which PyTorch's kernels write the losses."""
    if loss.dtype == like.dtype:
        return loss
    if not strided.can_cast(loss.dtype, like.dtype):
        names = scalar_type(loss), scalar_type(like)
        raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*names))
    return loss.to(like.dtype)


def _counts(x, y):
    """Both, of one dtype where one is bool: their difference is that of numbers."""
    if strided.bool not in (x.dtype, y.dtype):
        return x, y
    common = strided.promote_types(x.dtype, y.dtype)
    return x.to(common), y.to(common)


def _weighted(loss, weight):
    return loss if weight is None else _cast(loss * weight, loss)


def _weighted_mean(loss, weight, reduction):
    """mse, l1 and huber with weights: the mean is divided by the sum of the weights."""
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction)


@shown_as("MseLossBackward0")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(x - y) ** 2: the mean, the sum ('sum'), or of each element ('none').

    >>> strided.nn.functional.mse_loss(strided.tensor([1., 2.]), strided.tensor([1., 4.]))
    tensor(2.)
    """
    a, b = _pair(input, target)
    reduction = chosen(size_average, reduce, reduction)
    made = _compiled_pair(a, b, "mse", 1.0, reduction) if weight is None else None
    if made is not None:
        return made
    a, b = _counts(a, b)
    return _weighted_mean((a - b).square(), weight, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|x - y|: the mean, the sum, or of each element."""
    a, b = _pair(input, target)
    return _weighted_mean((a - b).abs(), weight, chosen(size_average, reduce, reduction))


def _compiled_pair(x, y, name, delta, reduction):
    """The loss in one pass; None where it is made of public operations."""
    if type(x) is type(y) is strided.Tensor:
        return _C.functions["_pair_loss"](x, y, name, delta, reduction)
    return None


def _huber(x, y, delta):
    if x.dtype == y.dtype and x.shape == y.shape and x.dtype.is_floating_point:
        return _C.functions["_huber"](x, y, delta)
    d = (x - y).abs()
    return strided.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta))


@shown_as("HuberLossBackward0")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d ** 2 / 2 for |d| < delta, else delta * (|d| - delta / 2), where d = x - y (Huber, "Robust Estimation of a
    Location Parameter", 1964)."""
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    a, b = _pair(input, target)
    made = _compiled_pair(a, b, "huber", delta, reduction) if weight is None else None
    if made is not None:
        return made
    return _weighted_mean(_cast(_huber(*_counts(a, b), delta), input), weight, reduction)


@shown_as("SmoothL1LossBackward0")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d ** 2 / (2 beta) for |d| < beta, else |d| - beta / 2, where d = x - y."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    a, b = _counts(*_pair(input, target))
    reduction = chosen(size_average, reduce, reduction)
    if beta == 0:
        return reduced((a - b).abs(), reduction)
    made = _compiled_pair(a, b, "smooth_l1", beta, reduction)
    if made is not None:
        return made
    loss = reduced(_huber(a, b, beta), reduction)
    return loss if beta == 1 else loss / beta


@shown_as("SoftMarginLossBackward0")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-y x)) for y = 1 or -1."""
    loss = (-(input * target)).exp().log1p()
    return reduced(_cast(loss, input), chosen(size_average, reduce, reduction))


@shown_as("BinaryCrossEntropyBackward0")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(y log(x) + (1 - y) log(1 - x)) for probabilities x; logarithms are not below -100.

    The gradient is (x - y) / (x (1 - x)), whose divisor is not below 1e-12: finite at 0 and 1, as in PyTorch.
    ValueError for different sizes, RuntimeError for x outside of [0, 1].
    """
    reduction = chosen(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {scalar_type(target)} but expected {scalar_type(input)}")
    # Of other dtypes, and of classes that extend Tensor, it is made of public operations.
    plain = type(input) is type(target) is strided.Tensor
    plain = plain and input.dtype in (strided.float32, strided.float64) and input.device == target.device
    saturated = False
    if input.numel():
        low, high = (float(x) for x in every_sample(input.detach()).aminmax())
        if not (low >= 0 and high <= 1):
            raise RuntimeError("all elements of input should be between 0 and 1")
        saturated = min(low * (1 - low), high * (1 - high)) <= _LEAST_SPREAD and input.requires_grad
    if plain:
        loss = _C.functions["_binary_cross_entropy"](input, target)
    else:
        loss = _saturated_cross_entropy(input, target) if saturated else _binary_cross_entropy(input, target)
    return reduced(_weighted(loss, weight), reduction)


_LEAST_SPREAD = 1e-12  # of x (1 - x), what the gradient divides by


def _binary_cross_entropy(x, y):
    return (y - 1) * (-x).log1p().clamp(min=-100) - y * x.log().clamp(min=-100)


def _saturated_cross_entropy(input, target):
    """The same where some x are next to 0 or 1: there the value is constant, and its slope is put beside it."""
    x, y = input.detach(), target.detach()
    edge = x * (1 - x) <= _LEAST_SPREAD
    most = strided.finfo(x.dtype).max
    slope = ((x - y).double() / _LEAST_SPREAD).clamp(-most, most).to(x.dtype)
    at_edge = _binary_cross_entropy(x, target) + (input - x) * slope
    return strided.where(edge, at_edge, _binary_cross_entropy(input.masked_fill(edge, 0.5), target))


@shown_as("BinaryCrossEntropyWithLogitsBackward0")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(x), computed without overflow; pos_weight: a factor of the terms with y."""
    reduction = chosen(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    log_p = logsigmoid(input)
    if pos_weight is None:
        loss = (1 - target) * input - log_p
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * log_p
    return reduced(_weighted(_cast(loss, target), weight), reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence y * (log(y) - x) of log-probabilities x; log_target: target has logarithms too.

    reduction='batchmean': the sum divided by the size of the first axis.
    """
    if size_average is not None or reduce is not None:
        reduction = chosen(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    for x in (input, target):
        if not x.dtype.is_floating_point:
            kind = "Complex" if x.dtype.is_complex else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    loss = target.exp() * (target - input) if log_target else strided.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.size(0) if input.ndim else loss.sum()
    return reduced(loss, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts y under a Poisson distribution of mean exp(x), or x; full: with Stirling's
    approximation of log(y!)."""
    reduction = chosen(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of y under normal distributions of mean x and variance var, which is at least eps."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = strided.full_like(input, var)
    elif bool((every_sample(var) < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not (var.ndim == input.ndim and all(v in (1, n) for v, n in zip(var.size(), input.size()))):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with strided.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x for y = 1, max(0, margin - x) for y = -1."""
    near = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    return reduced(near + input.masked_fill(target == -1, 0), chosen(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -y (x1 - x2) + margin) for y = 1 or -1."""
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), chosen(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) for y = 1, max(0, cos(x1, x2) - margin) for y = -1; vectors stand along the last axis."""
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        what = "1D target tensor expects 2D" if target.ndim else "0D target tensor expects 1D"
        raise RuntimeError(
            f"{what} input tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    dots = (input1 * input2).sum(-1)
    cos = dots / ((input1.square().sum(-1) + eps) * (input2.square().sum(-1) + eps)).sqrt()
    loss = (1 - cos).masked_fill(target != 1, 0) + (cos - margin).clamp_min(0).masked_fill(target != -1, 0)
    return reduced(loss, chosen(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin) for the p-norm d; swap: the smaller of d(a, n) and d(p, n) (Balntas et al.,
    "Learning Local Feature Descriptors with Triplets and Shallow Convolutional Neural Networks", 2016)."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = lambda a, b: strided.pairwise_distance(a, b, p, eps)
    reduction = chosen(size_average, reduce, reduction)
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(anchor, positive, negative, distance, margin, swap, reduction):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = strided.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with a distance of one's own."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = strided.pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)
