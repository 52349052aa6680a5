"""Normalisation: of batches, layers, groups, instances; and of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from ... import _C
from ..._C import Tensor
from ..._calls.arguments import check_tensor
from ..._calls.overrides import shown_as
from ._compiled import compiled
from ._order import in_order_of

if TYPE_CHECKING:
    from ..._typing import Sequence

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm",
]  # fmt: skip


_native_layer_norm, _normalise_channels, _normalise_rows = (
    _C.functions[f"_{name}"] for name in ("native_layer_norm", "normalise_channels", "normalise_rows")
)


def _standardise(x, dims, eps):
    """(x - mean) / sqrt(var + eps) over some axes, 1 / sqrt(var + eps), the mean, the variance; of tensors with values
    of their own (vmapped, sharded), whose operations record themselves."""
    var, mean = strided.var_mean(x, dims, correction=0, keepdim=True)
    scale = (var + eps).rsqrt()
    return (x - mean) * scale, scale, mean, var


def _is_plain(*tensors):
    """Whether these tensors, or None, are of no class with values of its own."""
    return not any(hasattr(type(t), "__strided_function__") for t in tensors)


def _wide(x):
    """16-bit floats as float32, in which statistics are computed."""
    return x.float() if x.dtype in (strided.float16, strided.bfloat16) else x


def _affine(x, weight, bias):
    if weight is None:
        return x if bias is None else x + bias
    return x * weight if bias is None else strided.addcmul(bias, x, weight)


def _channelwise(t, ndim):
    return None if t is None else _wide(t).reshape([-1 if i == 1 else 1 for i in range(ndim)])


def _check_dtypes(x, *parameters):
    """Parameters have the dtype of x; float32 serves 16-bit floats as well."""
    for t in parameters:
        if t is not None and t.dtype != x.dtype and (t.dtype != strided.float32 or x.dtype.itemsize >= 4):
            what = "all inputs must share same datatype."
            if t.dtype != strided.float32:
                what = "expect parameter to have scalar type of Float"
            raise RuntimeError(f"mixed dtype (CPU): {what}")


def _check_size(size):
    per_channel = 1
    for i, n in enumerate(size):
        per_channel *= 1 if i == 1 else n
    if per_channel == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {strided.Size(size)}")


@compiled
@shown_as("NativeBatchNormBackward0")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel (dimension 1) with mean 0 and variance 1, then scaled and shifted (Ioffe and Szegedy, "Batch
    Normalization", 2015).

    In training by the statistics of the batch, which running_mean and running_var follow; else by these two.
    """
    check_tensor("batch_norm", "input", 1, input)
    if training:
        _check_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps):
    if _is_plain(input, running_mean, running_var, weight, bias):
        return _normalise_channels(input, running_mean, running_var, weight, bias, bool(training), momentum, eps)
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got shape {list(input.shape)}")
    x, ndim = _wide(input), input.ndim
    w, b = _channelwise(weight, ndim), _channelwise(bias, ndim)
    if training:
        dims = [d for d in range(ndim) if d != 1]
        made, _, mean, var = _standardise(x, dims, eps)
        made = _affine(made, w, b)
        count = x.numel() // max(input.size(1), 1)
        with strided.no_grad():
            if running_mean is not None and count:  # an empty batch has no statistics
                running_mean.lerp_(mean.detach().reshape(-1).to(running_mean.dtype), momentum)
            if running_var is not None and count:
                unbiased = var.detach().reshape(-1) * (count / max(count - 1, 1))
                running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        mean, var = _channelwise(running_mean, ndim), _channelwise(running_var, ndim)
        scale = (var + eps).rsqrt()
        scale = scale if w is None else scale * w
        made = strided.addcmul(-mean * scale if b is None else b - mean * scale, x, scale)
    return made.to(input.dtype)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """batch_norm of each instance by itself (Ulyanov et al., "Instance Normalization", 2016)."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _check_dtypes(input, weight, bias)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    n, c = input.shape[:2]
    for kind, t in (("weight", weight), ("bias", bias)):  # in PyTorch's words, which repeats them for each instance
        if t is not None and t.dim() > 1:
            raise RuntimeError(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
            )
        if t is not None and t.numel() != c:
            raise RuntimeError(f"{kind} should contain {n * c} elements not {n * t.numel()}")
    means, variances = [None if t is None else t.repeat(n) for t in (running_mean, running_var)]
    flat = input.reshape(1, n * c, *input.shape[2:])
    made = _batch_norm(flat, means, variances, None, None, True, momentum, eps).view(input.shape)
    for running, many in ((running_mean, means), (running_var, variances)):
        if running is not None:
            with strided.no_grad():
                running.copy_(many.view(n, c).mean(0))
    if weight is None and bias is None:
        return made
    made = _affine(_wide(made), _channelwise(weight, input.ndim), _channelwise(bias, input.ndim)).to(input.dtype)
    return _C._shown_as("ViewBackward0", made, input)


def _last_axes(input, normalized_shape, **tensors):
    shape = tuple(normalized_shape)
    if len(shape) < 1:
        raise RuntimeError(
            f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = {list(shape)}"
        )
    for kind, t in tensors.items():
        if t is not None and tuple(t.shape) != shape:
            raise RuntimeError(
                f"Expected {kind} to be of same shape as normalized_shape, but got {kind} of shape {list(t.shape)} and normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape:
        inside = ", ".join(str(n) for n in shape)
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {inside}], but got input of size{list(input.shape)}"
        )
    return list(range(-len(shape), 0))


@compiled
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last axes, which have normalized_shape; then scaled and shifted (Ba, Kiros and
    Hinton, "Layer Normalization", 2016).

    >>> strided.nn.functional.layer_norm(strided.tensor([[1., 3.]]), [2])
    tensor([[-1.0000,  1.0000]])
    """
    check_tensor("layer_norm", "input", 1, input)
    return _layer_norm(input, normalized_shape, weight, bias, eps)[0]


