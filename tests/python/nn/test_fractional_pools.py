"""Fractional pools: numbers that are drawn must fit the input."""

import pytest
import strided
import strided.nn.functional as F


def test_samples_on_another_device_are_refused():
    with pytest.raises(RuntimeError, match="_random_samples is on meta, but the input is on cpu"):
        F.fractional_max_pool2d(
            strided.ones(1, 1, 6, 6), 2, output_size=3, _random_samples=strided.rand(1, 1, 2, device="meta")
        )


@pytest.mark.parametrize("value", [-0.5, 1.5, float("nan")])
def test_samples_outside_of_zero_and_one_are_refused(value):
    with pytest.raises(RuntimeError, match="must lie between 0 and 1"):
        F.fractional_max_pool2d(
            strided.ones(1, 1, 6, 6), 2, output_size=3, _random_samples=strided.full((1, 1, 2), value)
        )


@pytest.mark.parametrize("sizes, kernel", [([3], [2, 2]), ([3, 3], [2, 7]), ([3, -1], [2, 2]), ([3, 3, 3], [2, 2, 2])])
def test_windows_that_do_not_fit_are_refused(sizes, kernel):
    pool = strided._C.functions["_fractional_max_pool"]
    with pytest.raises(RuntimeError, match="do not fit an input"):
        pool(strided.ones(1, 1, 6, 6), strided.rand(1, 1, 2), sizes, kernel)
