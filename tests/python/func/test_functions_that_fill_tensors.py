"""Derivatives of functions that make a tensor and write to its parts: jacrev, jacfwd, hessian, and vjp and linearize
under vmap."""

import pytest
import strided
from strided.func import hessian, jacfwd, jacrev, linearize, vjp, vmap


def copied(x):
    y = strided.zeros(3, dtype=x.dtype)
    y.copy_(x)
    return y * x


def elements(x):
    y = strided.zeros(3, dtype=x.dtype)
    for i in range(3):
        y[i] = x[i] * x[i - 1]
    return y


def rows_and_columns(x):
    y = strided.zeros(3, 3, dtype=x.dtype)
    y[0] = x
    y[:, 1] = x * x
    y[2, 2] = x.sum()
    return y.t()


def total(x):
    y = strided.zeros((), dtype=x.dtype)
    for i in range(3):
        y += x[i] ** 2
    return y


def in_turn(x):
    y = strided.empty(3, dtype=x.dtype).fill_(2)
    y.mul_(x).add_(x.sin())
    return y


def by_index(x):
    y = strided.zeros(5, dtype=x.dtype)
    y[strided.tensor([0, 2, 4])] = x * x
    y.index_add_(0, strided.tensor([0, 1, 1]), x)
    y[1:4] *= x[0]
    return y


def several(x):
    return {"a": elements(x), "b": (total(x), x.exp())}


FUNCTIONS = pytest.mark.parametrize(
    "function", [copied, elements, rows_and_columns, total, in_turn, by_index, several], ids=lambda f: f.__name__
)
LAYOUTS = [
    lambda t: t,
    lambda t: strided.stack([t, t + 1], 1)[:, 1],
    lambda t: t.flip(0)[::-1],
    lambda t: t[:1].expand(3),
]


def same(a, b):
    strided.testing.assert_close(a, b)


@FUNCTIONS
@pytest.mark.parametrize("dtype", [strided.float64, strided.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_jacobians(transform, chunk_size, layout, dtype, function):
    x = layout(strided.tensor([1.0, -2.0, 0.5], dtype=dtype))
    same(transform(function, chunk_size=chunk_size)(x), transform(function, chunk_size=1)(x))


@FUNCTIONS
def test_second_derivatives(function):
    x = strided.tensor([1.0, -2.0, 0.5], dtype=strided.float64)
    wanted = jacfwd(jacrev(function, chunk_size=1), chunk_size=1)(x)
    same(hessian(function)(x), wanted)
    same(jacrev(jacrev(function))(x), wanted)
    same(jacfwd(jacfwd(function))(x), wanted)


@FUNCTIONS
@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_they_are_differentiated_from_outside(transform, function):
    found = []
    for chunk_size in (None, 1):
        x = strided.tensor([1.0, -2.0, 0.5], dtype=strided.float64, requires_grad=True)
        made = strided.utils._pytree.tree_flatten(transform(function, chunk_size=chunk_size)(x))[0]
        sum(m.square().sum() for m in made).backward()
        found.append(x.grad)
    same(*found)


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_further_results_and_further_arguments(transform):
    def function(x, other, *, scale):
        y = strided.zeros(3)
        y[1:] = x[1:] * other * scale
        return y, {"sum": y.sum(), "other": other}

    x, other = strided.tensor([1.0, 2.0, 3.0]), strided.tensor(4.0)
    for argnums in (0, 1, (0, 1)):
        found, aux = transform(function, argnums, has_aux=True)(x, other, scale=2)
        wanted, _ = transform(function, argnums, has_aux=True, chunk_size=1)(x, other, scale=2)
        same(found, wanted)
        assert aux["sum"] == 40 and aux["other"] == 4


def test_rows_share_random_numbers():
    def function(x):
        y = strided.zeros(3)
        y += strided.nn.functional.dropout(x, 0.5)
        return y

    strided.manual_seed(0)
    found = jacfwd(function, randomness="same")(strided.ones(3))
    assert found.equal(found.diagonal().diag()) and set(found.diagonal().tolist()) <= {0.0, 2.0}


@FUNCTIONS
def test_batches_of_directions(function):
    x = strided.tensor([1.0, -2.0, 0.5], dtype=strided.float64)
    y, pull = vjp(function, x)
    directions = strided.utils._pytree.tree_map(lambda t: strided.rand(4, *t.shape, dtype=t.dtype), y)
    pick = lambda tree, i: strided.utils._pytree.tree_map(lambda t: t[i], tree)
    (found,) = vmap(pull)(directions)
    same(found, strided.stack([pull(pick(directions, i))[0] for i in range(4)]))
    _, push = linearize(function, x)
    tangents = strided.rand(4, 3, dtype=x.dtype)
    found = vmap(push)(tangents)
    for i in range(4):
        same(pick(found, i), push(tangents[i]))


def test_functions_without_a_batching_rule():
    def function(x):
        return x**3 + 0 * strided.histc(x.detach(), 3)

    x = strided.tensor([1.0, -2.0, 0.5], dtype=strided.float64)
    with pytest.raises(RuntimeError, match="no batching rule"):
        vmap(function)(strided.ones(2, 3))
    for transform in (jacrev, jacfwd):
        same(transform(function)(x), strided.diag(3 * x * x))
    same(hessian(function)(x), hessian(lambda x: x**3)(x))


def test_what_stays_an_error():
    outside = strided.zeros(3)
    with pytest.raises(RuntimeError, match="one for all samples"):
        vmap(elements)(strided.ones(2, 3))
    with pytest.raises(RuntimeError, match="one for all samples"):
        vmap(jacrev(elements))(strided.ones(2, 3))
    with pytest.raises(RuntimeError, match="one for all samples"):
        vmap(lambda x: outside.copy_(x))(strided.ones(2, 3))
