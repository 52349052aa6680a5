"""Backward passes in recorded programs: what is recorded follows from the arguments, not from one call's values."""

import pytest
import strided
from strided import nn
from strided.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from strided.fx.experimental.proxy_tensor import make_fx
from strided.utils._pytree import tree_flatten, tree_map

F = nn.functional
LABELS = strided.tensor([0, 1, 1, 0])


def loss(w, x):
    return F.cross_entropy(strided.tanh(x @ w.t()).relu(), LABELS)


def by_autograd(w, x):
    w = w.detach().requires_grad_()
    return strided.autograd.grad(loss(w, x), w)


def by_backward(w, x):
    w = w.detach().requires_grad_()
    ((x @ w.t()) ** 2 + loss(w, x)).sum().backward()
    return w.grad


def of_a_penalty(w, x):
    w = w.detach().requires_grad_()
    (g,) = strided.autograd.grad((strided.tanh(x @ w.t()).relu() ** 2).sum(), w, create_graph=True)
    return strided.autograd.grad((g**2).sum(), w)


def a_step(w, x):
    g, value = grad_and_value(loss)(w, x)
    return {"w": w - 0.1 * g, "loss": value}


def batch_of_gradients(w, x):
    w = w.detach().requires_grad_()
    y = strided.tanh(x @ w.t()).relu().sum(0)
    return strided.autograd.grad(y, w, strided.eye(2), is_grads_batched=True)


def gradients_under_vmap(w, x):
    w = w.detach().requires_grad_()
    y = F.cross_entropy(x @ w.t(), LABELS, reduction="none")
    return vmap(lambda v: strided.autograd.grad(y, w, v, retain_graph=True)[0])(strided.eye(4))


PROGRAMS = {
    "autograd.grad": by_autograd,
    "batch of gradients": batch_of_gradients,
    "gradients under vmap": gradients_under_vmap,
    "backward": by_backward,
    "twice": of_a_penalty,
    "step": a_step,
    "grad": grad(loss, argnums=(0, 1)),
    "vjp": lambda w, x: vjp(lambda w: (x @ w.t()).sin(), w)[1](x @ w.t()),
    "jvp": lambda w, x: jvp(lambda w: (x @ w.t()).sin(), (w,), (w * 2,)),
    "jacrev": lambda w, x: jacrev(lambda w: (x @ w.t()).sin())(w),
    "jacfwd": lambda w, x: jacfwd(lambda w: (x @ w.t()).sin())(w),
    "hessian": lambda w, x: hessian(lambda w: (x @ w.t()).sin().sum())(w),
    "per sample": lambda w, x: vmap(grad(lambda w, a: (a @ w.t()).tanh().sum()), in_dims=(None, 0))(w, x),
    "einsum under vmap": lambda w, x: vmap(lambda a: grad(lambda w: strided.einsum("ij,j->i", w, a).exp().sum())(w))(x),
    "grad of grad": lambda w, x: grad(lambda w: grad(lambda w: (w**3 * x[0]).sum())(w).pow(2).sum())(w),
}


def same(found, wanted):
    found, wanted = tree_flatten(found), tree_flatten(wanted)
    assert found[1] == wanted[1]
    for a, b in zip(found[0], wanted[0]):
        strided.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_compute_for_other_arguments(f):
    strided.manual_seed(0)
    first, other = ((strided.randn(2, 3), strided.randn(4, 3)) for _ in range(2))
    program = make_fx(f)(*first)
    same(program(*first), f(*first))
    same(program(*other), f(*other))


def test_gradients_by_parameters_of_a_module():
    net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    frozen = nn.Linear(2, 2).requires_grad_(False)

    def f(x):
        return strided.autograd.grad(frozen(net(x)).pow(2).sum(), list(net.parameters()))

    program = make_fx(f)(strided.ones(4, 3))
    other = strided.randn(4, 3)
    same(program(other), f(other))
    with strided.no_grad():
        for p in [*net.parameters(), *frozen.parameters()]:
            p.mul_(2)
    same(program(other), f(other))  # they are attributes of the program


def test_arguments_with_a_gradient():
    w = nn.Parameter(strided.ones(3))
    program = make_fx(lambda w: strided.autograd.grad((w * w).sum(), w))(w)
    assert w.grad is None and w.grad_fn is None
    same(program(strided.arange(3.0)), (2 * strided.arange(3.0),))


def test_writes_are_made_and_recorded():
    def f(x, count):
        count.add_(1)
        y = x.detach().requires_grad_()
        z = (y * 2).mul_(y)
        return strided.autograd.grad(z.sum(), y)[0] * count

    count = strided.zeros(())
    program = make_fx(f)(strided.ones(3), count)
    assert count.item() == 1
    same(program(strided.arange(3.0), count), 8 * strided.arange(3.0))
    assert count.item() == 2


def test_tensors_that_leave_the_function():
    kept = []
    make_fx(lambda x: kept.append(x * 2) or x)(strided.ones(2))
    assert repr(kept[0]) == "tensor([2., 2.])" and (kept[0] + 1).tolist() == [3.0, 3.0]


def test_what_has_no_formula_is_refused():
    with pytest.raises(NotImplementedError, match="erfcx"):
        make_fx(grad(lambda x: strided.special.erfcx(x).sum()))(strided.ones(3))
    outside = strided.ones(3, requires_grad=True)
    made = outside.exp()
    with pytest.raises(NotImplementedError, match="of plain tensors"):
        make_fx(lambda x: strided.autograd.grad((x * made).sum(), outside))(strided.ones(3))
    assert tree_map(type, make_fx(strided.exp)(strided.ones(2))(strided.ones(2))) is strided.Tensor
