"""Stochastic gradient descent (``strided.optim.sgd``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .optimizer import Optimizer, at_least, number

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent with momentum (Sutskever et al., "On the importance of initialization and momentum in deep
    learning", 2013).

    Args:
        lr: the length of a step. momentum, dampening, nesterov: of the average of gradients.
        weight_decay: times the parameter is added to the gradient. maximize: steps go up.
        differentiable: steps are recorded. foreach, fused: accepted, without effect.

    >>> w = strided.nn.Parameter(strided.ones(1))
    >>> opt = strided.optim.SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    Parameter containing:
    tensor([0.], requires_grad=True)
    """

    _sparse = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        at_least(0.0, lr=lr)
        at_least(0.0, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum:
            kept = state.get("momentum_buffer")
            if kept is None:
                kept = state["momentum_buffer"] = grad.detach().clone()
            else:
                kept.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(kept, alpha=momentum) if group["nesterov"] else kept
        param.add_(grad, alpha=-number(group["lr"]))
