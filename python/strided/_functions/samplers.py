"""Samplers of the gamma, Dirichlet and binomial laws.

A device with loops for them draws one element after the other (csrc/backend/samplers.h): on the CPU PyTorch's numbers.
On others they are made of tensor operations here: rejected elements are drawn again until none is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .. import _C
from .._calls.overrides import overridable

if TYPE_CHECKING:
    from .._typing import Any, Callable, Generator, Tensor

__all__ = ["binomial"]


def _until_accepted(parameters: list[Tensor], draw: Callable[..., tuple[Tensor, Tensor]]) -> Tensor:
    """``draw(*parameters)`` gives candidates and which of them count; the others are drawn anew.  1-d tensors."""
    values, accepted = draw(*parameters)
    left = (~accepted).nonzero().squeeze(-1)
    while left.numel():
        again, accepted = draw(*(p[left] for p in parameters))
        values = values.index_put((left,), again)
        left = left[~accepted]
    return values


def standard_gamma(concentration: Tensor, generator: Any = None) -> Tensor:
    """Samples of the gamma distribution with rate 1, one for each concentration.

    Of Marsaglia and Tsang, "A simple method for generating gamma variables", 2000, in float64 (float32 gives float32).
    Below 1 the sample of a + 1 is multiplied by u^(1/a).  No sample is below the least normal number of the dtype, as
    densities may have no value at 0.  inf gives inf, NaN and what is negative give NaN.
    NotImplementedError unless the dtype is a floating-point one.
    """
    made = _C.functions["_gamma_numbers"](concentration.detach(), False, generator)
    if made is not None:
        return made
    samples = log_standard_gamma(concentration, generator).exp().to(concentration.dtype)
    return samples.clamp(min=strided.finfo(samples.dtype).tiny)


def log_standard_gamma(concentration: Tensor, generator: Any = None) -> Tensor:
    """The logarithm of :func:`standard_gamma`, in float64: finite where the sample itself is too small for any
    float."""
    if not concentration.is_floating_point():
        raise NotImplementedError(f"gamma samples of dtype {str(concentration.dtype)[6:]}")
    wide = concentration.detach().double()
    made = _C.functions["_gamma_numbers"](wide, True, generator)
    if made is not None:
        return made
    given = wide.reshape(-1)
    # No candidate is ever accepted for the others.
    a = strided.where((given > 0) & (given < strided.inf), given, 1.0)
    small = a < 1
    d = strided.where(small, a + 1, a) - 1 / 3

    def draw(d: Tensor) -> tuple[Tensor, Tensor]:
        x = strided.randn(d.shape, dtype=d.dtype, device=d.device, generator=generator)
        u = 1 - strided.rand(d.shape, dtype=d.dtype, device=d.device, generator=generator)
        v = (1 + x / (9 * d).sqrt()) ** 3
        inside = v > 0
        log_v = v.clamp(min=1e-300).log()
        return d.log() + log_v, inside & (u.log() < x * x / 2 + d * (1 - v + log_v))

    result = _until_accepted([d], draw)
    if small.any():
        u = 1 - strided.rand(a.shape, dtype=a.dtype, device=a.device, generator=generator)
        result = strided.where(small, result + u.log() / a, result)
    result = strided.where(given == 0, -strided.inf, result)
    result = strided.where(given == strided.inf, strided.inf, result)
    result = strided.where(given >= 0, result, strided.nan)
    return result.reshape(concentration.shape)


def dirichlet(concentration: Tensor, generator: Any = None) -> Tensor:
    """Samples of the Dirichlet distribution: gamma samples over their sum, along the last axis.  None is 0 or 1, where
    densities may have no value."""
    limits = strided.finfo(concentration.dtype)
    samples = strided.softmax(log_standard_gamma(concentration, generator), -1)
    return samples.clamp(limits.tiny, 1 - limits.eps / 2).to(concentration.dtype)


@overridable
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` independent trials succeed, each with probability ``prob``, for each pair of elements.

    count and prob are floating-point tensors of shapes that broadcast; the result has prob's dtype.  Elements with
    min(p, 1 - p) count < 10 count the geometric gaps between successes; the others are drawn by Hörmann, "The
    generation of binomial random variates", 1993, algorithm BTRS.  NaN in gives NaN.

    >>> strided.binomial(strided.tensor([0., 5.]), strided.tensor([0.5, 1.]))
    tensor([0., 5.])
    """
    if not (count.is_floating_point() and prob.is_floating_point()):
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {str(count.dtype)[6:]}")
    made = _C.functions["_binomial_numbers"](count.detach(), prob.detach(), generator)
    if made is not None:
        return made
    n, p = strided.broadcast_tensors(count.detach(), prob.detach())
    shape = n.shape
    n, p = n.double().reshape(-1), p.double().reshape(-1)
    result = strided.where((n > 0) & (p > 0), strided.where((p >= 1) | n.isinf(), n, 0.0), 0.0).to(n)
    result = strided.where(n.isnan() | p.isnan(), strided.nan, result)
    inside = (n > 0) & (n < strided.inf) & (p > 0) & (p < 1)
    q = strided.minimum(p, 1 - p)
    for chosen, sampler in ((inside & (n * q < 10), _by_gaps), (inside & (n * q >= 10), _btrs)):
        where = chosen.nonzero().squeeze(-1)
        if where.numel():
            drawn = sampler(n[where], q[where], generator)
            drawn = strided.where(p[where] > 0.5, n[where] - drawn, drawn)
            result = result.index_put((where,), drawn)
    return result.reshape(shape).to(prob.dtype)


def _by_gaps(n: Tensor, p: Tensor, generator: Any) -> Tensor:
    successes, position = strided.zeros_like(n), strided.zeros_like(n)
    log_q = strided.log1p(-p)
    running = strided.ones_like(n, dtype=strided.bool)
    while running.any():
        u = 1 - strided.rand(n.shape, dtype=n.dtype, device=n.device, generator=generator)
        position = position + strided.ceil(u.log() / log_q).clamp(min=1)
        running = running & (position <= n)
        successes = successes + running
    return successes


def _btrs(n: Tensor, p: Tensor, generator: Any) -> Tensor:
    def draw(n: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        u = strided.rand(n.shape, dtype=n.dtype, device=n.device, generator=generator) - 0.5
        v = 1 - strided.rand(n.shape, dtype=n.dtype, device=n.device, generator=generator)
        spread = (n * p * (1 - p)).sqrt()
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * p
        c = n * p + 0.5
        us = 0.5 - u.abs()
        k = strided.floor((2 * a / us + b) * u + c)
        possible = (k >= 0) & (k <= n)
        k = k.clamp(min=0).minimum(n)
        squeezed = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
        mode = strided.floor((n + 1) * p)
        alpha = (2.83 + 5.1 / b) * spread
        bound = (
            strided.lgamma(mode + 1) + strided.lgamma(n - mode + 1) - strided.lgamma(k + 1) - strided.lgamma(n - k + 1)
            + (k - mode) * (p.log() - strided.log1p(-p))
        )  # fmt: skip
        return k, possible & (squeezed | ((v * alpha / (a / (us * us) + b)).log() <= bound))

    return _until_accepted([n, p], draw)
