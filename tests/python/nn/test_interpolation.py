"""Images at other sizes, beside a loop over elements, and blocks that are folded."""

import math

import pytest
import strided
from arrays import layouts
from strided.nn import functional as F
from strided.nn.functional import _interpolate
from strided.nn.functional._interpolate import _antialiased


def taps(n, out, factor, mode, align, j):
    """(place, weight) of what element j of a resized axis is made of."""
    scale = (
        ((n - 1) / (out - 1) if out > 1 else 0.0) if align else (1 / factor if factor else n / out)
    )  # of places in the input
    if mode == "nearest":
        return [(min(int(j * scale), n - 1), 1.0)]
    if mode == "nearest-exact":
        return [(min(int((j + 0.5) * scale), n - 1), 1.0)]
    at = j * scale if align else (j + 0.5) * scale - 0.5
    if mode == "bicubic":
        low, a = math.floor(at), -0.75
        t = at - low
        near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1
        far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weights = [far(t + 1), near(t), near(1 - t), far(2 - t)]
        return [(min(max(low + k - 1, 0), n - 1), w) for k, w in enumerate(weights)]
    at = max(at, 0.0)
    low = min(int(at), n - 1)
    return [(low, 1 - (at - low)), (min(low + 1, n - 1), at - low)]


def resized(x, sizes, factors, mode, align):
    for axis, (out, factor) in enumerate(zip(sizes, factors), 2):
        parts = []
        for j in range(out):
            found = taps(x.size(axis), out, factor, mode, align, j)
            parts.append(sum(x.select(axis, i) * w for i, w in found))
        x = strided.stack(parts, axis)
    return x


CASES = [
    ((2, 3, 7), (4,), "nearest"),
    ((2, 3, 7), (16,), "nearest-exact"),
    ((2, 1, 5), (9,), "linear"),
    ((2, 3, 5, 4), (10, 8), "nearest"),
    ((1, 2, 5, 4), (3, 9), "nearest-exact"),
    ((2, 3, 5, 4), (8, 7), "bilinear"),
    ((2, 3, 5, 4), (1, 1), "bilinear"),
    ((2, 3, 1, 1), (3, 2), "bilinear"),
    ((2, 3, 5, 19), (3, 40), "bicubic"),
    ((1, 2, 1, 2), (4, 4), "bicubic"),
    ((1, 2, 3, 4, 2), (4, 2, 5), "trilinear"),
    ((1, 2, 3, 4, 2), (4, 2, 5), "nearest"),
]


@pytest.mark.parametrize("shape, size, mode", CASES)
@pytest.mark.parametrize("align", [None, False, True])
def test_sizes(shape, size, mode, align):
    if mode.startswith("nearest") and align is not None:
        return
    strided.manual_seed(0)
    for x in layouts(strided.randn(shape, dtype=strided.float64)):
        wanted = resized(x, size, [None] * len(size), mode, align)
        for dtype, tolerance in ((strided.float64, 1e-12), (strided.float32, 1e-5)):
            made = F.interpolate(x.to(dtype), size, mode=mode, align_corners=align)
            assert made.dtype is dtype
            strided.testing.assert_close(made.double(), wanted, rtol=tolerance, atol=tolerance)
            made.zero_()  # is no view of x
            assert x.equal(x.clone())


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("factor", [2, 0.6, 1.7, 1, (1.5, 0.5), [1.0, 2.0]])
def test_factors(mode, factor):
    x = strided.randn(1, 2, 5, 6, dtype=strided.float64)
    factors = list(factor) if isinstance(factor, (tuple, list)) else [factor] * 2
    sizes = [math.floor(n * f) for n, f in zip((5, 6), factors)]
    wanted = resized(x, sizes, [float(f) for f in factors], mode, False)
    strided.testing.assert_close(F.interpolate(x, scale_factor=factor, mode=mode), wanted, rtol=1e-6, atol=1e-6)
    assert F.interpolate(x, None, factor, mode, recompute_scale_factor=True).shape[2:] == tuple(sizes)


