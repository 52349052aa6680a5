"""grad, vjp, jvp, jacrev, jacfwd, hessian, linearize: alone, in each other, in vmap and around it."""

import math

import pytest
import strided as torch
from strided.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


def close(a, b):
    assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-9, atol=1e-11), (a, b)


def draw(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64)


def network(w, b, x):
    return torch.tanh(x @ w + b).square().sum()


def test_gradients_of_each_sample():
    w, b, x = draw(3, 4), draw(4, seed=1), draw(5, 3, seed=2)
    found = vmap(grad(network, argnums=(0, 1)), in_dims=(None, None, 0))(w, b, x)
    for i in range(5):
        a, c = (t.clone().requires_grad_() for t in (w, b))
        expected = torch.autograd.grad(network(a, c, x[i]), (a, c))
        close(found[0][i], expected[0])
        close(found[1][i], expected[1])
    assert not found[0].requires_grad


def test_derivatives_of_every_order():
    f = torch.sin
    x = torch.tensor(0.7, dtype=torch.float64)
    for expected in (math.cos(0.7), -math.sin(0.7), -math.cos(0.7), math.sin(0.7)):
        f = grad(f)
        assert abs(f(x).item() - expected) < 1e-12
        assert abs(vmap(f)(x.expand(2))[1].item() - expected) < 1e-12


def test_levels_are_told_apart():
    """The inner derivative is by y alone, though x stands in it; and the other way round."""
    one = torch.tensor(1.0)
    assert grad(lambda x: x * grad(lambda y: x * y)(one))(torch.tensor(3.0)).item() == 6
    assert grad(lambda x: grad(lambda y: x * x * y)(x))(torch.tensor(3.0)).item() == 6
    assert grad(lambda x: grad(lambda y: y * y)(one) * x)(one).item() == 2
    assert jvp(lambda x: jvp(lambda y: x * y, (one,), (one,))[1], (one,), (one,))[1].item() == 1


def quadratic(x):
    return (x.sum() * x**2).sin()


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians(jacobian, chunk_size):
    x = draw(2, 3)
    expected = torch.autograd.functional.jacobian(quadratic, x)
    close(jacobian(quadratic, chunk_size=chunk_size)(x), expected)
    rows = torch.stack([torch.autograd.functional.jacobian(quadratic, row) for row in x])
    close(vmap(jacobian(quadratic, chunk_size=chunk_size))(x), rows)


def writes(x):
    y = x * 2
    y[1:] += x[:-1]
    x.mul_(3)
    return y[:50] * x[:50]


BY_ROWS_OR_COLUMNS = [
    lambda x: (x[:70].sin(), [x.sum().cos(), x.new_zeros(2)]),  # fewer rows, an output that depends on nothing
    lambda x: torch.cat([x.sin(), x.cos()]),  # more rows
    lambda x: x.float()[:3].exp(),  # rows would be of another dtype
    lambda x: torch.complex(x[:3].sin(), x[3:6]),  # and half of the derivative
    lambda x: x[x.argmax()] * x[:4] if x.sum() > -1e9 else x,  # asks for a value
    writes,
]


@pytest.mark.parametrize("f", BY_ROWS_OR_COLUMNS)
@pytest.mark.parametrize("chunk_size", [None, 7])
def test_jacfwd_by_rows_is_what_it_is_by_columns(f, chunk_size):
    """More than 128 elements: where there are fewer rows they are taken, which shows in the time alone."""
    x = draw(150)
    # Clones: the function may write to its input.
    wanted, aux = jacfwd(lambda x: (f(x.clone()), x[0]), has_aux=True, chunk_size=1)(x)
    found, also = jacfwd(lambda x: (f(x.clone()), x[0]), has_aux=True, chunk_size=chunk_size)(x)
    assert aux == also
    for a, b in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        close(a, b)


def test_jacfwd_by_rows_in_other_transforms():
    def f(x):
        return (x.sum() * x[:5].sin()).cumsum(0)

    x = draw(2, 140)
    close(vmap(jacfwd(f))(x), torch.stack([jacfwd(f, chunk_size=1)(row) for row in x]))
    close(jacfwd(jacfwd(f))(x[0]), jacrev(jacrev(f))(x[0]))
    w = x[0].clone().requires_grad_()
    (first,) = torch.autograd.grad(jacfwd(f)(w).square().sum(), w)
    (second,) = torch.autograd.grad(jacrev(f)(w).square().sum(), w)
    close(first, second)
    state = torch.get_rng_state()
    jacfwd(lambda x: torch.cat([x, x]))(x[0])
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(RuntimeError, match="jvp"):  # in the words of forward mode
        jacfwd(lambda x: 3)(x[0])


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd, grad])
def test_hessians(outer, inner):
    def f(x):
        return (x.sum() ** 3 * x.cos()).prod()

    x = draw(3)
    expected = torch.autograd.functional.hessian(f, x)
    close(outer(inner(f))(x), expected)
    close(hessian(f)(x), expected)
    batch = draw(2, 3, seed=4)
    close(vmap(outer(inner(f)))(batch), torch.stack([torch.autograd.functional.hessian(f, row) for row in batch]))


