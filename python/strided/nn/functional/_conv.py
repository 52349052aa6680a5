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
from ._padding import plain_pad as pad

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip

_product = strided._C.functions["_matmul_folded"]
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


def _windows(x, geometry, turned=False):
    """A view of the padded input: (batch, groups, channels, *kernel, *output), the kernel backwards if `turned`."""
    n, c = x.shape[:2]
    g, steps, first = geometry.groups, x.stride(), x.storage_offset()
    kernel = [s * d for s, d in zip(steps[2:], geometry.dilation)]
    output = [s * d for s, d in zip(steps[2:], geometry.stride)]
    if turned:
        first += sum((k - 1) * s for k, s in zip(geometry.kernel, kernel))
        kernel = [-s for s in kernel]
    shape = (n, g, c // g, *geometry.kernel, *geometry.output())
    return x.as_strided(shape, (steps[0], c // g * steps[1], steps[1], *kernel, *output), first)


def _is_depthwise(c, geometry):
    """Whether each group has one input channel, and steps are 1: Note [Shifted planes]."""
    return c == geometry.groups > 1 and all(s == 1 for s in geometry.stride)


# Outputs of a sample below which all samples make one product: short ones read the weight too often.
_FEW = 256


def _forward(x, weight, geometry, turned=False):
    n, o, g = x.size(0), weight.size(0), geometry.groups
    out, axes = geometry.output(), len(geometry.kernel) + 1
    windows = _windows(_padded(x, geometry), geometry, turned)
    matrix = weight.reshape(g, o // g, math.prod(weight.shape[1:]))
    if g == 1 and n > 1 and math.prod(out) < _FEW:
        made = _product(matrix[0], windows[:, 0].movedim(0, axes), axes)
        return made.view(o, n, *out).transpose(0, 1).contiguous()
    return _product(matrix.expand(n, *matrix.shape), windows, axes).view(n, o, *out)


# Note [Shifted planes]
# With steps of 1, an element of the kernel is multiplied with the padded plane from some offset on. So planes are taken
# as vectors, which are long, and not as rows, which are short; what stands behind the end of an output row is computed
# too, and left out in the end.


def _backward_weight_depthwise(x, grad, geometry):
    n, c = x.shape[:2]
    times = grad.size(1) // c
    sizes = geometry.padded()
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    taps = list(itertools.product(*(range(k) for k in geometry.kernel)))
    offsets = [sum(i * d * s for i, d, s in zip(at, geometry.dilation, steps)) for at in taps]
    length = math.prod(sizes) - offsets[-1]
    vectors = strided.zeros(n, c * times, length, dtype=grad.dtype, device=grad.device)
    vectors.as_strided(grad.shape, (*vectors.stride()[:2], *steps)).copy_(grad)  # zeros where no output stands
    vectors, planes = _factors(vectors.view(n, c, times, length), _padded(x, geometry).view(n, c, -1, 1))
    made = strided.zeros(c * times, 1, *geometry.kernel, dtype=_sums(x), device=x.device)
    for at, offset in zip(taps, offsets):
        made[(slice(None), 0, *at)] = vectors.matmul(planes.narrow(2, offset, length)).sum((0, 3)).reshape(-1)
    return made.to(x.dtype)


def _backward_input(grad, weight, geometry):
    n, o, g = grad.size(0), grad.size(1), geometry.groups
    c = weight.size(1) * g
    spans = [d * (k - 1) for d, k in zip(geometry.dilation, geometry.kernel)]
    padding = [s - p for s, p in zip(spans, geometry.padding)]
    length = math.prod(geometry.output())
    # Over a small image the other way is less work: each gradient is multiplied with each element of the kernel once.
    widens = length < _FEW and math.prod(geometry.size) > 2 * length
    if all(s == 1 for s in geometry.stride) and min(padding) >= 0 and not widens:
        whole = _Geometry(geometry.kernel, geometry.stride, padding, geometry.dilation, g, grad.shape[2:])
        if whole.output() == list(geometry.size):
            weight = weight.reshape(g, o // g, c // g, *geometry.kernel).transpose(1, 2)
            return _forward(grad, weight.reshape(c, o // g, *geometry.kernel), whole, turned=True)
    dtype = grad.dtype
    rows = weight.size(1) * math.prod(geometry.kernel)
    grad, weight = _factors(grad, weight)
    if g == 1 and length < _FEW and c >= geometry.output()[-1]:
        return _backward_input_of_few(grad, weight, geometry).to(dtype)
    grad = grad.reshape(n, g, o // g, length)
    matrix = weight.reshape(g, o // g, rows).transpose(1, 2)
    made = strided.zeros(n, c, *geometry.padded(), dtype=_sums(grad), device=grad.device)
    many = max(1, _BUFFER // max(1, g * rows * length * grad.element_size()))
    for i in range(0, n, many):
        columns, part = strided.matmul(matrix, grad[i : i + many]), made[i : i + many]
        columns = columns.view(-1, c, *geometry.kernel, *geometry.output())
        for at, place in geometry.taps():
            part[(slice(None), slice(None), *place)].add_(columns[(slice(None), slice(None), *at)])
    return _inside(made, geometry).contiguous().to(dtype)


def _backward_input_of_few(grad, weight, geometry):
    """For few outputs of a sample, which are columns of one product for many samples; channels come last, as they are
    longer rows than those of the image."""
    (n, o), c = grad.shape[:2], weight.size(1)
    out, taps = geometry.output(), math.prod(geometry.kernel)
    length = math.prod(out)
    matrix = weight.movedim(1, -1).reshape(o, taps * c)
    grad = grad.reshape(n, o, length).transpose(1, 2)
    made = strided.zeros(n, *geometry.padded(), c, dtype=grad.dtype, device=grad.device)
    many = max(1, _BUFFER // max(1, taps * c * length * grad.element_size()))
    for i in range(0, n, many):
        part = made[i : i + many]
        columns = grad[i : i + many].reshape(-1, o) @ matrix
        columns = columns.view(-1, *out, *geometry.kernel, c)
        for at, place in geometry.taps():
            part[(slice(None), *place)].add_(columns[(..., *at, slice(None))])
    return _inside(made.movedim(-1, 1), geometry).contiguous()


def _backward_weight(x, grad, geometry):
    n, c, o, g = x.size(0), x.size(1), grad.size(1), geometry.groups
    if _is_depthwise(c, geometry):
        return _backward_weight_depthwise(x, grad, geometry)
    rows, axes = c // g * math.prod(geometry.kernel), len(geometry.kernel)
    dtype, (x, grad) = x.dtype, _factors(x, grad)
    length, windows = math.prod(geometry.output()), _windows(_padded(x, geometry), geometry)
    outputs, taps = range(axes + 3, 2 * axes + 3), range(2, axes + 3)
    windows = windows.permute(1, 0, *outputs, *taps)
    if length < _FEW:
        # Of all samples at once, which are an axis of the sum.
        grad = grad.reshape(n, g, o // g, length).permute(1, 2, 0, 3).reshape(g, o // g, n * length)
        return _product(grad, windows, axes + 1).to(dtype).view(o, c // g, *geometry.kernel)
    grad = grad.contiguous().view(n, g, o // g, length)  # a gradient of a sum repeats one element
    made = strided.zeros(g, o // g, rows, dtype=x.dtype, device=x.device)
    for i in range(n):
        _product(grad[i], windows[:, i], axes, made)
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
