"""Padding, and elements that change their places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from ... import _C
from ..._calls.arguments import whole, wholes
from ..._calls.overrides import shown_as
from .._tuples import _pair
from ._compiled import compiled
from ._order import in_order_of

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor

__all__ = ["channel_shuffle", "fold", "native_channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold"]


_steady = _C.functions["_with_steady_gradient"]


def _cropped(input, sides):
    """input without what negative numbers take away, and the numbers without these.  sides: (axis, before, after)."""
    left = []
    for axis, before, after in sides:
        cut, end = max(-before, 0), max(-after, 0)
        if cut or end:
            size = input.size(axis) - cut - end
            if size < 0:
                raise RuntimeError(
                    f"narrow(): length must be non-negative: padding ({before}, {after}) of an axis of {input.size(axis)}"
                )
            input = input.narrow(axis, cut, size)
        left.append((axis, max(before, 0), max(after, 0)))
    return input, left


def _padded_shape(input, sides):
    shape = list(input.shape)
    for axis, before, after in sides:
        shape[axis] += before + after
    if max(shape) >= 2**63:
        raise RuntimeError(f"pad: the result would have the shape {shape}, whose sizes do not fit 64 bits")
    return shape


def _constant(input, sides, value):
    input, sides = _cropped(input, sides)
    if not any(a or b for _, a, b in sides):
        return input.clone()
    inner = [slice(None)] * input.ndim
    for axis, before, _ in sides:
        inner[axis] = slice(before, before + input.size(axis))
    made = strided.full(_padded_shape(input, sides), value, dtype=input.dtype, device=input.device)
    made[tuple(inner)] = input
    return made


def _places(mode, n, before, after, device):
    """For each place along a padded axis of n elements, the element that stands there."""
    at = strided.arange(-before, n + after, device=device)
    if mode == "circular":
        return at.remainder(n)
    if mode == "replicate":
        return at.clamp(0, n - 1)
    return (n - 1) - ((n - 1) - at.abs()).abs()


def _repeated(mode, made, axis, before, after):
    """Writes the `before` first and `after` last places along an axis of made from those between them."""
    n = made.size(axis) - before - after
    if mode == "circular":
        first, last = made.narrow(axis, n, before), made.narrow(axis, before, after)
    elif mode == "replicate":
        first, last = made.narrow(axis, before, 1), made.narrow(axis, before + n - 1, 1)
    else:
        first, last = made.narrow(axis, before + 1, before).flip(axis), made.narrow(axis, n - 1 + before - after, after)
        last = last.flip(axis)
    if before:
        made.narrow(axis, 0, before).copy_(first)
    if after:
        made.narrow(axis, before + n, after).copy_(last)


def _written(mode, input, sides):
    """The padded tensor, written once: the input, then what is repeated along one axis after the other."""
    made = strided.empty(_padded_shape(input, sides), dtype=input.dtype, device=input.device)
    region = made  # without the borders of the axes to come
    for axis, before, _ in sides:
        region = region.narrow(axis, before, input.size(axis))
    region.copy_(input)
    for i, (axis, before, after) in enumerate(sides):
        region = made
        for later, start, _ in sides[i + 1 :]:
            region = region.narrow(later, start, input.size(later))
        _repeated(mode, region, axis, before, after)
    return made


def _check_sides(mode, input, sides):
    for axis, before, after in sides:
        n = input.size(axis)
        if mode == "reflect" and (before >= n or after >= n):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({before}, {after}) at dimension {axis} of input {list(input.shape)}"
            )
        if mode == "circular" and (before > n or after > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + before + after < 1 or n == 0:
            raise RuntimeError(f"padding ({before}, {after}) leaves nothing of dimension {axis} of {list(input.shape)}")


_NODES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}  # of PyTorch


@compiled
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """input with elements more on the sides of its last axes.

    Args:
        pad: (before, after) of the last axis, then of the one before it, ...; negative numbers take away.
        mode: 'constant' (value, by default 0), 'reflect', 'replicate' or 'circular'.

    >>> strided.nn.functional.pad(strided.tensor([1., 2., 3.]), (1, 2), value=9)
    tensor([9., 1., 2., 3., 9., 9.])
    >>> strided.nn.functional.pad(strided.tensor([[1., 2., 3.]]), (1, 1), mode='reflect')
    tensor([[2., 1., 2., 3., 2.]])
    """
    wholes("pad", "pad", 2, pad, single=False)
    made = plain_pad(input, pad, mode, value)
    if mode == "circular":
        return _C._shown_as("CopySlices", made, input)
    node = "ConstantPadNdBackward0" if mode == "constant" else f"{_NODES[mode]}{len(pad) // 2}DBackward0"
    return _C._shown_as(node, in_order_of(made, input), input)


def plain_pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``pad`` that takes no care of the order in which the input's axes lie."""
    sizes = [int(p) for p in pad]
    if len(sizes) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(sizes) // 2 > input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length {len(sizes)} and input of dimension {input.ndim}"
        )
    sides = [(input.ndim - 1 - i, sizes[2 * i], sizes[2 * i + 1]) for i in range(len(sizes) // 2)]
    if mode == "constant":
        return _constant(input, sides, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(sides) not in (1, 2, 3) or input.ndim - len(sides) not in (1, 2):
        raise NotImplementedError(
            f"Padding size {len(sizes)} is not supported for {input.ndim}D input tensor.\nPadding that is not constant takes 2 numbers for 2D or 3D input, 4 for 3D or 4D, 6 for 4D or 5D"
        )
    _check_sides(mode, input, sides)
    if mode != "replicate":  # which may repeat an element that is cut off on the other side
        input, sides = _cropped(input, sides)
    recorded = strided.is_grad_enabled() and input.requires_grad
    if type(input) is strided.Tensor and not recorded and all(a >= 0 and b >= 0 for _, a, b in sides):
        return _written(mode, input, sides)
    if mode != "circular":
        input = _steady(input)
    for axis, before, after in sides:
        if before or after:
            input = input.index_select(axis, _places(mode, input.size(axis), before, after, input.device))
    return input


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """``pad`` in the mode 'constant'."""
    wholes("constant_pad_nd", "pad", 2, pad, single=False)
    from strided.nn import functional  # the public function, which types of the user's own and vmap see

    return functional.pad(input, pad, "constant", value)


# ---------------------------------------------------------------- channels to pixels


def _copied(x):
    """x in memory of its own, in rows."""
    return x.clone(memory_format=strided.contiguous_format)


@compiled
@shown_as("PixelShuffleBackward0")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., c r r, h, w) as (..., c, h r, w r) (Shi et al., "Real-Time Single Image and Video Super-Resolution Using an
    Efficient Sub-Pixel Convolutional Neural Network", 2016)."""
    r = whole("pixel_shuffle", "upscale_factor", 2, upscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if r * r >= 2**63:
        raise ValueError(f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    if r == 1:
        return in_order_of(_copied(input), input, volumes=False)
    n = len(lead)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    made = _copied(input.reshape(*lead, c // (r * r), r, r, h, w).permute(order))
    return in_order_of(made.reshape(*lead, c // (r * r), h * r, w * r), input, volumes=False)


@compiled
@shown_as("PixelUnshuffleBackward0")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., c, h r, w r) as (..., c r r, h, w): what pixel_shuffle undoes."""
    r = whole("pixel_unshuffle", "downscale_factor", 2, downscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for name, n in (("height", h), ("width", w)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({-2 if name == 'height' else -1})={n} is not divisible by {r}"
            )
    if r == 1:
        return in_order_of(_copied(input), input, volumes=False)
    n = len(lead)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    made = _copied(input.reshape(*lead, c, h // r, r, w // r, r).permute(order))
    return in_order_of(made.reshape(*lead, c * r * r, h // r, w // r), input, volumes=False)


@compiled
@shown_as("ChannelShuffleBackward0")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels (axis 1) of `groups` groups taken in turn from each (Zhang et al., "ShuffleNet", 2018)."""
    groups = whole("channel_shuffle", "groups", 2, groups)
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    made = _copied(input.reshape(n, groups, c // groups, *rest).transpose(1, 2))
    return in_order_of(made.reshape(input.shape), input)


native_channel_shuffle = channel_shuffle


# ---------------------------------------------------------------- blocks of images


def _blocks(size, kernel, dilation, padding, stride):
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]


def _check_blocks(**sizes):
    for name, values in sizes.items():
        least = 0 if name == "padding" else 1
        if len(values) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(values)}")
        if min(values) < least:
            raise RuntimeError(
                f"{name} should be {'non-negative' if least == 0 else 'greater than zero'}, but got {values}"
            )


@compiled
@shown_as("Im2ColBackward0")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The blocks of an image that a kernel sees, as columns: shape (batch, channels * kernel elements, blocks).

    >>> strided.nn.functional.unfold(strided.arange(9.).view(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    kernel, dilation, padding, stride = (_pair(v) for v in (kernel_size, dilation, padding, stride))
    _check_blocks(kernel_size=kernel, dilation=dilation, padding=padding, stride=stride)
    if input.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {list(input.shape)}"
        )
    x = input if input.ndim == 4 else input.unsqueeze(0)
    n, c, *size = x.shape
    blocks = _blocks(size, kernel, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({size[0]}, {size[1]}), kernel_size={kernel}, dilation={dilation}, padding={padding}, calculated shape of the array of sliding blocks as ({blocks[0]}, {blocks[1]}), but its components must be at least one."
        )
    if any(padding):
        x = plain_pad(x, (padding[1], padding[1], padding[0], padding[0]))
    elif not x.is_contiguous():
        x = x.contiguous()
    sn, sc, sh, sw = x.stride()
    strides = (sn, sc, sh * dilation[0], sw * dilation[1], sh * stride[0], sw * stride[1])
    made = x.as_strided((n, c, *kernel, *blocks), strides, x.storage_offset()).reshape(
        n, c * math.prod(kernel), math.prod(blocks)
    )
    return made if input.ndim == 4 else made.squeeze(0)


class _Fold(strided.autograd.Function):
    """The sum of blocks (batch, channels, *kernel, *blocks) at their places. Its gradient unfolds."""

    @staticmethod
    def forward(ctx, cols, size, dilation, padding, stride):
        n, c, *kernel, high, wide = cols.shape
        ctx.options = kernel, dilation, padding, stride
        made = strided.zeros(
            n, c, size[0] + 2 * padding[0], size[1] + 2 * padding[1], dtype=cols.dtype, device=cols.device
        )
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                top, left = i * dilation[0], j * dilation[1]
                rows = slice(top, top + stride[0] * (high - 1) + 1, stride[0])
                columns = slice(left, left + stride[1] * (wide - 1) + 1, stride[1])
                made[:, :, rows, columns] += cols[:, :, i, j]
        ctx.shape = cols.shape
        return made[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]].contiguous()

    @staticmethod
    def backward(ctx, grad):
        return unfold(grad, *ctx.options).view(ctx.shape), None, None, None, None


@compiled
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sum of blocks at their places in an image of output_size: the transpose of unfold.

    Args:
        input: shape (batch, channels * kernel elements, blocks), or without batch.
    """
    size = _pair(output_size)
    kernel, dilation, padding, stride = (_pair(v) for v in (kernel_size, dilation, padding, stride))
    _check_blocks(kernel_size=kernel, dilation=dilation, padding=padding, stride=stride)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: {list(input.shape)}"
        )
    cols = input if input.ndim == 3 else input.unsqueeze(0)
    blocks = _blocks(size, kernel, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, calculated shape of the array of sliding blocks as {tuple(blocks)}, which is too small (non-positive)"
        )
    taps = math.prod(kernel)
    if cols.size(1) % taps:
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={cols.size(1)} and kernel_size={kernel}."
        )
    if cols.size(2) != math.prod(blocks):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding blocks {blocks[0]} * {blocks[1]} = {math.prod(blocks)}, but got input.size(2)={cols.size(2)}."
        )
    n, c = cols.size(0), cols.size(1) // taps
    cols = cols.reshape(n, c, *kernel, *blocks)
    made = _Fold.apply(cols, size, dilation, padding, stride)
    return made if input.ndim == 3 else made.squeeze(0)