def test_nests_of_arguments_and_results():
    def f(p, x):
        return {"y": p["w"] @ x, "z": (x**2, p["b"] * 2)}

    p, x = {"w": draw(2, 3), "b": draw(2, seed=1)}, draw(3, seed=2)
    for jacobian in (jacrev, jacfwd):
        found = jacobian(f, argnums=(0, 1))(p, x)
        assert set(found) == {"y", "z"} and isinstance(found["z"], tuple)
        assert found["y"][0]["w"].shape == (2, 2, 3) and found["y"][0]["b"].shape == (2, 2)
        close(found["y"][1], p["w"])
        close(found["z"][0][1], 2 * torch.diag(x))
        close(found["z"][1][0]["b"], 2 * torch.eye(2, dtype=torch.float64))
        assert found["z"][1][1].eq(0).all()
    gradient, (value, aux) = grad_and_value(lambda p: ((p["w"] ** 2).sum(), p["b"] + 1), has_aux=True)(p)
    close(gradient["w"], 2 * p["w"])
    assert gradient["b"].eq(0).all() and value.item() == (p["w"] ** 2).sum().item() and not aux.requires_grad
    close(aux, p["b"] + 1)


def test_products_with_vectors():
    x, t = draw(2, 3), draw(2, 3, seed=1)
    value, pull = vjp(quadratic, x)
    close(value, quadratic(x))
    close(pull(t)[0], torch.autograd.functional.vjp(quadratic, x, t)[1])
    value, tangent = jvp(quadratic, (x,), (t,))
    close(tangent, torch.autograd.functional.jvp(quadratic, x, t)[1])
    value, push = linearize(quadratic, x)
    close(push(t), tangent)
    ts = draw(4, 2, 3, seed=2)
    close(vmap(push)(ts), torch.stack([push(t) for t in ts]))
    close(vmap(lambda g: pull(g)[0])(ts), torch.stack([pull(g)[0] for g in ts]))
    value, pull, aux = vjp(lambda x: (x * 2, x + 1), x, has_aux=True)
    assert not aux.requires_grad and not value.requires_grad and pull(t)[0].equal(2 * t)


def test_random_functions_are_drawn_once_for_all_rows():
    x = draw(3)
    torch.manual_seed(5)
    value, pull = vjp(lambda x: x * torch.rand_like(x), x)
    rows = vmap(lambda g: pull(g)[0], randomness="same")(torch.eye(3, dtype=torch.float64))
    close(rows.diagonal() * x, value)


def test_gradients_from_outside():
    x = draw(3).requires_grad_()
    w = draw(3, seed=1).requires_grad_()
    g = grad(lambda x: (w * x**3).sum())(x)
    (by_w, by_x) = torch.autograd.grad(g.sum(), (w, x))
    close(by_w, 3 * x.detach() ** 2)
    close(by_x, 6 * w.detach() * x.detach())
    (by_w,) = torch.autograd.grad(jacfwd(lambda x: w * x)(x.detach()).sum(), w)
    assert by_w.tolist() == [1, 1, 1]
    assert not grad(lambda x: (x**3).sum())(x.detach()).requires_grad
    value, pull = vjp(torch.sin, x)
    assert value.requires_grad and pull(torch.ones_like(x))[0].requires_grad
    with torch.no_grad():
        g = grad(lambda x: (w * x**3).sum())(x)
        assert not g.requires_grad
        close(g, 3 * w * x**2)


def test_what_is_not_recorded_is_constant():
    def f(x):
        with torch.no_grad():
            c = x**2
        return (x * c + x.detach()).sum()

    x = draw(3)
    close(grad(f)(x), x**2)
    assert grad(lambda x: torch.zeros(()) + 1)(x).eq(0).all()
    assert jvp(lambda x: torch.ones(2), (x,), (x,))[1].eq(0).all()


def test_writes_in_place():
    def f(x):
        y = x * 2
        y[0] = x[1]
        y.mul_(x)
        return y.sum()

    x = draw(4, 3)
    for row, g in zip(x, vmap(grad(f))(x)):
        a = row.clone().requires_grad_()
        close(g, torch.autograd.grad(f(a), a)[0])