@pytest.mark.parametrize("dtype", [strided.float64, strided.bfloat16, strided.uint8])
@pytest.mark.parametrize(
    "mode, antialias", [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)]
)
def test_axes_that_keep_their_length_ignore_the_factor(dtype, mode, antialias):
    x = (strided.rand(1, 2, 5, 6) * 255).to(dtype)
    run = lambda **size: F.interpolate(x, mode=mode, antialias=antialias, **size)
    if mode == "bicubic" and not antialias and dtype.is_floating_point:
        assert not run(scale_factor=1.1).equal(x)
        return
    assert run(scale_factor=1.1).equal(x)
    assert run(scale_factor=(1.15, 2)).equal(run(size=(5, 12)))


def composed(image, sizes, mode, whole=False):
    for axis in (3, 2):
        image = _antialiased(image, axis, sizes[axis - 2], None, False, mode, whole)
    return image


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize(
    "shape, sizes",
    [((2, 3, 17, 23), (5, 40)), ((1, 1, 1, 1), (3, 2)), ((3, 2, 64, 130), (64, 33)), ((1, 1, 9, 300), (1, 1)),
     ((2, 1, 5, 4), (11, 13)), ((2, 40, 8, 70), (3, 9))],
)  # fmt: skip
def test_antialiased(shape, sizes, mode):
    strided.manual_seed(0)
    run = lambda x: F.interpolate(x, sizes, mode=mode, antialias=True)
    image = strided.randn(shape, dtype=strided.float64, requires_grad=True)
    made, want = run(image), composed(image, sizes, mode)
    strided.testing.assert_close(made, want, rtol=1e-12, atol=1e-12)
    g = strided.randn(made.shape, dtype=strided.float64)
    gradients = [strided.autograd.grad(y, image, g)[0] for y in (made, want)]
    strided.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)
    for dtype, close in ((strided.float32, 1e-5), (strided.bfloat16, 0.02), (strided.float16, 0.003)):
        strided.testing.assert_close(run(image.to(dtype)), want.to(dtype), rtol=close, atol=close)
    swapped = image.detach().contiguous(memory_format=strided.channels_last)
    assert run(swapped).equal(made)
    bytes_ = strided.randint(0, 256, shape, dtype=strided.uint8)
    assert run(bytes_).equal(composed(bytes_.double(), sizes, mode, True).to(strided.uint8))
    assert run(bytes_.contiguous(memory_format=strided.channels_last)).equal(run(bytes_))
    infinite = image.detach().clone()
    infinite[0, 0, -1, -1] = float("inf")
    assert run(infinite)[1:].isfinite().all() and not run(infinite)[0, 0, -1, -1].isfinite()


@pytest.mark.parametrize("dtype", [strided.uint8, strided.float32])
def test_axes_that_no_list_of_weights_can_hold(dtype):
    image = strided.zeros(1, 1, 1, 1, dtype=dtype).expand(1, 1, 1, 2**48)
    with pytest.raises((MemoryError, RuntimeError)):
        F.interpolate(image, (1, 1), mode="bilinear", antialias=True)


