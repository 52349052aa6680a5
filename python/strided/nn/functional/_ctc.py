"""Connectionist temporal classification."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from ... import _C

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["ctc_loss"]


def _extended(targets, lengths, blank, longest):
    """Labels and blanks around each: (batch, 2 * longest + 1); and where two steps may be taken at once."""
    n = len(lengths)
    alike = lengths.count(longest) == n
    if targets.dim() == 1 and alike:
        targets = targets.reshape(n, longest)
    if targets.dim() == 2 and targets.size(1) >= longest:
        labels = targets.narrow(1, 0, longest)
        if not alike:
            ends = strided.tensor(lengths, device=targets.device)
            inside = strided.arange(longest, device=targets.device) < ends.unsqueeze(1)
            labels = strided.where(inside, labels, blank)
    else:
        labels = targets.new_full((n, longest), blank)  # of each sample, where targets are those of a batch
        at = 0
        for i, length in enumerate(lengths):
            labels[i, :length] = targets[i, :length] if targets.dim() == 2 else targets[at : at + length]
            at += length
    made = targets.new_full((n, 2 * longest + 1), blank)
    made[:, 1::2] = labels
    skips = strided.zeros_like(made, dtype=strided.bool)
    skips[:, 2:] = (made[:, 2:] != blank) & (made[:, 2:] != made[:, :-2])
    return made, skips


# The logarithm of 0. Where derivatives of second order are wanted it is finite, as logaddexp has none at -inf twice.
_ZERO, _ALMOST_ZERO = -math.inf, -1e30


def _steps(found, none, shut, forth):
    """Logarithms of the sums over ways of one step to each state: from itself, its neighbour, and the next but one,
    where `shut` is 0 and not `zero`. forth: from the states before, else from those behind. none: two of `zero`."""
    count = found.size(1)
    wide = strided.cat([none, found] if forth else [found, none], 1)
    one, two = wide.narrow(1, 1, count), wide.narrow(1, 0 if forth else 2, count)
    return found.logaddexp(one).logaddexp(two + shut)


def _shut(open, dtype, zero):
    return strided.where(open, 0.0, zero).to(dtype)


def _none(scores, zero):
    return strided.full((scores.size(1), 2), zero, dtype=scores.dtype, device=scores.device)


def _forward_sums(scores, skips, input_lengths, zero=_ZERO):
    """Logarithms of the sums over all ways to each state: (time, batch, states)."""
    rows, none, shut = scores.unbind(0), _none(scores, zero), _shut(skips, scores.dtype, zero)
    first = strided.arange(scores.size(2), device=scores.device) < 2
    sums = [strided.where(first, rows[0], zero)]
    shortest = int(input_lengths.min()) if len(input_lengths) else len(rows)
    for t in range(1, len(rows)):
        now = _steps(sums[-1], none, shut, True) + rows[t]
        sums.append(now if t < shortest else strided.where((t < input_lengths).unsqueeze(1), now, sums[-1]))
    return strided.stack(sums)


def _sums_of(scores, skips, input_lengths, target_lengths, backward):
    """_backward_sums, or _forward_sums: where the device has it, in one operation."""
    if type(scores) is strided.Tensor:
        made = _C.functions["_label_sums"](scores, skips, input_lengths, target_lengths, backward)
        if made is not None:
            return made
    if backward:
        return _backward_sums(scores, skips, input_lengths, target_lengths)
    return _forward_sums(scores, skips, input_lengths)


def _loss(sums, input_lengths, target_lengths, zero=_ZERO):
    """-log of the probability of each sample's labels."""
    last = (2 * target_lengths).unsqueeze(1)
    ends = sums[-1].gather(1, strided.cat([last, (last - 1).clamp(min=0)], 1))
    none = strided.stack([target_lengths < 0, target_lengths == 0], 1)
    made = -ends.masked_fill(none, zero).logsumexp(1)
    # No steps: only no labels fit.
    return strided.where(input_lengths == 0, strided.where(target_lengths == 0, 0.0, -zero), made).to(made)


