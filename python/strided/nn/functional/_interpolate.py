"""Images at other sizes, and at other places."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import warnings
from typing import TYPE_CHECKING

import strided
from strided._functions.checks import every_sample

from ... import _C
from ..._calls.out import into
from ..._calls.overrides import shown_as
from ..._functions.entries import have_kernel, times_dense
from ._compiled import compiled
from ._order import order_of
from ._pool_adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_KEYS = -0.75  # the parameter of the cubic kernel


def _cubic(t, a=_KEYS):
    """The weights of four neighbours for a place t beyond the second (Keys, "Cubic Convolution Interpolation for
    Digital Image Processing", 1981)."""
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


_resize, _resizing_factor = _C.functions["_interpolate"], _C.functions["_resizing_factor"]


def _scale(n, out, factor, align):
    if align:
        return (n - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / factor if factor else n / out


def _sources(out, scale, align, dtype, device):
    """For each place of the output, where it is in the input."""
    at = strided.arange(out, dtype=dtype, device=device)
    return at * scale if align else (at + 0.5) * scale - 0.5


def _nearest(x, axis, out, factor, exact):
    n = x.size(axis)
    at = strided.arange(out, dtype=strided.float32, device=x.device)
    at = (at + 0.5 if exact else at) * _scale(n, out, factor, False)
    return x.index_select(axis, at.floor().long().clamp_(0, n - 1))


# Note [Bytes]
# Of uint8 images PyTorch, and Pillow before it, multiply bytes with whole numbers: the weights times the power of two
# with which the largest still fits 16 bits. The sum is rounded half up, and cut to 0 ... 255, after each axis. Weights
# of places outside the image are added to those of its edge before. Here the same is done in float64, exactly.


def _whole_weights(weights):
    """Weights as whole numbers, and what they were multiplied with: Note [Bytes]."""
    largest, bits = float(weights.max()), 0
    while bits < 22 and int(0.5 + largest * 2 ** (bits + 1)) < 1 << 15:
        bits += 1
    scaled = weights * 2.0**bits
    return strided.where(scaled < 0, scaled - 0.5, scaled + 0.5).trunc(), 2.0**bits


def _as_bytes(x):
    """Rounded half up, and cut to what a byte holds: Note [Bytes]."""
    return (x + 0.5).floor().clamp_(0, 255)


def _of_bytes(x, axis, taps):
    """_mixed in whole numbers: Note [Bytes]."""
    index, weights = (strided.stack(parts) for parts in zip(*taps))
    for i in range(len(taps) - 1):  # places outside stand on the first element or on the last one
        outside = (index[i] == 0) & (index[i + 1] == 0)
        weights[i + 1] += strided.where(outside, weights[i], 0)
        weights[i].masked_fill_(outside, 0)
    last = x.size(axis) - 1
    for i in range(len(taps) - 1, 0, -1):
        outside = (index[i] == last) & (index[i - 1] == last)
        weights[i - 1] += strided.where(outside, weights[i], 0)
        weights[i].masked_fill_(outside, 0)
    weights, unit = _whole_weights(weights)
    return _as_bytes(_mixed(x, axis, list(zip(index, weights))) / unit)


def _mixed(x, axis, taps):
    """The sum of elements along an axis, times weights: taps are (indices, weights)."""
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    made = None
    for index, weight in taps:
        part, weight = x.index_select(axis, index), weight.to(x.dtype).view(shape)
        made = part * weight if made is None else strided.addcmul(made, part, weight)
    return made


def _linear(x, axis, out, factor, align, mix):
    n = x.size(axis)
    dtype = strided.float64 if x.dtype == strided.float64 else strided.float32
    at = _sources(out, _scale(n, out, factor, align), align, dtype, x.device).clamp_(min=0)
    low = at.long().clamp_(max=n - 1)
    part = (at - low).clamp_(0, 1)
    return mix(x, axis, [(low, 1 - part), ((low + 1).clamp_(max=n - 1), part)])


def _bicubic(x, axis, out, factor, align, mix):
    n = x.size(axis)
    dtype = strided.float64 if x.dtype == strided.float64 else strided.float32
    at = _sources(out, _scale(n, out, factor, align), align, dtype, x.device)
    low = at.floor()
    weights = _cubic(at - low)
    return mix(x, axis, [((low.long() + i - 1).clamp_(0, n - 1), w) for i, w in enumerate(weights)])


def _antialiased(x, axis, out, factor, align, mode, whole):
    """A product with a matrix of weights, whose kernel is as wide as the input is larger than the output."""
    n = x.size(axis)
    scale = _scale(n, out, factor, align)
    wide = max(scale, 1.0)
    reach, kernel = _KERNELS[mode]
    half = reach * wide
    matrix = [[0.0] * n for _ in range(out)]
    for i in range(out):
        centre = scale * (i + 0.5)
        first, last = max(int(centre - half + 0.5), 0), min(int(centre + half + 0.5), n)
        weights = [kernel(abs(j - centre + 0.5) / wide) for j in range(first, last)]
        total = sum(weights)
        matrix[i][first:last] = [w / total if total else w for w in weights]
    weights = strided.tensor(matrix, dtype=x.dtype, device=x.device)
    weights, unit = _whole_weights(weights) if whole else (weights, None)
    made = x.movedim(axis, -1).matmul(weights.t()).movedim(-1, axis)
    return _as_bytes(made / unit) if whole else made


def _hat(x):
    return max(0.0, 1.0 - x)


def _keys(x):
    if x >= 2:
        return 0.0
    return _cubic(x, -0.5)[1] if x < 1 else _cubic(x - 1, -0.5)[0]


def _lanczos(x):
    """sinc(x) sinc(x / 3) (Duchon, "Lanczos Filtering in One and Two Dimensions", 1979)."""
    if x >= 3:
        return 0.0
    t = math.pi * x
    return 3 * math.sin(t) * math.sin(t / 3) / (t * t) if t else 1.0


_KERNELS = {
    "bilinear": (1.0, _hat),
    "bicubic": (2.0, _keys),
    "lanczos": (3.0, _lanczos),
}  # (reach, weight at a distance)


def _sizes(input, size, scale_factor, recompute):
    """The size of the output, and the factor along each axis (None: as the sizes say)."""
    axes = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes = list(size) if isinstance(size, (list, tuple)) else [size] * axes
        if len(sizes) != axes:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
            )
        try:
            return [operator.index(n) for n in sizes], [None] * axes
        except TypeError:
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(n) for n in sizes]}"
            ) from None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * axes
    if len(factors) != axes:
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    wanted = [n * float(f) for n, f in zip(input.shape[2:], factors)]
    if not all(abs(n) < 2**63 for n in wanted):  # nor NaN
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    sizes = [math.floor(n) for n in wanted]
    return sizes, [None] * axes if recompute else [float(f) for f in factors]


