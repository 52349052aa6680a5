"""Operations for torchvision, beside the rules written out in loops."""

import itertools
import math

import pytest
import strided
from strided.nn import functional as F


@pytest.fixture(scope="module")
def ops():
    strided.ops.load_library("site-packages/torchvision/_C.so")
    strided.ops.load_library("site-packages/torchvision/_C_stable.so")  # a second time, by the newer name
    return strided.ops.torchvision


def test_which_library_is_answered_for():
    for path in ("elsewhere/_C.so", "torchvision/image.so"):
        with pytest.raises(NotImplementedError, match="load_library"):
            strided.ops.load_library(path)


def boxes(n, seed=0):
    strided.manual_seed(seed)
    corners = strided.rand(n, 2) * 50
    return strided.cat([corners, corners + strided.rand(n, 2) * 20], 1)


def suppressed_one_by_one(dets, scores, threshold):
    dets, kept = dets.tolist(), []
    for i in sorted(range(len(dets)), key=lambda i: -scores[i]):
        x1, y1, x2, y2 = dets[i]
        for j in kept:
            a1, b1, a2, b2 = dets[j]
            common = max(0, min(x2, a2) - max(x1, a1)) * max(0, min(y2, b2) - max(y1, b1))
            both = (x2 - x1) * (y2 - y1) + (a2 - a1) * (b2 - b1) - common
            if both and common / both > threshold:
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize("n", [0, 1, 7, 700])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_nms(ops, n, threshold):
    dets, scores = boxes(n), strided.rand(n)
    scores[:3] = 0.5  # of equal ones the first is better
    dets[3:5] = 1.0  # without an area
    kept = ops.nms(dets, scores, threshold)
    assert kept.dtype == strided.int64 and kept.tolist() == suppressed_one_by_one(dets, scores.tolist(), threshold)


def test_nms_errors(ops):
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor, got 1D"):
        ops.nms(strided.ones(4), strided.ones(1), 0.5)
    with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
        ops.nms(strided.ones(1, 3), strided.ones(1), 0.5)
    with pytest.raises(RuntimeError, match="same number of elements in dimension 0, got 1 and 2"):
        ops.nms(strided.ones(1, 4), strided.ones(2), 0.5)


def interpolated(plane, y, x):
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = (min(max(v, 0), n - 1) for v, n in ((y, height), (x, width)))
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    above = plane[top, left] * (1 - dx) + plane[top, right] * dx
    below = plane[bottom, left] * (1 - dx) + plane[bottom, right] * dx
    return float(above * (1 - dy) + below * dy)


def aligned_one_by_one(input, rois, scale, shape, ratio, aligned, own_channels=False):
    channels = input.size(1) // (shape[0] * shape[1] if own_channels else 1)
    made = strided.zeros(len(rois), channels, *shape, dtype=input.dtype)
    for k, (image, x1, y1, x2, y2) in enumerate(rois.tolist()):
        start, end = ([v * scale - (0.5 if aligned else 0) for v in corner] for corner in ((y1, x1), (y2, x2)))
        size = [b - a if aligned else max(b - a, 1) for a, b in zip(start, end)]
        length = [s / n for s, n in zip(size, shape)]
        count = [ratio if ratio > 0 else max(math.ceil(v), 0) for v in length]
        for c, i, j in itertools.product(range(channels), *map(range, shape)):
            plane = input[int(image), (c * shape[0] + i) * shape[1] + j if own_channels else c]
            points = [
                interpolated(
                    plane,
                    start[0] + i * length[0] + (a + 0.5) * length[0] / count[0],
                    start[1] + j * length[1] + (b + 0.5) * length[1] / count[1],
                )
                for a, b in itertools.product(*map(range, count))
            ]
            made[k, c, i, j] = sum(points) / max(len(points), 1)
    return made


def regions(dtype=strided.float64):
    return strided.tensor(
        [
            [0, 1, 1, 5.3, 4.2],
            [1, -3, -2, 2, 3.5],
            [0, 6, 5, 9, 12],
            [1, 2, 2, 2, 2],
            [0, 4, 4, 3, 3],
            [1, -30, 0, -20, 5],
        ],
        dtype=dtype,
    )


@pytest.mark.parametrize("ratio", [0, 1, 3])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.6])
def test_roi_align(ops, ratio, aligned, scale):
    strided.manual_seed(0)
    input = strided.rand(2, 3, 7, 8, dtype=strided.float64)
    want = aligned_one_by_one(input, regions(), scale, (2, 3), ratio, aligned)
    made = ops.roi_align(input, regions(), scale, 2, 3, ratio, aligned)
    assert made.is_contiguous()
    strided.testing.assert_close(made, want)
    if ratio:  # else rounded corners may have another number of points
        narrow = ops.roi_align(input.float(), regions(strided.float32), scale, 2, 3, ratio, aligned)
        strided.testing.assert_close(narrow, want.float())


