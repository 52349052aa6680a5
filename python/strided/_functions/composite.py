"""Functions composed of others, with nothing to compute of their own; gradients follow from their parts."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from .. import _C
from .._calls.out import into as _into
from .._calls.overrides import overridable, overridable_method, shown_as

if TYPE_CHECKING:
    from .. import return_types
    from .._typing import Any, F, Number, Sequence, Sizes, Tensor, TensorOrNumber

_f = _C.functions

__all__ = ["typename"]


def _public(function: F) -> F:
    """Puts a function of this file among the package's."""
    __all__.append(function.__name__)
    return overridable(function)


def _method(function: F) -> F:
    """The same, and among the methods of Tensor."""
    setattr(_C.Tensor, function.__name__, overridable_method(function))
    return _public(function)


@_public
def conj(input: Tensor) -> Tensor:
    """Complex conjugate of each element (a copy); the tensor itself if it is real.

    >>> strided.conj(strided.tensor([1j]))
    tensor([0.-1.j])
    """
    return input.conj()


@_method
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are never lazy here."""
    return input


@_method
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negations are never lazy here."""
    return input


@_method
def is_conj(input: Tensor) -> bool:
    """False: conjugates are never lazy here."""
    return False


@_method
def is_neg(input: Tensor) -> bool:
    """False: negations are never lazy here."""
    return False


@_method
def is_nonzero(input: Tensor) -> bool:
    """True if the one element is not zero; RuntimeError for another number of elements."""
    return bool(input)


@_method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True if the shapes are equal."""
    return input.shape == other.shape


@_method
def float_power(input: TensorOrNumber, exponent: TensorOrNumber, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent in float64, or complex128 if either is complex.

    >>> strided.float_power(strided.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
    both = (input, exponent)
    wide = (
        _C.complex128
        if any(isinstance(x, complex) or getattr(getattr(x, "dtype", None), "is_complex", False) for x in both)
        else _C.float64
    )
    if not any(isinstance(x, _C.Tensor) for x in both):
        input = _C.tensor_from_object(input, wide)
    return _f["pow"](*(x.to(wide) if isinstance(x, _C.Tensor) else x for x in (input, exponent)), out=out)


@_public
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma, n >= 0.

    >>> strided.polygamma(1, strided.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _f["polygamma"](input, n, out=out)


@_method
@shown_as("MvlgammaBackward0")
def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p (Anderson, "An Introduction to Multivariate
    Statistical Analysis", 1984): sum of lgamma(input - i / 2) for i < p, plus p (p - 1) / 4 log(pi).

    Elements up to (p - 1) / 2 are outside of its domain; they give that sum as well.
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    x = input if input.dtype.is_floating_point else input.to(_f["get_default_dtype"]())
    steps = _f["arange"](0, p, 1, dtype=x.dtype, device=x.device) / -2
    made = _f["lgamma"](x.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
    return _into("mvlgamma", made, out)


def _in_place(function):
    """The in-place form of a function: its result, which must have self's dtype, written to self."""

    def write(self: Tensor, *args: Any, **options: Any) -> Tensor:
        result = function(
            self.clone() if self.requires_grad else self, *args, **options
        )  # what is saved for the gradient must stay
        if result.dtype != self.dtype:
            raise RuntimeError(
                f"the base given to {write.__name__} has dtype {self.dtype} but the operation's result requires dtype {result.dtype}"
            )
        return self.copy_(result)

    write.__name__ = write.__qualname__ = function.__name__ + "_"
    write.__doc__ = f"In-place form of {function.__name__}."
    setattr(_C.Tensor, write.__name__, overridable_method(write))


_in_place(float_power)
_in_place(mvlgamma)


