"""Places that are no numbers are outside of the image."""

import pytest
import strided
from strided.nn import functional as F


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
