"""Activations: functions of each element, and those along an axis."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import strided

from ..._calls.namespaces import in_namespace
from ..._calls.out import into as _into
from ..._calls.overrides import shown_as

if TYPE_CHECKING:
    from ..._typing import DType, Tensor

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin",
    "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip

_c = in_namespace("nn.functional")  # the same functions of the core, which has in-place forms of their own


def _either(name, input, inplace, *options):
    """A function of the core, or its in-place form."""
    return _c[name + "_"](input, *options) if inplace else _c[name](input, *options)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) of each element.

    >>> strided.nn.functional.relu(strided.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else input.relu()


def relu_(input: Tensor) -> Tensor:
    """In-place form of relu."""
    return input.relu_()


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) of each element."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent of each element."""
    return input.tanh()


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return _either("elu", input, inplace, alpha)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place form of elu."""
    return _c["elu_"](input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale * elu(x, alpha) with the constants of Klambauer et al., "Self-Normalizing Neural Networks", 2017."""
    return strided.selu_(input) if inplace else strided.selu(input)


def selu_(input: Tensor) -> Tensor:
    """In-place form of selu."""
    return strided.selu_(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1).  RuntimeError for alpha = 0."""
    return strided.celu_(input, alpha) if inplace else strided.celu(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place form of celu."""
    return strided.celu_(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else negative_slope * x."""
    return _either("leaky_relu", input, inplace, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place form of leaky_relu."""
    return _c["leaky_relu_"](input, negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else weight * x; weight has one element, or one for each channel (dimension 1)."""
    return strided.prelu(input, weight)


@shown_as("RreluWithNoiseBackward0")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky relu with a slope drawn from [lower, upper] for each negative element; their mean outside of training."""
    return (strided.rrelu_ if inplace else strided.rrelu)(input, lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """In-place form of rrelu."""
    return strided.rrelu_(input, lower, upper, training)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above threshold, else value."""
    return (strided.threshold_ if inplace else strided.threshold)(input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place form of threshold."""
    return strided.threshold_(input, threshold, value)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Each element, but not below min_val and not above max_val.  ValueError for min_val > max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _either("hardtanh", input, inplace, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place form of hardtanh."""
    return hardtanh(input, min_val, max_val, True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element, but not below 0 and not above 6."""
    return _either("relu6", input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1 / 2, between 0 and 1."""
    return _either("hardsigmoid", input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return _either("hardswish", input, inplace)


def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """x times the normal distribution function of x; approximate='tanh': the formula of Hendrycks and Gimpel,
    "Gaussian Error Linear Units", 2016."""
    return _into("gelu", _c["gelu"](input, approximate=approximate), out)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return _either("silu", input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return _either("mish", input, inplace)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x where beta * x is above threshold."""
    return _into("softplus", _c["softplus"](input, beta, threshold), out)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return _c["softsign"](input)


@shown_as("SubBackward0")
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return _c["tanhshrink"](input)


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x where |x| > lambd, else 0."""
    return _into("hardshrink", strided.hardshrink(input, lambd), out)


def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Each element, nearer to 0 by lambd; 0 where |x| <= lambd.  RuntimeError for lambd < 0."""
    return _into("softshrink", _c["softshrink"](input, lambd), out)


def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)) of each element."""
    return _into("logsigmoid", _c["logsigmoid"](input), out)


# ---------------------------------------------------------------- along an axis


@shown_as("GluBackward0")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), where a and b are the halves of input along dim."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    n = input.size(dim)
    if n % 2:
        at = dim % input.ndim
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {n}")
    return input.narrow(dim, 0, n // 2) * input.narrow(dim, n // 2, n // 2).sigmoid()


def _axis(name, ndim, dim, stacklevel):
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """exp(x) divided by its sum along dim.

    >>> strided.nn.functional.softmax(strided.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return strided.softmax(input, _axis("softmax", input.ndim, dim, _stacklevel), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """softmax of -x."""
    return strided.softmax(-input, _axis("softmin", input.ndim, dim, _stacklevel), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Logarithm of softmax along dim."""
    return strided.log_softmax(input, _axis("log_softmax", input.ndim, dim, _stacklevel), dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-Softmax distribution (Jang, Gu, Poole, "Categorical Reparameterization with
    Gumbel-Softmax", 2017); hard=True: one-hot, with the gradient of the soft one."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -strided.empty_like(logits.detach()).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    one = strided.zeros_like(logits.detach()).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft
