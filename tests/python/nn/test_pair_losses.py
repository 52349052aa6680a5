"""mse_loss, huber_loss and smooth_l1_loss in one pass, beside what a class that extends Tensor is made of."""

import pytest
import strided
from row_layouts import LAYOUTS
from strided.nn import functional as F


class Other(strided.Tensor):
    pass


LOSSES = {
    "mse": F.mse_loss,
    "huber": lambda x, y, **k: F.huber_loss(x, y, delta=0.7, **k),
    "smooth_l1": lambda x, y, **k: F.smooth_l1_loss(x, y, beta=0.3, **k),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_layouts_and_sizes(name, layout, reduction):
    strided.manual_seed(0)
    loss = LOSSES[name]
    for shape in [(1,), (3, 5), (2, 3, 31), (1, 32), (2, 16384), (3, 16385), (0, 4)]:
        x, y = (LAYOUTS[layout](strided.randn(shape, dtype=strided.float64)).detach() for _ in range(2))
        for dtype, tolerance in ((strided.float64, 1e-11), (strided.float32, 2e-5)):
            a, b = x.to(dtype).requires_grad_(), y.to(dtype).requires_grad_()
            made = loss(a, b, reduction=reduction)
            wanted = loss(x.as_subclass(Other), y.as_subclass(Other), reduction=reduction).as_subclass(strided.Tensor)
            assert made.dtype is dtype and made.shape == wanted.shape
            strided.testing.assert_close(made.double(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
            p, q = x.clone().requires_grad_(), y.clone().requires_grad_()
            wanted = loss(p.as_subclass(Other), q.as_subclass(Other), reduction=reduction).as_subclass(strided.Tensor)
            g = strided.full(made.shape, 0.7, dtype=strided.float64)
            for create_graph in (False, True):
                found = strided.autograd.grad(made, (a, b), g.to(dtype), retain_graph=True, create_graph=create_graph)
                known = strided.autograd.grad(wanted, (p, q), g, retain_graph=True)
                for one, two in zip(found, known):
                    strided.testing.assert_close(one.detach().double(), two, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", LOSSES)
def test_second_derivatives_and_single_leaves(name):
    strided.manual_seed(0)
    x, y = (strided.randn(4, 5, dtype=strided.float64, requires_grad=True) for _ in range(2))
    assert strided.autograd.gradcheck(LOSSES[name], (x, y)) and strided.autograd.gradgradcheck(LOSSES[name], (x, y))
    (one,) = strided.autograd.grad(LOSSES[name](x.detach(), y), y)
    two = strided.autograd.grad(LOSSES[name](x, y), (x, y))
    assert one.equal(two[1]) and two[0].equal(-two[1])


@pytest.mark.parametrize("name", LOSSES)
def test_inf_and_nan(name):
    x = strided.zeros(100, requires_grad=True)
    for value in ("inf", "-inf", "nan"):
        y = strided.ones(100)
        y[70] = float(value)
        made = LOSSES[name](x, y, reduction="sum")
        wanted = LOSSES[name](x.as_subclass(Other), y.as_subclass(Other), reduction="sum").as_subclass(strided.Tensor)
        assert made.equal(wanted) or (made.isnan() and wanted.isnan())
        for one, two in zip(strided.autograd.grad(made, x), strided.autograd.grad(wanted, x)):
            strided.testing.assert_close(one, two, equal_nan=True)


def test_other_arguments_are_made_of_public_operations():
    functions, x = strided._C.functions["_pair_loss"], strided.ones(3)
    assert functions(x, x, "mse", 1.0, "none") is None
    assert functions(x, x.double(), "mse", 1.0, "mean") is None
    assert functions(x, strided.ones(1), "mse", 1.0, "mean") is None
    assert functions(x.half(), x.half(), "mse", 1.0, "mean") is None
    assert F.mse_loss(x, x * 3, weight=x * 2) == 4


def test_the_sum_does_not_depend_on_the_number_of_threads():
    strided.manual_seed(0)
    x, y = strided.randn(200001), strided.randn(200001)
    before, found = strided.get_num_threads(), []
    try:
        for threads in (1, 2):
            strided.set_num_threads(threads)
            found.append(F.mse_loss(x, y))
    finally:
        strided.set_num_threads(before)
    assert found[0].equal(found[1])
