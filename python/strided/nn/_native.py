"""The normalisations and dropout with all that their gradients read, under the names that PyTorch's kernels have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .. import _C
from .._calls.out import into
from .functional._normalization import _affine, _batch_norm, _layer_norm, _wide

if TYPE_CHECKING:
    from .._typing import DType, Sequence, Tensor

__all__ = ["native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm"]

_int_mm = _C.functions["_int_mm"]


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``nn.functional.layer_norm``, the means, and 1 / sqrt(var + eps).

    >>> strided.native_layer_norm(strided.tensor([[1., 3.]]), [2], None, None, 0.)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    made, *rest = _layer_norm(input, normalized_shape, weight, bias, eps)
    return made, *(t.to(input.dtype) for t in rest)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``nn.functional.group_norm``, the means (N, group), and 1 / sqrt(var + eps), which have gradients as well.

    Input has N * C * HxW elements.
    """
    if group <= 0 or C % group:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and num_groups={group}"
        )
    groups = _wide(input).reshape(N, group, C // group * HxW)
    made, mean, scale = _layer_norm(groups, groups.shape[2:], None, None, eps)
    if groups.requires_grad and strided.is_grad_enabled():
        var, mean = strided.var_mean(groups, 2, correction=0)
        scale = (var + eps).rsqrt()
    factors = (None if t is None else _wide(t).reshape(C, 1) for t in (weight, bias))
    made = _affine(made.reshape(N, C, HxW), *factors).reshape(input.shape).to(input.dtype)
    return made, mean.reshape(N, group).to(input.dtype), scale.reshape(N, group).to(input.dtype)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``nn.functional.batch_norm``, the means of the batch, and 1 / sqrt(var + eps); these two are empty if not
    training."""
    made = _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    dtype = next(t.dtype for t in (weight, running_mean, input) if t is not None)
    if not training:
        empty = (strided.empty(0, dtype=dtype, device=input.device) for _ in range(2))
        return into("native_batch_norm", (made, *empty), out)
    dims = [d for d in range(input.ndim) if d != 1]
    var, mean = strided.var_mean(_wide(input.detach()), dims, correction=0)
    return into("native_batch_norm", (made, mean.to(dtype), (var + eps).rsqrt().to(dtype)), out)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and the mask of what is kept."""
    if train is False or input.numel() == 0:
        return input.clone(), strided.ones_like(input, dtype=strided.bool)
    mask = strided.empty_like(input, dtype=strided.bool).bernoulli_(1 - p)
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def _addmm_activation(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    use_gelu: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """``relu(addmm(...))``, or gelu of it."""
    made = strided.addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return into("_addmm_activation", strided.nn.functional.gelu(made) if use_gelu else made.relu(), out)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """The gradient of softmax, of its result."""
    grad, output = _wide(grad_output), _wide(output)
    return ((grad - (grad * output).sum(dim, keepdim=True)) * output).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """The gradient of log_softmax, of its result."""
    grad = _wide(grad_output)
    return (grad - _wide(output).exp() * grad.sum(dim, keepdim=True)).to(input_dtype)
