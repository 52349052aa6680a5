"""Pooling: maxima and means of windows."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING

import strided

from ..._arguments import wholes
from ..._out import into as _into
from .._tuples import _ints
from ._order import in_order_of, in_order_of_lines
from ._padding import plain_pad as pad

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
]  # fmt: skip


def _check(name, input, axes):
    """The input with a batch."""
    low = axes + 1
    if axes == 1:
        _check_planes(name, input, axes)
    if input.ndim not in (low, low + 1):
        raise RuntimeError(f"non-empty {low}D or {low + 1}D (batch mode) tensor expected for input")
    return input if input.ndim == low + 1 else input.unsqueeze(0)


def _check_planes(name, input, axes):
    """Only the batch may be empty."""
    given, low = list(input.shape), axes + 1
    if input.ndim in (low, low + 1) and 0 not in given[-low:]:
        return
    if axes == 3:
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of {given} and non-batch dimension {given[-low:].index(0)} has length zero!"
        )
    kind = (
        f"Expected {low}D or {low + 1}D (batch mode) tensor with optional 0 dim batch size for input, but got:{given}"
    )
    raise RuntimeError(f"{name}: {kind}" if axes == 1 else kind)


def _check_windows(name, kernel, stride, padding, dilation):
    if name == "max_pool1d":
        for word, (value,) in {"kernel_size": kernel, "stride": stride, "dilation": dilation}.items():
            if value <= 0:
                raise RuntimeError(f"{name}() {word} must be greater than zero, but got {value}")
    if min(stride) <= 0:
        raise RuntimeError("stride should not be zero" if 0 in stride else "stride must be greater than zero")
    if min(dilation) <= 0:
        sizes = " ".join(f"dilation{axis}: {d}" for axis, d in zip("THW"[-len(dilation) :], dilation))
        raise RuntimeError(f"dilation should be greater than zero, but got {sizes}")
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}: kernel_size must be greater than zero, but got {list(kernel)}")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )


def _sizes(name, input, kernel, stride, padding, dilation, ceil_mode):
    """How many windows there are along each axis; with ceil_mode the last one may hang over the end."""
    _check_windows(name, kernel, stride, padding, dilation)
    _check_planes(name, input, len(kernel))
    found = []
    for n, k, s, p, d in zip(input.shape[2:], kernel, stride, padding, dilation):
        left = n + 2 * p - d * (k - 1) - 1
        count = (-(-left // s) if ceil_mode else left // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        found.append(count)
    if min(found) < 1:
        if name == "max_pool1d":
            raise RuntimeError(f"{name}() Invalid computed output size: {found[0]}")
        raise RuntimeError(
            f"Given input size: ({'x'.join(str(n) for n in input.shape[1:])}). Calculated output size: ({'x'.join(str(n) for n in (input.size(1), *found))}). Output size is too small"
        )
    return found


def _windowed(x, fill, out, kernel, stride, padding, dilation):
    """A view of x, padded by `fill`, as (batch, channels, *out, *kernel)."""
    ends = [
        (o - 1) * s + d * (k - 1) + 1 - p - n
        for o, s, d, k, p, n in zip(out, stride, dilation, kernel, padding, x.shape[2:])
    ]
    if any(padding) or any(e > 0 for e in ends):
        x = pad(x, [v for p, e in zip(reversed(padding), reversed(ends)) for v in (p, max(e, 0))], value=fill)
    elif not x.is_contiguous():
        x = x.contiguous()
    steps = x.stride()
    outer = [t * s for t, s in zip(steps[2:], stride)]
    inner = [t * d for t, d in zip(steps[2:], dilation)]
    return x.as_strided((*x.shape[:2], *out, *kernel), (*steps[:2], *outer, *inner), x.storage_offset())


def _lowest(x):
    return -math.inf if x.dtype.is_floating_point else strided.iinfo(x.dtype).min


# Note [Windows and taps]
# Maxima are taken over windows where those are long rows, or few; else element by element of the kernel (a tap), each
# over the whole image: loops are long, and windows that overlap are not copied.


def _has_long_windows(x, kernel, stride):
    long = math.prod(kernel) > 16 and (len(kernel) == 1 or all(s >= k for s, k in zip(stride, kernel)))
    return long or x.numel() <= 4096 or math.prod(kernel) == 1  # one tap would be the image itself


def _flat_places(position, size, out, kernel, stride, padding, dilation):
    """From the position of an element in its window, its position in the input's plane."""
    axes = len(size)
    total = None
    for i in range(axes):
        inner = math.prod(kernel[i + 1 :])
        at = position.div(inner, rounding_mode="floor") % kernel[i] if i else position.div(inner, rounding_mode="floor")
        start = strided.arange(out[i], device=position.device) * stride[i] - padding[i]
        at = at * dilation[i] + start.view([-1 if j == i + 2 else 1 for j in range(axes + 2)])
        at = strided.where(at < 0, at.remainder(dilation[i]), at)  # no padding is the maximum, even of -inf
        total = at if total is None else total * size[i] + at
    return total


