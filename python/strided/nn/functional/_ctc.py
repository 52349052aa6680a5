"""Connectionist temporal classification."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["ctc_loss"]


def _extended(targets, lengths, blank, longest):
    """Labels and blanks around each: (batch, 2 * longest + 1); and where two steps may be taken at once."""
    n = len(lengths)
    labels = strided.full((n, longest), blank, dtype=strided.int64, device=targets.device)
    at = 0
    for i, length in enumerate(lengths):
        labels[i, :length] = targets[i, :length] if targets.dim() == 2 else targets[at : at + length]
        at += length
    made = strided.full((n, 2 * longest + 1), blank, dtype=strided.int64, device=targets.device)
    made[:, 1::2] = labels
    skips = strided.zeros_like(made, dtype=strided.bool)
    skips[:, 2:] = (made[:, 2:] != blank) & (made[:, 2:] != made[:, :-2])
    return made, skips


def _shifted(alpha, count):
    made = strided.full_like(alpha, -math.inf)
    made[:, count:] = alpha[:, : alpha.size(1) - count]
    return made


def _forward_sums(scores, skips, input_lengths):
    """Logarithms of the sums over all ways to each state: (time, batch, states)."""
    sums = strided.full_like(scores, -math.inf)
    sums[0, :, :2] = scores[0, :, :2]
    for t in range(1, len(scores)):
        before = sums[t - 1]
        two = _shifted(before, 2).masked_fill(~skips, -math.inf)
        now = strided.stack([before, _shifted(before, 1), two]).logsumexp(0) + scores[t]
        sums[t] = strided.where((t < input_lengths).unsqueeze(1), now, before)
    return sums


class _CTC(strided.autograd.Function):
    """Graves et al., "Connectionist Temporal Classification", 2006; the gradient is that of the scores before
    log_softmax, as PyTorch has it: it is the same once it has gone through log_softmax."""

    @staticmethod
    def forward(ctx, log_probs, states, skips, input_lengths, target_lengths, zero_infinity):
        scores = log_probs.gather(2, states.expand(log_probs.size(0), *states.shape))
        sums = _forward_sums(scores, skips, input_lengths)
        last = (2 * target_lengths).unsqueeze(1)
        ends = sums[-1].gather(1, strided.cat([last, (last - 1).clamp(min=0)], 1))
        ends[:, 1] = ends[:, 1].masked_fill(target_lengths == 0, -math.inf)
        loss = -ends.logsumexp(1)
        ctx.save_for_backward(log_probs, states, skips, input_lengths, target_lengths, sums, scores, loss)
        ctx.zero_infinity = zero_infinity
        return loss.masked_fill(loss == math.inf, 0) if zero_infinity else loss

    @staticmethod
    def backward(ctx, grad):
        log_probs, states, skips, input_lengths, target_lengths, sums, scores, loss = ctx.saved_tensors
        back = _backward_sums(scores, skips, input_lengths, target_lengths)
        through = (sums + back - scores + loss.view(1, -1, 1)).exp()
        through = strided.where(through.isnan(), 0.0, through)
        total = strided.zeros_like(log_probs).scatter_add(2, states.expand_as(scores), through)
        made = (log_probs.exp() - total) * grad.view(1, -1, 1)
        steps = strided.arange(len(log_probs), device=log_probs.device).unsqueeze(1)
        made = made.masked_fill((steps >= input_lengths).unsqueeze(2), 0)
        if ctx.zero_infinity:
            made = made.masked_fill((loss == math.inf).view(1, -1, 1), 0)
        return made, None, None, None, None, None


def _backward_sums(scores, skips, input_lengths, target_lengths):
    """The same as _forward_sums from the end: both include the score of their own step."""
    n = scores.size(1)
    sums = strided.full_like(scores, -math.inf)
    start = strided.full_like(scores[0], -math.inf)
    rows = strided.arange(n, device=scores.device)
    start[rows, 2 * target_lengths] = 0
    start[rows, (2 * target_lengths - 1).clamp(min=0)] = 0
    after, may = start, None
    flip = lambda x: x.flip(1)
    for t in range(len(scores) - 1, -1, -1):
        is_last, is_before = (input_lengths - 1 == t).unsqueeze(1), (t < input_lengths - 1).unsqueeze(1)
        if may is None:
            may = flip(_shifted(flip(skips).to(scores.dtype), 2)) > 0
        two = flip(_shifted(flip(after), 2)).masked_fill(~may, -math.inf)
        on = strided.stack([after, flip(_shifted(flip(after), 1)), two]).logsumexp(0)
        now = strided.where(is_last, start, on) + scores[t]
        sums[t] = now.masked_fill(~(is_last | is_before), -math.inf)
        after = strided.where(is_last | is_before, now, after)
    return sums


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability of label sequences, over all ways to stretch them with blanks.

    Args:
        log_probs: (time, batch, classes), or (time, classes). targets: (batch, longest), or all labels in one axis.
        input_lengths, target_lengths: for each of the batch. reduction: 'mean' divides by the target lengths first.
        zero_infinity: sequences that do not fit count as 0.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    batched = log_probs.dim() == 3
    x = log_probs if batched else log_probs.unsqueeze(1)
    if x.dim() != 3:
        raise RuntimeError(f"ctc_loss: log_probs must have 2 or 3 dimensions, got {log_probs.dim()}")
    as_lengths = lambda v: strided.as_tensor(v, dtype=strided.int64, device=x.device).reshape(-1)
    given, wanted = as_lengths(input_lengths), as_lengths(target_lengths)
    if len(given) != x.size(1) or len(wanted) != x.size(1):
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(given) and (int(given.max()) > len(x) or int(given.min()) < 0):
        raise RuntimeError(
            f"Expected input_lengths to have value at most {len(x)}, but got value {int(given.max())} (while checking arguments for ctc_loss_cpu)"
        )
    if not 0 <= blank < x.size(2):
        raise RuntimeError("blank must be in label range")
    longest = max(int(wanted.max()), 1) if len(wanted) else 1
    targets = targets.unsqueeze(0) if not batched and targets.dim() == 1 else targets
    states, skips = _extended(targets.long(), wanted.tolist(), blank, longest)
    loss = _CTC.apply(x, states, skips, given, wanted, zero_infinity)
    if reduction == "mean":
        return (loss / wanted.clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss if batched else loss.squeeze(0)
