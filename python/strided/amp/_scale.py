"""The two steps of gradient scaling as functions, which scalers of other libraries call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor

_f = _C.functions

__all__ = ["_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"]


def _single(name: str, t: Tensor) -> None:
    if t.numel() != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")


def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies each tensor by inv_scale in place, and sets found_inf to 1 if one of them has an infinity or NaN.

    Args:
        found_inf, inv_scale: of one element; RuntimeError otherwise.

    >>> grads, found = [strided.tensor([2.0, float("inf")])], strided.tensor(0.0)
    >>> strided._amp_foreach_non_finite_check_and_unscale_(grads, found, strided.tensor(0.5))
    >>> grads, found
    ([tensor([1., inf])], tensor(1.))
    """
    _single("inv_scale", inv_scale)
    _single("found_inf", found_inf)
    # Nothing here looks at the numbers, which would wait for a device once for each tensor.
    finite = _f["empty"]((len(self),), dtype=_C.bool, device=found_inf.device)
    for x, good in zip(self, finite.unbind()):
        if hasattr(x, "full_tensor"):  # sharded: all ranks learn of it
            good.copy_(x.isfinite().all().full_tensor())
        else:
            _f["all"](x.isfinite(), out=good)
        x.mul_(inv_scale.reshape(()))  # of no axes: it is not rounded to 16 bits
    found_inf.masked_fill_(finite.all().logical_not_(), 1)


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Changes a scale, in place, by whether infinities were found; returns it.

    Args:
        self, found_inf: of one element.
        growth_tracker: int32, of one element: how many times in a row none was found, counted here.
        scale_growth_factor: what the scale is multiplied by after growth_interval times, unless it would overflow.
        scale_backoff_factor: what it is multiplied by when one was found.

    RuntimeError for tensors of another kind.

    >>> scale, count = strided.tensor(8.0), strided.tensor(0, dtype=strided.int32)
    >>> strided._amp_update_scale_(scale, count, strided.tensor(1.0), 2.0, 0.5, 10)
    tensor(4.)
    """
    for name, t in (("current_scale", self), ("growth_tracker", growth_tracker), ("found_inf", found_inf)):
        _single(name, t)
    if growth_tracker.dtype != _C.int32:
        raise RuntimeError("growth_tracker must be an int tensor.")
    found, scale, count = found_inf.reshape(()) != 0, self.reshape(()), growth_tracker.reshape(()) + 1
    grows = (count >= growth_interval) & ~found
    grown = scale * scale_growth_factor
    kept = _f["where"](grows & grown.isfinite(), grown, scale)
    self.copy_(_f["where"](found, scale * scale_backoff_factor, kept).reshape(self.shape))
    growth_tracker.copy_(count.masked_fill_(found | grows, 0).reshape(growth_tracker.shape))
    return self
