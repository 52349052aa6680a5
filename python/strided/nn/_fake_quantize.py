"""Quantisation that is only acted out: floats that are rounded to what a few whole numbers can stand for.

Networks are trained with it, so that they bear being quantised. The gradient passes where no value was cut off, as if
nothing had been rounded (Bengio, Leonard, Courville, "Estimating or Propagating Gradients Through Stochastic Neurons
for Conditional Computation", 2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


class _Quantised(strided.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, low, high):
        wide = x.float() if x.dtype in (strided.float16, strided.bfloat16) else x
        places = wide * scale.reciprocal()
        if zero_point.is_floating_point():
            places = (places + zero_point).round()
        else:
            places = places.round() + zero_point
        inside = (places >= low) & (places <= high)
        ctx.save_for_backward(inside)
        places = strided.where(places.isnan(), low, places.clamp(low, high))  # PyTorch takes NaN for the least number
        steps = places - zero_point
        return ((steps if scale.ndim else steps.float()) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside.to(grad.dtype), None, None, None, None


def _check(name, x, quant_min, quant_max, zero_point):
    if not x.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {x.dtype}')
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    if bool(((zero_point < quant_min) | (zero_point > quant_max)).any()):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale.

    Args:
        scale, zero_point: numbers, or tensors of one element. RuntimeError for a zero_point beyond the bounds.

    >>> x = strided.tensor([0.26, -3.0, 0.04])
    >>> strided.fake_quantize_per_tensor_affine(x, 0.1, 10, 0, 255)
    tensor([ 0.3000, -1.0000,  0.0000])
    """
    of = {"device": input.device}
    scale = scale.detach() if isinstance(scale, strided.Tensor) else strided.tensor(scale, dtype=strided.float32, **of)
    point = zero_point.detach() if isinstance(zero_point, strided.Tensor) else strided.tensor(zero_point, **of)
    _check("fake_quantize_per_tensor_affine", input, quant_min, quant_max, point)
    made: Any = _Quantised.apply(input, scale.reshape(()), point.reshape(()), quant_min, quant_max)
    return made


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The same with a scale and a zero point for each element of an axis.

    Args:
        scale: (channels,), float32 or bfloat16. zero_point: (channels,), int32 or floating point.

    >>> x = strided.tensor([[0.26, -3.0], [0.26, -3.0]])
    >>> strided.fake_quantize_per_channel_affine(x, strided.tensor([0.1, 0.5]), strided.tensor([10., 0.]), 0, 0, 255)
    tensor([[ 0.3000, -1.0000],
            [ 0.5000,  0.0000]])
    """
    if scale.dtype not in (strided.float32, strided.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype}")
    if zero_point.dtype not in (strided.int32, strided.float32, strided.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype}")
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError("scale and zero-point should be 1-D tensors")
    if not 0 <= axis < input.ndim:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if not len(scale) == len(zero_point) == input.size(axis):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check("fake_quantize_per_channel_affine", input, quant_min, quant_max, zero_point)
    shape = [-1 if i == axis else 1 for i in range(input.ndim)]
    steps = (scale.detach().float().view(shape), zero_point.detach().view(shape))
    made: Any = _Quantised.apply(input, *steps, quant_min, quant_max)
    return made
