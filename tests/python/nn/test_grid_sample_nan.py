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