def _taps(x, fill, out, kernel, stride, padding, dilation):
    """For each element of the kernel, the elements of x that it meets, (batch, channels, *out), in row-major order."""
    windows = _windowed(x, fill, out, kernel, stride, padding, dilation)
    for at in itertools.product(*(range(k) for k in kernel)):
        yield at, windows[(..., *at)]


def _over_windows(x, fill, combine, out, kernel, stride, padding, dilation):
    """The combination of the elements of each window, taps along one axis after the other."""
    axes = len(kernel)
    for i in range(axes):
        whole = [*x.shape[2 : 2 + i], out[i], *x.shape[3 + i :]]
        part = [
            [v[i] if j == i else none for j in range(axes)]
            for v, none in zip((kernel, stride, padding, dilation), (1, 1, 0, 1))
        ]
        x = functools.reduce(combine, (r for _, r in _taps(x, fill, whole, *part)))
    return x.contiguous()


def _maxima(x, *options):
    """Maxima of windows (Note [Windows and taps])."""
    _, kernel, stride, *_ = options
    if _has_long_windows(x, kernel, stride):
        return _windowed(x, _lowest(x), *options).amax(list(range(-len(kernel), 0)))
    return _over_windows(x, _lowest(x), strided.maximum, *options)


def _maxima_and_places(x, out, kernel, stride, padding, dilation):
    """Maxima of windows and their places in the input's plane: the first of equal ones."""
    size, axes = x.shape[2:], len(kernel)
    if _has_long_windows(x, kernel, stride):
        windows = _windowed(x, _lowest(x), out, kernel, stride, padding, dilation)
        best, position = windows.reshape(*x.shape[:2], *out, math.prod(kernel)).max(-1)
        return best, _flat_places(position, size, out, kernel, stride, padding, dilation)
    steps = [math.prod(size[i + 1 :]) for i in range(axes)]
    base, first = 0, 0  # the place of a window's first element; from there to the first one that is not padding
    for i, (s, p, d) in enumerate(zip(stride, padding, dilation)):
        start = (strided.arange(out[i], device=x.device) * s - p).view([-1 if j == i else 1 for j in range(axes)])
        base = base + start * steps[i]
        first = first + (-start).clamp(min=0).add(d - 1).div(d, rounding_mode="floor") * (d * steps[i])
    best = None
    for at, r in _taps(x, _lowest(x), out, kernel, stride, padding, dilation):
        r = r.contiguous()
        if best is None:
            narrow = strided.int32 if math.prod(size) < 1 << 31 else strided.int64
            best, offset = r, first.to(narrow).expand(r.shape).clone()
            continue
        better = r > best
        if x.dtype.is_floating_point:
            better = better.logical_or_(r != r)
        offset = offset.masked_fill_(better, sum(i * d * step for i, d, step in zip(at, dilation, steps)))
        best = strided.maximum(best, r)
    return best, base + offset


