"""Gradients of every elementwise op of the table: first and second order against finite differences of the library
itself."""

import numpy as np
import pytest
import strided as torch
from elementwise_points import COMPLEX, FLOAT, NONE, ONCE, arity, call, points

H = 1e-5


def value(name, arrays, weight):
    """A real number of the arrays, through the op."""
    out = call(name, [torch.tensor(a) for a in arrays]).numpy()
    return np.sum((np.conj(weight) * out).real)


def gradient(name, arrays, weight, i):
    leaves = [torch.tensor(a, requires_grad=k == i) for k, a in enumerate(arrays)]
    out = call(name, leaves)
    (g,) = torch.autograd.grad(out, [leaves[i]], torch.tensor(weight))
    return g.numpy()


def weight_for(name, arrays):
    rng = np.random.default_rng(1)
    out = call(name, [torch.tensor(a) for a in arrays])
    w = rng.uniform(-1, 1, 7)
    return w + 1j * rng.uniform(-1, 1, 7) if out.dtype.is_complex else w


def numeric(f, arrays, i, direction):
    up, down = list(arrays), list(arrays)
    up[i], down[i] = arrays[i] + H * direction, arrays[i] - H * direction
    return (f(up) - f(down)) / (2 * H)


def cases(names):
    return [pytest.param(n, i, id=f"{n}-{i}") for n in names for i in range(arity(n)) if (n, i) not in NONE]


@pytest.mark.parametrize("name, i", cases(FLOAT))
def test_first_derivative(name, i):
    arrays = points(name)[: arity(name)]
    w = weight_for(name, arrays)
    g = gradient(name, arrays, w, i)
    for k in range(7):
        unit = np.eye(7)[k]
        want = numeric(lambda a: value(name, a, w), arrays, i, unit)
        assert abs(g[k] - want) <= 1e-6 * (1 + abs(want)), (name, i, [a[k] for a in arrays])


@pytest.mark.parametrize("name, i", cases(COMPLEX))
def test_first_derivative_complex(name, i):
    """PyTorch's convention: the gradient of a real function L is dL/dx + i dL/dy."""
    arrays = points(name, complex_=True)[: arity(name)]
    w = weight_for(name, arrays)
    g = gradient(name, arrays, w, i)
    for k in range(7):
        unit = np.eye(7)[k]
        want = numeric(lambda a: value(name, a, w), arrays, i, unit) + 1j * numeric(
            lambda a: value(name, a, w), arrays, i, 1j * unit
        )
        assert abs(g[k] - want) <= 1e-6 * (1 + abs(want)), (name, i, [a[k] for a in arrays])


@pytest.mark.parametrize("name, i", cases([n for n in FLOAT if n not in ONCE]))
def test_second_derivative(name, i):
    """The gradient of a gradient, for each operand, against differences of first gradients."""
    n = arity(name)
    arrays = points(name)[:n]
    w, v = weight_for(name, arrays), np.random.default_rng(2).uniform(-1, 1, 7)
    leaves = [torch.tensor(a, requires_grad=(name, k) not in NONE) for k, a in enumerate(arrays)]
    out = call(name, leaves)
    (g,) = torch.autograd.grad(out, [leaves[i]], torch.tensor(w), create_graph=True)
    if not g.requires_grad:
        second = [np.zeros(7)] * n
    else:
        grads = torch.autograd.grad(
            g, [x for k, x in enumerate(leaves) if (name, k) not in NONE], torch.tensor(v), allow_unused=True
        )
        grads = iter(grads)
        second = [None if (name, k) in NONE else next(grads) for k in range(n)]
        second = [np.zeros(7) if s is None else s.numpy() for s in second]
    for j in range(n):
        if (name, j) in NONE:
            continue
        for k in range(7):
            want = numeric(lambda a: np.sum(v * gradient(name, a, w, i)), arrays, j, np.eye(7)[k])
            assert abs(second[j][k] - want) <= 1e-5 * (1 + abs(want)), (name, i, j, [a[k] for a in arrays])


@pytest.mark.parametrize("name, i", sorted(NONE))
def test_no_derivative(name, i):
    arrays = points(name)
    leaves = [torch.tensor(a, requires_grad=k == i) for k, a in enumerate(arrays)]
    with pytest.raises(NotImplementedError, match="the derivative for '.*' is not implemented"):
        call(name, leaves).sum().backward()


def test_broadcast_and_mixed_dtypes():
    x = torch.ones(3, 1, dtype=torch.float32, requires_grad=True)
    y = torch.full((2,), 2.0, dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [[4.0]] * 3
    assert y.grad.dtype == torch.float64 and y.grad.tolist() == [3.0, 3.0]
    x = torch.ones(2, requires_grad=True)
    (x * 1j).abs().sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [1.0, 1.0]
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (x ** torch.tensor([2, 3])).sum().backward()
    assert x.grad.tolist() == [4.0, 27.0]


def test_integers_have_no_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for out in (x == 1, x < 2, torch.isnan(x), torch.logical_not(x), torch.signbit(x)):
        assert not out.requires_grad


def test_second_derivatives_at_removable_points():
    for f, want in ((torch.special.i1, 0.0), (torch.sinc, 0.0)):
        x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(f(x), [x], create_graph=True)
        (gg,) = torch.autograd.grad(g, [x])
        assert gg.item() == want


@pytest.mark.parametrize("base", [-1, -2.5, torch.tensor([-1.0, -0.5, 3.0], dtype=torch.float64)], ids=str)
def test_powers_of_real_bases_with_complex_exponents(base):
    """d/de b^e = b^e log(b), with the complex logarithm where b is negative."""
    exponent = torch.tensor([0.5 + 1j, 2 - 0.3j, 1j], dtype=torch.complex128, requires_grad=True)
    out = torch.pow(base, exponent)
    out.backward(torch.ones_like(out))
    b = np.asarray(base.numpy() if isinstance(base, torch.Tensor) else base, dtype=complex)
    e = exponent.detach().numpy()
    np.testing.assert_allclose(exponent.grad.numpy(), np.conj(b**e * np.log(b)), rtol=1e-12)
    assert torch.autograd.gradgradcheck(lambda e: torch.pow(base, e), (exponent,))


@pytest.mark.parametrize("x", [-1e3, -1e5, -1e9])
def test_log_ndtr_has_its_gradient_far_below_zero(x):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor(x, dtype=dtype, requires_grad=True)
        torch.special.log_ndtr(t).backward()
        assert t.grad.item() == pytest.approx(-x, rel=2e-6)
