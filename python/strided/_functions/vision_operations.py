"""The operations of torchvision's compiled library, made of ours.

The library itself is compiled for PyTorch. With these, ``ops.load_library`` can answer for it: boxes are suppressed,
and regions are pooled, by the rules that torchvision documents. Gradients follow from the functions they are made of.
Operations of quantized tensors and rotated boxes are not there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from .._calls.registered_ops import CustomOpDef, add, registered
from ..autograd import no_grad
from ..nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._typing import Callable, Tensor

__all__ = ["LIBRARIES", "install"]

# The files that torchvision loads, without their endings.
LIBRARIES = ("_C", "_C_stable")

_PAIRS = 1 << 18  # pairs of boxes that are compared at once
_TAPS = 1 << 22  # elements of the input that are weighted at once


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise RuntimeError(text)


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that no better box overlaps by more than a share of their common area, the best first.

    Args:
        dets: (boxes, 4): x1, y1, x2, y2. scores: (boxes,). iou_threshold: the largest overlap that is kept.

    Returns:
        the places of the boxes, int64.
    """
    _check(dets.dim() == 2, f"boxes should be a 2d tensor, got {dets.dim()}D")
    _check(dets.size(1) == 4, f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    _check(scores.dim() == 1, f"scores should be a 1d tensor, got {scores.dim()}D")
    n = dets.size(0)
    _check(
        n == scores.size(0),
        f"boxes and scores should have same number of elements in dimension 0, got {n} and {scores.size(0)}",
    )
    with no_grad():
        order = scores.argsort(stable=True, descending=True)
        boxes = dets.to(strided.promote_types(dets.dtype, strided.float32)).index_select(0, order)
        keep = strided.ones(n, dtype=strided.bool, device=dets.device)
        rows = max(1, _PAIRS // max(n, 1))
        for first in range(0, n, rows):
            # What a box of an earlier block suppressed suppresses nothing.
            here = keep[first : first + rows].nonzero().squeeze(1) + first
            if here.numel() == 0:
                continue
            spared = ~(_overlaps(boxes.index_select(0, here), boxes[first:]) > iou_threshold)
            rest = keep[first:]
            for row, place in zip(spared, (here - first).tolist()):
                if rest[place]:
                    rest[place + 1 :].logical_and_(row[place + 1 :])
        return order[keep]


def _overlaps(a: Tensor, b: Tensor) -> Tensor:
    """The common area of each box of `a` with each of `b`, by the area that either covers."""
    (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) = a.t().contiguous().unsqueeze(2), b.t().contiguous()
    width = (strided.minimum(ax2, bx2) - strided.maximum(ax1, bx1)).clamp_(min=0)
    common = (strided.minimum(ay2, by2) - strided.maximum(ay1, by1)).clamp_(min=0).mul_(width)
    return common / ((ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - common)


def _points(start: Tensor, bin: Tensor, bins: int, points: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Where the points of a region's bins lie along one axis, as elements and their weights.

    Args:
        start, bin: where each region starts, and how long its bins are, (regions,). bins: how many it has.
        points: how many points a bin of each region has. length: of the axis.

    Returns:
        elements and weights, (regions, bins, 2 points): the two neighbours of each point. The weights of points
        outside are 0.
    """
    most = int(points.max()) if points.numel() else 0
    k = strided.arange(most, device=start.device)
    start, bin, count = start[:, None, None], bin[:, None, None], points[:, None, None]
    place = start + strided.arange(bins, device=start.device)[:, None] * bin + (k + 0.5).to(start.dtype) * bin / count
    counts = (k < count) & (place >= -1) & (place <= length)
    place = place.nan_to_num(0).clamp(0, length - 1)
    low = place.floor()
    share = place - low
    elements = strided.cat([low, (low + 1).clamp(max=length - 1)], 2).to(strided.int64)
    weights = strided.cat([1 - share, share], 2) * counts.repeat(1, 1, 2)
    return elements, weights


def _averages(
    input: Tensor, rois: Tensor, start: Tensor, size: Tensor, shape: tuple[int, int], sampling_ratio: int
) -> Tensor:
    """The mean of the points of each bin, interpolated linearly; (regions, channels, *shape)."""
    n, channels, height, width = input.shape
    table, made = _rows(input), []
    with no_grad():
        bins = size / strided.tensor(shape, dtype=size.dtype, device=size.device)
        if sampling_ratio > 0:
            points = strided.full_like(bins, sampling_ratio)
        else:
            points = bins.ceil().nan_to_num(0, 0, 0).clamp(min=0)
        most = points.amax(0).tolist() if points.numel() else [0, 0]
        rows = max(1, int(_TAPS / max(1.0, 4 * most[0] * most[1] * shape[0] * shape[1])))
    for first in range(0, max(rois.size(0), 1), rows):
        with no_grad():
            part = slice(first, first + rows)
            along = [
                _points(start[part, i], bins[part, i], shape[i], points[part, i], (height, width)[i]) for i in (0, 1)
            ]
            (y, by_y), (x, by_x) = along
            image = rois[part, 0].to(strided.int64)
            _check(bool(((image >= 0) & (image < n)).all()), f"rois: there are {n} images")
            y, by_y = y[:, :, None, :, None], by_y[:, :, None, :, None]
            places = (image[:, None, None, None, None] * height + y) * width + x[:, None, :, None, :]
            weights = by_y * by_x[:, None, :, None, :] / points[part].prod(1).clamp(min=1)[:, None, None, None, None]
        taps = places.flatten(3).flatten(0, 2)
        if taps.numel():
            sums = F.embedding_bag(
                taps, table, mode="sum", per_sample_weights=weights.flatten(3).flatten(0, 2).to(table.dtype)
            )
        else:
            sums = table.new_zeros(taps.size(0), channels)
        made.append(sums.view(-1, shape[0] * shape[1], channels).transpose(1, 2))
    joined = made[0] if len(made) == 1 else strided.cat(made)
    return joined.reshape(-1, channels, *shape).contiguous()


def _regions(input: Tensor, rois: Tensor) -> None:
    _check(rois.dim() == 2 and rois.size(1) == 5, "rois must have shape as Tensor[K, 5]")
    _check(
        input.dtype == rois.dtype,
        "Expected tensor for input to have the same type as tensor for rois; "
        f"but type {input.dtype} does not equal {rois.dtype}",
    )


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Means over the bins of regions, of points between the pixels (He et al., Mask R-CNN, 2017).

    Args:
        input: (images, channels, height, width). rois: (regions, 5): the image, x1, y1, x2, y2.
        spatial_scale: what the corners are multiplied by. pooled_height, pooled_width: bins of a region.
        sampling_ratio: points of a bin along each axis; as many as it has pixels, if this is 0 or less.
        aligned: pixels lie at half integers.

    Returns:
        (regions, channels, pooled_height, pooled_width).
    """
    _regions(input, rois)
    with no_grad():
        corners = rois[:, [2, 1, 4, 3]] * spatial_scale - (0.5 if aligned else 0.0)
        start, size = corners[:, :2], corners[:, 2:] - corners[:, :2]
        if not aligned:
            size = size.clamp(min=1)
    return _averages(input, rois, start, size, (pooled_height, pooled_width), sampling_ratio)


def _of_their_bins(pooled: Tensor, shape: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Of channels that belong to one bin each, that bin; and which channel it was."""
    regions, channels = pooled.shape[:2]
    each = strided.arange(channels, device=pooled.device, dtype=strided.int32).view(1, -1, *shape)
    chosen = pooled.view(regions, -1, shape[0] * shape[1], shape[0] * shape[1]).diagonal(dim1=2, dim2=3)
    return chosen.reshape(regions, -1, *shape).contiguous(), each.repeat(regions, 1, 1, 1)


def _check_positions(input: Tensor, shape: tuple[int, int]) -> None:
    _check(
        input.size(1) % (shape[0] * shape[1]) == 0,
        "input channels must be a multiple of pooling height * pooling width",
    )


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """As :func:`roi_align`, each bin from channels of its own (Li et al., Light-Head R-CNN, 2017).

    Returns:
        (regions, channels / bins, pooled_height, pooled_width), and the channel of each element, int32.
    """
    _regions(input, rois)
    shape = (pooled_height, pooled_width)
    _check_positions(input, shape)
    with no_grad():
        corners = rois[:, [2, 1, 4, 3]] * spatial_scale - 0.5
    pooled = _averages(input, rois, corners[:, :2], corners[:, 2:] - corners[:, :2], shape, sampling_ratio)
    return _of_their_bins(pooled, shape)


def _rounded(x: Tensor) -> Tensor:
    """Halves away from zero, as C rounds."""
    return (x.abs() + 0.5).floor().copysign(x)


@no_grad()
def _pixels(
    input: Tensor, rois: Tensor, spatial_scale: float, shape: tuple[int, int], least: int, cut: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """The pixels of the bins of some regions at a time: whose corners are rounded.

    Args:
        least: what is added to the length of a region; a length is 1 at least. cut: pixels at the far edges that
            count as outside.

    Yields:
        (regions, bins, pixels): each as image * height * width + y * width + x, row by row, and whether it is there.
    """
    n, channels, height, width = input.shape
    corners = _rounded(rois[:, 1:] * spatial_scale)
    image = rois[:, 0].to(strided.int64)
    _check(bool(((image >= 0) & (image < n)).all()), f"rois: there are {n} images")
    first, end = [], []
    for axis, bins, last in ((1, shape[0], height - cut), (0, shape[1], width - cut)):
        start = corners[:, axis, None]
        length = (corners[:, axis + 2, None] - start + least).clamp(min=1) / bins
        i = strided.arange(bins, device=rois.device, dtype=rois.dtype)
        first.append((start + (i * length).floor()).clamp(0, last).to(strided.int64))
        end.append((start + ((i + 1) * length).ceil()).clamp(0, last).to(strided.int64))
    most = [max(int((b - a).max()), 0) if rois.size(0) else 0 for a, b in zip(first, end)]
    rows = max(1, _TAPS // max(1, most[0] * most[1] * shape[0] * shape[1] * channels))
    for k in range(0, rois.size(0), rows):
        part = slice(k, k + rows)
        y, x = (a[part, :, None] + strided.arange(m, device=rois.device) for a, m in zip(first, most))
        is_there = (y < end[0][part, :, None])[:, :, None, :, None] & (x < end[1][part, :, None])[:, None, :, None, :]
        pixels = y.clamp(max=height - 1)[:, :, None, :, None] * width + x.clamp(max=width - 1)[:, None, :, None, :]
        pixels = pixels + (image[part] * height * width)[:, None, None, None, None]
        yield pixels.flatten(3).flatten(1, 2), is_there.flatten(3).flatten(1, 2)


def _rows(input: Tensor) -> Tensor:
    return input.permute(0, 2, 3, 1).reshape(-1, input.size(1))


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The largest pixel of each bin of regions, whose corners are rounded (Girshick, Fast R-CNN, 2015).

    Returns:
        (regions, channels, pooled_height, pooled_width), 0 in empty bins, and where in its image each was, int32,
        -1 in empty bins.
    """
    _regions(input, rois)
    channels, height, width = input.shape[1:]
    shape, table = (pooled_height, pooled_width), _rows(input)
    values = [input.new_empty(0, shape[0] * shape[1], channels)]
    places = [strided.empty(0, shape[0] * shape[1], channels, dtype=strided.int64, device=input.device)]
    for pixels, is_there in _pixels(input, rois, spatial_scale, shape, 1, 0):
        if pixels.size(2) == 0:
            values.append(input.new_zeros(*pixels.shape[:2], channels))
            places.append(strided.full_like(values[-1], -1, dtype=strided.int64))
            continue
        read = table.index_select(0, pixels.flatten()).view(*pixels.shape, channels)
        value, place = read.masked_fill(~is_there[..., None], -math.inf).max(2)
        is_empty = ~is_there.any(2, keepdim=True)
        values.append(value.masked_fill(is_empty, 0))
        places.append((pixels.gather(2, place) % (height * width)).masked_fill(is_empty, -1))
    pooled, where = (
        strided.cat(x).transpose(1, 2).reshape(-1, channels, *shape).contiguous() for x in (values, places)
    )
    return pooled, where.to(strided.int32)


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The mean of the pixels of each bin, from channels of its own (Dai et al., R-FCN, 2016).

    Returns:
        (regions, channels / bins, pooled_height, pooled_width), 0 in empty bins, and the channel of each element,
        int32.
    """
    _regions(input, rois)
    shape, table = (pooled_height, pooled_width), _rows(input)
    _check_positions(input, shape)
    means = [input.new_empty(0, shape[0] * shape[1], input.size(1))]
    for pixels, is_there in _pixels(input, rois, spatial_scale, shape, 0, 1):
        share = is_there.to(input.dtype) / is_there.sum(2, keepdim=True).clamp(min=1)
        read = table.index_select(0, pixels.flatten()).view(*pixels.shape, input.size(1))
        means.append((share.unsqueeze(2) @ read).squeeze(2))
    pooled = strided.cat(means).transpose(1, 2).reshape(-1, input.size(1), *shape)
    return _of_their_bins(pooled, shape)


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """A convolution that reads beside its usual places (Zhu et al., Deformable ConvNets v2, 2019).

    Args:
        input: (images, channels, height, width). weight: (results, channels / groups, rows, columns).
        offset: how far from the usual place each tap reads, (images, offset_groups * rows * columns * 2, ...).
        mask: a factor for each tap, (images, offset_groups * rows * columns, ...), if `use_mask`. bias: (results,).

    Returns:
        (images, results, ...).
    """
    n, channels, height, width = input.shape
    rows, columns = weight.shape[2:]
    _check(min(stride_h, stride_w) > 0, f"stride: ({stride_h}, {stride_w}) should be positive")
    out_h = (height + 2 * pad_h - dilation_h * (rows - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - dilation_w * (columns - 1) - 1) // stride_w + 1
    taps = rows * columns
    _check(
        offset.shape[1:] == (offset_groups * 2 * taps, out_h, out_w),
        f"offset: its shape {tuple(offset.shape)} should be ({n}, {offset_groups * 2 * taps}, {out_h}, {out_w})",
    )
    _check(
        not use_mask or mask.shape[1:] == (offset_groups * taps, out_h, out_w),
        f"mask: its shape {tuple(mask.shape)} should be ({n}, {offset_groups * taps}, {out_h}, {out_w})",
    )

    def places(count: int, stride: int, pad: int) -> Tensor:
        return strided.arange(count, device=input.device, dtype=offset.dtype) * stride - pad

    moved = offset.reshape(n * offset_groups, rows, columns, 2, out_h, out_w)
    tap_y = places(rows, dilation_h, 0).view(rows, 1, 1, 1)
    tap_x = places(columns, dilation_w, 0).view(columns, 1, 1)
    y = moved[:, :, :, 0] + tap_y + places(out_h, stride_h, pad_h).view(out_h, 1)
    x = moved[:, :, :, 1] + tap_x + places(out_w, stride_w, pad_w)
    # grid_sample counts from -1 to 1 over the outer edges of the pixels.
    grid = strided.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1)
    read = F.grid_sample(
        input.reshape(n * offset_groups, -1, height, width),
        grid.reshape(n * offset_groups, taps * out_h, out_w, 2),
        align_corners=False,
    ).view(n, offset_groups, -1, taps, out_h * out_w)
    if use_mask:
        read = read * mask.reshape(n, offset_groups, 1, taps, -1)
    read = read.reshape(n, groups, -1, out_h * out_w)
    made = weight.reshape(groups, weight.size(0) // groups, -1) @ read
    return made.view(n, -1, out_h, out_w) + bias.reshape(-1, 1, 1)


# Operations that are linear in the images have gradients that do not depend on them.


def _gradient(grad: Tensor, shape: tuple[int, ...], function: Callable[[Tensor], Tensor]) -> Tensor:
    with strided.enable_grad():
        x = grad.new_zeros(shape).requires_grad_()
        return strided.autograd.grad(function(x), x, grad)[0]


def _roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    words = (spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    return _gradient(grad, (batch_size, channels, height, width), lambda x: roi_align(x, rois, *words))


def _ps_roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    channel_mapping: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Tensor:
    words = (spatial_scale, pooled_height, pooled_width, sampling_ratio)
    return _gradient(grad, (batch_size, channels, height, width), lambda x: ps_roi_align(x, rois, *words)[0])


def _roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    argmax: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Tensor:
    made = grad.new_zeros(batch_size, channels, height * width)
    image = rois[:, 0].to(strided.int64).view(-1, 1, 1, 1)
    channel = strided.arange(channels, device=grad.device).view(-1, 1, 1)
    places = argmax.to(strided.int64).clamp(min=0)
    made.index_put_((image, channel, places), grad.masked_fill(argmax < 0, 0), accumulate=True)
    return made.view(batch_size, channels, height, width)


def _ps_roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    channel_mapping: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Tensor:
    words = (spatial_scale, pooled_height, pooled_width)
    return _gradient(grad, (batch_size, channels, height, width), lambda x: ps_roi_pool(x, rois, *words)[0])


def _deform_conv2d_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    words = (stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask)
    with strided.enable_grad():
        given = x, w, o, m, b = [t.detach().requires_grad_() for t in (input, weight, offset, mask, bias)]
        made = deform_conv2d(x, w, o, m, b, *words)
        dx, dw, do, dm, db = strided.autograd.grad(made, given, grad, materialize_grads=True)
    return dx, dw, do, dm, db


def qroi_align(
    input: Tensor,
    rois: Tensor,
    input_scale: float,
    input_zero_point: int,
    rois_scale: float,
    rois_zero_point: int,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """NotImplementedError: torchvision only registers a rule of shapes for it."""
    raise NotImplementedError("torchvision::qroi_align: strided has no quantized tensors")


def install() -> None:
    """Puts them into ``strided.ops``."""
    from .. import ops

    if "torchvision::nms" in registered:
        return
    ops.torchvision._cuda_version = lambda: -1
    for function in (
        *(nms, roi_align, ps_roi_align, roi_pool, ps_roi_pool, deform_conv2d, _roi_align_backward),
        *(_ps_roi_align_backward, _roi_pool_backward, _ps_roi_pool_backward, _deform_conv2d_backward),
        qroi_align,
    ):
        made = CustomOpDef(f"torchvision::{function.__name__}", function)
        made._implement("CompositeImplicitAutograd", function)
        add(made)