@_method
def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> return_types.frexp:
    """Mantissa in (-1, -0.5] or [0.5, 1) and int32 exponent, with input = mantissa * 2 ** exponent.

    Zeros, infinities and NaN are their own mantissa, with exponent 0.  RuntimeError for other than floating-point
    dtypes.
    """
    from .. import return_types

    if not input.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    traits = input.dtype._traits
    ints = getattr(_C, f"int{8 * input.dtype.itemsize}")
    fraction = traits["digits"] - 1
    bias = 2 - math.frexp(traits["smallest_normal"])[1]  # smallest_normal is 2 ** (1 - bias)
    # Subnormal numbers are scaled up first, so that the exponent's bits say where the leading bit is.
    magnitude = input.detach().abs()
    tiny = magnitude < 2.0 ** (1 - bias)
    scaled = _f["where"](tiny, input.detach() * 2.0**fraction * 2.0, input.detach())
    bits = scaled.view(ints) & ((1 << (bias.bit_length() + 1 + fraction)) - 1)
    exponent = (bits >> fraction) - (bias - 1) - tiny.to(ints) * (fraction + 1)
    special = (input == 0) | ~_f["isfinite"](input)
    exponent = exponent.masked_fill(special, 0).to(_C.int32)
    mantissa = _C._shown_as("FrexpBackward0", _f["ldexp"](input, -exponent))
    name = "frexp" if out is None else "frexp_out"
    return return_types._remake(name, ("mantissa", "exponent"), _into("frexp", (mantissa, exponent), out))


@_public
def gradient(
    input: Tensor,
    *,
    spacing: TensorOrNumber | Sequence[TensorOrNumber] | None = None,
    dim: Sizes | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Numerical derivative along dimensions: second-order central differences inside, one-sided at the edges.

    Args:
        spacing: distance of samples: one number (1 if None), one for each dimension, or coordinates for each.
        dim: the dimensions (all if None). edge_order: 1 or 2, the order of the differences at the edges.

    Returns one tensor for each dimension.  The weights for uneven spacing are those of B. Fornberg, "Generation of
    Finite Difference Formulas on Arbitrarily Spaced Grids", Math. Comp. 51 (1988).

    >>> strided.gradient(strided.tensor([1., 2., 4., 8.]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in (places := [d + input.ndim if d < 0 else d for d in dims]):
        if places.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    x = input if input.dtype.is_floating_point or input.dtype.is_complex else input.to(_f["get_default_dtype"]())
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(steps)} and a dim argument of length {len(dims)}."
        )
    for h in steps:
        if isinstance(h, _C.Tensor) and h.device != input.device:
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{input.device} and {h.device}!"
            )
    results = []
    for d, h in zip(dims, steps):
        n = x.size(d)
        if n <= edge_order:
            raise RuntimeError(
                f"torch.gradient expected each dimension size to be at least edge_order+1, got {n} in dimension {d}"
            )
        shape = [1] * x.ndim
        shape[d] = -1
        at = lambda a, b, d=d: x.narrow(d, a, b)
        if isinstance(h, _C.Tensor) and h.ndim == 1:
            gaps = h.diff()
            left, right = gaps[:-1].reshape(shape), gaps[1:].reshape(shape)
            g0, g1, gm, gn = gaps[0], gaps[1] if n > 2 else gaps[0], gaps[-2] if n > 2 else gaps[-1], gaps[-1]
        else:
            left = right = g0 = g1 = gm = gn = h
        m = n - 2
        if left is right:
            inner = (at(2, m) - at(0, m)) / (2 * h)
        else:
            inner = (
                at(0, m) * (-right / (left * (left + right)))
                + at(1, m) * ((right - left) / (left * right))
                + at(2, m) * (left / (right * (left + right)))
            )
        if edge_order == 1:
            first, last = (at(1, 1) - at(0, 1)) / g0, (at(n - 1, 1) - at(n - 2, 1)) / gn
        else:
            first = (
                -(2 * g0 + g1) / (g0 * (g0 + g1)) * at(0, 1)
                + (g0 + g1) / (g0 * g1) * at(1, 1)
                - g0 / (g1 * (g0 + g1)) * at(2, 1)
            )
            last = (
                gn / (gm * (gm + gn)) * at(n - 3, 1)
                - (gm + gn) / (gm * gn) * at(n - 2, 1)
                + (2 * gn + gm) / (gn * (gm + gn)) * at(n - 1, 1)
            )
        results.append(_f["cat"]([first, inner, last], d))
    return tuple(results)


@_public
def einsum(*args: Any) -> Tensor:
    """Sums of products of elements, told by subscripts: ``einsum('ij,jk->ik', a, b)`` is a matrix product.

    A subscript that is not in the output is summed over; one that occurs twice in an operand takes its diagonal;
    ``...`` stands for the remaining dimensions, which broadcast.  Without ``->`` the output has the subscripts that
    occur once, in alphabetical order.  Subscripts may also be lists of ints after each operand.

    >>> strided.einsum('ii', strided.eye(3))
    tensor(3.)
    """
    return _f["_einsum"](args)