def _check_corners(input, mode, align_corners):
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif mode not in _AXES:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {_MODES} (got {mode})"
        )


def _check_mode(input, mode, align, antialias):
    """Whether images of so many axes are resized in this mode."""
    axes = input.dim() - 2
    if axes not in (1, 2, 3) or mode in _AXES and _AXES[mode] != axes:
        if mode in _AXES and axes in (1, 2, 3):
            raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_AXES[mode] + 2}D input")
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {_MODES} (got {mode})"
        )
    if antialias and not (mode in _KERNELS and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and align:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")


@compiled
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """A signal, image or volume at another size: input has shape (batch, channels, ...).

    Args:
        size, scale_factor: of the last axes; one of them. mode: 'nearest', 'nearest-exact', 'linear', 'bilinear',
            'bicubic', 'trilinear', 'lanczos' or 'area'. align_corners: the outermost elements keep their places.
        recompute_scale_factor: the factor is that of the rounded sizes. antialias: for 'bilinear', 'bicubic' and
            'lanczos'; the last one requires it.

    >>> strided.nn.functional.interpolate(strided.tensor([[[0., 2.]]]), 4, mode="linear")
    tensor([[[0.0000, 0.5000, 1.5000, 2.0000]]])
    """
    _check_corners(input, mode, align_corners)
    align = bool(align_corners)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    sizes, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    _check_mode(input, mode, align, antialias)
    axes = input.dim() - 2
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[axes - 1](input, sizes)
    if min(sizes) <= 0 or min(input.shape[1:]) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {input.shape[2]}, W: {input.shape[-1]}) output (H: {sizes[0]}, W: {sizes[-1]})"
        )
    whole = mode in _AXES and not input.is_floating_point()
    if whole and input.dtype != strided.uint8:
        raise NotImplementedError(f"interpolate: mode {mode!r} takes floating point and uint8, got {input.dtype}")
    given, dtype, order, resized = input, input.dtype, order_of(input), None
    if whole:
        input = input.double()  # Note [Bytes]
    elif mode in _AXES and dtype in (strided.float16, strided.bfloat16):
        input = input.float()  # sums are rounded once
        given_factors = [f or 1.0 for f in factors] if any(factors) else None
        resized = _resize(input, None if given_factors else sizes, given_factors, mode, align_corners, None, antialias)
    if resized is None:  # a result that no memory holds is refused before weights are listed
        strided.empty((*input.shape[:2], *sizes), dtype=dtype, device=input.device)
    for i in range(axes - 1, -1, -1) if resized is None else ():
        out, axis = sizes[i], i + 2
        factor = _resizing_factor(mode, factors[i] or 0.0, antialias or whole, input.size(axis), out)
        if antialias:
            input = _antialiased(input, axis, out, factor, align, mode, whole)
        elif mode in _AXES:
            if out == input.size(axis) and factor in (0, 1):
                continue
            mix = _of_bytes if whole else _mixed
            input = (_bicubic if mode == "bicubic" else _linear)(input, axis, out, factor, align, mix)
        else:
            input = _nearest(input, axis, out, factor, mode == "nearest-exact")
    made = (input if resized is None else resized).to(dtype)
    made = made.contiguous() if order is None else made.contiguous(memory_format=order)
    kind = "".join(word.capitalize() for word in mode.split("-"))
    return _C._shown_as(f"Upsample{kind}{axes}D{'Aa' * antialias}Backward0", made, given)


