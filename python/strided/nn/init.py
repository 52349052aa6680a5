"""Initial values of parameters (``strided.nn.init``): functions that fill a tensor in place, and return it."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Callable, Generator, Tensor

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor of the standard deviation that goes with an activation; param is the slope of leaky_relu.

    >>> strided.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _fans(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    return _fans(tensor)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode == "fan_out"]


@strided.no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers of [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@strided.no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers."""
    return tensor.normal_(mean, std, generator=generator)


@strided.no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers within [a, b]: those outside are drawn again.  Where they would be many, uniform numbers are
    drawn, and kept with the probability of the density there."""
    below = lambda x: (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.device.type == "meta":
        return tensor
    draw = {"generator": generator}
    if below((b - mean) / std) - below((a - mean) / std) > 0.3:
        low, high = (tensor.new_tensor(x, device="cpu").item() for x in (a, b))
        made = tensor.normal_(mean, std, **draw)
        while (outside := (made < low) | (made > high)).any():
            made = strided.where(outside, strided.empty_like(made).normal_(mean, std, **draw), made)
    else:
        # Each round draws positions and heights for all elements, as PyTorch does, wanted still or not.
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
        height = strided.empty_like(tensor)
        above = lambda x: height.uniform_(**draw).log_() > x.sub(mean).div_(std).square_().mul_(-0.5).sub_(peak)
        made = tensor.uniform_(a, b, **draw)
        wanted = above(made)
        while wanted.any():
            x = strided.empty_like(tensor).uniform_(a, b, **draw)
            made = strided.where(wanted, x, made)
            wanted &= above(x)
    return tensor if made is tensor else tensor.copy_(made)


@strided.no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """val everywhere."""
    return tensor.fill_(val)


@strided.no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return tensor.fill_(1.0)


@strided.no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return tensor.zero_()


@strided.no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal of a matrix, 0 elsewhere.  ValueError for other than two dimensions."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(strided.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@strided.no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernel of a convolution that gives its input back, for as many channels as there are."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = tensor.size(0) // groups
    centre = [n // 2 for n in tensor.shape[2:]]
    tensor.zero_()
    for g in range(groups):
        for d in range(min(each, tensor.size(1))):
            tensor[(g * each + d, d, *centre)] = 1
    return tensor


@strided.no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers of variance 2 gain ** 2 / (fan_in + fan_out) (Glorot and Bengio, "Understanding the difficulty of
    training deep feedforward neural networks", 2010)."""
    fan_in, fan_out = _fans(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return tensor.uniform_(-bound, bound, generator=generator)


@strided.no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers of variance 2 gain ** 2 / (fan_in + fan_out) (the same paper)."""
    fan_in, fan_out = _fans(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


def _no_elements(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


@strided.no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers of variance gain ** 2 / fan (He et al., "Delving Deep into Rectifiers", 2015)."""
    if _no_elements(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(fan))
    return tensor.uniform_(-bound, bound, generator=generator)


@strided.no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers of variance gain ** 2 / fan (the same paper)."""
    if _no_elements(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return tensor.normal_(0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator=generator)


@strided.no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """gain times an orthogonal matrix, or one with orthogonal rows or columns (Saxe, McClelland and Ganguli, "Exact
    solutions to the nonlinear dynamics of learning in deep linear neural networks", 2014)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = strided.linalg.qr(flat.t() if rows < columns else flat)
    q = q * r.diagonal().sign()
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@strided.no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers, but for a share `sparsity` of each column, which is 0 (Martens, "Deep learning via Hessian-free
    optimization", 2010)."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[strided.randperm(rows)[:zeros], column] = 0
    return tensor


def _old_name(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__[:-1]

    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"The old name of {name}_."
    return call


uniform, normal, constant, eye, dirac = (_old_name(f) for f in (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = _old_name(xavier_uniform_), _old_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _old_name(kaiming_uniform_), _old_name(kaiming_normal_)
orthogonal, sparse = _old_name(orthogonal_), _old_name(sparse_)

# PyTorch's names of what its functions above call, which programs call too.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
