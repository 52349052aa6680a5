"""Batch normalisation taken into the weights before it (``strided.nn.utils.fusion``)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import strided

from ..parameter import Parameter

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(w, b, mean, var, eps, gamma, beta, shape):
    scale = (gamma if gamma is not None else strided.ones_like(mean)) * strided.rsqrt(var + eps)
    shift = beta if beta is not None else strided.zeros_like(mean)
    b = b if b is not None else strided.zeros_like(mean)
    made = Parameter((w * scale.reshape(shape)).to(w.dtype), w.requires_grad)
    return made, Parameter((b - mean) * scale + shift, b.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does the batch normalisation behind it too."""
    shape = [1, -1] if transpose else [-1, 1]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does the batch normalisation behind it too; both must be in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(conv)
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return made


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that does the batch normalisation behind it too."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that does the batch normalisation behind it too; both must be in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(linear)
    made.weight, made.bias = fuse_linear_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return made
