"""Gradients that are kept small (``strided.nn.utils.clip_grad``)."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


# PyTorch's names for what the functions here take, and how they are decorated.
_tensor_or_tensors = strided.Tensor | Iterable[strided.Tensor]


def _no_grad(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, recording nothing."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with strided.no_grad():
            return func(*args, **kwargs)

    return call


def _listed(tensors):
    return [tensors] if isinstance(tensors, strided.Tensor) else list(tensors)


@strided.no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors.

    >>> strided.nn.utils.get_total_norm([strided.tensor([3.]), strided.tensor([4.])])
    tensor(5.)
    """
    norm_type = float(norm_type)
    tensors = _listed(tensors)
    if not tensors:
        return strided.tensor(0.0)
    device = tensors[0].device
    norms = strided.stack([strided.linalg.vector_norm(t, norm_type).to(device) for t in tensors])
    total = strided.linalg.vector_norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@strided.no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales gradients by max_norm / total_norm in place, where that is below 1."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for p in _listed(parameters):
        if p.grad is not None:
            p.grad.mul_(factor.to(p.grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters in place so that the norm of all of them is at most max_norm.

    Returns the norm before.  RuntimeError if it is not finite and error_if_nonfinite is True.
    """
    is_generator = isinstance(parameters, Generator)
    parameters = _listed(parameters)
    if is_generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    grads = [p.grad for p in parameters if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """The old name of clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


@strided.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Keeps each element of the gradients within [-clip_value, clip_value], in place."""
    for p in _listed(parameters):
        if p.grad is not None:
            p.grad.clamp_(-float(clip_value), float(clip_value))