def _layer_norm(input, normalized_shape, weight, bias, eps):
    """The result, the means and 1 / sqrt(var + eps); these two as they were computed, with axes of size 1."""
    if _is_plain(input, weight, bias):
        return _native_layer_norm(input, normalized_shape, weight, bias, eps)
    dims = _last_axes(input, normalized_shape, weight=weight, bias=bias)
    made, scale, mean, _ = _standardise(_wide(input), dims, eps)
    made = _affine(made, *(None if t is None else _wide(t) for t in (weight, bias)))
    return made.to(input.dtype), mean.detach(), scale.detach()


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divided by the root of the mean of squares over the last axes, then scaled (Zhang and Sennrich, "Root Mean Square
    Layer Normalization", 2019).  eps is that of the dtype if None."""
    dims = _last_axes(input, normalized_shape, weight=weight)
    x = _wide(input)
    eps = strided.finfo(x.dtype).eps if eps is None else eps
    given = (x,) if weight is None else (x, weight)
    if (
        x.is_floating_point()
        and all(type(t) is Tensor and t.dtype == x.dtype for t in given)
        and not (strided.is_grad_enabled() and any(t.requires_grad for t in given))
    ):  # squares are summed as they are made, and what is made is multiplied in its place
        norms = strided.linalg.vector_norm(x, 2, dims, keepdim=True)
        made = x * (norms.square() / math.prod(x.shape[d] for d in dims) + eps).rsqrt()
        return (made if weight is None else made.mul_(weight)).to(input.dtype)
    made = x * (x.square().mean(dims, keepdim=True) + eps).rsqrt()
    return (made if weight is None else made * _wide(weight)).to(input.dtype)


@shown_as("NativeGroupNormBackward0")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 in each of num_groups groups of channels of each instance; then each channel scaled and
    shifted (Wu and He, "Group Normalization", 2018)."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, c = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if c % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (c,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape {list(t.shape)} and input of shape {list(input.shape)}"
            )
    _check_size([n * c // num_groups, num_groups, *input.shape[2:]])
    in_group = math.prod(input.shape[1:]) // num_groups

    if _is_plain(input, weight, bias) and in_group and input.numel():
        share = in_group * num_groups // c
        made = _normalise_rows(input.contiguous(), weight, bias, in_group, share, num_groups, eps)[0]
    else:
        groups = _wide(input).reshape(n, num_groups, in_group)
        made = _layer_norm(groups, groups.shape[2:], None, None, eps)[0].view(input.shape)
        made = _affine(made, _channelwise(weight, input.ndim), _channelwise(bias, input.ndim)).to(input.dtype)
    return in_order_of(made, input)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divided by (k + alpha * mean of squares over `size` neighbouring channels) ** beta (Krizhevsky, Sutskever and
    Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", 2012)."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    from ._padding import plain_pad as pad

    squares = pad(input.square().movedim(1, -1), (size // 2, (size - 1) // 2))
    windows = squares.unfold(-1, size, 1)
    if input.is_floating_point():
        mean = windows.mean(-1).movedim(-1, 1)
    else:
        mean = windows.sum(-1).div(size, rounding_mode="trunc").movedim(-1, 1)
    return input / (mean * alpha + k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """input divided by its p-norm along dim, or by eps where that is larger.

    >>> strided.nn.functional.normalize(strided.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    return strided.div(input, input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input), out=out)