def test_results_that_no_memory_can_hold_are_refused_before_weights_are_listed(monkeypatch):
    monkeypatch.setattr(_interpolate, "_antialiased", None)
    for arguments in ({"size": (2**40, 2**40)}, {"scale_factor": 1e12}, {"size": (2**25, 2**25)}):
        for image in (strided.ones(1, 1, 5, 7), strided.ones(1, 1, 5, 7, dtype=strided.uint8)):
            with pytest.raises((MemoryError, RuntimeError)):
                F.interpolate(image, **arguments, mode="bicubic", antialias=True)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_bytes_of_many_rows(mode):
    image = strided.randint(0, 256, (2, 70, 33, 65), dtype=strided.uint8)
    for size in ((33, 20), (50, 65), (70, 130), (1, 1)):
        made = F.interpolate(image, size, mode=mode)
        parts = [F.interpolate(image[i : i + 1, c : c + 1], size, mode=mode) for i in range(2) for c in range(70)]
        assert made.equal(strided.cat(parts, 1).view(2, 70, *size)) and made.dtype == strided.uint8
        if mode != "bicubic":  # which is cut to what a byte holds after each axis
            exact = F.interpolate(image.double(), size, mode=mode)
            assert (made.double() - exact).abs().max() <= (0 if mode == "nearest" else 1.1)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_inf_and_nan_stay_near(mode):
    x = strided.zeros(1, 1, 8, 8)
    x[0, 0, 0, 0], x[0, 0, 0, 7] = math.inf, math.nan
    made = F.interpolate(x, scale_factor=2, mode=mode)
    assert not made[0, 0, 0, 0].isfinite() and made[0, 0, 0, -1].isnan()
    assert made[0, 0, 6:].eq(0).all() and made[0, 0, :, 6:10].eq(0).all()


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_gradients_of_both_orders(mode):
    x = strided.randn(2, 2, 3, 4, dtype=strided.float64, requires_grad=True)
    call = lambda x: F.interpolate(x, (5, 3), mode=mode)
    assert strided.autograd.gradcheck(call, (x,)) and strided.autograd.gradgradcheck(call, (x,))
    _, moved = strided.func.jvp(call, (x.detach(),), (x.detach(),))
    strided.testing.assert_close(moved, call(x.detach()))
    strided.testing.assert_close(strided.func.vmap(call)(x.detach()[None]), call(x.detach())[None])


@pytest.mark.parametrize("size", [2.5, (2.0, 2), [strided.tensor(2.0), 2], strided.tensor([2, 2])])
def test_sizes_are_integers(size):
    with pytest.raises(TypeError, match="expected size to be one of int"):
        F.interpolate(strided.ones(1, 1, 4, 4), size)


def test_errors():
    x = strided.zeros(1, 2, 3, 4)
    with pytest.raises(ValueError, match="only one of size"):
        F.interpolate(x, 2, 2)
    with pytest.raises(ValueError, match="either size or scale_factor"):
        F.interpolate(x)
    with pytest.raises(ValueError, match="same number of spatial"):
        F.interpolate(x, [2])
    with pytest.raises(ValueError, match="align_corners option"):
        F.interpolate(x, 2, align_corners=True)
    with pytest.raises(RuntimeError, match="greater than 0"):
        F.interpolate(x, (0, 2))
    with pytest.raises(NotImplementedError):
        F.interpolate(x, 2, mode="linear")
    for size in ((0, 2), (0, 0)):
        assert F.interpolate(x, size, mode="area").shape == (1, 2, *size)
    assert F.interpolate(x, scale_factor=0.1, mode="area").shape == (1, 2, 0, 0)


FOLDS = [
    ((5, 6), (2, 3), 1, 0, 1),
    ((5, 6), 3, 1, 1, 2),
    ((7, 9), 2, (2, 3), (1, 2), (2, 1)),
    ((4, 4), 4, 1, 0, 1),
    ((3, 70), (1, 2), 1, (0, 1), (1, 3)),
    ((8, 8), 1, 1, 0, 3),
]


@pytest.mark.parametrize("size, kernel, dilation, padding, stride", FOLDS)
@pytest.mark.parametrize("dtype", [strided.float32, strided.float64, strided.complex64, strided.int64])
def test_fold_is_the_transpose_of_unfold(size, kernel, dilation, padding, stride, dtype):
    options = (kernel, dilation, padding, stride)
    image = strided.arange(2 * 3 * math.prod(size)).reshape(2, 3, *size)
    columns = F.unfold(image.double(), *options)
    given = (strided.arange(columns.numel()) % 11).reshape(columns.shape)
    for x in layouts(given):
        made = F.fold(x.to(dtype), size, *options)
        assert made.dtype is dtype and made.shape == (2, 3, *size) and made.is_contiguous()
        # <unfold(image), x> = <image, fold(x)>, in whole numbers
        assert (columns * x).sum().item() == (image * made.real).sum().item()
        assert F.fold(x[0].to(dtype), size, *options).equal(made[0])
        recorded = F.fold(x.double().requires_grad_(), size, *options)
        assert recorded.detach().equal(made.real.double())