def _deprecated(old):
    warnings.warn(f"`nn.functional.{old}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of interpolate."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate in the mode 'nearest'."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate in the mode 'bilinear' with aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


# ---------------------------------------------------------------- other places


@shown_as("AffineGridGeneratorBackward0")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The places that an affine map gives the elements of an image: (batch, ..., axes), in [-1, 1], for grid_sample.

    Args:
        theta: (batch, 2, 3) or (batch, 3, 4). size: of the output, (batch, channels, ...).
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    axes = len(size) - 2
    if axes not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ValueError(
            f"Expected a batch of {axes}D affine matrices of shape Nx{axes}x{axes + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=2,
        )
    elif align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    lines = []
    for n in size[2:]:
        line = strided.linspace(-1, 1, n, dtype=theta.dtype, device=theta.device) if n > 1 else theta.new_zeros(1)
        lines.append(line if align_corners or n == 1 else line * (n - 1) / n)  # rounded twice, as in PyTorch
    planes = strided.meshgrid(*lines, indexing="ij")
    base = strided.stack([*reversed(planes), strided.ones_like(planes[0])], -1).view(1, -1, axes + 1)
    return base.matmul(theta.transpose(1, 2)).view(theta.size(0), *size[2:], axes)


def _reflected(x, low, high):
    """Places mirrored at the borders low and high until they are inside."""
    if low == high:
        return x.masked_fill(strided.ones_like(x, dtype=strided.bool), 0)  # zeros, whose gradient is there
    span = high - low
    x = (x - low).abs()
    flips, rest = (x / span).floor(), x % span
    return strided.where(flips % 2 == 0, rest + low, span - rest + low)


def _placed(x, n, padding_mode, align):
    if padding_mode == "reflection":
        x = _reflected(x, 0.0, n - 1.0) if align else _reflected(x, -0.5, n - 0.5)
    return x if padding_mode == "zeros" else x.clamp(0, n - 1)


def _gathered(input, places, weight=None):
    """Elements of images at whole places, one tensor for each axis (batch, ...), and their factors (batch, 1, ...):
    weight, or 1, and zero outside."""
    n, c, *sizes = input.shape
    flat, inside = _flat_places(places, sizes)
    shape = flat.shape[1:]
    index = flat.reshape(n, 1, -1).expand(n, c, -1)
    values = input.reshape(n, c, -1).gather(2, index).view(n, c, *shape)
    if not (inside.is_cpu and bool(every_sample(inside).all())):
        values = values.masked_fill(~inside.unsqueeze(1), 0)  # an infinity at the border times zero is NaN
    factor = inside.to(values.dtype) if weight is None else weight * inside
    return values, factor.unsqueeze(1)


def _flat_places(places, sizes):
    """The number of the element at whole places, one tensor for each axis, and whether there is one (else some
    number)."""
    inside, flat = None, None
    for at, size in zip(places, sizes):
        here = (at >= 0) & (at < size)
        inside = here if inside is None else inside & here
        at = at.long().clamp(0, size - 1)  # of NaN too, which is outside
        flat = at if flat is None else flat * size + at
    return flat, inside


def _sampled(input, places, corners, weights):
    """The sum of elements of images times weights: a product with a sparse matrix, in which a row stands for a point.

    places: for each axis the whole places (batch, ...) that occur; corners: which of them, for each axis, and weights,
    or None for 1, for each corner.
    """
    n, c, *sizes = input.shape
    shape, step = places[0][0].shape, math.prod(sizes)
    found = []
    for size, along in zip(sizes, places):
        step //= size
        numbers = [_flat_places([at], [size]) for at in along]
        found.append([(flat * step if step > 1 else flat, inside) for flat, inside in numbers])
    image = strided.arange(n, device=input.device).view(n, *[1] * (len(shape) - 1)) * math.prod(sizes)
    found[0] = [(flat + image, inside) for flat, inside in found[0]]
    columns, kept = [], []
    for corner in corners:
        column, inside = found[0][corner[0]]
        for axis, side in enumerate(corner[1:], 1):
            flat, here = found[axis][side]
            column, inside = column + flat, inside & here
        columns.append(column)
        kept.append(inside)
    # Image after image, so that what is read and written stays in the cache.
    point = strided.arange(math.prod(shape), device=input.device).view(n, 1, *shape[1:])
    row, column = strided.where(strided.stack(kept, 1), point, -1).reshape(-1), strided.stack(columns, 1).reshape(-1)
    values = None if weights is None else strided.stack(weights, 1).reshape(-1)
    made = times_dense(math.prod(shape), row, column, values, input.movedim(1, -1).reshape(-1, c))
    return made.view(n, -1, c).transpose(1, 2).contiguous().view(n, c, *shape[1:])


def _added(made, values, factor):
    return values * factor if made is None else strided.addcmul(made, values, factor)


@compiled
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images, or volumes, at given places (Jaderberg et al., "Spatial Transformer Networks", 2015).

    Args:
        input: (batch, channels, height, width), or with depth. grid: (batch, ..., 2) or (..., 3): x, y (and z) in
            [-1, 1]. mode: 'bilinear', 'nearest', 'bicubic'. padding_mode: what is outside: 'zeros', 'border',
            'reflection'. align_corners: -1 and 1 are the centres of the outermost elements, not their edges.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=2,
        )
    align, axes = bool(align_corners), input.dim() - 2
    if input.dtype != grid.dtype:
        name = lambda x: x.type().split(".")[-1].removesuffix("Tensor")
        raise RuntimeError(f"expected scalar type {name(input)} but found {name(grid)}")
    sizes_of = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.size(0) != grid.size(0):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {sizes_of}")
    if grid.size(-1) != axes:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {axes} in last dimension, but got grid with sizes {list(grid.shape)}"
        )
    if axes not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but {sizes_of}"
        )
    if mode == "bicubic" and axes == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, "
            f"but input has sizes {list(input.shape)}"
        )
    if input.numel() == 0:  # no image, or no channel; the sums are for gradients
        return input.new_zeros((*input.shape[:2], *grid.shape[1:-1])) + (input.sum() + grid.sum())
    at_once = have_kernel(input, grid) and input.dtype is grid.dtype
    node = f"GridSampler{axes}DBackward0"
    if at_once and strided.is_grad_enabled():
        made = _SAMPLED[axes].apply(input, grid, mode, padding_mode, align)
        if made is not None:
            return _C._shown_as(node, made)
    return _C._shown_as(node, _composed_sample(input, grid, mode, padding_mode, align, at_once))