def test_ps_roi_align(ops):
    input = strided.rand(2, 12, 7, 8, dtype=strided.float64)
    made, channel = ops.ps_roi_align(input, regions(), 0.8, 2, 3, 2)
    strided.testing.assert_close(made, aligned_one_by_one(input, regions(), 0.8, (2, 3), 2, True, True))
    assert made.is_contiguous() and channel.dtype == strided.int32 and channel[0].flatten().tolist() == list(range(12))
    with pytest.raises(RuntimeError, match="multiple of pooling height"):
        ops.ps_roi_align(input[:, :5], regions(), 0.8, 2, 3, 2)


def pooled_one_by_one(input, rois, scale, shape, reduce, least, cut):
    def rounded(v):
        return math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)

    for image, *corners in rois.tolist():
        x1, y1, x2, y2 = (rounded(v * scale) for v in corners)
        spans = []
        for start, end, bins, last in (
            (y1, y2, shape[0], input.size(2) - cut),
            (x1, x2, shape[1], input.size(3) - cut),
        ):
            length = max(end - start + least, 1) / bins
            ends = [(math.floor(i * length) + start, math.ceil((i + 1) * length) + start) for i in range(bins)]
            spans.append([[min(max(v, 0), last) for v in pair] for pair in ends])
        for (i, (top, bottom)), (j, (left, right)) in itertools.product(*map(enumerate, spans)):
            yield reduce(input[int(image), :, top:bottom, left:right], top, left, i, j)