@pytest.mark.parametrize("stride", [1, 2])
def test_fold_of_one_plane_by_several_threads(stride):
    """Threads share out the rows of the plane: each element is the sum in the same order."""
    options = (3, 2, 2, stride)
    columns = F.unfold(strided.randn(1, 1, 190, 170), *options)
    before = strided.get_num_threads()
    try:
        strided.set_num_threads(1)
        alone = F.fold(columns, (190, 170), *options)
        strided.set_num_threads(4)
        assert F.fold(columns, (190, 170), *options).equal(alone)
    finally:
        strided.set_num_threads(before)


def test_fold_keeps_inf_in_its_places():
    columns = strided.zeros(1, 4, 9)
    columns[0, 0, 0], columns[0, 3, 8] = math.inf, math.nan
    made = F.fold(columns, 4, 2)[0, 0]
    assert made[0, 0] == math.inf and made[3, 3].isnan() and made.isfinite().sum() == 14
    with pytest.raises(RuntimeError, match="divisible by the product"):
        F.fold(strided.zeros(1, 5, 9), 4, 2)
    with pytest.raises(RuntimeError, match="number of sliding blocks"):
        F.fold(strided.zeros(1, 4, 8), 4, 2)


POOLS = [
    ((7,), 3),
    ((8,), 4),
    ((5,), 5),
    ((8, 6), (4, 2)),
    ((7, 9), (3, 9)),
    ((9, 5), 1),
    ((5, 4), (7, 2)),
    ((4, 5, 6), 2),
]


