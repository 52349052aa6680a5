"""Arguments that must be whole numbers."""

import pytest
import strided
from strided.nn import functional as F


@pytest.mark.parametrize("wrong", ["a", 1.5, True, strided.ones(2)])
def test_refused(wrong):
    x = strided.ones(1, 4, 4, 4)
    for call in (
        lambda: F.max_pool2d(x, wrong), lambda: F.avg_pool2d(x, 2, wrong), lambda: F.max_pool2d(x, 2, 2, [wrong, 0]),
        lambda: F.pad(x, wrong), lambda: F.pad(x, (wrong, 1)), lambda: F.pixel_shuffle(x, wrong),
        lambda: F.channel_shuffle(x, wrong), lambda: strided.hann_window(wrong),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"^\w+\(\): argument '\w+'.* (must be|failed to unpack)"):
            call()


def test_later_elements():
    for wrong in ("a", 1.5, strided.ones(2)):
        with pytest.raises(TypeError, match="failed to unpack the object at pos 2"):
            F.pad(strided.ones(4), (1, wrong))


def test_taken():
    numpy = pytest.importorskip("numpy")
    x = strided.ones(1, 4, 4, 4)
    for two in (2, numpy.int32(2), strided.tensor(2)):
        assert F.max_pool2d(x, two).shape == F.avg_pool2d(x, (two, two)).shape == (1, 4, 2, 2)
        assert F.pad(x, (two, 0)).shape == (1, 4, 4, 6)
        assert F.pixel_shuffle(x, two).shape == (1, 1, 8, 8)
        assert strided.hann_window(two).shape == (2,)
