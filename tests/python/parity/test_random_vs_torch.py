"""Random numbers against PyTorch's own, call by call: values, and the generator's state to the last byte."""

import random

import numpy as np
import pytest
import random_cases as cases
import strided

torch = pytest.importorskip("torch")


def both(call, seed=0):
    """The call with either module, after the same seed; the states afterwards must agree in every byte."""
    results = []
    for t in (strided, torch):
        t.manual_seed(seed)
        results.append((call(t), t.get_rng_state().numpy().tobytes()))
    assert results[0][1] == results[1][1]
    return results[0][0], results[1][0]


def same(ours, theirs):
    return cases.digest(strided, ours) == cases.digest(torch, theirs)


def nearly(ours, theirs, scale):
    """Within 8 units in the last place, of the number itself or, after an addition, of the scale."""
    eps = torch.finfo(theirs.dtype).eps
    to = torch.complex128 if theirs.is_complex() else torch.float64
    a, b = torch.from_numpy(ours.to(getattr(strided, str(to)[6:])).numpy()), theirs.to(to)
    if theirs.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    return bool(((a - b).abs() <= 8 * eps * b.abs().clamp(min=scale)).all())


@pytest.mark.parametrize("name", cases.CASES)
@pytest.mark.parametrize("size", [1, 2, 7, 15, 16, 17, 33, 623, 624, 625, 5001])
def test_cases(name, size):
    call, dtypes, _ = cases.CASES[name]
    for dtype in dtypes:
        ours, theirs = both(lambda t: call(t, size, getattr(t, dtype)), size)
        if cases.close(name, size, dtype):
            assert nearly(ours, theirs, 0 if name == "randn" else 2), dtype
        else:
            assert same(ours, theirs), dtype


def views(r):
    """A tensor's shape and the way to a view of it, by one of several random paths."""
    shape = [r.randrange(1, 7) for _ in range(r.randrange(1, 5))]
    axes = r.sample(range(len(shape)), len(shape))
    steps = tuple(slice(r.randrange(0, 2), None, r.randrange(1, 3)) for _ in shape)
    return shape, lambda x: x.permute(axes)[steps]


FILLS = {
    "uniform_": lambda x: x.uniform_(-1, 2),
    "normal_": lambda x: x.normal_(1, 3),
    "exponential_": lambda x: x.exponential_(),
    "random_": lambda x: x.random_(0, 50),
    "bernoulli_": lambda x: x.bernoulli_(0.4),
    "geometric_": lambda x: x.geometric_(0.4),
}


# Vector code and the C library take turns (exponential_float in csrc/cpu/random/random_loops.cpp). 1e38 and 1e-38:
# numbers below and above those that a float holds.
@pytest.mark.parametrize("rate", [1, 0.3, 1e38, 1e-38])
def test_many_exponential_numbers(rate):
    for library in (strided, torch):
        library.manual_seed(11)
    ours, theirs = strided.empty(1_000_000).exponential_(rate), torch.empty(1_000_000).exponential_(rate)
    assert strided.equal(ours.view(strided.int32), strided.from_numpy(theirs.numpy()).view(strided.int32))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", FILLS)
def test_views(name, seed):
    r = random.Random(seed)
    shape, view = views(r)
    dtype = r.choice(["float32", "float64", "bfloat16"])

    def call(t):
        x = t.zeros(*shape, dtype=getattr(t, dtype))
        FILLS[name](view(x))
        return x

    ours, theirs = both(call, seed)
    assert nearly(ours, theirs, 3) if name == "normal_" and dtype == "float64" else same(ours, theirs)


@pytest.mark.parametrize("seed", range(20))
def test_bernoulli_of_views(seed):
    r = random.Random(seed)
    shape, view = views(r)
    p = torch.rand(shape, dtype=r.choice([torch.float32, torch.float64]), generator=torch.Generator().manual_seed(seed))

    def call(t):
        q = view(p if t is torch else strided.from_numpy(p.numpy()))
        x = t.zeros(*shape)
        view(x).bernoulli_(q)
        return x, t.bernoulli(q)

    (a, c), (b, d) = both(call, seed)
    assert same(a, b) and same(c, d)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4), (40,), (17, 5)])
def test_likes_and_parameters(shape, dtype):
    for call in (
        lambda t, x: t.rand_like(x), lambda t, x: t.rand_like(x.t()), lambda t, x: t.randint_like(x.t(), 1, 9),
        lambda t, x: t.poisson(9 * x.t()), lambda t, x: t.multinomial(x + 1, 3),
        lambda t, x: t.multinomial(x.t() + 1, 2),
        lambda t, x: t.multinomial(x + 1, 1), lambda t, x: t.multinomial(x.t() + 1, 1, True),
        lambda t, x: t.multinomial(x + 1, 30, True),
    ):  # fmt: skip
        assert same(*both(lambda t: call(t, t.arange(float(_count(shape)), dtype=getattr(t, dtype)).reshape(shape))))
    for call in (
        lambda t, x: t.randn_like(x), lambda t, x: t.randn_like(x.t()), lambda t, x: t.normal(x, 2.0),
        lambda t, x: t.normal(2.0, x),
        lambda t, x: t.normal(x.t(), x.t()[:1]), lambda t, x: t.normal(x, x.to(t.float64)),
    ):  # fmt: skip
        ours, theirs = both(lambda t: call(t, t.arange(float(_count(shape)), dtype=getattr(t, dtype)).reshape(shape)))
        assert nearly(ours, theirs, 100) if ours.dtype == strided.float64 else same(ours, theirs)


def _count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


@pytest.mark.parametrize("seed", range(40))
def test_ranges(seed):
    r = random.Random(seed)
    dtype = r.choice(["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"])
    most = {
        "float16": 11,
        "bfloat16": 8,
        "float32": 24,
        "float64": 53,
        "uint8": 7,
    }  # bits without a warning or an error
    most.update(int8=7, int16=15, int32=31, int64=62)
    bits = r.randrange(1, most[dtype] + 1)
    high = r.randrange(1, 2**bits)
    low = -r.randrange(0, high + 1) if dtype != "uint8" else 0
    assert same(*both(lambda t: t.randint(low, high, (200,), dtype=getattr(t, dtype)), seed))


def test_states_travel():
    torch.manual_seed(5)
    torch.randn(3)
    torch.rand(700)
    strided.set_rng_state(strided.from_numpy(torch.get_rng_state().numpy()))
    assert same(strided.rand(10), torch.rand(10))
    assert same(strided.randn(4), torch.randn(4))
    torch.set_rng_state(torch.from_numpy(strided.get_rng_state().numpy()))
    assert same(strided.rand(10), torch.rand(10))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_laws_drawn_by_rejection(dtype):
    """Gamma, Dirichlet and binomial samples: the draws are PyTorch's; logarithms may round otherwise."""
    for a in (0.01, 0.3, 1.0, 2.5, 50.0, 1e4, 0.0):
        mine, theirs = both(lambda t: (t._standard_gamma(t.full((7, 30), a, dtype=getattr(t, dtype)).t()), t.rand(3)))
        assert nearly(mine[0], theirs[0], 4) and same(mine[1], theirs[1])
    for n in (0.0, 1.0, 5.0, 30.0, 1000.0, 1e6, 1e9):
        for p in (0.0, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0):
            mine, theirs = both(
                lambda t: (t.binomial(*(t.full((90,), v, dtype=getattr(t, dtype)) for v in (n, p))), t.rand(3))
            )
            assert same(mine[0], theirs[0]) and same(mine[1], theirs[1])
    mine, theirs = both(lambda t: t._sample_dirichlet(t.tensor([[0.5, 2.0, 0.1]] * 40, dtype=getattr(t, dtype))))
    assert nearly(mine, theirs, 100)


@pytest.mark.parametrize(
    "law",
    [
        lambda d, t: d.Gamma(t.tensor([0.1, 3.0]), 2.0),
        lambda d, t: d.Beta(t.tensor([0.3, 2.0]), t.tensor([0.7, 5.0])),
        lambda d, t: d.StudentT(t.tensor([3.0, 5.0])), lambda d, t: d.Chi2(t.tensor(3.0)),
        lambda d, t: d.NegativeBinomial(5.0, t.tensor([0.3, 0.6])), lambda d, t: d.InverseGamma(t.tensor(2.0), 3.0),
        lambda d, t: d.FisherSnedecor(t.tensor(3.0), t.tensor(4.0)), lambda d, t: d.LKJCholesky(2, 0.7),
        lambda d, t: d.Binomial(20, t.tensor([0.1, 0.9])), lambda d, t: d.Dirichlet(t.tensor([0.5, 0.1])),
    ],
)  # fmt: skip
def test_samples_of_distributions_made_of_them(law):
    mine, theirs = both(lambda t: law(t.distributions, t).sample((5,)))
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.rand(3),
        lambda t: t.randn(20, dtype=t.complex64),
        lambda t: t.randint(5, (3,)),
        lambda t: t.normal(t.zeros(3), t.ones(3)),
        lambda t: t.normal(t.zeros(3), 2.0),
        lambda t: t.bernoulli(t.ones(3) / 2),
        lambda t: t.rand(3).normal_(),
    ],
)
def test_new_numbers_are_no_writes(call):
    mine, theirs = both(call)
    assert same(mine, theirs) and mine._version == theirs._version