def test_roi_pool(ops):
    input = strided.rand(2, 3, 7, 8).mul(5).floor()  # with equal ones
    rois = regions(strided.float32)

    def largest(part, top, left, i, j):
        if part.numel() == 0:
            return [0.0] * 3, [-1] * 3
        flat = part.flatten(1).tolist()
        at = [row.index(max(row)) for row in flat]
        return [max(r) for r in flat], [(top + k // part.size(2)) * 8 + left + k % part.size(2) for k in at]

    made, where = ops.roi_pool(input, rois, 0.9, 2, 3)
    assert made.is_contiguous() and where.is_contiguous()
    want = list(pooled_one_by_one(input, rois, 0.9, (2, 3), largest, 1, 0))
    for got, part in ((made, 0), (where, 1)):
        rows = [w[part] for w in want]
        assert got.view(6, 3, 6).transpose(1, 2).reshape(36, 3).tolist() == rows
    assert where.dtype == strided.int32 and ops.roi_pool(input, rois[:0], 1.0, 2, 3)[0].shape == (0, 3, 2, 3)


def test_ps_roi_pool(ops):
    input, rois = strided.rand(2, 12, 7, 8), regions(strided.float32)

    def mean(part, top, left, i, j):
        return [float(c.mean()) if c.numel() else 0.0 for c in part[i * 3 + j :: 6]]

    made, _ = ops.ps_roi_pool(input, rois, 0.9, 2, 3)
    want = strided.tensor(list(pooled_one_by_one(input, rois, 0.9, (2, 3), mean, 0, 1)))
    strided.testing.assert_close(made.view(6, 2, 6).transpose(1, 2).reshape(36, 2), want)


def test_region_errors(ops):
    input = strided.rand(1, 4, 5, 5)
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\]"):
        ops.roi_align(input, strided.ones(2, 4), 1.0, 2, 2, 1, False)
    with pytest.raises(RuntimeError, match="to have the same type as tensor for rois"):
        ops.roi_pool(input, strided.ones(2, 5, dtype=strided.float64), 1.0, 2, 2)
    for pool in (ops.roi_pool, ops.ps_roi_pool):
        with pytest.raises(RuntimeError, match="there are 1 images"):
            pool(input, strided.ones(2, 5), 1.0, 2, 2)
    with pytest.raises(RuntimeError, match="there are 1 images"):
        ops.roi_align(input, strided.full((2, 5), math.nan), 1.0, 2, 2, 0, False)
    rois = strided.tensor([[0, math.nan, 0, math.inf, 2]])
    assert ops.roi_align(input, rois, 1.0, 2, 2, 1, False).tolist() == [[[[0.0, 0.0]] * 2] * 4]


@pytest.mark.parametrize("name", ["roi_align", "ps_roi_align", "roi_pool", "ps_roi_pool"])
def test_gradients_of_regions(ops, name):
    strided.manual_seed(0)
    input, rois = strided.rand(2, 12, 5, 6, dtype=strided.float64, requires_grad=True), regions() * 0.7
    rois[:, 0] = strided.tensor([0, 1, 0, 1, 0, 1])
    more = {"roi_align": (2, True), "ps_roi_align": (2,)}.get(name, ())

    def pooled(x):
        made = getattr(ops, name)(x, rois, 0.8, 2, 3, *more)
        return made if name == "roi_align" else made[0]

    assert strided.autograd.gradcheck(pooled, (input,))
    made = pooled(input)
    cotangent = strided.rand(made.shape, dtype=strided.float64)
    (want,) = strided.autograd.grad(made, input, cotangent)
    backward = getattr(ops, f"_{name}_backward")
    kept = () if name == "roi_align" else (getattr(ops, name)(input, rois, 0.8, 2, 3, *more)[1],)
    sizes = input.shape
    words = (*more[:1], *sizes) if name == "ps_roi_align" else (*sizes, *more)
    strided.testing.assert_close(backward(cotangent, rois, *kept, 0.8, 2, 3, *words), want)


def deformed_one_by_one(input, weight, offset, mask, bias, stride, pad, dilation, offset_groups):
    n, channels, height, width = input.shape
    results, per_group, rows, columns = weight.shape
    taps = rows * columns
    made = strided.zeros(n, results, *offset.shape[2:], dtype=input.dtype)
    for b, o, y, x in itertools.product(*map(range, made.shape)):
        total = bias[o]
        group = o // (results // (channels // per_group))
        for c, i, j in itertools.product(range(per_group), range(rows), range(columns)):
            channel = group * per_group + c
            tap = channel // (channels // offset_groups) * taps + i * columns + j
            at_y = y * stride[0] - pad[0] + i * dilation[0] + float(offset[b, 2 * tap, y, x])
            at_x = x * stride[1] - pad[1] + j * dilation[1] + float(offset[b, 2 * tap + 1, y, x])
            low_y, low_x = math.floor(at_y), math.floor(at_x)
            for py, px in itertools.product((low_y, low_y + 1), (low_x, low_x + 1)):
                if 0 <= py < height and 0 <= px < width:
                    near = (1 - abs(at_y - py)) * (1 - abs(at_x - px))
                    total = total + input[b, channel, py, px] * near * mask[b, tap, y, x] * weight[o, c, i, j]
        made[b, o, y, x] = total
    return made


@pytest.mark.parametrize("stride, pad, dilation, groups, offset_groups, use_mask", [
    ((1, 1), (0, 0), (1, 1), 1, 1, False), ((2, 1), (1, 2), (1, 2), 2, 2, True), ((1, 2), (1, 0), (2, 1), 1, 2, True),
])  # fmt: skip
def test_deform_conv2d(ops, stride, pad, dilation, groups, offset_groups, use_mask):
    strided.manual_seed(0)
    options = {"dtype": strided.float64, "requires_grad": True}
    input, weight = strided.randn(2, 4, 5, 6, **options), strided.randn(2, 4 // groups, 2, 3, **options)
    bias = strided.randn(2, **options)
    words = (*stride, *pad, *dilation, groups, offset_groups, use_mask)
    plain = F.conv2d(input, weight, bias, stride, pad, dilation, groups)
    offset = strided.zeros(2, offset_groups * 12, *plain.shape[2:], dtype=strided.float64)
    mask = strided.ones(2, offset_groups * 6, *plain.shape[2:], dtype=strided.float64)
    strided.testing.assert_close(ops.deform_conv2d(input, weight, offset, mask, bias, *words), plain)
    offset = strided.randn_like(offset).mul_(1.5).requires_grad_()
    mask = strided.rand_like(mask).requires_grad_() if use_mask else mask
    with strided.no_grad():
        want = deformed_one_by_one(input, weight, offset, mask, bias, stride, pad, dilation, offset_groups)
    given = (input, weight, offset, mask, bias)
    assert strided.autograd.gradcheck(lambda *a: ops.deform_conv2d(*a, *words), given)
    made = ops.deform_conv2d(*given, *words)
    strided.testing.assert_close(made, want)
    cotangent = strided.randn_like(made)
    learnt = [t for t in given if t.requires_grad]
    grads = ops._deform_conv2d_backward(cotangent, *given, *words)
    for got, grad in zip(
        [g for g, t in zip(grads, given) if t.requires_grad], strided.autograd.grad(made, learnt, cotangent)
    ):
        strided.testing.assert_close(got, grad)
    by_channel = [t.detach().movedim(1, -1).contiguous().movedim(-1, 1) for t in given[:4]]  # as slices, no views
    strided.testing.assert_close(ops.deform_conv2d(*by_channel, bias, *words), made)
    with pytest.raises(RuntimeError, match="stride: .* should be positive"):
        ops.deform_conv2d(*given, 0, *words[1:])
    with pytest.raises(RuntimeError, match="offset: its shape"):
        ops.deform_conv2d(input, weight, offset[:, 1:], mask, bias, *words)