# ---------------------------------------------------------------- views and sizes


def _reach(start, size, stride):
    """The first position in memory behind all elements of a view that starts at `start`."""
    return start + (0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride)))


@_method
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of input in which the elements that ``input.as_strided(size, stride, storage_offset)`` shows are those of
    src.

    >>> strided.as_strided_scatter(strided.zeros(2, 2), strided.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    start = 0 if storage_offset is None else storage_offset - input.storage_offset()
    if any(s < 0 or (s == 0 and n > 1) for n, s in zip(input.shape, input.stride())):
        made, start = input.clone(), storage_offset or 0
    elif start < 0 or _reach(start, size, stride) > _reach(0, input.shape, input.stride()):
        # Some of the positions are in the storage, but not in input: what is written there is not part of the result.
        input.detach().as_strided(size, stride, storage_offset)  # raises for those outside of the storage
        first = min(start, 0)
        reach = max(_reach(start, size, stride), _reach(0, input.shape, input.stride())) - first
        memory = _f["empty"](reach, dtype=input.dtype, device=input.device)
        made = memory.as_strided(input.shape, input.stride(), -first).copy_(input)
        start -= first
    else:
        made = _f["empty_strided"](input.size(), input.stride(), dtype=input.dtype, device=input.device).copy_(input)
    part = made.as_strided(size, stride, start)
    if src.shape != part.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )
    part.copy_(src)
    return made


