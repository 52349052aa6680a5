"""Optimizers with a rate for each element: Adagrad, Adadelta, RMSprop, Rprop; and averaged descent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from .optimizer import Optimizer, at_least, counted, number, zeros

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["ASGD", "Adadelta", "Adagrad", "RMSprop", "Rprop"]


def _decayed(param, grad, group):
    return grad.add(param, alpha=group["weight_decay"]) if group["weight_decay"] else grad


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of squared gradients (Duchi, Hazan and Singer, "Adaptive Subgradient Methods
    for Online Learning and Stochastic Optimization", 2011).

    Of a sparse gradient, sums and parameters change at the places that it holds."""

    _sparse = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        at_least(0.0, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay)
        at_least(0.0, initial_accumulator_value=initial_accumulator_value, eps=eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                start = group["initial_accumulator_value"]
                start = complex(start, start) if p.is_complex() else start
                self.state[p] = {"step": strided.tensor(0.0), "sum": strided.full_like(p.detach(), start)}

    def share_memory(self) -> None:
        """Does nothing: memory of this process is not shared."""

    def _update(self, param, grad, state, group):
        step = counted(state, group)
        rate = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        if grad.is_sparse:
            return self._update_places(param, grad, state, group, rate)
        grad = _decayed(param, grad, group)
        state["sum"].addcmul_(grad, grad)
        param.addcdiv_(grad, state["sum"].sqrt().add_(group["eps"]), value=-rate)

    def _update_places(self, param, grad, state, group, rate):
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        grad = grad.coalesce()
        at, values = grad._indices().unbind(0), grad._values()
        total = state["sum"][at].addcmul_(values, values)
        state["sum"].index_put_(at, total)
        param.index_put_(at, values / total.sqrt_().add_(group["eps"]) * -rate, accumulate=True)


class Adadelta(Optimizer):
    """Steps as long as the steps before, by gradients as large as the gradients before (Zeiler, "ADADELTA: An Adaptive
    Learning Rate Method", 2012)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        at_least(0.0, eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if not state:
            state.update(step=strided.tensor(0.0), square_avg=zeros(param), acc_delta=zeros(param))
        counted(state, group)
        grad, rho, eps = _decayed(param, grad, group), group["rho"], group["eps"]
        square, steps = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = steps.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-number(group["lr"]))


class RMSprop(Optimizer):
    """Steps divided by the root of the average of squared gradients (Tieleman and Hinton, "Lecture 6.5", 2012);
    centered: by their standard deviation (Graves, "Generating Sequences With Recurrent Neural Networks", 2013)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if not state:
            state.update(step=strided.tensor(0.0), square_avg=zeros(param))
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros(param)
            if group["centered"]:
                state["grad_avg"] = zeros(param)
        counted(state, group)
        grad, alpha, lr = _decayed(param, grad, group), group["alpha"], number(group["lr"])
        square = state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            below = square.addcmul(mean, mean, value=-1).sqrt_().add_(group["eps"])
        else:
            below = square.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            kept = state["momentum_buffer"]
            param.add_(kept.mul_(group["momentum"]).addcdiv_(grad, below), alpha=-lr)
        else:
            param.addcdiv_(grad, below, value=-lr)


class Rprop(Optimizer):
    """Steps that grow while the sign of the gradient stays, and shrink when it changes (Riedmiller and Braun, "A direct
    adaptive method for faster backpropagation learning", 1993)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if not state:
            size = strided.full_like(grad, number(group["lr"]))
            state.update(step=strided.tensor(0.0), prev=zeros(param), step_size=size)
        counted(state, group)
        (less, more), (least, most) = group["etas"], group["step_sizes"]
        sign = grad.mul(state["prev"]).sign()
        factor = strided.where(sign == 0, 1.0, sign)  # of grad's dtype, as two numbers would not be
        factor = strided.where(sign > 0, more, strided.where(sign < 0, less, factor))
        state["step_size"].mul_(factor).clamp_(least, most)
        grad = grad.masked_fill(sign < 0, 0)
        param.addcmul_(grad.sign(), state["step_size"], value=-1)
        state["prev"].copy_(grad)


class ASGD(Optimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, "Acceleration of Stochastic Approximation by
    Averaging", 1992): the average is kept as 'ax'."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        lr = number(group["lr"])
        if not state:
            state.update(step=strided.tensor(0.0), eta=strided.tensor(lr), mu=strided.tensor(1.0), ax=zeros(param))
        step = counted(state, group)
        grad, eta, mu = _decayed(param, grad, group), float(state["eta"]), float(state["mu"])
        param.mul_(1 - group["lambd"] * eta)
        param.add_(grad, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(param)
        else:
            state["ax"].add_(param.sub(state["ax"]).mul_(mu))
        # Copied, not replaced: a loaded state has the parameter's dtype.
        state["eta"].copy_(strided.tensor(lr / math.pow(1 + group["lambd"] * lr * step, group["alpha"])))
        state["mu"].copy_(strided.tensor(1 / max(1, step - group["t0"])))
