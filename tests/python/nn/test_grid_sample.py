"""Places that are no numbers, empty images, and each mode beside a loop over points."""

import itertools
import math

import pytest
import strided
from strided.nn import functional as F
from strided.nn.functional._interpolate import _composed_sample


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_nan_is_no_error(mode, padding):
    image = strided.arange(1.0, 10).view(1, 1, 3, 3)
    grid = strided.tensor([[[[float("nan"), 0.0], [0.0, 0.0]]]])
    made = F.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=True)
    assert made[0, 0, 0, 1] == 5
    if (mode, padding) == ("nearest", "zeros"):
        assert made[0, 0, 0, 0] == 0


def test_infinities_at_the_border_do_not_reach_outside():
    image = strided.ones(1, 2, 3, 3)
    image[..., 0, 0] = float("inf")
    image.requires_grad_()
    grid = strided.tensor([[[[-3.0, -3.0], [2.0, 0.0], [0.9, 0.9]]]])
    for mode in ("bilinear", "nearest", "bicubic"):
        made = F.grid_sample(image, grid, mode=mode, align_corners=False)
        assert made[..., :2].eq(0).all() and made.isfinite().all(), mode
        (gradient,) = strided.autograd.grad(made.sum(), image)
        assert gradient.isfinite().all() and gradient[..., 0, 0].eq(0).all()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_results_are_contiguous(mode, channels):
    image, grid = strided.ones(2, channels, 4, 5), strided.zeros(2, 6, 7, 2)
    for wants in (False, True):  # the second one is made of other functions
        made = F.grid_sample(image.requires_grad_(wants), grid, mode=mode, align_corners=False)
        assert made.stride() == (42 * channels, 42, 7, 1)


def sampled(image, grid, mode, padding):
    """What stands at each point of one image with one channel, by a loop; places from -1 to 1 are those of edges."""
    sizes, made = image.shape, []
    for point in grid.reshape(-1, grid.shape[-1]).tolist():
        places = [((g + 1) * n - 1) / 2 for g, n in zip(reversed(point), sizes)]
        if padding == "border":
            places = [min(max(p, 0.0), n - 1.0) for p, n in zip(places, sizes)]
        if mode == "nearest":
            choices = [[(round(p), 1.0)] for p in places]
        else:
            choices = [[(math.floor(p), math.floor(p) + 1 - p), (math.floor(p) + 1, p - math.floor(p))] for p in places]
        total = 0.0
        for corner in itertools.product(*choices):
            if all(0 <= at < n for (at, _), n in zip(corner, sizes)):
                total += image[tuple(at for at, _ in corner)] * math.prod(weight for _, weight in corner)
        made.append(float(total))
    return made


