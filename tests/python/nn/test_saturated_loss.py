"""binary_cross_entropy at 0 and 1: finite gradients, so that a network whose sigmoid saturates goes on learning."""

import pytest
import strided
from strided.nn import functional as F


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradient_at_the_ends(create_graph):
    x = strided.tensor([0.0, 1, 1, 0, 0.25, 1e-20], requires_grad=True)
    y = strided.tensor([0.0, 1, 0, 1, 0.5, 1])
    loss = F.binary_cross_entropy(x, y, reduction="none")
    assert loss[:4].tolist() == [0, 0, 100, 100] and abs(loss[5].item() - 46.0517) < 1e-3
    (g,) = strided.autograd.grad(loss.sum(), x, create_graph=create_graph)
    wanted = strided.tensor([0.0, 0, 1e12, -1e12, -0.25 / (0.25 * 0.75), -1e12])
    strided.testing.assert_close(g.detach(), wanted)
    if create_graph:
        (second,) = strided.autograd.grad(g[4], x)
        assert abs(second[4].item() - (0.5 / 0.25**2 + 0.5 / 0.75**2)) < 1e-3 and second[:4].tolist() == [0] * 4


def test_inner_values_do_not_depend_on_the_ends():
    inner = strided.linspace(0.1, 0.9, 5, dtype=strided.float64)
    a = inner.clone().requires_grad_()
    b = strided.cat([inner, strided.tensor([1.0], dtype=strided.float64)]).requires_grad_()
    t = strided.full((6,), 0.25, dtype=strided.float64, requires_grad=True)
    one = F.binary_cross_entropy(a, t[:5].detach(), reduction="none")
    two = F.binary_cross_entropy(b, t, reduction="none")
    assert strided.allclose(one, two[:5])
    one.sum().backward()
    two.sum().backward()
    assert strided.allclose(a.grad, b.grad[:5]) and t.grad[5] == -100
    assert strided.allclose(t.grad[:5], (1 - inner).log() - inner.log())


def test_half_precision():
    x = strided.tensor([0.0, 1.0, 0.5], dtype=strided.float16, requires_grad=True)
    F.binary_cross_entropy(x, strided.tensor([0.0, 0.0, 1.0], dtype=strided.float16), reduction="sum").backward()
    assert x.grad[0] == 0 and x.grad[1] == strided.finfo(strided.float16).max and x.grad[2] == -2


def test_training_goes_on():
    strided.manual_seed(0)
    x = strided.randn(64, 2) * 50
    y = (x[:, :1] > 0).float()
    layer = strided.nn.Linear(2, 1)
    optimizer = strided.optim.SGD(layer.parameters(), lr=1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        F.binary_cross_entropy(strided.sigmoid(8 * layer(x)), y).backward()
        optimizer.step()
    assert layer.weight.isfinite().all()


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
def test_beside_public_operations(dtype):
    """The compiled loss, and the same of a class that extends Tensor."""

    class Other(strided.Tensor):
        pass

    strided.manual_seed(0)
    x = strided.rand(7, 5, dtype=dtype).t().requires_grad_()
    y = strided.rand(5, 7, dtype=dtype).flip(1).requires_grad_()
    w = strided.rand(7, dtype=dtype)
    tolerance = {"rtol": 2e-5, "atol": 2e-5} if dtype is strided.float32 else {"rtol": 1e-12, "atol": 1e-12}
    for reduction in ("none", "sum", "mean"):
        made = F.binary_cross_entropy(x, y, w, reduction=reduction)
        other = F.binary_cross_entropy(x.as_subclass(Other), y, w, reduction=reduction).as_subclass(strided.Tensor)
        strided.testing.assert_close(made, other, **tolerance)
        for a, b in zip(*(strided.autograd.grad(t.sum(), (x, y)) for t in (made, other))):
            strided.testing.assert_close(a, b, **tolerance)
    if dtype is strided.float64:
        inner = (x.detach() * 0.8 + 0.1).requires_grad_()
        assert strided.autograd.gradcheck(F.binary_cross_entropy, (inner, y))
        assert strided.autograd.gradgradcheck(F.binary_cross_entropy, (inner, y))
    assert F.binary_cross_entropy(strided.ones(0), strided.ones(0), reduction="sum") == 0