@_public
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """Uninitialised, of this size; physical_layout lists the dimensions in the order of their strides, the largest
    first.

    >>> strided.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    if len(physical_layout) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; "
            f"i.e. len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if len(set(physical_layout)) != len(physical_layout):
        raise RuntimeError("Duplicate dim not allowed")
    if any(not 0 <= d < len(size) for d in physical_layout):
        raise RuntimeError(
            f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {list(physical_layout)})"
        )
    made = _f["empty"]([size[d] for d in physical_layout], **options)
    return made.permute([physical_layout.index(d) for d in range(len(size))])


@_method
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """As nonzero, with `size` rows: the first ones, or rows of fill_value after them.

    >>> strided.nonzero_static(strided.tensor([0, 1, 2]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = _f["nonzero"](input)[:size]
    rows = _f["cat"]([found, found.new_full((size - found.shape[0], input.ndim), fill_value)])
    return _into("nonzero_static", rows, out)


# ---------------------------------------------------------------- norms and distances


@_public
def frobenius_norm(input: Tensor, dim: Sizes, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """linalg.vector_norm of order 2 along the dimensions dim (all for an empty list)."""
    return _f["linalg.vector_norm"](input, 2, dim, keepdim, out=out)


@_public
def nuclear_norm(
    input: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Sum of the singular values of matrices: linalg.matrix_norm with 'nuc'."""
    return _f["linalg.matrix_norm"](input, "nuc", dim, keepdim, out=out)


@_public
def norm_except_dim(v: Tensor, pow: Number = 2, dim: int = 0) -> Tensor:
    """The norm of order pow of each slice along dim, kept as dimensions of size 1; of the whole tensor for dim=-1.

    >>> strided.norm_except_dim(strided.tensor([[3., 4.], [0., 1.]]))
    tensor([[5.],
            [1.]])
    """
    if dim == -1:
        return _f["norm"](v, pow)
    if not 0 <= dim < v.ndim:
        raise IndexError(f"norm_except_dim: dim must be -1 or in [0, {v.ndim - 1}], got {dim}")
    return _f["norm"](v, pow, [d for d in range(v.ndim) if d != dim], True) if v.ndim > 1 else v.abs()


@_public
@shown_as("NormBackward1")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension; the rest broadcast.

    >>> strided.pairwise_distance(strided.tensor([[3., 4.]]), strided.zeros(1, 2))
    tensor([5.0000])
    """
    return _f["linalg.vector_norm"](x1 - x2 + eps, p, -1, keepdim)


@_public
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2 along dim: their product over their lengths, each at least eps.

    Both broadcast; RuntimeError for other dtypes than floating ones, and for a negative eps.

    >>> strided.cosine_similarity(strided.tensor([[1., 0.]]), strided.tensor([[1., 1.]]))
    tensor([0.7071])
    """
    x1, x2 = _f["broadcast_tensors"](x1, x2)
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    common = _f["promote_types"](x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common._cpp_name}")
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    a, b = (x / _f["linalg.vector_norm"](x, 2, dim, True).clamp_min(eps) for x in (x1.to(common), x2.to(common)))
    return (a * b).sum(dim)


# ---------------------------------------------------------------- histograms


@_public
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """Counts of points (*, D) in a grid of D dimensions: named tuple (hist, bin_edges), the edges one vector for each
    dimension.

    Args:
        bins: the number of bins, one for all dimensions or a list of D; or a list of D increasing vectors of edges.
        range: (low, high, low, high, ...); by default each dimension's least and largest value. What is outside is not
            counted.
        weight: what each point counts, of input.shape[:-1]. density: divided by the sum and the volumes of the bins.

    >>> points = strided.tensor([[0., 0.], [1., 1.], [1., 0.]])
    >>> strided.histogramdd(points, 2).hist
    tensor([[1., 0.],
            [1., 1.]])
    """
    from .. import return_types

    if input.ndim < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.ndim}")
    n = input.shape[-1]
    points = input.reshape(math.prod(input.shape[:-1]), n)
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        raise RuntimeError(
            f"torch.histogramdd: The size of bins must be equal to the innermost dimension of the input: expected {n}, got {len(bins)}"
        )
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got {len(range)}"
        )
    weight = None if weight is None else weight.reshape(-1)
    if weight is not None and weight.shape[0] != points.shape[0]:
        raise RuntimeError(
            f"torch.histogramdd: weight must be of input.shape[:-1], {points.shape[0]} numbers, got {weight.shape[0]}"
        )
    cell = _f["zeros"](points.shape[0], dtype=_C.int64, device=input.device)
    edges, inside = [], _f["full"]((points.shape[0],), n > 0, device=input.device)  # a point of no numbers is in no bin
    for d, count in enumerate(bins):
        column = points[:, d].contiguous()
        limits = None if range is None else (range[2 * d], range[2 * d + 1])
        edge = (
            count.to(input.dtype)
            if isinstance(count, _C.Tensor)
            else _f["histogram"](column, count, range=limits).bin_edges
        )
        # The last bin holds its upper edge.  Edges may have any order: what is outside of the first and the last one is
        # in no bin.
        place = (_f["bucketize"](column, edge, right=True) - 1).clamp(max=edge.shape[0] - 2)
        within = (place >= 0) & (column >= edge[0]) & (column <= edge[-1])
        cell, inside = cell * (edge.shape[0] - 1) + place, within & inside
        edges.append(edge)
    shape = [edge.shape[0] - 1 for edge in edges]
    each = (
        _f["ones"](points.shape[0], dtype=input.dtype, device=input.device)
        if weight is None
        else weight.to(input.dtype)
    )
    hist = (
        _f["zeros"](math.prod(shape), dtype=input.dtype, device=input.device)
        .index_add(0, cell[inside], each[inside])
        .reshape(shape)
    )
    if density:
        hist = hist / hist.sum()
        for d, edge in enumerate(edges):
            hist = hist / edge.diff().reshape([-1 if i == d else 1 for i in builtins.range(n)])
    return return_types._remake("histogramdd", ("hist", "bin_edges"), (hist, tuple(edges)))


# ---------------------------------------------------------------- small things


@_public
def rsub(input: Tensor, other: TensorOrNumber, *, alpha: Number = 1) -> Tensor:
    """other - alpha * input."""
    if alpha == 1 and not isinstance(alpha, bool):
        return _f["sub"](other, input)
    return _f["sub"](
        other if isinstance(other, _C.Tensor) else _C.tensor_from_object(other, _f["result_type"](input, other)),
        input,
        alpha=alpha,
    )


def typename(obj: object) -> str:
    """A name for the type of obj: of a tensor 'torch.FloatTensor' or the like."""
    if isinstance(obj, _C.Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


@_public
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the memory; libraries of today take the tensor itself."""
    return tensor.__dlpack__()
