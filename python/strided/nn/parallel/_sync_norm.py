"""Batch normalisation over the batches of all ranks (``nn.SyncBatchNorm``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ... import _C
from ...autograd import Function

if TYPE_CHECKING:
    from ..._typing import Any, Tensor


class _Sum(Function):
    """The sum over all ranks, which is on all of them: so a gradient is the sum of all gradients of it."""

    @staticmethod
    def forward(ctx: Any, comm: Any, t: Tensor) -> Tensor:
        ctx.comm = comm
        total = t.detach().clone()
        comm.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, _Sum.apply(ctx.comm, gradient)


def batch_norm(
    x: Tensor, mean: Tensor | None, var: Tensor | None, weight: Any, bias: Any, momentum: float, eps: float, comm: Any
) -> Tensor:
    """Normalises by mean and variance over all ranks, whose batches may differ in size, and updates the running ones.

    Two passes, as the variance of numbers far from zero needs them: the mean, then the squares of what is left.

    Raises:
        ValueError: there is one value in each channel, on all ranks together.
    """
    axes = [k for k in range(x.dim()) if k != 1]
    wide = x.to(_C.float32) if x.dtype in (_C.float16, _C.bfloat16) else x
    along = [1, -1] + [1] * (x.dim() - 2)
    own = strided.full((1,), x.numel() // max(x.size(1), 1), dtype=wide.dtype, device=x.device)
    sums = _Sum.apply(comm, strided.cat([wide.sum(axes), own]))
    count = sums[-1].detach()
    if count.item() <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.size()}")
    center = sums[:-1] / count
    rest = wide - center.view(along)
    spread = _Sum.apply(comm, (rest * rest).sum(axes)) / count
    with strided.no_grad():
        if mean is not None:
            mean.lerp_(center.detach().to(mean.dtype), momentum)
        if var is not None:
            var.lerp_((spread.detach() * (count / (count - 1))).to(var.dtype), momentum)
    y = rest * (spread + eps).rsqrt().view(along)
    if weight is not None:
        y = y * weight.view(along)
    if bias is not None:
        y = y + bias.view(along)
    return y.to(x.dtype)
