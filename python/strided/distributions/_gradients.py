"""Gradients of samples of gamma, beta and Dirichlet distributions with respect to their concentrations.

A sample x with the distribution function F(x; a) is a function of a once F(x; a) is kept: dx/da = -(dF/da) / (dF/dx)
(Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", NeurIPS 2018).  dF/da is an integral over the
density, from x to the end where less of it lies, so nothing cancels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Callable, Tensor

# Nodes s of the double exponential rule v = exp(s - exp(-s)) over 0 < v < inf (Takahasi and Mori, 1974), for integrands
# that decay exponentially on the scale of 1: v, and its weight.
_STEP = 1 / 16
_NODES = [(math.exp(s - math.exp(-s)), 1 + math.exp(-s)) for s in (k * _STEP for k in range(-68, 78))]
_AT_ONCE = 1 << 15  # elements: few samples are taken at many nodes in one operation


def _tail(scale: Tensor, integrand: Callable[[Tensor], Tensor]) -> Tensor:
    """The integral of a function over 0 ... inf that is gone after some multiples of scale."""
    total, some = strided.zeros_like(scale), max(1, _AT_ONCE // max(1, scale.numel()))
    nodes = scale.new_tensor(_NODES).view(-1, 2, *[1] * scale.dim())
    for v, slope in ((part[:, 0], part[:, 1]) for part in nodes.split(some)):
        total += (v * slope * integrand(scale * v)).sum(0)
    return total * scale * _STEP


def gamma_gradient(concentration: Tensor, value: Tensor) -> Tensor:
    """dx/da of samples x of the gamma distribution with concentration a and rate 1; computed in float64."""
    a, x = concentration.double(), value.double()
    x = x.clamp(min=2.3e-308)
    left = x < a  # towards 0, t = x exp(-v); else towards infinity, t = x exp(v)
    sign = strided.where(left, -1.0, 1.0).to(x)
    log_x, mean_log = x.log(), strided.digamma(a)

    def integrand(v: Tensor) -> Tensor:
        w = sign * v
        # density at t times t, over that at x times x; then what d/da of the logarithm of the density is at t
        return strided.exp(a * w - x * strided.expm1(w)) * (log_x + w - mean_log)

    # The exponent falls by |a - x| v at first, by x v^2 / 2 then, and by a v (left) or x exp(v) (right) in the end.
    scale = 1 / strided.where(left, strided.maximum(a - x, strided.minimum(a, x.sqrt())), (x - a) + x.sqrt())
    near = strided.where(left, scale, strided.minimum(scale, strided.log1p(20 / x)))
    return (sign * x * _tail(near, integrand)).to(value.dtype)


def beta_gradient(value: Tensor, concentration: Tensor, total: Tensor) -> Tensor:
    """dx/da of samples x of the beta distribution with concentrations a and total - a; computed in float64."""
    x, a = value.double(), concentration.double()
    b = total.double() - a
    x = x.clamp(min=2.3e-308, max=1 - 2.0**-53)
    log_x, log_y = x.log(), (-x).log1p()
    left = x * (a + b) < a
    sign = strided.where(left, -1.0, 1.0).to(x)
    logit, mean_log = log_x - log_y, strided.digamma(a) - strided.digamma(a + b)

    def log_of(u: Tensor) -> Tensor:  # of 1 / (1 + exp(-u))
        return strided.nn.functional.logsigmoid(u)

    def integrand(v: Tensor) -> Tensor:
        u = logit + sign * v
        log_t, log_s = log_of(u), log_of(-u)
        return strided.exp(a * (log_t - log_x) + b * (log_s - log_y)) * (log_t - mean_log)

    slope = (a * (1 - x) - b * x).abs()
    curve = ((a + b) * x * (1 - x)).sqrt()
    scale = 1 / strided.maximum(slope, strided.minimum(curve, strided.where(left, a, b)))
    return (sign * x * (1 - x) * _tail(scale, integrand)).to(value.dtype)


class _StandardGamma(strided.autograd.Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor, value: Tensor) -> Tensor:
        ctx.save_for_backward(concentration, value)
        return value.clone()

    @staticmethod
    @strided.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        concentration, value = ctx.saved_tensors
        return gradient * gamma_gradient(concentration, value), None


class _Dirichlet(strided.autograd.Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor, value: Tensor) -> Tensor:
        ctx.save_for_backward(concentration, value)
        return value.clone()

    @staticmethod
    @strided.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        # Each part moves as the beta distribution that it has by itself; the others share what it takes from them.
        concentration, value = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        moved = beta_gradient(value, concentration, total) / (1 - value).clamp(min=strided.finfo(value.dtype).tiny)
        return moved * (gradient - (value * gradient).sum(-1, True)), None


def with_gamma_gradient(concentration: Tensor, value: Tensor) -> Tensor:
    """The samples, as a function of the concentration."""
    return _StandardGamma.apply(concentration, value)


def with_dirichlet_gradient(concentration: Tensor, value: Tensor) -> Tensor:
    """The samples, as a function of the concentrations."""
    return _Dirichlet.apply(concentration, value)