@pytest.mark.parametrize("plane, size", POOLS)
@pytest.mark.parametrize("lead", [(2, 3), (3,)])
def test_adaptive_pools(plane, size, lead):
    strided.manual_seed(5)
    axes, sizes = len(plane), size if isinstance(size, tuple) else (size,) * len(plane)
    for x in layouts(strided.randn(*lead, *plane, dtype=strided.float64)):
        means, maxima = x, x
        for axis, n in enumerate(sizes, len(lead)):  # windows cover the axis
            m = x.size(axis)
            pieces = [slice(j * m // n, -(-(j + 1) * m // n)) for j in range(n)]
            cut = lambda t, p, axis=axis: t.narrow(axis, p.start, p.stop - p.start)
            means = strided.stack([cut(means, p).mean(axis) for p in pieces], axis)
            maxima = strided.stack([cut(maxima, p).amax(axis) for p in pieces], axis)
        for dtype, tolerance in ((strided.float64, 1e-12), (strided.float32, 1e-5)):
            for name, wanted in (("avg", means), ("max", maxima)):
                y = x.to(dtype, copy=True).detach().requires_grad_()
                made = getattr(F, f"adaptive_{name}_pool{axes}d")(y, size)
                assert made.dtype is dtype and made.shape == (*lead, *sizes)
                strided.testing.assert_close(made.detach().double(), wanted, rtol=tolerance, atol=tolerance)
                (g,) = strided.autograd.grad(made.sum(), y)
                assert abs(g.sum().item() - made.numel()) < 1e-3


def test_adaptive_pools_of_inf_and_nan():
    x = strided.zeros(1, 1, 7, 7)
    x[0, 0, 0, 0], x[0, 0, 6, 6], x[0, 0, 0, 6] = math.inf, math.nan, -math.inf
    means, maxima = F.adaptive_avg_pool2d(x, 3)[0, 0], F.adaptive_max_pool2d(x, 3)[0, 0]
    assert means[0, 0] == math.inf and means[0, 2] == -math.inf and means[2, 2].isnan() and means[1].eq(0).all()
    assert maxima[0, 0] == math.inf and maxima[0, 2] == 0 and maxima[2, 2].isnan()
    assert F.adaptive_max_pool2d(x, 1).isnan().all() and F.adaptive_max_pool2d(x[..., :3, :3], 1).item() == math.inf
    y = strided.randn(1, 2, 5, 7, dtype=strided.float64, requires_grad=True)
    call = lambda y: F.adaptive_avg_pool2d(y, (3, 4))
    assert strided.autograd.gradcheck(call, (y,)) and strided.autograd.gradgradcheck(call, (y,))


@pytest.mark.parametrize("size, kernel, dilation, padding, stride", FOLDS)
def test_unfold_beside_fold_of_both_orders(size, kernel, dilation, padding, stride):
    strided.manual_seed(6)
    options = (kernel, dilation, padding, stride)
    for x in layouts(strided.randn(2, 3, *size)):
        made, wanted = F.unfold(x, *options), F.unfold(x.long(), *options).shape
        assert made.shape == wanted and made.is_contiguous()
        assert F.unfold((x * 8).round(), *options).equal(F.unfold((x * 8).round().long(), *options).float())
        assert F.unfold(x[1], *options).equal(made[1])
        made.zero_()  # is no view of x
        assert x.equal(x.clone())
    small = strided.randn(1, 1, *size, dtype=strided.float64)[..., :6].requires_grad_()
    image = (size[0], small.size(-1))
    unfold, fold = lambda x: F.unfold(x, *options), lambda c: F.fold(c, image, *options)
    columns = unfold(small).detach().requires_grad_()
    for call, given in ((unfold, small), (fold, columns)):
        assert strided.autograd.gradcheck(call, (given,)) and strided.autograd.gradgradcheck(call, (given,))
    assert unfold(small).grad_fn.name() == "Im2ColBackward0" and fold(columns).grad_fn.name() == "Col2ImBackward0"


@pytest.mark.parametrize("shape, factor", [((2, 8, 3, 5), 2), ((9, 2, 2), 3), ((2, 1, 3, 4, 4), 1), ((1, 4, 1, 1), 2)])
def test_channels_and_pixels(shape, factor):
    c, h, w = shape[-3:]
    r, places = factor, strided.arange(math.prod(shape)).reshape(shape)
    for x in layouts(places):
        for dtype in (strided.int64, strided.float32, strided.complex64, strided.bool):
            made = F.pixel_shuffle(x.to(dtype), r)
            assert made.shape == (*shape[:-3], c // r**2, h * r, w * r) and made.dtype is dtype
            assert F.pixel_unshuffle(made, r).equal(x.to(dtype))
        made = F.pixel_shuffle(x, r)
        for k, i, j in ((0, 0, 0), (c // r**2 - 1, h * r - 1, w * r - 1), (0, h * r // 2, w * r - 1)):
            from_ = x[..., k * r**2 + i % r * r + j % r, i // r, j // r]
            assert made[..., k, i, j].equal(from_)
        made.zero_()  # is no view of x
        assert x.equal(x.clone())
    y = strided.randn(shape, dtype=strided.float64, requires_grad=True)
    for call in (lambda y: F.pixel_shuffle(y, r), lambda y: F.pixel_unshuffle(F.pixel_shuffle(y, r), r)):
        assert strided.autograd.gradcheck(call, (y,)) and strided.autograd.gradgradcheck(call, (y,))


@pytest.mark.parametrize("shape, groups", [((2, 6, 3), 2), ((1, 6, 2, 2), 3), ((3, 4, 5), 1), ((2, 4, 1, 3), 4)])
def test_channels_in_turns(shape, groups):
    for x in layouts(strided.arange(math.prod(shape)).reshape(shape).double()):
        made = F.channel_shuffle(x, groups)
        each = shape[1] // groups
        assert all(made[:, k].equal(x[:, k % groups * each + k // groups]) for k in range(shape[1]))
        made.zero_()
        assert x.equal(x.clone())
    y = strided.randn(shape, dtype=strided.float64, requires_grad=True)
    assert strided.autograd.gradcheck(lambda y: F.channel_shuffle(y, groups), (y,))
    with pytest.raises(RuntimeError, match="divisible by groups"):
        F.channel_shuffle(y, 5)
