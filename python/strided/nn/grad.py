"""Gradients of convolutions as functions of their own (``strided.nn.grad``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..autograd._leaf import leaf_of
from . import functional as F

if TYPE_CHECKING:
    from .._typing import Callable, Sequence, Sizes, Tensor

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight",
]  # fmt: skip


def _transposed(f, given, of, grad_output):
    """What the linear function sends back for ``grad_output``: with a graph if that or ``given`` is differentiated."""
    graph = strided.is_grad_enabled() and (given.requires_grad or grad_output.requires_grad)
    with strided.enable_grad():
        of = leaf_of(of)
        (found,) = strided.autograd.grad(f(of), of, grad_output, create_graph=graph)
    return found


def _of_input(conv: Callable[..., Tensor], name: str, axes: int) -> Callable[..., Tensor]:
    def conv_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        zeros = grad_output.new_zeros(tuple(input_size))
        return _transposed(
            lambda x: conv(x, weight, None, stride, padding, dilation, groups), weight, zeros, grad_output
        )

    conv_input.__name__ = conv_input.__qualname__ = f"{name}_input"
    conv_input.__doc__ = f"""The gradient of ``{name}`` for its input.

    Args:
        input_size: shape of the input, (N, C, ...) with {axes} axes of space. weight: (O, C / groups, ...).
        grad_output: gradient of the result, (N, O, ...). stride, padding, dilation, groups: as for ``{name}``.

    Returns:
        A tensor of shape ``input_size`` and the dtype of ``grad_output``.

    >>> strided.nn.grad.{name}_input({(1, 1) + (3,) * axes}, strided.ones({(1, 1) + (2,) * axes}), strided.ones({(1, 1) + (2,) * axes})).shape
    torch.Size({[1, 1] + [3] * axes})
    """
    return conv_input


def _of_weight(conv: Callable[..., Tensor], name: str, axes: int) -> Callable[..., Tensor]:
    def conv_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        zeros = grad_output.new_zeros(tuple(weight_size))
        return _transposed(lambda w: conv(input, w, None, stride, padding, dilation, groups), input, zeros, grad_output)

    conv_weight.__name__ = conv_weight.__qualname__ = f"{name}_weight"
    conv_weight.__doc__ = f"""The gradient of ``{name}`` for its weight.

    Args:
        input: (N, C, ...) with {axes} axes of space. weight_size: shape of the weight, (O, C / groups, ...).
        grad_output: gradient of the result, (N, O, ...). stride, padding, dilation, groups: as for ``{name}``.

    Returns:
        A tensor of shape ``weight_size`` and the dtype of ``grad_output``.

    >>> strided.nn.grad.{name}_weight(strided.ones({(1, 1) + (3,) * axes}), {(1, 1) + (2,) * axes}, strided.ones({(1, 1) + (2,) * axes})).shape
    torch.Size({[1, 1] + [2] * axes})
    """
    return conv_weight


conv1d_input, conv1d_weight = _of_input(F.conv1d, "conv1d", 1), _of_weight(F.conv1d, "conv1d", 1)
conv2d_input, conv2d_weight = _of_input(F.conv2d, "conv2d", 2), _of_weight(F.conv2d, "conv2d", 2)
conv3d_input, conv3d_weight = _of_input(F.conv3d, "conv3d", 3), _of_weight(F.conv3d, "conv3d", 3)