@pytest.mark.parametrize("sizes", [(1, 1), (4, 7), (3, 4, 5)])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("channels", [1, 3, 5, 16, 19])
def test_beside_a_loop(sizes, mode, padding, channels):
    strided.manual_seed(0)
    images = strided.randn(2, channels, *sizes, dtype=strided.float64)
    grid = strided.randn(2, *[3] * len(sizes), len(sizes), dtype=strided.float64)
    for dtype, tolerance in ((strided.float64, 1e-12), (strided.float32, 1e-5)):
        made = F.grid_sample(images.to(dtype), grid.to(dtype), mode, padding, False)
        assert made.is_contiguous() and made.dtype is dtype
        for n, c in ((0, 0), (1, channels - 1)):
            wanted = sampled(images[n, c], grid[n], mode, padding)
            assert made[n, c].reshape(-1).tolist() == pytest.approx(wanted, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("shape", [(0, 3, 4, 4), (2, 0, 4, 4)])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_no_images_or_channels(shape, mode):
    image = strided.zeros(shape, requires_grad=True)
    grid = strided.zeros(shape[0], 2, 5, 2, requires_grad=True)
    made = F.grid_sample(image, grid, mode=mode, align_corners=False)
    assert made.shape == (*shape[:2], 2, 5)
    gradients = strided.autograd.grad(made.sum(), [image, grid])
    assert [g.shape for g in gradients] == [image.shape, grid.shape] and not gradients[1].any()
    with pytest.raises(RuntimeError, match="non-empty spatial"):
        F.grid_sample(strided.zeros(2, 3, 0, 4), strided.zeros(2, 1, 1, 2), align_corners=False)
    assert F.grid_sample(strided.zeros(2, 3, 4, 4), strided.zeros(2, 0, 4, 2), align_corners=False).shape == (
        2,
        3,
        0,
        4,
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradients_of_both_orders(mode):
    strided.manual_seed(1)
    image = strided.randn(2, 3, 4, 5, dtype=strided.float64, requires_grad=True)
    grid = (strided.rand(2, 2, 3, 2, dtype=strided.float64) * 2.2 - 1.1).requires_grad_()

    def call(image, grid):
        return F.grid_sample(image, grid, mode=mode, align_corners=False)

    assert strided.autograd.gradcheck(call, (image, grid)) and strided.autograd.gradgradcheck(call, (image, grid))


@pytest.mark.parametrize("points", [1, 3, 4, 255, 256, 257, 260, 600])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
def test_kernels_beside_the_composition(points, mode, dtype):
    strided.manual_seed(2)
    close = 1e-4 if dtype is strided.float32 else 1e-12
    for sizes in ((6, 5), (1, 4), (4, 1), (9, 9), (3, 4, 5))[: 4 if mode == "bicubic" else 5]:
        image = strided.randn(2, 3, *sizes, dtype=dtype, requires_grad=True)
        grid = strided.rand(2, points, *[1] * (len(sizes) - 1), len(sizes), dtype=dtype) * 2.6 - 1.3
        grid = (grid * strided.rand(points).view(points, *[1] * len(sizes))).to(dtype)  # whole blocks inside, too
        for padding, align in itertools.product(("zeros", "border", "reflection"), (True, False)):
            at = grid.clone()
            at[0, 0], at[1, -1] = float("nan"), float("inf")
            made = F.grid_sample(image, at, mode, padding, align)
            wanted = _composed_sample(image, at, mode, padding, align, True)
            without = F.grid_sample(image.detach(), at, mode, padding, align)
            assert made.nan_to_num(77.0).equal(without.nan_to_num(77.0))
            strided.testing.assert_close(made, wanted, rtol=close, atol=close, equal_nan=True)
            at = grid.clone().requires_grad_()
            made = F.grid_sample(image, at, mode, padding, align)
            g = strided.randn(made.shape, dtype=dtype)
            found = strided.autograd.grad(made, (image, at), g, retain_graph=True)
            wanted = strided.autograd.grad(made, (image, at), g, create_graph=True)
            for one, other in zip(found, wanted):
                strided.testing.assert_close(one, other.detach(), rtol=close, atol=max(sizes) * 10 * close)
        turned = image.transpose(-1, -2).contiguous().transpose(-1, -2)
        backwards = strided.stack([grid, grid], -1)[..., 1]
        assert F.grid_sample(turned, backwards, mode, align_corners=False).equal(
            F.grid_sample(image, grid, mode, align_corners=False)
        )


def test_gradients_of_another_shape_are_refused():
    image = strided.randn(3, 2, 4, 4, requires_grad=True)
    for grid in (strided.rand(3, 5, 5, 2), strided.rand(3, 5, 5, 2, requires_grad=True)):
        node = F.grid_sample(image, grid, align_corners=False).grad_fn
        for gradient in (strided.ones(1), strided.ones(3, 2, 5, 4), strided.ones(3, 2, 5, 5).double()):
            with pytest.raises(RuntimeError, match="the gradient must be of the result's shape"), strided.no_grad():
                node.apply(gradient)


def test_gradients_do_not_depend_on_threads():
    strided.manual_seed(3)
    image = strided.randn(2, 64, 40, 40, requires_grad=True)
    grid = (strided.rand(2, 50, 60, 2) * 2.4 - 1.2).requires_grad_()
    threads, found = strided.get_num_threads(), []
    for n in (1, 2, 3):
        strided.set_num_threads(n)
        made = F.grid_sample(image, grid, align_corners=False)
        found.append(strided.autograd.grad((made * made).sum(), (image, grid)))
    strided.set_num_threads(threads)
    assert all(a.equal(b) for other in found[1:] for a, b in zip(found[0], other))


def test_infinities_stay_in_their_neighbourhood():
    image = strided.zeros(1, 1, 40, 40)
    image[0, 0, 20, 20], image[0, 0, 0, 0] = float("inf"), float("nan")
    side = (strided.arange(40) * 2 + 1) / 40 - 1
    grid = strided.stack(strided.meshgrid(side, side, indexing="xy"), -1)[None] * 0.999
    made = F.grid_sample(image, grid, align_corners=False)[0, 0]
    bad = (~made.isfinite()).nonzero().tolist()
    assert [20, 20] in bad and [0, 0] in bad and all(abs(r - c) <= 2 and (r < 2 or 18 < r < 22) for r, c in bad)


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
@pytest.mark.parametrize("n", [3, 12, 28, 100])
def test_places_of_the_identity_are_rounded_as_pytorch_rounds_them(n, dtype):
    """Where a map leaves all elements in place, the last bit says to which neighbour a gradient goes."""
    theta = strided.eye(2, 3, dtype=dtype)[None]
    for align in (False, True):
        line = strided.linspace(-1, 1, n, dtype=dtype)
        line = line if align else line * (n - 1) / n
        found = F.affine_grid(theta, (1, 1, n, n), align_corners=align)[0]
        assert found[0, :, 0].equal(line) and found[:, 0, 1].equal(line)
