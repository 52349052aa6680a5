"""Functions composed of others, with nothing to compute of their own; gradients follow from their parts."""

from __future__ import annotations

import math

from . import _C

_f = _C.functions

__all__ = [
    "conj", "resolve_conj", "is_nonzero", "float_power", "mvlgamma", "gradient", "frexp", "polygamma", "is_same_size",
]  # fmt: skip


def conj(input):
    """Complex conjugate of each element (a copy); the tensor itself if it is real.

    >>> strided.conj(strided.tensor([1j]))
    tensor([0.-1.j])
    """
    return input.conj()


def resolve_conj(input):
    """The tensor itself: conjugates are never lazy here."""
    return input


def is_nonzero(input) -> bool:
    """True if the one element is not zero; RuntimeError for another number of elements."""
    return bool(input)


def is_same_size(input, other) -> bool:
    """True if the shapes are equal."""
    return input.shape == other.shape


def float_power(input, exponent, *, out=None):
    """input ** exponent in float64, or complex128 if either is complex.

    >>> strided.float_power(strided.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
    both = (input, exponent)
    wide = _C.complex128 if any(isinstance(x, complex) or getattr(getattr(x, "dtype", None), "is_complex", False) for x in both) else _C.float64
    return _f["pow"](*(x.to(wide) if isinstance(x, _C.Tensor) else _C.tensor_from_object(x, wide) for x in both), out=out)


def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma, n >= 0.

    >>> strided.polygamma(1, strided.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _f["polygamma"](input, n, out=out)


def mvlgamma(input, p):
    """Logarithm of the multivariate gamma function of dimension p (Anderson, "An Introduction to Multivariate
    Statistical Analysis", 1984): sum of lgamma(input - i / 2) for i < p, plus p (p - 1) / 4 log(pi).

    RuntimeError unless every element is above (p - 1) / 2.
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    x = input if input.dtype.is_floating_point else input.to(_f["get_default_dtype"]())
    if bool((x <= (p - 1) / 2).any()):
        raise RuntimeError(f"All elements must be greater than (p-1)/2 = {(p - 1) / 2}")
    steps = _f["arange"](0, p, 1, dtype=x.dtype, device=x.device) / -2
    return _f["lgamma"](x.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def frexp(input):
    """Mantissa in (-1, -0.5] or [0.5, 1) and int32 exponent, with input = mantissa * 2 ** exponent.

    Zeros, infinities and NaN are their own mantissa, with exponent 0.  TypeError for other than floating-point dtypes.
    """
    from . import return_types

    fields = {_C.float16: (_C.int16, 10, 15), _C.bfloat16: (_C.int16, 7, 127), _C.float32: (_C.int32, 23, 127), _C.float64: (_C.int64, 52, 1023)}
    if input.dtype not in fields:
        raise TypeError(f"frexp: needs a floating-point tensor, got {input.dtype}")
    ints, fraction, bias = fields[input.dtype]
    # Subnormal numbers are scaled up first, so that the exponent's bits say where the leading bit is.
    magnitude = input.detach().abs()
    tiny = magnitude < 2.0 ** (1 - bias)
    scaled = _f["where"](tiny, input.detach() * 2.0**fraction * 2.0, input.detach())
    bits = scaled.view(ints) & ((1 << (bias.bit_length() + 1 + fraction)) - 1)
    exponent = (bits >> fraction) - (bias - 1) - tiny.to(ints) * (fraction + 1)
    special = (input == 0) | ~_f["isfinite"](input)
    exponent = exponent.masked_fill(special, 0).to(_C.int32)
    # In two steps: 2 ** exponent itself may overflow where the quotient does not.
    part = _f["div"](exponent, 2, rounding_mode="floor")
    mantissa = _f["ldexp"](_f["ldexp"](input, -part), part - exponent)
    return return_types._remake("frexp", ("mantissa", "exponent"), (mantissa, exponent))


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Numerical derivative along dimensions: second-order central differences inside, one-sided at the edges.

    Args:
        spacing: distance of samples: one number, one for each dimension, or a tensor of coordinates for each.
        dim: the dimensions (all if None). edge_order: 1 or 2, the order of the differences at the edges.

    Returns one tensor for each dimension.  The weights for uneven spacing are those of B. Fornberg, "Generation of Finite
    Difference Formulas on Arbitrarily Spaced Grids", Math. Comp. 51 (1988).

    >>> strided.gradient(strided.tensor([1., 2., 4., 8.]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    x = input if input.dtype.is_floating_point or input.dtype.is_complex else input.to(_f["get_default_dtype"]())
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, got {len(steps)}")
    results = []
    for d, h in zip(dims, steps):
        n = x.size(d)
        if n <= edge_order:
            raise RuntimeError(f"torch.gradient expected each dimension size to be at least edge_order+1, got {n} in dimension {d}")
        shape = [1] * x.ndim
        shape[d] = -1
        at = (lambda a, b: x.narrow(d, a, b))  # noqa: E731
        if isinstance(h, _C.Tensor) and h.ndim == 1:
            gaps = h.diff()
            left, right = gaps[:-1].reshape(shape), gaps[1:].reshape(shape)
            g0, g1, gm, gn = gaps[0], gaps[1] if n > 2 else gaps[0], gaps[-2] if n > 2 else gaps[-1], gaps[-1]
        else:
            left = right = g0 = g1 = gm = gn = h
        m = n - 2
        inner = (at(2, m) * left / right + at(1, m) * (right / left - left / right) - at(0, m) * right / left) / (left + right)
        if edge_order == 1:
            first, last = (at(1, 1) - at(0, 1)) / g0, (at(n - 1, 1) - at(n - 2, 1)) / gn
        else:
            first = -(2 * g0 + g1) / (g0 * (g0 + g1)) * at(0, 1) + (g0 + g1) / (g0 * g1) * at(1, 1) - g0 / (g1 * (g0 + g1)) * at(2, 1)
            last = gn / (gm * (gm + gn)) * at(n - 3, 1) - (gm + gn) / (gm * gn) * at(n - 2, 1) + (2 * gn + gm) / (gn * (gm + gn)) * at(n - 1, 1)
        results.append(_f["cat"]([first, inner, last], d))
    return tuple(results)


def einsum(*args):
    """Sums of products of elements, told by subscripts: ``einsum('ij,jk->ik', a, b)`` is a matrix product.

    A subscript that is not in the output is summed over; one that occurs twice in an operand takes its diagonal; ``...``
    stands for the remaining dimensions, which broadcast.  Without ``->`` the output has the subscripts that occur once, in
    alphabetical order.  Subscripts may also be lists of ints after each operand.

    >>> strided.einsum('ii', strided.eye(3))
    tensor(3.)
    """
    return _f["_einsum"](args)


__all__.append("einsum")
