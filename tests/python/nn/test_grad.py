"""``nn.grad``: gradients of convolutions as functions, beside those of autograd."""

import pytest
import strided
from strided.nn import functional as F

OPTIONS = [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}, {"padding": 2, "stride": 3, "groups": 2}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_gradients_are_those_of_autograd(axes, options):
    g = strided.Generator().manual_seed(axes)

    def noise(*shape):
        return strided.randn(shape, dtype=strided.float64, generator=g)

    conv = getattr(F, f"conv{axes}d")
    x = noise(2, 4, *(7, 6, 5)[:axes]).requires_grad_()
    weight = noise(6, 4 // options.get("groups", 1), *(3, 2, 2)[:axes]).requires_grad_()
    y = conv(x, weight, **options)
    sent = noise(*y.shape)
    for_x, for_weight = strided.autograd.grad(y, (x, weight), sent)
    of_input, of_weight = (getattr(strided.nn.grad, f"conv{axes}d_{n}") for n in ("input", "weight"))
    x, weight = x.detach(), weight.detach()
    assert strided.equal(of_input(x.shape, weight, sent, **options), for_x)
    assert strided.equal(of_weight(x, weight.shape, sent, **options), for_weight)


def test_they_are_differentiable_and_otherwise_keep_no_graph():
    weight = strided.randn(3, 2, 3, dtype=strided.float64, requires_grad=True)
    sent = strided.randn(1, 3, 4, dtype=strided.float64, requires_grad=True)
    assert strided.autograd.gradcheck(lambda w, s: strided.nn.grad.conv1d_input((1, 2, 6), w, s), (weight, sent))
    assert not strided.nn.grad.conv1d_input((1, 2, 6), weight.detach(), sent.detach()).requires_grad
    with strided.no_grad():
        assert not strided.nn.grad.conv1d_input((1, 2, 6), weight, sent).requires_grad


def test_gradients_of_convolutions_stand_in_functional_too():
    assert strided.nn.functional.grad.conv2d_input is strided.nn.grad.conv2d_input