class _Sampled(strided.autograd.Function):
    """``grid_sample`` by kernels, or None where the device has none for these tensors. Gradients of gradients are
    those of its composition."""

    @staticmethod
    def forward(ctx, input, grid, *options):
        ctx.options = options
        ctx.save_for_backward(input, grid)
        return _C.functions["_grid_sample"](input, grid, *options)

    @staticmethod
    def backward(ctx, gradient):
        inputs, wanted = ctx.saved_tensors, ctx.needs_input_grad[:2]
        if strided.is_grad_enabled():
            made = _composed_sample(*inputs, *ctx.options, True)
            asked = [x for x, needed in zip(inputs, wanted) if needed]
            found = iter(strided.autograd.grad(made, asked, gradient, create_graph=True))
            return *(next(found) if needed else None for needed in wanted), None, None, None
        made = _C.functions["_grid_sample_gradient"]
        found = (made(gradient, *inputs, *ctx.options, i == 1) if needed else None for i, needed in enumerate(wanted))
        return *found, None, None, None


class _Sampled2D(_Sampled):
    _shown_as = "GridSampler2DBackward0"


class _Sampled3D(_Sampled):
    _shown_as = "GridSampler3DBackward0"


_SAMPLED = {2: _Sampled2D, 3: _Sampled3D}


