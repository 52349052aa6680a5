"""Convolution, by products of a weight with the columns of what its kernel sees.

Note [Three products of a convolution]
Forward, gradient of the input and gradient of the weight are three bilinear maps, and the derivatives of each are the
other two. So there are three Functions, each with the others for its backward pass, and every order of derivative is
right. The gradient of the input is the forward pass of a transposed convolution. Gradients of complex products read the
conjugate of the other factor.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import strided

from .._tuples import _ints
from ._padding import pad

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip

_BUFFER = 1 << 22  # bytes of columns that are made at a time: they should stay in the cache


class _Geometry:
    """Sizes of one convolution: kernel, stride, padding, dilation along each axis, groups, and the input's sizes."""

    __slots__ = ("dilation", "groups", "kernel", "out", "padding", "size", "stride")

    def __init__(self, kernel, stride, padding, dilation, groups, size, out=None):
        self.kernel, self.stride, self.padding = tuple(kernel), tuple(stride), tuple(padding)
        self.dilation, self.groups, self.size = tuple(dilation), groups, tuple(size)
        self.out = out  # where it is not all that fits: a transposed convolution with output_padding

    def padded(self):
        return [n + 2 * p for n, p in zip(self.size, self.padding)]

    def output(self):
        if self.out is not None:
            return list(self.out)
        spans = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel)]
        return [(n - s) // step + 1 for n, s, step in zip(self.padded(), spans, self.stride)]

    def is_pointwise(self):
        ones = all(k == 1 for k in self.kernel) and all(s == 1 for s in self.stride)
        return ones and not any(self.padding) and list(self.size) == self.output()

    def taps(self):
        """For each element of the kernel the part of the padded input it is multiplied with, as slices."""
        out = self.output()
        for at in itertools.product(*(range(k) for k in self.kernel)):
            yield (
                at,
                tuple(
                    slice(i * d, i * d + s * (n - 1) + 1, s) for i, d, s, n in zip(at, self.dilation, self.stride, out)
                ),
            )


def _sums(x):
    """The dtype in which products are added up: float32 for 16-bit floats, which are rounded once, at the end."""
    return strided.float32 if x.dtype in (strided.float16, strided.bfloat16) else x.dtype


def _factors(*tensors):
    """16-bit floats in float32 on the CPU, whose products are computed so anyway."""
    return [t.to(_sums(t)) if t.device.type == "cpu" else t for t in tensors]


def _inside(x, geometry):
    """The part of a padded tensor that is the input."""
    return x[(..., *(slice(p, p + n) for p, n in zip(geometry.padding, geometry.size)))]


def _padded(x, geometry):
    if not any(geometry.padding):
        return x.contiguous()
    made = strided.zeros(*x.shape[:2], *geometry.padded(), dtype=x.dtype, device=x.device)
    _inside(made, geometry).copy_(x)
    return made


def _windows(x, geometry):
    """A view of the padded input: (batch, groups, channels, *kernel, *output)."""
    n, c = x.shape[:2]
    g, steps = geometry.groups, x.stride()
    kernel = [s * d for s, d in zip(steps[2:], geometry.dilation)]
    output = [s * d for s, d in zip(steps[2:], geometry.stride)]
    shape = (n, g, c // g, *geometry.kernel, *geometry.output())
    return x.as_strided(shape, (steps[0], c // g * steps[1], steps[1], *kernel, *output), x.storage_offset())


def _columns(windows, geometry):
    """Columns of some samples: (batch, groups, channels * kernel, output)."""
    n, g, c = windows.shape[:3]
    return windows.reshape(n, g, c * math.prod(geometry.kernel), math.prod(geometry.output()))


def _share(rows, geometry, itemsize):
    """How many samples' columns fit into the buffer."""
    return max(1, _BUFFER // max(1, rows * math.prod(geometry.output()) * itemsize))


def _is_depthwise(c, geometry):
    """Whether each group has one input channel, and steps are 1: Note [Shifted planes]."""
    return c == geometry.groups > 1 and all(s == 1 for s in geometry.stride)


def _forward(x, weight, geometry):
    n, c, o, g = x.size(0), x.size(1), weight.size(0), geometry.groups
    out = geometry.output()
    if _is_depthwise(c, geometry):
        return _forward_depthwise(x, weight, geometry)
    length, rows = math.prod(out), c // g * math.prod(geometry.kernel)
    made = strided.empty(n, g, o // g, length, dtype=x.dtype, device=x.device)
    matrix = weight.reshape(g, o // g, rows)
    if geometry.is_pointwise():
        strided.matmul(matrix[0] if g == 1 else matrix, x.reshape(n, g, rows, length), out=made)
        return made.view(n, o, *out)
    windows = _windows(_padded(x, geometry), geometry)
    many = _share(g * rows, geometry, x.element_size())
    for i in range(0, n, many):
        columns = _columns(windows[i : i + many], geometry)
        strided.matmul(matrix[0] if g == 1 else matrix, columns, out=made[i : i + many])
    return made.view(n, o, *out)


# Note [Shifted planes]
# With steps of 1, an element of the kernel is multiplied with the padded plane from some offset on. So planes are taken
# as vectors, which are long, and not as rows, which are short; what stands behind the end of an output row is computed
# too, and left out in the end.


def _offsets(geometry):
    """For each element of the kernel its offset in a padded plane; the length of vectors; the steps of the plane."""
    sizes, steps = geometry.padded(), []
    for i in range(len(sizes)):
        steps.append(math.prod(sizes[i + 1 :]))
    found = [
        (at, sum(i * d * s for i, d, s in zip(at, geometry.dilation, steps)))
        for at in itertools.product(*(range(k) for k in geometry.kernel))
    ]
    return found, math.prod(sizes) - found[-1][1], steps


def _shifted_planes(geometry):
    """The same where steps are 1 and few elements of the vectors are left out; else None."""
    if any(s != 1 for s in geometry.stride):
        return None
    found = _offsets(geometry)
    return found if 2 * found[1] <= 3 * math.prod(geometry.output()) else None


def _output_of(vectors, geometry, steps):
    """The view of vectors (batch, channels, length) that is the output."""
    n, c, _ = vectors.shape
    return vectors.as_strided((n, c, *geometry.output()), (*vectors.stride()[:2], *steps))


def _as_vectors(grad, geometry, length, steps):
    """A gradient as vectors, with zeros where no output stands."""
    made = strided.zeros(*grad.shape[:2], length, dtype=grad.dtype, device=grad.device)
    _output_of(made, geometry, steps).copy_(grad)
    return made


def _forward_depthwise(x, weight, geometry):
    n, c, times = x.size(0), x.size(1), weight.size(0) // x.size(1)
    offsets, length, steps = _offsets(geometry)
    planes = _padded(x, geometry).view(n, c, 1, -1)
    made = strided.zeros(n, c, times, length, dtype=_sums(x), device=x.device)
    planes, weight = planes.to(made.dtype), weight.to(made.dtype)
    for at, offset in offsets:
        factor = weight[(slice(None), 0, *at)].reshape(1, c, times, 1)
        made.addcmul_(planes.narrow(3, offset, length), factor)
    return _output_of(made.view(n, c * times, length), geometry, steps).contiguous().to(x.dtype)


def _backward_input_depthwise(grad, weight, geometry):
    n, c = grad.size(0), geometry.groups
    times = weight.size(0) // c
    offsets, length, steps = _offsets(geometry)
    vectors = _as_vectors(grad, geometry, length, steps).view(n, c, times, length)
    made = strided.zeros(n, c, *geometry.padded(), dtype=_sums(grad), device=grad.device)
    vectors, weight, planes = vectors.to(made.dtype), weight.to(made.dtype), made.view(n, c, -1)
    for at, offset in offsets:
        factor = weight[(slice(None), 0, *at)].reshape(1, c, times, 1)
        for t in range(times):
            planes.narrow(2, offset, length).addcmul_(vectors[:, :, t], factor[:, :, t])
    return _inside(made, geometry).contiguous().to(grad.dtype)


def _backward_weight_depthwise(x, grad, geometry):
    n, c = x.shape[:2]
    times = grad.size(1) // c
    offsets, length, steps = _offsets(geometry)
    vectors = _as_vectors(grad, geometry, length, steps).view(n, c, times, length)
    planes = _padded(x, geometry).view(n, c, -1, 1)
    vectors, planes = _factors(vectors, planes)
    made = strided.zeros(c * times, 1, *geometry.kernel, dtype=_sums(x), device=x.device)
    for at, offset in offsets:
        made[(slice(None), 0, *at)] = vectors.matmul(planes.narrow(2, offset, length)).sum((0, 3)).reshape(-1)
    return made.to(x.dtype)


def _backward_input(grad, weight, geometry):
    n, o, g = grad.size(0), grad.size(1), geometry.groups
    c = weight.size(1) * g
    if _is_depthwise(c, geometry):
        return _backward_input_depthwise(grad, weight, geometry)
    out, length, dtype = geometry.output(), math.prod(geometry.output()), grad.dtype
    rows = weight.size(1) * math.prod(geometry.kernel)
    if not geometry.is_pointwise():
        grad, weight = _factors(grad, weight)
    grad = grad.reshape(n, g, o // g, length)
    matrix = weight.reshape(g, o // g, rows).transpose(1, 2)
    matrix = matrix[0] if g == 1 else matrix
    if geometry.is_pointwise():
        return strided.matmul(matrix, grad).view(n, c, *out)
    made = strided.zeros(n, c, *geometry.padded(), dtype=_sums(grad), device=grad.device)
    shifted = _shifted_planes(geometry)
    if shifted:
        offsets, width, steps = shifted
        grad = _as_vectors(grad.view(n, o, *out), geometry, width, steps).view(n, g, o // g, width)
    many = _share(g * rows, geometry, grad.element_size())
    for i in range(0, n, many):
        columns, part = strided.matmul(matrix, grad[i : i + many]), made[i : i + many]
        if shifted:
            columns, part = columns.view(-1, c, len(offsets), width), part.view(-1, c, math.prod(geometry.padded()))
            for k, (_, offset) in enumerate(offsets):
                part.narrow(2, offset, width).add_(columns[:, :, k])
        else:
            columns = columns.view(-1, c, *geometry.kernel, *out)
            for at, place in geometry.taps():
                part[(slice(None), slice(None), *place)].add_(columns[(slice(None), slice(None), *at)])
    return _inside(made, geometry).contiguous().to(dtype)


def _backward_weight(x, grad, geometry):
    n, c, o, g = x.size(0), x.size(1), grad.size(1), geometry.groups
    if _is_depthwise(c, geometry):
        return _backward_weight_depthwise(x, grad, geometry)
    length, rows = math.prod(geometry.output()), c // g * math.prod(geometry.kernel)
    dtype, (x, grad) = x.dtype, _factors(x, grad)
    made = strided.zeros(g, o // g, rows, dtype=x.dtype, device=x.device)
    grad = grad.contiguous().view(n, g, o // g, length)  # a gradient of a sum repeats one element
    if geometry.is_pointwise():
        windows = x.reshape(n, g, rows, length)
        made = strided.matmul(grad, windows.transpose(2, 3)).sum(0)
    else:
        windows = _windows(_padded(x, geometry), geometry)
        many = _share(g * rows, geometry, x.element_size())
        for i in range(0, n, many):
            columns = _columns(windows[i : i + many], geometry)
            for j in range(len(columns)):
                made.baddbmm_(grad[i + j], columns[j].transpose(1, 2))
    return made.to(dtype).view(o, c // g, *geometry.kernel)


class _Convolution(strided.autograd.Function):
    """Note [Three products of a convolution]."""

    @staticmethod
    def forward(ctx, x, weight, geometry):
        ctx.save_for_backward(x, weight)
        ctx.geometry = geometry
        return _forward(x, weight, geometry)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        to_x, to_weight, _ = ctx.needs_input_grad
        return (
            _OfInput.apply(grad, weight.conj(), ctx.geometry) if to_x else None,
            _OfWeight.apply(x.conj(), grad, ctx.geometry) if to_weight else None,
            None,
        )


class _OfInput(strided.autograd.Function):
    """Note [Three products of a convolution]."""

    @staticmethod
    def forward(ctx, grad, weight, geometry):
        ctx.save_for_backward(grad, weight)
        ctx.geometry = geometry
        return _backward_input(grad, weight, geometry)

    @staticmethod
    def backward(ctx, x):
        grad, weight = ctx.saved_tensors
        to_grad, to_weight, _ = ctx.needs_input_grad
        return (
            _Convolution.apply(x, weight.conj(), ctx.geometry) if to_grad else None,
            _OfWeight.apply(x, grad.conj(), ctx.geometry) if to_weight else None,
            None,
        )


class _OfWeight(strided.autograd.Function):
    """Note [Three products of a convolution]."""

    @staticmethod
    def forward(ctx, x, grad, geometry):
        ctx.save_for_backward(x, grad)
        ctx.geometry = geometry
        return _backward_weight(x, grad, geometry)

    @staticmethod
    def backward(ctx, weight):
        x, grad = ctx.saved_tensors
        to_x, to_grad, _ = ctx.needs_input_grad
        return (
            _OfInput.apply(grad.conj(), weight, ctx.geometry) if to_x else None,
            _Convolution.apply(x.conj(), weight, ctx.geometry) if to_grad else None,
            None,
        )


# ---------------------------------------------------------------- arguments


_WORDS = {
    strided.float32: "float", strided.float64: "double", strided.float16: "c10::Half",
    strided.bfloat16: "c10::BFloat16", strided.int64: "long int", strided.int32: "int", strided.int16: "short int",
    strided.int8: "signed char", strided.uint8: "unsigned char", strided.complex64: "c10::complex<float>",
    strided.complex128: "c10::complex<double>",
}  # fmt: skip


def _check_dtypes(input, *others):
    for other in others:
        if other is not None and input.dtype != other.dtype:
            a, b = (_WORDS.get(t.dtype, str(t.dtype).split(".")[-1]) for t in (input, other))
            raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same")


def _batched(name, input, weight, bias, axes):
    """The input with a batch, and whether it had one."""
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}"
        )
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.ndim != axes + 2:
        d = weight.ndim
        raise RuntimeError(
            f"Expected {d}-dimensional input for {d}-dimensional weight {list(weight.shape)}, but got {axes + 2}-dimensional input of size {list(input.shape)} instead"
        )
    _check_dtypes(input, weight, bias)
    return (input, True) if input.ndim == axes + 2 else (input.unsqueeze(0), False)


def _check_positive(stride, dilation, groups):
    if groups <= 0:
        raise RuntimeError(f"expected groups to be greater than 0, but got groups={groups}")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")


def _finished(made, bias, batched):
    if bias is not None:
        if bias.ndim != 1 or bias.size(0) != made.size(1):
            raise RuntimeError(
                f"Given weight of size [{made.size(1)}, ...], expected bias to be 1-dimensional with {made.size(1)} elements, but got bias of size {list(bias.shape)} instead"
            )
        shape = [-1] + [1] * (made.ndim - 2)
        # What was just made here is nobody else's yet.
        made = made + bias.view(shape) if made.requires_grad or bias.requires_grad else made.add_(bias.view(shape))
    return made if batched else made.squeeze(0)


def _same(input, kernel, dilation):
    """Padding that keeps the size; the odd element is put behind."""
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    more = [t % 2 for t in total]
    if any(more):
        input = pad(input, [v for m in reversed(more) for v in (0, m)])
    return input, [t // 2 for t in total]


def _conv(name, axes, input, weight, bias, stride, padding, dilation, groups):
    x, batched = _batched(name, input, weight, bias, axes)
    stride, dilation = _ints(axes)(stride), _ints(axes)(dilation)
    if padding == "same" and groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    _check_positive(stride, dilation, groups)
    kernel = weight.shape[2:]
    if padding == "same":
        if max(stride) != 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        x, padding = _same(x, kernel, dilation)
    elif padding == "valid":
        padding = (0,) * axes
    elif isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    padding = _ints(axes)(padding)
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if weight.size(0) < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(weight.shape)} instead"
        )
    if weight.size(0) % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size {list(weight.shape)} instead"
        )
    if x.size(1) != weight.size(1) * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {weight.size(1) * groups} channels, but got {x.size(1)} channels instead"
        )
    geometry = _Geometry(kernel, stride, padding, dilation, groups, x.shape[2:])
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    if any(n < s for n, s in zip(geometry.padded(), spans)):
        have, need = (" x ".join(str(n) for n in sizes) for sizes in (geometry.padded(), spans))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({have}). Kernel size: ({need}). Kernel size can't be greater than actual input size"
        )
    return _finished(_Convolution.apply(x, weight, geometry), bias, batched)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, length) with weight (out, channels / groups, kernel).

    Args:
        padding: zeros on both sides; 'same' keeps the size, 'valid' is none.

    >>> strided.nn.functional.conv1d(strided.arange(4.).view(1, 1, 4), strided.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, height, width) with weight (out, channels / groups, height, width)."""
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, depth, height, width)."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(name, axes, input, weight, bias, stride, padding, output_padding, groups, dilation):
    grad, batched = _batched(name, input, weight, bias, axes)
    stride, padding, more, dilation = (_ints(axes)(v) for v in (stride, padding, output_padding, dilation))
    _check_positive(stride, dilation, groups)
    if grad.size(1) != weight.size(0):
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {weight.size(0)} channels, but got {grad.size(1)} channels instead"
        )
    if weight.size(0) % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size {list(weight.shape)} instead"
        )
    if any(m >= max(s, d) for m, s, d in zip(more, stride, dilation)):
        raise RuntimeError("output padding must be smaller than either stride or dilation")
    kernel = weight.shape[2:]
    size = [
        (n - 1) * s - 2 * p + d * (k - 1) + m + 1
        for n, s, p, d, k, m in zip(grad.shape[2:], stride, padding, dilation, kernel, more)
    ]
    if min(size) < 1:
        raise RuntimeError(
            f"Given input size per channel: {list(grad.shape[2:])}. Calculated output size per channel: {size}. Output size is too small"
        )
    geometry = _Geometry(kernel, stride, padding, dilation, groups, size, grad.shape[2:])
    return _finished(_OfInput.apply(grad, weight, geometry), bias, batched)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv1d: weight has shape (channels, out / groups, kernel)."""
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv2d: weight has shape (channels, out / groups, height, width)."""
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv3d."""
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d of (length, batch, channels) with weight (kernel, channels, out)."""
    made = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1).contiguous()
