"""Optimizers that look at matrices as such: Adafactor and Muon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from .optimizer import Optimizer, at_least, counted, number, one_element, zeros

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["Adafactor", "Muon"]


class Adafactor(Optimizer):
    """Adam that keeps averages of squared gradients for rows and columns only (Shazeer and Stern, "Adafactor: Adaptive
    Learning Rates with Sublinear Memory Cost", 2018)."""

    _complex = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        one_element(lr=lr)
        if number(lr) < 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and eps[0] < 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if eps[1] < 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if d < 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if not state:
            state["step"] = strided.tensor(0.0)
            if grad.dim() > 1:
                state["row_var"] = grad.new_zeros([*grad.shape[:-1], 1])
                state["col_var"] = grad.new_zeros([*grad.shape[:-2], 1, grad.shape[-1]])
            else:
                state["variance"] = zeros(grad)
        step, lr = counted(state, group), number(group["lr"])
        eps1, eps2 = group["eps"]
        eps1 = strided.finfo(param.dtype).eps if eps1 is None else eps1
        weight = step ** group["beta2_decay"]
        rho = min(lr, 1 / step**0.5)
        alpha = max(eps2, float(param.norm(2)) / param.numel() ** 0.5) * rho
        if group["weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
            columns.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
            estimate = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad.square(), weight)
            estimate = state["variance"].clone()
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        clip = max(1.0, float(update.norm(2)) / (update.numel() ** 0.5 * group["d"]))
        param.add_(update, alpha=-alpha / clip)


def _orthogonal(grad, coefficients, steps, eps):
    """Nearly the orthogonal factor of the polar decomposition, by a Newton-Schulz iteration of degree 5."""
    a, b, c = coefficients
    x = grad.bfloat16()
    tall = grad.size(0) > grad.size(1)
    x = x.t() if tall else x
    x = x.div(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.t()
        x = strided.addmm(x, strided.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x


class Muon(Optimizer):
    """Momentum whose matrices are made orthogonal (Jordan et al., "Muon: An optimizer for hidden layers in neural
    networks", 2024); for matrices only."""

    _complex = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        one_element(lr=lr)
        if number(lr) < 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if momentum < 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        at_least(0.0, eps=eps)
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def _update(self, param, grad, state, group):
        kept = state.setdefault("momentum_buffer", None)
        if kept is None:
            kept = state["momentum_buffer"] = zeros(grad)
        kept.lerp_(grad, 1 - group["momentum"])
        update = grad.lerp(kept, group["momentum"]) if group["nesterov"] else kept
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr, (rows, columns) = group["lr"], param.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            scaled = lr * 0.2 * math.sqrt(max(rows, columns))
        else:
            scaled = lr * math.sqrt(max(1, rows / columns))
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update.to(param.dtype), alpha=-scaled)
