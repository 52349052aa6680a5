"""Adam for sparse gradients (``strided.optim.sparse_adam``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .optimizer import Optimizer, number, one_element, zeros

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015) of the elements that have a gradient.

    Gradients are tensors of layout sparse_coo, as ``Embedding(sparse=True)`` gives them. Averages and parameters change
    at the places that a gradient holds, and nowhere else; memory traffic goes with the number of these places.

    Args:
        params: dense parameters. lr: the length of a step. maximize: steps go up.
        betas: how slowly the averages of gradients and of squares follow. eps: is added to the root.

    ValueError for sparse parameters and for options out of range; RuntimeError for dense gradients.

    >>> table = strided.nn.Embedding(10, 3, sparse=True)
    >>> opt = strided.optim.SparseAdam(table.parameters())
    >>> table(strided.tensor([1, 4])).sum().backward()
    >>> opt.step()
    """

    _sparse = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        one_element(lr=lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not 0.0 < value:
                raise ValueError(f"Invalid {name}: {value}")
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        params_of = [(g, i, p) for g, group in enumerate(self.param_groups) for i, p in enumerate(group["params"])]
        if sparse := [[g, i] for g, i, p in params_of if p.is_sparse]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if numbers := [[g, i] for g, i, p in params_of if p.is_complex()]:
            raise ValueError(f"Complex params at indices {numbers}: SparseAdam does not support complex parameters")

    def _update(self, param, grad, state, group):
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        if "exp_avg" not in state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = zeros(param), zeros(param)
        state["step"] += 1
        grad = grad.coalesce()
        at, values = grad._indices().unbind(0), grad._values()
        if not len(values):
            return
        beta1, beta2 = (number(b) for b in group["betas"])
        average = state["exp_avg"][at].lerp_(values, 1 - beta1)
        square = state["exp_avg_sq"][at].lerp_(values * values, 1 - beta2)
        state["exp_avg"].index_put_(at, average)
        state["exp_avg_sq"].index_put_(at, square)
        first, second = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        length = number(group["lr"]) * math.sqrt(second) / first
        step = average.div_(square.sqrt_().add_(group["eps"])).mul_(-length)
        param.index_put_(at, step, accumulate=True)