def test_functions_of_the_users_own():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = draw(3)
    close(grad(lambda x: Cube.apply(x).sum())(x), 3 * x**2)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: grad(lambda a: a * 2)(x), RuntimeError, "to return a scalar Tensor, got tensor with 2 dims"),
        (lambda x: grad(lambda a: 3)(x), RuntimeError, "to return a Tensor, got <class 'int'>"),
        (lambda x: grad(torch.sum, argnums=3)(x), RuntimeError, "Got argnum=3, but only 1 positional inputs"),
        (lambda x: grad(torch.sum, argnums="a")(x), RuntimeError, "argnums must be int or Tuple"),
        (lambda x: grad(lambda a: a)(3.0), ValueError, "must be Tensor, got <class 'float'>"),
        (lambda x: grad(torch.sum)(x.int()), RuntimeError, "only Tensors of floating point dtype"),
        (lambda x: grad(torch.sum, has_aux=True)(x), RuntimeError, "should be a tuple"),
        (lambda x: vjp(torch.sin, x)[1](x[0]), RuntimeError, "Mismatch in shape"),
        (lambda x: vjp(lambda a: (a, a), x)[1](x), RuntimeError, "Expected pytree structure of cotangents"),
        (lambda x: jvp(torch.sin, x, x), RuntimeError, "Expected primals to be a tuple"),
        (lambda x: jvp(torch.sin, (x,), (x, x)), RuntimeError, "same python structure"),
        (lambda x: jvp(torch.sin, (x,), (x[0],)), RuntimeError, "has a different size"),
        (lambda x: jvp(torch.sin, (), ()), RuntimeError, "at least one Tensor"),
        (lambda x: jacrev(lambda a: 3)(x), RuntimeError, "to return only tensors, got unsupported type"),
        (lambda x: jacfwd(lambda a: 3)(x), RuntimeError, "to return only tensors, got unsupported type"),
        (lambda x: jacrev(torch.sin, chunk_size=0), ValueError, "should be greater than 0"),
        (lambda x: linearize(torch.sin, x)[1](x[0]), RuntimeError, "doesn't match the shape"),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 3))


def test_module_as_a_function():
    nn = pytest.importorskip("strided.nn")
    from strided.func import stack_module_state

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    params = {n: p.detach() for n, p in model.named_parameters()}
    x = draw(5, 3)
    close(functional_call(model, params, (x,)), model(x).detach())
    assert functional_call(model, {n: torch.zeros_like(p) for n, p in params.items()}, x).eq(0).all()
    found = vmap(grad(lambda p, x: functional_call(model, p, (x,)).sum()), in_dims=(None, 0))(params, x)
    for i in range(5):
        model.zero_grad()
        model(x[i]).sum().backward()
        for n, p in model.named_parameters():
            close(found[n][i], p.grad)
    with pytest.raises(RuntimeError, match="Missing key"):
        functional_call(model, {"0.bias": params["0.bias"]}, x, strict=True)
    models = [nn.Linear(3, 2).double() for _ in range(4)]
    stacked, buffers = stack_module_state(models)
    assert stacked["weight"].shape == (4, 2, 3) and stacked["weight"].requires_grad and buffers == {}
    found = vmap(lambda p: functional_call(models[0], p, (x,)))(stacked)
    close(found, torch.stack([m(x) for m in models]))


@pytest.mark.parametrize("nothing", [None, ()])
def test_functions_of_no_output(nothing):
    x = draw(3)
    for call in (
        lambda: vjp(lambda x: nothing, x), lambda: jvp(lambda x: nothing, (x,), (x,)),
        lambda: jacrev(lambda x: nothing)(x), lambda: jacfwd(lambda x: nothing)(x),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="Expected f to be a function that has non-empty output"):
            call()


def test_cotangents_pulled_under_no_grad_have_no_graph():
    x = torch.tensor(3.0, requires_grad=True)
    value, pull = torch.func.vjp(lambda x: x**2, x)
    with torch.no_grad():
        (pulled,) = pull(torch.tensor(1.0))
    assert pulled == 6 and not pulled.requires_grad
    assert pull(torch.tensor(1.0))[0].requires_grad
    assert value.requires_grad and torch.autograd.grad(value, x)[0] == 6


@pytest.mark.parametrize("arguments", [((1.0,), (1,)), ((1,), (1.0,))], ids=["primals", "tangents"])
def test_jvp_takes_tensors_only(arguments):
    given = [tuple(torch.ones(()) if a == 1 and isinstance(a, int) else a for a in some) for some in arguments]
    with pytest.raises(RuntimeError, match="only contain Tensors, got <class 'float'>"):
        torch.func.jvp(torch.sin, *given)


def test_jvp_strict_refuses_outputs_that_do_not_depend_on_the_primals():
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    for function in (lambda t: (t, y.detach()), lambda t: (t, y * 2)):
        with pytest.raises(RuntimeError, match="strict=True.*independent of the inputs"):
            jvp(function, (x,), (x,), strict=True)
        (_, given), (_, tangent) = jvp(function, (x,), (x,))
        assert not tangent.any() and given.shape == tangent.shape
    assert jvp(lambda t: t * 0 + y, (x,), (x,), strict=True)[1].tolist() == [0, 0]
    assert vmap(lambda t: jvp(torch.sin, (t,), (t,), strict=True)[1])(x).shape == (2,)


@pytest.mark.parametrize(
    "call",
    [
        lambda: vmap(lambda x: x.requires_grad_())(torch.ones(2)),
        lambda: vmap(lambda x: x.clone().requires_grad_(False))(torch.ones(2)),
        lambda: grad(lambda x: x.requires_grad_(False).sum())(torch.ones(2)),  # gave zeros
    ],
)
def test_requires_grad_inside_of_a_transform(call):
    with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\)"):
        call()


def test_jacfwd_refuses_to_draw_however_many_columns_there_are():
    for n in (20, 200):
        torch.manual_seed(0)
        with pytest.raises(RuntimeError, match="randomness"):
            torch.func.jacfwd(lambda x: x.sum() * torch.rand(3))(torch.ones(n))
