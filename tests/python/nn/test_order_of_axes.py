"""Functions of images and volumes keep channels_last."""

import pytest
import strided
from strided.nn import functional as F

IMAGES = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d, windows that overlap": lambda x: F.max_pool2d(x, 3, 2, 1),
    "positions": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "lp_pool2d": lambda x: F.lp_pool2d(x.abs(), 2, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (4, 5)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest-exact": lambda x: F.interpolate(x, (3, 5), mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, (9, 4), mode="bilinear"),
    "antialias": lambda x: F.interpolate(x, (3, 5), mode="bilinear", antialias=True),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"),
    "area": lambda x: F.interpolate(x, (4, 5), mode="area"),
    "constant": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0),
    "reflect": lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "group_norm": lambda x: F.group_norm(x, 2),
    "conv2d": lambda x: F.conv2d(x, strided.ones(3, 4, 3, 3), strided.ones(3), padding=1),
    "conv2d by channels": lambda x: F.conv2d(x, strided.ones(8, 1, 3, 2), groups=4),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, strided.ones(4, 3, 2, 2), stride=2),
}
VOLUMES = {
    "conv3d": lambda x: F.conv3d(x, strided.ones(2, 3, 3, 1, 2)),
    "max_pool3d": lambda x: F.max_pool3d(x, 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "trilinear": lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
    "replicate": lambda x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="replicate"),
}
LINES = {
    "avg_pool1d": lambda x: F.avg_pool1d(x, 3, 1),
    "max_pool1d": lambda x: F.max_pool1d(x, 3, 1),
    "positions": lambda x: F.max_pool1d(x, 3, 1, return_indices=True)[1],
    "lp_pool1d": lambda x: F.lp_pool1d(x.abs(), 2, 3),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 5),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, 4),
}
# What comes out lies in the usual order, however the input lies.
USUAL = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "batch_norm, given statistics": lambda x: F.batch_norm(x, x.new_zeros(x.size(1)), x.new_ones(x.size(1))),
    "instance_norm": lambda x: F.instance_norm(x),
}


def _run(function, shape, order):
    x = strided.randn(shape, generator=strided.Generator().manual_seed(1)).requires_grad_()
    plain = function(x)
    made = function(x.detach().contiguous(memory_format=order).requires_grad_())
    assert made.is_contiguous(memory_format=order) and not made.is_contiguous()
    assert plain.is_contiguous()
    assert strided.equal(made, plain)
    if made.requires_grad:
        y = x.detach().contiguous(memory_format=order).requires_grad_()
        (ours,) = strided.autograd.grad(function(y).square().sum(), y)
        (want,) = strided.autograd.grad(plain.square().sum(), x)
        strided.testing.assert_close(ours, want)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name):
    _run(IMAGES[name], (2, 4, 6, 8), strided.channels_last)


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name):
    _run(VOLUMES[name], (2, 3, 4, 4, 6), strided.channels_last_3d)


def test_other_orders_are_not_kept():
    x = strided.randn(2, 4, 6, 8, generator=strided.Generator().manual_seed(1))
    for y in (x.transpose(2, 3), x[:, :, ::2], x.permute(1, 0, 2, 3)):
        assert F.max_pool2d(y, 2).is_contiguous()
        assert F.interpolate(y, scale_factor=2).is_contiguous()
    assert F.max_pool2d(x[0], 2).is_contiguous()
    volume = strided.ones(2, 3, 4, 4, 6).contiguous(memory_format=strided.channels_last_3d)
    assert F.avg_pool3d(volume, 2).is_contiguous() and F.adaptive_max_pool3d(volume, 2).is_contiguous()


def test_slices_keep_the_order_of_what_they_are_taken_from():
    last = strided.channels_last
    x = strided.randn(2, 4, 6, 8, generator=strided.Generator().manual_seed(1)).contiguous(memory_format=last)
    for y in (x[:, 1:], x[:, ::2], x[:, :, ::2], x[:, 1:3, 1:]):
        for function in (
            lambda t: F.max_pool2d(t, 2), lambda t: F.avg_pool2d(t, 2), lambda t: F.adaptive_avg_pool2d(t, (2, 3)),
            lambda t: F.adaptive_max_pool2d(t, 2), lambda t: F.interpolate(t, scale_factor=2),
            lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"), lambda t: F.pad(t, (1, 1, 1, 1)),
            lambda t: F.pad(t, (1, 1, 1, 1), mode="reflect"),
        ):  # fmt: skip
            made, expected = function(y), function(y.contiguous())
            assert made.is_contiguous(memory_format=last) and not made.is_contiguous() and expected.is_contiguous()
            assert strided.allclose(made, expected)


def _gradient(function, x):
    x = x.detach().requires_grad_()
    made = function(x)
    return made, strided.autograd.grad(made.square().sum(), x)[0] if made.requires_grad else None


@pytest.mark.parametrize("name", LINES)
def test_lines(name):
    """A batch of lines is one of planes of one row: (batch, length, channels) in memory."""
    x = strided.randn(2, 8, 3, generator=strided.Generator().manual_seed(1)).transpose(1, 2)
    made, grad = _gradient(LINES[name], x)
    want, grad_wanted = _gradient(LINES[name], x.contiguous())
    assert made.transpose(1, 2).is_contiguous() and want.is_contiguous()
    made.transpose(1, 2).view(2, -1)
    assert strided.equal(made, want)
    if grad is not None:
        strided.testing.assert_close(grad, grad_wanted)
    assert LINES[name](x[0]).is_contiguous()  # without a batch


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_order(name):
    x = strided.randn(2, 8, 3, generator=strided.Generator().manual_seed(1)).transpose(1, 2)
    made, grad = _gradient(USUAL[name], x)
    want, grad_wanted = _gradient(USUAL[name], x.contiguous())
    assert made.is_contiguous()
    strided.testing.assert_close(made, want)
    strided.testing.assert_close(grad, grad_wanted)
