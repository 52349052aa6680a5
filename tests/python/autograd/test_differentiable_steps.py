"""Optimizers with differentiable=True: gradients of later parameters with respect to earlier ones, to gradients and to
learning rates."""

import pytest
import strided
from strided.autograd import gradcheck

OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("AdamW", {"weight_decay": 0.2}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("ASGD", {"t0": 1, "weight_decay": 0.1}),
    ("Rprop", {"etas": (0.4, 1.3)}),
]
KINDS = pytest.mark.parametrize("name, options", OPTIMIZERS, ids=[f"{n}-{'-'.join(o)}" for n, o in OPTIMIZERS])


def after(name, options, start, grads, lr=0.1, **more):
    """Parameters after a step for each gradient."""
    param = start.clone()
    optimizer = getattr(strided.optim, name)([param], lr=lr, **options, **more)
    for grad in grads:
        param.grad = grad
        optimizer.step()
    return param


def points(dtype, steps, layout=lambda t: t):
    strided.manual_seed(5)
    return [layout(strided.randn(3, 2, dtype=dtype) + 2).detach().requires_grad_(True) for _ in range(1 + steps)]


@KINDS
@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_of_parameters_and_gradients(name, options, steps):
    if name == "SGD" and "momentum" in options:
        pytest.skip("the buffer of momentum starts without history, as in PyTorch: compared with it")
    assert gradcheck(
        lambda start, *g: after(name, options, start, g, differentiable=True), points(strided.float64, steps)
    )


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64, strided.complex64, strided.complex128])
@pytest.mark.parametrize("layout", [lambda t: t, lambda t: t.t(), lambda t: t[::2], lambda t: t[:0], lambda t: t[0, 0]])
@KINDS
def test_steps_are_those_without_a_graph(name, options, dtype, layout):
    start, *grads = points(dtype, 3, layout)
    recorded = after(name, options, start, grads, differentiable=True)
    with strided.no_grad():
        plain = after(name, options, start, [g.detach() for g in grads])
    assert recorded.requires_grad and recorded.dtype == dtype
    strided.testing.assert_close(recorded.detach(), plain)
    recorded.abs().sum().backward()
    assert start.grad.shape == start.shape


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop"])
def test_gradients_of_learning_rates(name):
    start, *grads = points(strided.float64, 3)
    lr = strided.tensor(0.1, dtype=strided.float64, requires_grad=True)
    assert gradcheck(
        lambda lr: after(name, {}, start.detach(), [g.detach() for g in grads], lr, differentiable=True), [lr]
    )


def test_gradients_of_complex_parameters():
    start, *grads = points(strided.complex128, 2)
    assert gradcheck(lambda x, *g: after("Adam", {}, x, g, differentiable=True), [start, *grads])


def test_gradients_of_weight_decay():
    start, *grads = points(strided.float64, 2)
    decay = strided.tensor(0.1, dtype=strided.float64, requires_grad=True)

    def run(decay):
        return after("SGD", {"weight_decay": decay}, start.detach(), [g.detach() for g in grads], differentiable=True)

    assert gradcheck(run, [decay])


def test_state_has_gradients_too():
    start, grad = points(strided.float64, 1)
    param = start.clone()
    optimizer = strided.optim.Adam([param], differentiable=True)
    param.grad = grad
    optimizer.step()
    assert optimizer.state[param]["exp_avg"].requires_grad and optimizer.state[param]["exp_avg_sq"].requires_grad
    (slope,) = strided.autograd.grad(optimizer.state[param]["exp_avg"].sum(), grad)
    strided.testing.assert_close(slope, strided.full_like(grad, 0.1))


def test_leaves_are_not_written_to_in_the_graph():
    leaf = strided.ones(2, requires_grad=True)
    leaf.grad = strided.ones(2)
    with pytest.raises(RuntimeError, match="leaf"):
        strided.optim.SGD([leaf], lr=0.1, differentiable=True).step()


def test_the_product_of_nadam_has_a_gradient():
    start, grad = points(strided.float64, 1)

    def stepped(product):
        param = start.detach().clone()
        param.grad = grad.detach()
        optimizer = strided.optim.NAdam([param], lr=0.9, differentiable=True)
        zeros = strided.zeros_like(param)
        optimizer.state[param] = {
            "step": strided.tensor(10.0, dtype=strided.float64), "exp_avg": zeros, "exp_avg_sq": zeros + 1,
            "mu_product": product.clone(),
        }  # fmt: skip
        optimizer.step()
        return param

    assert gradcheck(stepped, strided.tensor(0.5, dtype=strided.float64, requires_grad=True))
