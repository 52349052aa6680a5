"""strided.autograd.functional: values known in closed form, PyTorch's results and errors where PyTorch is installed."""

import numpy as np
import pytest
import strided
from strided.autograd import functional as F

DOUBLE = strided.float64
A = [[2.0, 1.0, 0.5], [0.0, 3.0, -1.0], [4.0, 0.0, 1.0]]


def vector(*values, **options):
    return strided.tensor(values, dtype=DOUBLE, **options)


def quadratic(x):
    return x @ strided.tensor(A, dtype=DOUBLE) @ x


def test_quadratic_form():
    x, v = vector(1.0, 2.0, 3.0), vector(0.5, -1.0, 2.0)
    a = np.array(A)
    h = a + a.T
    np.testing.assert_allclose(F.jacobian(quadratic, x).numpy(), h @ x.numpy())
    np.testing.assert_allclose(F.hessian(quadratic, x).numpy(), h)
    for product in (F.hvp, F.vhp):
        y, p = product(quadratic, x, v)
        assert y.item() == quadratic(x).item() and not p.requires_grad
        np.testing.assert_allclose(p.numpy(), h @ v.numpy())


def test_linear_map():
    a = strided.tensor(A, dtype=DOUBLE)
    x, v = vector(1.0, 2.0, 3.0), vector(0.5, -1.0, 2.0)
    np.testing.assert_allclose(F.jacobian(lambda x: a @ x, x).numpy(), A)
    np.testing.assert_allclose(F.jvp(lambda x: a @ x, x, v)[1].numpy(), np.array(A) @ v.numpy())
    np.testing.assert_allclose(F.vjp(lambda x: a @ x, x, v)[1].numpy(), v.numpy() @ np.array(A))


