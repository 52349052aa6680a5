"""Gradients that the CPU computes in one pass: beside those that are made of recorded operations, and float64."""

import pytest
import strided
from row_layouts import LAYOUTS
from strided.nn import functional as F


def gradients(function, leaves, g, create_graph):
    made = strided.autograd.grad(function(*leaves), leaves, g, create_graph=create_graph)
    return [t.detach() for t in made]


def check(function, leaves, g, tolerance):
    """The same as with recorded steps, in float64 and float32."""
    recorded = gradients(function, leaves, g, True)
    for made, wanted in zip(gradients(function, leaves, g, False), recorded):
        assert made.shape == wanted.shape
        strided.testing.assert_close(made, wanted, rtol=1e-11, atol=1e-11, equal_nan=True)
    short = [t.detach().float().requires_grad_() for t in leaves]
    for made, wanted in zip(gradients(function, short, g.float(), False), recorded):
        assert made.dtype is strided.float32
        strided.testing.assert_close(made.double(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, layout):
    strided.manual_seed(0)
    for shape in [(1,), (7,), (3, 1), (2, 0), (0, 4), (5, 8), (2, 3, 31), (4, 32), (3, 33), (2, 100), (2, 5000)]:
        x = LAYOUTS[layout](strided.randn(shape, dtype=strided.float64) * 3).detach().requires_grad_()
        g = LAYOUTS[layout](strided.randn(shape, dtype=strided.float64))
        for dim in {-1, 0}:
            check(lambda x: getattr(strided, name)(x, dim), [x], g, 2e-5)  # noqa: B023


def test_softmax_beside_inf_and_nan():
    x = strided.tensor([[1.0, 2, 3], [-float("inf"), 0, 1], [float("nan"), 0, 1], [float("inf"), 0, 1]])
    x = x.double().requires_grad_()
    for name in ("softmax", "log_softmax"):
        check(lambda x: getattr(strided, name)(x, 1), [x], strided.ones(4, 3).double().cumsum(1), 1e-5)  # noqa: B023
    g = strided.tensor([[1.0, float("inf"), 2], [1, float("nan"), 2]]).double()
    check(lambda x: x.softmax(1), [x.detach()[:2].requires_grad_()], g, 1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape", [(6, 3), (5, 64), (9, 65), (1, 1, 9), (2, 3, 7), (4, 5, 8), (3, 2, 5, 20), (2, 3, 70, 70)]
)
def test_channels(shape, layout):
    strided.manual_seed(0)
    x = LAYOUTS[layout](strided.randn(shape, dtype=strided.float64) + 5)
    if layout == "one number":  # its variance is 0
        x = strided.randn(shape, dtype=strided.float64)
    x = x.detach().requires_grad_()
    g = LAYOUTS[layout](strided.randn(shape, dtype=strided.float64))
    weight, bias = (strided.randn(shape[1], dtype=strided.float64, requires_grad=True) for _ in range(2))
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, True, eps=0.01), [x, weight, bias], g, 2e-3)
    check(lambda x: F.batch_norm(x, None, None, training=True, eps=0.01), [x], g, 2e-3)
    check(lambda w, b: F.batch_norm(x.detach().to(w.dtype), None, None, w, b, True), [weight, bias], g, 2e-3)
    if len(shape) > 2:
        check(lambda x: F.instance_norm(x, eps=0.01), [x], g, 2e-3)
    # With statistics from outside.
    mean, var = strided.randn(shape[1], dtype=strided.float64), strided.rand(shape[1], dtype=strided.float64) + 0.1

    def constant(x, w=None, b=None):
        return F.batch_norm(x, mean.to(x.dtype), var.to(x.dtype), w, b, eps=0.01)

    check(constant, [x, weight, bias], g, 2e-3)
    check(constant, [x], g, 2e-3)
    check(lambda w, b: constant(x.detach().to(w.dtype), w, b), [weight, bias], g, 2e-3)


def test_channels_with_constant_statistics():
    strided.manual_seed(0)
    x, weight, bias = (strided.randn(s, dtype=strided.float64, requires_grad=True) for s in [(4, 3, 5), 3, 3])
    mean, var = strided.randn(3, dtype=strided.float64), strided.rand(3, dtype=strided.float64) + 0.1
    assert strided.autograd.gradcheck(
        lambda *leaves: F.batch_norm(leaves[0], mean, var, *leaves[1:]), (x, weight, bias)
    )
    assert strided.autograd.gradgradcheck(lambda x, w: F.batch_norm(x, mean, var, w), (x, weight))
    y = F.batch_norm(x, mean, var, weight, bias)
    # One node, as in training: programs that read the graph find the module's inputs behind it.
    assert [node.variable is leaf for (node, _), leaf in zip(y.grad_fn.next_functions, (x, weight, bias))] == [True] * 3
    # The statistics may move on before the backward pass.
    wanted = gradients(lambda *leaves: F.batch_norm(leaves[0], mean.clone(), var.clone(), *leaves[1:]),
                       [x, weight, bias], strided.ones_like(y), False)  # fmt: skip
    F.batch_norm(x, mean, var, training=True)
    y.sum().backward()
    for leaf, gradient in zip((x, weight, bias), wanted):
        strided.testing.assert_close(leaf.grad, gradient)
    for name, statistics in [
        ("mean", (mean.clone().requires_grad_(), var)),
        ("var", (mean, var.clone().requires_grad_())),
    ]:
        with pytest.raises(RuntimeError, match=f"not differentiable with respect to argument 'running_{name}'"):
            F.batch_norm(x, *statistics)
        with strided.no_grad():
            F.batch_norm(x, *statistics)


def test_channels_with_a_large_mean():
    strided.manual_seed(0)
    x = strided.randn(64, 3, 16, 16) + 1000
    g = strided.randn(64, 3, 16, 16)
    results = []
    for dtype in (strided.float32, strided.float64):
        leaf = x.to(dtype).requires_grad_()
        results.append(gradients(lambda x: F.batch_norm(x, None, None, training=True), [leaf], g.to(dtype), False)[0])
    strided.testing.assert_close(results[0].double(), results[1], rtol=1e-3, atol=1e-3)


def test_channels_beside_inf_and_nan():
    g = strided.ones(4, 3, 9, dtype=strided.float64)
    g[0, 1, 2], g[3, 2, 0] = float("inf"), float("nan")
    x = strided.randn(4, 3, 9, dtype=strided.float64, requires_grad=True)
    made = gradients(lambda x: F.batch_norm(x, None, None, training=True), [x], g, False)[0]
    assert made[:, 0].isfinite().all() and not made[:, 1:].isfinite().any()


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bilinear", "bicubic"])
@pytest.mark.parametrize("size, to", [(5, 10), (5, 13), (7, 3), (1, 4), (4, 1), (33, 70), (6, 6)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_interpolation(mode, size, to, layout):
    strided.manual_seed(0)
    lines = mode == "linear"
    shape = (2, 3, size) if lines else (2, 3, 4, size)
    out = (2, 3, to) if lines else (2, 3, 6, to)
    x = strided.randn(shape, dtype=strided.float64, requires_grad=True)
    g = LAYOUTS[layout](strided.randn(out, dtype=strided.float64))
    made = F.interpolate(x, size=out[2:], mode=mode)
    (of_x,) = strided.autograd.grad(made, x, g)
    strided.testing.assert_close((of_x * x).sum(), (g * made).sum(), rtol=1e-10, atol=1e-10)  # an adjoint map
    check(lambda x: F.interpolate(x, size=out[2:], mode=mode), [x], g, 1e-4)
