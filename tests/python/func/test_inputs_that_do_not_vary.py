"""Derivatives by inputs that are the same for all samples of a vmap: the function may ask for their values."""

import gc
import pickle
import weakref
from types import SimpleNamespace

import pytest
import strided
from strided import _C
from strided._functions.random import States
from strided.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

P = strided.tensor([-1.0, 0.25, 1.5], dtype=strided.float64)
V = strided.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5], [4.0, 0.25, 0.0], [-1.0, -1.0, 2.0]], dtype=strided.float64)

FUNCTIONS = {
    "branch": lambda x: x.sin() * x if x.sum() > 0 else x.cos(),
    "number": lambda x: x * x * x.max().item(),
    "mask": lambda x: x[x > 0] ** 3,
    "nonzero": lambda x: (x**2)[(x > 0).nonzero()[:, 0]],
    "allclose": lambda x: x * x.exp() if strided.allclose(x, x) else x,
    "numpy": lambda x: x**2 * float(x.detach().numpy().sum()),
    "no rule": lambda x: x**2 * strided.histc(x.detach(), 3, min=-2, max=2).to(x.dtype),
}
functions = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)


def total(f):
    return lambda x: f(x).sum()


TRANSFORMS = {
    "jvp": lambda f: lambda v: jvp(f, (P,), (v,)),
    "vjp": lambda f: lambda v: vjp(f, P)[1](f(P) * v.sum())[0],
    "vjp made outside": lambda f: lambda v, pull=vjp(f, P)[1]: pull(f(P) * v.sum())[0],
    "linearize": lambda f: linearize(f, P)[1],
    "grad": lambda f: lambda v: grad(total(f))(P) * v,
    "value": lambda f: lambda v: (grad_and_value(total(f))(P)[1] * v.sum(), v),
    "aux": lambda f: lambda v: jvp(lambda x: (f(x), x), (P,), (v,), has_aux=True)[:2],
    "jvp of grad": lambda f: lambda v: jvp(grad(total(f)), (P,), (v,)),
    "jvp of jacrev": lambda f: lambda v: jvp(jacrev(f), (P,), (v,))[1],
    "jvp of jvp": lambda f: lambda v: jvp(lambda x: jvp(f, (x,), (P,))[1], (P,), (v,))[1],
    "grad of jvp": lambda f: lambda v: grad(lambda x: jvp(total(f), (x,), (P,))[1])(P) * v,
}


def same(found, wanted):
    if isinstance(found, dict):
        found, wanted = tuple(found.values()), tuple(wanted.values())
    if isinstance(found, tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            same(a, b)
    else:
        strided.testing.assert_close(found, wanted)


@functions
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_under_vmap_as_for_each_sample(f, transform):
    of = transform(f)
    rows = [of(v) for v in V]
    wanted = tuple(map(strided.stack, zip(*rows))) if isinstance(rows[0], tuple) else strided.stack(rows)
    same(vmap(of)(V), wanted)


@functions
def test_jacobians(f):
    wanted = jacrev(f, chunk_size=1)(P)
    same(jacrev(f)(P), wanted)
    same(jacfwd(f)(P), wanted)
    same(jacfwd(lambda x: (f(x), {"x": x}), has_aux=True)(P), (wanted, {"x": P}))


@functions
def test_hessians(f):
    wanted = jacfwd(jacrev(f, chunk_size=1), chunk_size=1)(P)
    for inner in (jacrev, jacfwd):
        for outer in (jacrev, jacfwd):
            same(outer(inner(f))(P), wanted)
    same(hessian(total(f))(P), wanted.sum(0))


def test_one_draw_for_all_samples():
    def f(x):
        return x * strided.bernoulli(x.detach().sigmoid())

    def of(v):
        return jvp(f, (P,), (v,))[1], vjp(f, P)[1](v)[0]

    strided.manual_seed(3)
    found = vmap(of, randomness="same")(V)
    strided.manual_seed(3)
    masks = [strided.bernoulli(P.sigmoid()) for _ in range(2)]
    same(found, tuple(V * mask for mask in masks))


def test_batched_vectors_of_a_function_that_draws():
    """No draw is made for the batch of a jacobian's rows."""
    strided.manual_seed(0)
    rows = jacrev(lambda x: x * strided.rand(3, dtype=x.dtype))(P)
    strided.manual_seed(0)
    same(rows, strided.rand(3, dtype=P.dtype).diag())


@pytest.mark.parametrize(
    "of",
    [
        lambda v: grad(lambda x: x.sum() if x.sum() > 0 else x.prod())(v),  # the input varies
        lambda v: jvp(lambda x: x.sin() if (x * v).sum() > 0 else x, (P,), (v,))[1],  # what decides varies
        lambda v: jvp(lambda x: x * v * x.sum().item(), (P,), (v,))[1],  # the result varies
        lambda v: vjp(lambda x: x * v * x.sum().item(), P)[1](v)[0],
        lambda v: grad(lambda x: (x * v).sum() * x.sum().item())(P),
    ],
)
def test_what_varies_is_not_asked(of):
    with pytest.raises(RuntimeError, match="data-dependent control flow|calling .item"):
        vmap(of)(V)


def test_generators_of_all_devices_are_set_back(monkeypatch):
    """For both calls the numbers are the same. A generator of the CPU stands for that of a device."""
    of_device = strided.Generator().manual_seed(1)
    monkeypatch.setattr(_C, "default_generators", lambda: [_C.default_generator(), of_device])
    drawn = []

    def f(x):
        drawn.append((strided.rand(3).tolist(), strided.rand(3, generator=of_device).tolist()))
        return x * x.max().item()

    vmap(lambda v: jvp(f, (P,), (v,))[1], randomness="same")(V)
    assert len(drawn) == 2
    assert drawn[0] == drawn[1]
    drawn.clear()
    vmap(vjp(f, P)[1], randomness="same")(V)
    assert len(drawn) == 2
    assert drawn[0] == drawn[1]


def test_a_generator_that_the_first_call_made_begins_anew(monkeypatch):
    generators = [_C.default_generator()]
    monkeypatch.setattr(_C, "default_generators", lambda: generators)
    states = States()
    made = SimpleNamespace(device="cuda:0", initial_seed=lambda: 5, manual_seed=lambda seed: seeds.append(seed))
    seeds = []
    generators.append(made)
    states.put_back()
    assert seeds == [5]


def test_default_generators():
    assert _C.default_generators()[0] is _C.default_generator()


@pytest.mark.parametrize("of", [lambda f, v: jvp(f, (P,), (v,))[1], lambda f, v: vjp(f, P)[1]])
def test_nothing_of_the_first_call_stays(of):
    """Its tensors go with it, not when cycles are looked for."""
    alive, kept = [], []

    class Held:
        pass

    def f(x):
        held = Held()
        alive.append(weakref.ref(held))
        return x * x.max().item()

    def of_one(v):
        made = of(f, v)
        kept.append(made)
        return v

    gc.collect()
    gc.disable()
    try:
        vmap(of_one)(V)
        assert [r() for r in alive] == [None, None]
    finally:
        gc.enable()


def test_an_error_of_the_batch_is_pickled_as_what_it_is_called():
    with pytest.raises(RuntimeError, match="calling .item") as caught:
        vmap(lambda v: v.sum().item())(V)
    back = pickle.loads(pickle.dumps(caught.value))
    assert type(back) is RuntimeError
    assert back.args == caught.value.args