def test_create_graph_reaches_the_inputs():
    x = vector(1.0, 2.0, requires_grad=True)
    for f in (
        lambda: F.jacobian(lambda x: x**3, x, create_graph=True),
        lambda: F.hessian(lambda x: (x**4).sum(), x, create_graph=True),
        lambda: F.vjp(lambda x: x**3, x, vector(1.0, 1.0), create_graph=True)[1],
        lambda: F.jvp(lambda x: x**3, x, vector(1.0, 1.0), create_graph=True)[1],
        lambda: F.hvp(lambda x: (x**4).sum(), x, vector(1.0, 1.0), create_graph=True)[1],
        lambda: F.vhp(lambda x: (x**4).sum(), x, vector(1.0, 1.0), create_graph=True)[1],
    ):
        (g,) = strided.autograd.grad(f().sum(), x)
        assert g.tolist() in ([6.0, 12.0], [24.0, 48.0])
    assert x.grad is None
    with strided.no_grad():
        assert F.jacobian(lambda x: x**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_empty_and_zero_d():
    assert F.jacobian(lambda x: x * 2, strided.ones(0)).shape == (0, 0)
    assert F.jacobian(lambda x: x.sum(), strided.ones(0)).shape == (0,)
    assert F.jacobian(lambda x: x * x, strided.tensor(3.0)).item() == 6
    assert F.hessian(lambda x: (x**3).reshape(1), strided.tensor(3.0)).item() == 18


def test_every_way_gives_the_same():
    """vectorize and forward-mode: the values of the plain Jacobian; create_graph also where PyTorch has it not."""
    x = vector(1.0, 2.0, 0.5, requires_grad=True)
    y = strided.tensor([[3.0], [4.0]], dtype=DOUBLE, requires_grad=True)

    def f(x, y):
        return (x.sin() * y).exp(), x.sum(), x.detach() * 2

    ways = [
        dict(vectorize=v, strategy=s, create_graph=g)
        for v in (False, True)
        for s in ("reverse-mode", "forward-mode")
        for g in (False, True)
    ]
    plain = F.jacobian(f, (x, y))
    for way in ways:
        found = F.jacobian(f, (x, y), **way)
        for row, want_row in zip(found, plain):
            for block, want in zip(row, want_row):
                assert block.shape == want.shape and (way["create_graph"] or not block.requires_grad)
                np.testing.assert_allclose(block.detach().numpy(), want.numpy(), rtol=1e-12)
        if way["create_graph"]:
            (g,) = strided.autograd.grad(found[0][0].sum(), x)
            np.testing.assert_allclose(g.numpy(), F.hessian(lambda x: f(x, y)[0].sum(), x).sum(1).numpy(), rtol=1e-12)
    h = F.hessian(lambda x: (x**3).sum() * x[0], x)
    for v in (False, True):
        other = F.hessian(lambda x: (x**3).sum() * x[0], x, vectorize=v, outer_jacobian_strategy="forward-mode")
        np.testing.assert_allclose(other.numpy(), h.numpy(), rtol=1e-12)
    assert F.jacobian(lambda x: x * 2, strided.ones(0), strategy="forward-mode").shape == (0, 0)
    assert F.jacobian(lambda x: x.sum(), strided.ones(0), strategy="forward-mode").shape == (0,)


# ---------------------------------------------------------------- as PyTorch

V = [0.5, -2.0]


def calls(F, t):
    """Name -> call, for either library; every result is numbers, or the text of an error."""
    x, y = t.tensor([0.3, 1.7], dtype=t.float64), t.tensor([[1.0], [2.0]], dtype=t.float64)
    z = t.tensor([0.5 + 1j, -1.0 + 2j])
    v, w = t.tensor(V, dtype=t.float64), t.tensor([[3.0], [1.0]], dtype=t.float64)
    one = t.ones((), dtype=t.float64)
    both = lambda x, y: (x.sin() * y).exp()
    two = lambda x, y: (x * y, (x**2).sum())
    total = lambda x, y: both(x, y).sum()
    unused = lambda x, y: x.sum()
    constant = lambda x, y: t.ones(())
    return {
        "jacobian one": lambda: F.jacobian(lambda x: x.exp(), x),
        "jacobian complex": lambda: F.jacobian(lambda z: z * z.conj() * z, z),
        "jacobian two inputs": lambda: F.jacobian(both, (x, y)),
        "jacobian two outputs": lambda: F.jacobian(two, (x, y)),
        "jacobian tuple of one": lambda: F.jacobian(lambda x: (x * 2,), (x,)),
        "jacobian unused": lambda: F.jacobian(unused, (x, y)),
        "jacobian unused strict": lambda: F.jacobian(unused, (x, y), strict=True),
        "jacobian constant strict": lambda: F.jacobian(constant, (x, y), strict=True),
        "jacobian constant": lambda: F.jacobian(constant, (x, y)),
        "jacobian linear strict": lambda: F.jacobian(lambda x: x.sum(), x, strict=True),
        "jacobian linear strict graph": lambda: F.jacobian(lambda x: x.sum(), x, strict=True, create_graph=True),
        "jacobian vectorize": lambda: F.jacobian(two, (x, y), vectorize=True),
        "jacobian vectorize unused": lambda: F.jacobian(unused, (x, y), vectorize=True),
        "jacobian vectorize strict": lambda: F.jacobian(two, (x, y), vectorize=True, strict=True),
        "jacobian vectorize complex": lambda: F.jacobian(lambda z: z * z * 1j, z, vectorize=True),
        "jacobian forward": lambda: F.jacobian(two, (x, y), vectorize=True, strategy="forward-mode"),
        "jacobian forward one": lambda: F.jacobian(lambda x: x.exp(), x, vectorize=True, strategy="forward-mode"),
        "jacobian forward unused": lambda: F.jacobian(unused, (x, y), vectorize=True, strategy="forward-mode"),
        "jacobian forward constant": lambda: F.jacobian(constant, (x, y), vectorize=True, strategy="forward-mode"),
        "jacobian forward complex": lambda: F.jacobian(
            lambda z: z * z * 1j, z, vectorize=True, strategy="forward-mode"
        ),
        "jacobian forward dtypes": lambda: F.jacobian(
            lambda x: x.to(t.float32) * 2, x, vectorize=True, strategy="forward-mode"
        ),
        "jacobian forward strict": lambda: F.jacobian(
            two, (x, y), vectorize=True, strategy="forward-mode", strict=True
        ),
        "jacobian unknown": lambda: F.jacobian(two, (x, y), strategy="sideways"),
        "hessian vectorize": lambda: F.hessian(total, (x, y), vectorize=True),
        "hessian forward": lambda: [  # of which PyTorch's want a gradient
            [block.detach() for block in row]
            for row in F.hessian(total, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode")
        ],
        "hessian unknown": lambda: F.hessian(total, (x, y), outer_jacobian_strategy="sideways"),
        "hessian": lambda: F.hessian(lambda x: (x[0] * x[1]).exp(), x),
        "hessian two inputs": lambda: F.hessian(total, (x, y)),
        "hessian linear": lambda: F.hessian(lambda x: x.sum(), x),
        "hessian linear strict": lambda: F.hessian(lambda x: x.sum(), x, strict=True),
        "hessian unused": lambda: F.hessian(lambda x, y: (x**2).sum(), (x, y)),
        "hessian unused strict": lambda: F.hessian(lambda x, y: (x**2).sum(), (x, y), strict=True),
        "hessian not one": lambda: F.hessian(lambda x: x, x),
        "hessian tuple": lambda: F.hessian(lambda x: (x.sum(), x.sum()), x),
        "vjp": lambda: F.vjp(both, (x, y), both(x, y)),
        "vjp two outputs": lambda: F.vjp(two, (x, y), (two(x, y)[0], one)),
        "vjp one element": lambda: F.vjp(lambda x: (x**2).sum(), x),
        "vjp complex": lambda: F.vjp(lambda z: z * z.conj() * z, z, z + 1),
        "vjp no v": lambda: F.vjp(lambda x: x, x),
        "vjp wrong size": lambda: F.vjp(lambda x: x, x, t.ones(3, dtype=t.float64)),
        "vjp wrong number": lambda: F.vjp(lambda x: x, x, (v, v)),
        "vjp wrong number of several": lambda: F.vjp(two, (x, y), (v,)),
        "vjp wrong type": lambda: F.vjp(lambda x: x, x, 3),
        "vjp unused": lambda: F.vjp(unused, (x, y), one),
        "vjp unused strict": lambda: F.vjp(unused, (x, y), one, strict=True),
        "jvp": lambda: F.jvp(both, (x, y), (v, w)),
        "jvp two outputs": lambda: F.jvp(two, (x, y), (v, w)),
        "jvp one element": lambda: F.jvp(lambda x: t.stack([x, x * x]), one * 3),
        "jvp complex": lambda: F.jvp(lambda z: z * z * z, z, z + 1),
        "jvp no v": lambda: F.jvp(lambda x: x, x),
        "jvp linear": lambda: F.jvp(lambda x: x * 2, x, v),
        "jvp unused": lambda: F.jvp(unused, (x, y), (v, w)),
        "jvp unused strict": lambda: F.jvp(unused, (x, y), (v, w), strict=True),
        "jvp constant": lambda: F.jvp(lambda x, y: one, (x, y), (v, w)),
        "jvp wrong number": lambda: F.jvp(two, (x, y), v),
        "hvp": lambda: F.hvp(total, (x, y), (v, w)),
        "hvp linear": lambda: F.hvp(lambda x: x.sum(), x, v),
        "hvp linear strict": lambda: F.hvp(lambda x: x.sum(), x, v, strict=True),
        "hvp unused": lambda: F.hvp(lambda x, y: (x**3).sum(), (x, y), (v, w)),
        "hvp tuple": lambda: F.hvp(two, (x, y), (v, w)),
        "hvp no v": lambda: F.hvp(lambda x: x.sum(), x),
        "vhp": lambda: F.vhp(total, (x, y), (v, w)),
        "vhp linear": lambda: F.vhp(lambda x: x.sum(), x, v),
        "vhp linear strict": lambda: F.vhp(lambda x: x.sum(), x, v, strict=True),
        "vhp unused": lambda: F.vhp(lambda x, y: (x**3).sum(), (x, y), (v, w)),
        "vhp constant": lambda: F.vhp(lambda x: one, x, v),
        "vhp wrong size": lambda: F.vhp(lambda x: x.sum(), x, w),
        "inputs wrong": lambda: F.jacobian(lambda x: x, 3),
        "inputs wrong inside": lambda: F.jacobian(lambda x: x, (3, x)),
        "outputs wrong": lambda: F.jacobian(lambda x: [x], x),
        "outputs wrong inside": lambda: F.vjp(lambda x: (x, 4), x),
    }


def plain(result):
    return (
        tuple(map(plain, result))
        if isinstance(result, (tuple, list))  # forward-mode gives lists in PyTorch
        else (tuple(result.shape), str(result.dtype), result.requires_grad, result.tolist())
    )


def same(got, want):
    assert type(got) is type(want)
    if isinstance(want, tuple) and want and isinstance(want[0], tuple) and not isinstance(want[1:2] and want[1], str):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b)
    else:
        assert got[:3] == want[:3]
        np.testing.assert_allclose(
            got[3], want[3], rtol=1e-10 if "64" in got[1] and "complex64" not in got[1] else 1e-5
        )


def outcome(call):
    try:
        return plain(call())
    except (RuntimeError, TypeError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", list(calls(F, strided)))
def test_as_torch(name):
    torch = pytest.importorskip("torch")
    got, want = outcome(calls(F, strided)[name]), outcome(calls(torch.autograd.functional, torch)[name])
    if isinstance(want, str):
        assert got == want
    else:
        same(got, want)


def test_jacobian_of_complex_numbers_that_need_no_gradient():
    x = strided.tensor([0.3, 0.4])
    jacobian = strided.autograd.functional.jacobian
    assert strided.equal(jacobian(lambda t: t.detach() * 1j, x), strided.zeros(2, 2))
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got"):
        jacobian(lambda t: t * 1j, x)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        jacobian(lambda t: t.detach() * 1j, x, strict=True)