class _MaxPool(strided.autograd.Function):
    """Maxima of windows; a window's gradient goes to the element that is its maximum, the first of equal ones."""

    @staticmethod
    def forward(ctx, x, out, kernel, stride, padding, dilation, with_places):
        ctx.shape = x.shape
        if not with_places:
            return _maxima(x, out, kernel, stride, padding, dilation)
        best, places = _maxima_and_places(x, out, kernel, stride, padding, dilation)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return best, places

    @staticmethod
    def backward(ctx, grad, _=None):
        (places,) = ctx.saved_tensors
        lead = ctx.shape[:2]
        flat = strided.zeros(*lead, math.prod(ctx.shape[2:]), dtype=grad.dtype, device=grad.device)
        made = flat.scatter_add(2, places.reshape(*lead, -1), grad.reshape(*lead, -1))
        return made.view(ctx.shape), None, None, None, None, None, None


def _max_pool(name, axes, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    kernel_size, padding = wholes(name, "kernel_size", 2, kernel_size), wholes(name, "padding", 4, padding)
    stride = None if stride is None else wholes(name, "stride", 3, stride)
    dilation = wholes(name, "dilation", 5, dilation)
    x = _check(name, input, axes)
    many = _ints(axes)
    kernel, padding, dilation = many(kernel_size), many(padding), many(dilation)
    stride = many(stride) if stride not in (None, (), []) else kernel
    out = _sizes(name, x, kernel, stride, padding, dilation, ceil_mode)
    recorded = x.requires_grad and strided.is_grad_enabled()
    made = _MaxPool.apply(x, out, kernel, stride, padding, dilation, return_indices or recorded)
    best, places = made if isinstance(made, tuple) else (made, None)
    if input.ndim == axes + 1:
        best, places = best.squeeze(0), places if places is None else places.squeeze(0)
    if axes > 1:
        ordered = in_order_of
    elif places is not None:
        ordered = in_order_of_lines
    else:
        return best
    return (ordered(best, input), ordered(places, input)) if return_indices else ordered(best, input)


def _define_max_pool(axes):
    name = f"max_pool{axes}d"

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return _max_pool(name, axes, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _max_pool(name, axes, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""The maximum of each window of kernel_size over the last {axes} axes.

    Args:
        input: shape (batch, channels, ...) or (channels, ...). stride: kernel_size if None. padding: by minus infinity.
        ceil_mode: a last window may hang over the end. return_indices: the positions of the maxima too.
    """
    with_indices.__name__ = with_indices.__qualname__ = name + "_with_indices"
    with_indices.__doc__ = f"{name} and the positions of the maxima in their planes."
    return pool, with_indices


max_pool1d, max_pool1d_with_indices = _define_max_pool(1)
max_pool2d, max_pool2d_with_indices = _define_max_pool(2)
max_pool3d, max_pool3d_with_indices = _define_max_pool(3)


# ---------------------------------------------------------------- means


def _counts(n, out, k, s, p, include):
    """How many elements each window along one axis has; with `include` padding counts."""
    starts = [i * s - p for i in range(out)]
    low, high = (-p, n + p) if include else (0, n)
    return [min(a + k, high) - max(a, low) for a in starts]


class _SumPool(strided.autograd.Function):
    """Sums of windows."""

    @staticmethod
    def forward(ctx, x, out, kernel, stride, padding):
        ctx.options, ctx.shape = (out, kernel, stride, padding), x.shape
        options = (out, kernel, stride, padding, (1,) * len(kernel))
        if _has_long_windows(x, kernel, stride) or x.dtype.itemsize < 4:  # sums of 16-bit floats are rounded once
            return _windowed(x, 0, *options).sum(list(range(-len(kernel), 0)))
        return _over_windows(x, 0, strided.add, *options)

    @staticmethod
    def backward(ctx, grad):
        return _Spread.apply(grad, ctx.shape, *ctx.options), None, None, None, None


class _Spread(strided.autograd.Function):
    """The transpose of _SumPool: each element added to all elements of its window."""

    @staticmethod
    def forward(ctx, grad, shape, out, kernel, stride, padding):
        ctx.options = (out, kernel, stride, padding)
        if stride == kernel and not any(padding) and all(o * k == n for o, k, n in zip(out, kernel, shape[2:])):
            split = [v for pair in zip(out, kernel) for v in pair]
            return grad[(..., *(v for _ in out for v in (slice(None), None)))].expand(*shape[:2], *split).reshape(shape)
        ends = [max((o - 1) * s + k, n + p) for o, s, k, n, p in zip(out, stride, kernel, shape[2:], padding)]
        size = [max(e, n + 2 * p) for e, n, p in zip(ends, shape[2:], padding)]
        made = strided.zeros(*shape[:2], *size, dtype=grad.dtype, device=grad.device)
        for at in itertools.product(*(range(k) for k in kernel)):
            place = [slice(i, i + s * (o - 1) + 1, s) for i, s, o in zip(at, stride, out)]
            made[(slice(None), slice(None), *place)].add_(grad)
        return made[(..., *(slice(p, p + n) for p, n in zip(padding, shape[2:])))].contiguous()

    @staticmethod
    def backward(ctx, x):
        return _SumPool.apply(x, *ctx.options), None, None, None, None, None


def _sum_pool(name, axes, x, kernel, stride, padding, ceil_mode):
    out = _sizes(name, x, kernel, stride, padding, (1,) * axes, ceil_mode)
    return _SumPool.apply(x, out, kernel, stride, padding), out


def _mean_of(total, count, whole):
    return strided.div(total, count, rounding_mode="trunc") if whole else total / count


def _avg_pool(name, axes, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    kernel_size, padding = wholes(name, "kernel_size", 2, kernel_size), wholes(name, "padding", 4, padding)
    stride = None if stride is None else wholes(name, "stride", 3, stride)
    whole = input.dtype == strided.int64
    if not input.dtype.is_floating_point and not whole:
        raise RuntimeError(f'"{name}" not implemented for {input.dtype}')
    x, many = _check(name, input, axes), _ints(axes)
    kernel, padding = many(kernel_size), many(padding)
    kernel = kernel * axes if len(kernel) == 1 else kernel
    stride = many(stride) if stride not in (None, (), []) else kernel
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    total, out = _sum_pool(name, axes, x, kernel, stride, padding, ceil_mode)
    if divisor_override is not None:
        made = _mean_of(total, divisor_override, whole)
    elif not ceil_mode and (count_include_pad or not any(padding)):
        made = _mean_of(total, math.prod(kernel), whole)
    else:
        found = None
        for i in range(axes):
            counts = _counts(x.size(i + 2), out[i], kernel[i], stride[i], padding[i], count_include_pad)
            shape = [-1 if j == i + 2 else 1 for j in range(axes + 2)]
            counts = strided.tensor(counts, dtype=x.dtype, device=x.device).view(shape)
            found = counts if found is None else found * counts
        made = _mean_of(total, found, whole)
    if input.ndim < axes + 2:
        return made.squeeze(0)
    return in_order_of_lines(made, input) if axes == 1 else in_order_of(made, input, volumes=False)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of kernel_size over the last axis."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of kernel_size over the last two axes.

    Args:
        count_include_pad: zeros of the padding count. divisor_override: what sums are divided by.
    """
    made = _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _into("avg_pool2d", made, out)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of kernel_size over the last three axes."""
    made = _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _into("avg_pool3d", made, out)


def _lp_pool(axes, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = _ints(axes)(kernel_size)
    powers = input.pow(norm_type)
    mean = _avg_pool(f"avg_pool{axes}d", axes, powers, kernel, stride, 0, ceil_mode, True, None)
    return (mean.sign() * mean.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-th root of the sum of powers of each window over the last axis."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-th root of the sum of powers of each window over the last two axes."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-th root of the sum of powers of each window over the last three axes."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