class _CTC(strided.autograd.Function):
    """Graves et al., "Connectionist Temporal Classification", 2006; the gradient is that of the scores before
    log_softmax, as PyTorch has it: it is the same once it has gone through log_softmax."""

    @staticmethod
    def forward(ctx, log_probs, states, skips, input_lengths, target_lengths, zero_infinity):
        scores = log_probs.gather(2, states.expand(log_probs.size(0), *states.shape))
        sums = _sums_of(scores, skips, input_lengths, target_lengths, False)
        loss = _loss(sums, input_lengths, target_lengths)
        ctx.save_for_backward(log_probs, states, skips, input_lengths, target_lengths, sums, scores, loss)
        ctx.zero_infinity = zero_infinity
        return loss.masked_fill(loss == math.inf, 0) if zero_infinity else loss

    @staticmethod
    def backward(ctx, grad):
        log_probs, states, skips, input_lengths, target_lengths, sums, scores, loss = ctx.saved_tensors
        impossible = (loss == math.inf).view(1, -1, 1)
        if strided.is_grad_enabled():  # to be differentiated again: what forward computed has no record
            scores = log_probs.gather(2, states.expand(log_probs.size(0), *states.shape)).clamp(min=_ALMOST_ZERO)
            sums = _forward_sums(scores, skips, input_lengths, _ALMOST_ZERO)
            back = _backward_sums(scores, skips, input_lengths, target_lengths, _ALMOST_ZERO)
            possible = _loss(sums, input_lengths, target_lengths, _ALMOST_ZERO)
            loss = strided.where(loss == math.inf, 0.0 if ctx.zero_infinity else math.inf, possible)
        else:
            back = _sums_of(scores, skips, input_lengths, target_lengths, True)
        through = (sums + back - scores + loss.view(1, -1, 1)).exp()
        through = through.masked_fill(through.isnan() & ~impossible, 0)  # as in PyTorch, their gradient is NaN
        total = strided.zeros_like(log_probs).scatter_add(2, states.expand_as(scores), through)
        made = (log_probs.exp() - total) * grad.view(1, -1, 1)
        steps = strided.arange(len(log_probs), device=log_probs.device).unsqueeze(1)
        made = made.masked_fill((steps >= input_lengths).unsqueeze(2), 0)
        if ctx.zero_infinity:
            made = made.masked_fill(impossible, 0)
        return made, None, None, None, None, None


def _backward_sums(scores, skips, input_lengths, target_lengths, zero=_ZERO):
    """The same as _forward_sums from the end: both include the score of their own step."""
    start = strided.full_like(scores[0], zero)
    numbers = strided.arange(len(start), device=scores.device)
    start[numbers, 2 * target_lengths] = 0
    start[numbers, (2 * target_lengths - 1).clamp(min=0)] = 0
    open = strided.cat([skips[:, 2:], strided.zeros_like(skips[:, :2])], 1)
    rows, none, shut, sums = scores.unbind(0), _none(scores, zero), _shut(open, scores.dtype, zero), []
    shortest = int(input_lengths.min()) if len(input_lengths) else len(rows)
    for t in reversed(range(len(rows))):
        now = _steps(sums[-1], none, shut, False) if sums else start
        if t >= shortest - 1:  # some end here, and some before
            now = strided.where((input_lengths - 1 == t).unsqueeze(1), start, now)
            now = now.masked_fill((t >= input_lengths).unsqueeze(1), zero)
        sums.append(now + rows[t])
    return strided.stack(sums[::-1])


_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(given, name, log_probs):
    given = given if isinstance(given, strided.Tensor) else strided.tensor(given, device="cpu")
    if given.numel() and (given.dtype.is_floating_point or given.dtype.is_complex or given.dtype == strided.bool):
        raise RuntimeError(f"{name} must be integral")
    made = given.to(log_probs.device, strided.int64).reshape(-1)
    if len(made) != log_probs.size(1):
        raise RuntimeError(f"{name} must be of size batch_size")
    return made


def _check_range(numbers, name, most):
    if not numbers:
        return
    low, high = min(numbers), max(numbers)
    if low < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {low} {_WHERE}")
    if most is not None and high > most and name == "target_lengths":
        raise RuntimeError(
            f"Expected tensor to have size at least {high} at dimension 1, but got size {most} for argument #2 'targets' {_WHERE}"
        )
    if most is not None and high > most:
        raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {high} {_WHERE}")


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
    if not x.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    given, wanted = _lengths(input_lengths, "input_lengths", x), _lengths(target_lengths, "target_lengths", x)
    steps, numbers = given.tolist(), wanted.tolist()
    _check_range(steps, "input_lengths", len(x))
    if not 0 <= blank < x.size(2):
        raise RuntimeError("blank must be in label range")
    targets = targets.unsqueeze(0) if not batched and targets.dim() == 1 else targets
    if targets.dim() == 2 and len(targets) != x.size(1):
        raise RuntimeError(
            f"Expected tensor to have size {x.size(1)} at dimension 0, but got size {len(targets)} for argument #2 'targets' {_WHERE}"
        )
    _check_range(numbers, "target_lengths", targets.size(1) if targets.dim() == 2 else None)
    if targets.dim() == 1 and len(targets) != sum(numbers):
        raise RuntimeError(
            f"Expected tensor to have size {sum(numbers)} at dimension 0, but got size {len(targets)} for argument #2 'targets' {_WHERE}"
        )
    states, skips = _extended(targets.long(), numbers, blank, max([1, *numbers]))
    loss = _CTC.apply(x, states, skips, given, wanted, zero_infinity)
    if reduction == "mean":
        return (loss / wanted.clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss if batched else loss.squeeze(0)