def _composed_sample(input, grid, mode, padding_mode, align, at_once):
    sizes, axes, points = input.shape[2:], input.dim() - 2, []
    for i, n in enumerate(sizes):
        g = grid[..., axes - 1 - i]
        points.append((g + 1) * ((n - 1) / 2) if align else ((g + 1) * n - 1) / 2)
    if mode == "bicubic":
        return _sampled_cubic(input, points, padding_mode, align, at_once)
    points = [_placed(p, n, padding_mode, align) for p, n in zip(points, sizes)]
    if mode == "nearest":
        input, places = _C.functions["_with_steady_gradient"](input), [p.round() for p in points]
        made = (
            _sampled(input, [[p] for p in places], [(0,) * axes], None)
            if at_once
            else _added(None, *_gathered(input, places))
        )
        if grid.requires_grad:  # its gradient is zero, and is there
            made = made + sum(p - p.detach() for p in places).unsqueeze(1)
        return made
    lows = [p.detach().floor() for p in points]
    places, parts = [[low, low + 1] for low in lows], [[low + 1 - p, p - low] for p, low in zip(points, lows)]
    return _of_corners(input, places, parts, at_once)


def _of_corners(input, places, parts, at_once):
    """The sum over all combinations of places, some for each axis, of elements times a part for each axis."""
    corners = list(itertools.product(*(range(len(along)) for along in places)))
    chosen = lambda table, corner: [along[i] for along, i in zip(table, corner)]
    weights = [functools.reduce(operator.mul, chosen(parts, corner)) for corner in corners]
    if at_once:
        return _sampled(input, places, corners, weights)
    made = None
    for corner, weight in zip(corners, weights):
        made = _added(made, *_gathered(input, chosen(places, corner), weight))
    return made


def _sampled_cubic(input, points, padding_mode, align, at_once):
    lows = [p.detach().floor() for p in points]
    weights = [_cubic(p - low) for p, low in zip(points, lows)]
    places = [[_placed(low + k - 1, n, padding_mode, align) for k in range(4)] for low, n in zip(lows, input.shape[2:])]
    return _of_corners(input, places, weights, at_once)


# ------------------------------------------------------------ as the compiled core has them


def _upsampler(name: str, mode: str, antialias: bool) -> Any:
    aligned = mode not in ("nearest", "nearest-exact")

    def upsample_core(input: Tensor, output_size: Any, *args: Any, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return into(name, upsample_core(input, output_size, *args), out)
        align, scales = (bool(args[0]), args[1:]) if aligned else (None, args)
        factors = scales[0] if scales and isinstance(scales[0], (list, tuple)) else [s for s in scales if s is not None]
        options: dict[str, Any] = {"mode": mode, "align_corners": align, "antialias": antialias}
        if factors and output_size is not None:
            if [math.floor(n * f) for n, f in zip(input.shape[2:], factors)] != list(output_size):
                raise NotImplementedError(
                    f"{name}: sizes {list(output_size)} that are not those of the scales {factors}"
                )
            output_size = None
        if factors:
            return interpolate(input, scale_factor=list(factors), recompute_scale_factor=False, **options)
        return interpolate(input, list(output_size), **options)

    upsample_core.__name__ = upsample_core.__qualname__ = name
    upsample_core.__doc__ = f"``interpolate`` in mode {mode!r}: (input, sizes{', align_corners' * aligned}, scales)."
    return upsample_core


UPSAMPLERS = {
    name: _upsampler(name, mode, antialias)
    for name, mode, antialias in (
        *((f"upsample_nearest{n}d", "nearest", False) for n in (1, 2, 3)),
        *((f"_upsample_nearest_exact{n}d", "nearest-exact", False) for n in (1, 2, 3)),
        ("upsample_linear1d", "linear", False),
        ("upsample_bilinear2d", "bilinear", False),
        ("upsample_bicubic2d", "bicubic", False),
        ("upsample_trilinear3d", "trilinear", False),
        ("_upsample_bilinear2d_aa", "bilinear", True),
        ("_upsample_bicubic2d_aa", "bicubic", True),
        ("_upsample_lanczos2d_aa", "lanczos", True),
    )
}
