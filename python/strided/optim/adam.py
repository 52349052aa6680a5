"""Adam and its relatives (``strided.optim.adam``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .optimizer import Optimizer, at_least, check_betas, counted, number, on_device, one_element, root, zeros

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


def _decayed(param, grad, group, device=False):
    """The gradient with weight decay; a decoupled one shrinks the parameter instead."""
    decay = group["weight_decay"]
    if not decay:
        return grad
    if not group.get("decoupled_weight_decay"):
        return grad.add(param, alpha=decay)
    lr = group["lr"]
    param.mul_(1 - (lr if device else number(lr)) * decay)  # `number` waits for the device
    return grad


def _averaged(param, grad, state, group, device=False):
    """Averages of the gradient and of its square, and the number of the step."""
    if "exp_avg" not in state:
        state.setdefault("step", strided.zeros((), device=param.device) if device else strided.tensor(0.0))
        state["exp_avg"], state["exp_avg_sq"] = zeros(param), zeros(param)
    if device:
        state["step"] = state["step"].to(param.device)  # of a state that was kept elsewhere
        step = state["step"].add_(1).double()  # for powers near one
    else:
        step = counted(state, group)
    beta1, beta2 = group["betas"]
    if not device:
        beta1, beta2 = number(beta1), number(beta2)
    state["exp_avg"].lerp_(grad, 1 - beta1)
    state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    return step, beta1, beta2


def _check_tensors(lr, betas, refused):
    """ValueError for options that are tensors where PyTorch takes none, which its programs may rely on."""
    for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
        if not isinstance(value, strided.Tensor):
            continue
        if refused:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        one_element(**{name: value})
    if isinstance(betas[0], strided.Tensor) != isinstance(betas[1], strided.Tensor):
        raise ValueError("betas must be either both floats or both Tensors")


class Adam(Optimizer):
    """Steps divided by the root of the average of squared gradients (Kingma and Ba, "Adam: A Method for Stochastic
    Optimization", 2015).

    Args:
        betas: how slowly the averages of gradients and of squares follow. eps: is added to the root.
        amsgrad: the largest average so far (Reddi, Kale and Kumar, "On the Convergence of Adam and Beyond", 2018).
        decoupled_weight_decay: as AdamW. differentiable: steps are recorded. capturable: parameters of a CUDA device
            have their steps counted there, so that a CUDA graph can do them again. foreach, fused: accepted, without
            effect.
    """

    _counts_on_device = True
    _refuses_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        at_least(0.0, lr=lr, eps=eps)
        check_betas(betas)
        at_least(0.0, weight_decay=weight_decay)
        _check_tensors(lr, betas, bool(foreach) and not capturable)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        device = on_device(param, group)
        grad = _decayed(param, grad, group, device)
        step, beta1, beta2 = _averaged(param, grad, state, group, device)
        square = state["exp_avg_sq"]
        if group["amsgrad"]:
            most = state.get("max_exp_avg_sq")
            square = state["max_exp_avg_sq"] = (
                square.clone() if most is None else strided.maximum(most, square, out=most)
            )
        below = square.sqrt().div_(root(1 - beta2**step)).add_(group["eps"])
        if device:
            param.sub_(below.reciprocal_().mul_(state["exp_avg"]).mul_(group["lr"] / (1 - beta1**step)))
            return
        param.addcdiv_(state["exp_avg"], below, value=-number(group["lr"]) / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay does not go through the averages (Loshchilov and Hutter, "Decoupled Weight Decay
    Regularization", 2019)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # also those that Adam has saved, and those of before the option existed
            group["decoupled_weight_decay"] = True


class Adamax(Optimizer):
    """Adam with the largest gradient, slowly forgotten, in the place of the root (the same paper)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr, eps=eps)
        check_betas(betas)
        at_least(0.0, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if not state:
            state.update(step=strided.tensor(0.0), exp_avg=zeros(param), exp_inf=zeros(param))
        step, (beta1, beta2) = counted(state, group), map(number, group["betas"])
        grad = _decayed(param, grad, group)
        state["exp_avg"].lerp_(grad, 1 - beta1)
        largest = state["exp_inf"]
        strided.maximum(largest.mul_(beta2), grad.abs().add_(group["eps"]), out=largest)
        param.addcdiv_(state["exp_avg"], largest, value=-number(group["lr"]) / (1 - beta1**step))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, "Incorporating Nesterov Momentum into Adam", 2016)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr, eps=eps)
        check_betas(betas)
        at_least(0.0, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        if not state:
            state.update(step=strided.tensor(0.0), mu_product=strided.tensor(1.0))
        grad = _decayed(param, grad, group)
        step, beta1, beta2 = _averaged(param, grad, state, group)
        mu, after = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"] *= mu
        lr, product = number(group["lr"]), state["mu_product"]
        product = float(product) if isinstance(product, strided.Tensor) else product  # a gradient may be wanted of it
        below = state["exp_avg_sq"].div(1 - beta2**step).sqrt_().add_(group["eps"])
        param.addcdiv_(grad, below, value=-lr * (1 - mu) / (1 - product))
        param.addcdiv_(state["exp_avg"], below, value=-lr * after / (1 - product * after))


class RAdam(Optimizer):
    """Adam that first steps without division, until the variance of the averages is known (Liu et al., "On the Variance
    of the Adaptive Learning Rate and Beyond", 2020)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least(0.0, lr=lr, eps=eps)
        check_betas(betas)
        at_least(0.0, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, param, grad, state, group):
        grad = _decayed(param, grad, group)
        step, beta1, beta2 = _averaged(param, grad, state, group)
        left = 1 - beta2**step
        mean = state["exp_avg"] / (1 - beta1**step)
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / left
        if length > 5.0:
            top = (length - 4) * (length - 2) * longest
            factor = root(top / ((longest - 4) * (longest - 2) * length)) * root(left)
            mean = mean.mul_(factor).div_(state["exp_avg_sq"].sqrt().add_(group["eps"]))
        param.add_(mean, alpha=-number(group["lr"]))
