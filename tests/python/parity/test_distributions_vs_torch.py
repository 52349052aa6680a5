"""Distributions against PyTorch's: shapes, texts, densities, moments, divergences, samples, gradients and errors."""

import distribution_cases as cases
import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")

D, T = strided.distributions, torch.distributions


def ours(x):
    return strided.from_numpy(x.detach().numpy().copy())


def close(a, b, rtol=2e-5, atol=2e-6, what=None):
    assert tuple(a.shape) == tuple(b.shape), (what, a.shape, b.shape)
    assert str(a.dtype) == str(b.dtype), (what, a.dtype, b.dtype)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=atol, err_msg=str(what))


def outcome(call):
    """The value of a call, or the type of its error."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        return type(error)


def same(a, b, what, **tolerance):
    a, b = outcome(a), outcome(b)
    if b is AttributeError:  # PyTorch trips over itself, as in the entropy of an expanded Multinomial
        assert not isinstance(a, type), (what, a)
    elif isinstance(b, type):
        assert a is b, (what, a, b)
    else:
        assert not isinstance(a, type), (what, a)
        close(a, b, what=what, **tolerance)


# PyTorch's answer is no mode: a density without bound at 0, and a logarithm of a negative number.
NO_MODE = {"Kumaraswamy", "Weibull"}


@pytest.mark.parametrize("name,i", cases.ALL)
def test_description(name, i):
    a, b = cases.make(strided, name, i), cases.make(torch, name, i)
    assert repr(a) == repr(b)
    assert (a.batch_shape, a.event_shape) == (tuple(b.batch_shape), tuple(b.event_shape))
    assert (a.has_rsample, a.has_enumerate_support) == (b.has_rsample, b.has_enumerate_support)
    assert type(a.batch_shape) is strided.Size and type(a.event_shape) is strided.Size
    assert repr(a.support).replace(", dtype=torch.float64", "") == repr(b.support).replace(", dtype=torch.float64", "")
    assert (a.support.event_dim, a.support.is_discrete) == (b.support.event_dim, b.support.is_discrete)
    assert {k: repr(c) for k, c in a.arg_constraints.items()} == {k: repr(c) for k, c in b.arg_constraints.items()}


@pytest.mark.parametrize("name,i", cases.ALL)
def test_values(name, i):
    a, b = cases.make(strided, name, i), cases.make(torch, name, i)
    for what in ("mean", "variance", "stddev", "mode"):
        if what == "mode" and name in NO_MODE:
            continue
        same(lambda: getattr(a, what), lambda: getattr(b, what), what)
    for what in ("entropy", "perplexity", "enumerate_support"):
        same(lambda: getattr(a, what)(), lambda: getattr(b, what)(), what)
    same(lambda: a.enumerate_support(False), lambda: b.enumerate_support(False), "enumerate_support")
    torch.manual_seed(3)
    value = b.sample((7,))
    same(lambda: a.log_prob(ours(value)), lambda: b.log_prob(value), "log_prob", rtol=1e-4, atol=2e-5)
    same(lambda: a.cdf(ours(value)), lambda: b.cdf(value), "cdf", rtol=2e-4)  # (ContinuousBernoulli near 0.5)
    p = torch.rand((5,) + tuple(b.batch_shape), dtype=value.dtype if value.is_floating_point() else None)
    same(lambda: a.icdf(ours(p)), lambda: b.icdf(p), "icdf", rtol=1e-4)


@pytest.mark.parametrize("name,i", cases.ALL)
def test_expand(name, i):
    a, b = cases.make(strided, name, i), cases.make(torch, name, i)
    shape = (2, *b.batch_shape)
    a, b = a.expand(shape), b.expand(shape)
    assert (a.batch_shape, a.event_shape) == (tuple(b.batch_shape), tuple(b.event_shape))
    assert repr(a) == repr(b)
    torch.manual_seed(3)
    value = b.sample()
    close(a.log_prob(ours(value)), b.log_prob(value), rtol=1e-4, atol=2e-5)
    same(lambda: a.mean, lambda: b.mean, "mean")
    same(lambda: a.entropy(), lambda: b.entropy(), "entropy")


@pytest.mark.parametrize("name,i", [c for c in cases.ALL if c[0] not in cases.OWN_NUMBERS])
@pytest.mark.parametrize("shape", [(), (3,), (2, 20)])
def test_samples(name, i, shape):
    a, b = cases.make(strided, name, i), cases.make(torch, name, i)
    strided.manual_seed(5)
    torch.manual_seed(5)
    close(a.sample(shape), b.sample(shape), rtol=1e-4, atol=1e-5)
    if b.has_rsample:
        close(a.rsample(shape), b.rsample(shape), rtol=1e-4, atol=1e-5)
    assert (strided.get_rng_state().numpy() == torch.get_rng_state().numpy()).all()


@pytest.mark.parametrize("name", sorted(cases.OWN_NUMBERS))
def test_shapes_of_samples(name):
    for i in range(len(cases.CASES[name])):
        a, b = cases.make(strided, name, i), cases.make(torch, name, i)
        for shape in ((), (3,), (2, 4)):
            x, y = a.sample(shape), b.sample(shape)
            assert tuple(x.shape) == tuple(y.shape) and str(x.dtype) == str(y.dtype)
            assert a.support.check(x).all()


REPARAMETERIZED = [
    "Cauchy(x, x.exp())", "ContinuousBernoulli(logits=x)", "Exponential(x.exp())",
    "Gumbel(x, x.exp())", "HalfCauchy(x.exp())", "HalfNormal(x.exp())", "Kumaraswamy(x.exp(), x.exp() + 1)",
    "Laplace(x, x.exp())", "LogNormal(x, x.exp())", "LogisticNormal(x, x.exp())",
    "LowRankMultivariateNormal(x, x[:, None] * 2, x.exp())", "MultivariateNormal(x, x.exp().diag())",
    "Normal(x, x.exp())",
    "MultivariateNormal(x, precision_matrix=x.exp().diag())",
    "OneHotCategoricalStraightThrough(logits=x)", "Pareto(x.exp(), x.exp() + 2)",
    "RelaxedBernoulli(x[0].exp(), logits=x)",
    "RelaxedOneHotCategorical(x[0].exp(), logits=x)", "Uniform(x - 1, x.exp() + 2)", "Weibull(x.exp(), x.exp() + 2)",
]  # fmt: skip


@pytest.mark.parametrize("text", REPARAMETERIZED)
def test_gradients_of_samples(text):
    found = []
    for t in (strided, torch):
        x = t.tensor([0.3, -0.5, 0.1], dtype=t.float64, requires_grad=True)
        d = eval("D." + text, {"D": t.distributions, "x": x})
        t.manual_seed(1)
        s = d.rsample((4,))
        weighted = (s * t.linspace(0, 1, s.shape[-1], dtype=t.float64)).sum() + (s * s).sum()
        value = d.entropy() if "Straight" in text else d.log_prob(s.detach())
        found.append([t.autograd.grad(y, x, retain_graph=True)[0] for y in (weighted, value.sum())])
    close(found[0][0], found[1][0])
    close(found[0][1], found[1][1], rtol=1e-4)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 0.5, 1.0, 3.0, 20.0, 500.0])
def test_gradients_of_gamma_samples(alpha):
    """PyTorch's own approximation has three to four digits."""
    a = torch.full((50,), alpha, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    x = torch._standard_gamma(a)
    x.sum().backward()
    from strided.distributions._gradients import gamma_gradient

    mine = gamma_gradient(ours(a), ours(x)).numpy()
    np.testing.assert_allclose(mine, a.grad.numpy(), rtol=5e-3, atol=1e-300)


@pytest.mark.parametrize("a", [0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("b", [0.2, 1.5, 30.0])
def test_gradients_of_beta_samples(a, b):
    x = torch.distributions.Beta(a, b).sample((50,)).double().clamp(1e-6, 1 - 1e-6)
    theirs = torch._dirichlet_grad(x, torch.full_like(x, a), torch.full_like(x, a + b)) * (1 - x)
    from strided.distributions._gradients import beta_gradient

    mine = beta_gradient(ours(x), strided.full((50,), a).double(), strided.full((50,), a + b).double())
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-2, atol=1e-8)


SINGLE = {
    "Bernoulli": "t.tensor([0.2, 0.7])", "Beta": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])",
    "Binomial": "5, t.tensor([0.2, 0.7])", "Categorical": "t.tensor([[0.2, 0.8], [0.5, 0.5]])",
    "Cauchy": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])", "ContinuousBernoulli": "t.tensor([0.2, 0.5])",
    "Chi2": "t.tensor([2.0, 3.0])", "Dirichlet": "t.tensor([[0.5, 2.0], [1.0, 3.0]])",
    "Exponential": "t.tensor([0.5, 2.0])",
    "Gamma": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])", "Geometric": "t.tensor([0.2, 0.7])",
    "Gumbel": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])", "HalfNormal": "t.tensor([0.5, 2.0])",
    "Independent": "D.Normal(t.zeros(2, 3), t.tensor([1.0, 2.0, 3.0])), 1",
    "Laplace": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])", "LogNormal": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])",
    "LowRankMultivariateNormal": "t.tensor([[0.0, 1.0], [1.0, 1.0]]), t.tensor([[1.0], [0.5]]), t.tensor([1.0, 2.0])",
    "MultivariateNormal": "t.tensor([0.0, 1.0]), t.tensor([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.1], [0.1, 3.0]]])",
    "Normal": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])", "OneHotCategorical": "t.tensor([[0.2, 0.8], [0.5, 0.5]])",
    "Pareto": "t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])", "Poisson": "t.tensor([0.5, 2.0])",
    "Uniform": "t.tensor([0.0, -0.5]), t.tensor([1.0, 3.0])", "StudentT": "t.tensor([3.0, 4.0])",
}  # fmt: skip
OTHER = {
    "Bernoulli": "t.tensor([0.4, 1.0])", "Beta": "t.tensor([1.5, 2.5]), t.tensor([0.5, 1.0])",
    "Binomial": "5, t.tensor([0.1, 0.4])", "Categorical": "t.tensor([[0.5, 0.5], [1.0, 0.0]])",
    "Uniform": "t.tensor([-0.5, -1.0]), t.tensor([1.5, 3.0])", "Pareto": "t.tensor([0.2, 3.0]), t.tensor([2.5, 1.0])",
    "Normal": "t.tensor([1.0, 0.0]), t.tensor([0.5, 2.0])", "Gamma": "t.tensor([1.5, 1.0]), t.tensor([0.5, 2.0])",
}  # fmt: skip


# Both over 0 ... 1: PyTorch says inf.  tests/python/distributions compares these with integrals.
FINITE_ON_EQUAL_SUPPORTS = {("ContinuousBernoulli", "Uniform"), ("Uniform", "ContinuousBernoulli")}


def pair(t, p, q, texts):
    names = {"t": t, "D": t.distributions}
    return (eval(f"D.{p}({SINGLE[p]})", names), eval(f"D.{q}({texts.get(q, SINGLE[q])})", names))


@pytest.mark.parametrize("p", sorted(SINGLE))
def test_divergences(p):
    known = 0
    for q in SINGLE:
        for texts in (SINGLE, OTHER):
            a, b = pair(strided, p, q, texts), pair(torch, p, q, texts)
            theirs = outcome(lambda: T.kl_divergence(*b))
            if (p, q) in FINITE_ON_EQUAL_SUPPORTS:
                continue
            same(lambda: D.kl_divergence(*a), lambda: theirs, (p, q), rtol=1e-4, atol=1e-5)
            known += not isinstance(theirs, type)
    assert known or p in ("StudentT",)


def test_pairs_with_divergences():
    def names(module):
        return {(a.__name__, b.__name__) for a, b in module.kl._KL_REGISTRY}

    assert names(D) == names(T)


TRANSFORMS = [
    ("AbsTransform()", "t.randn(3)"), ("AffineTransform(1.0, -2.0)", "t.randn(3)"),
    ("AffineTransform(t.tensor([1.0, 2.0, 3.0]), t.tensor([-2.0, 1.0, 3.0]), event_dim=1)", "t.randn(2, 3)"),
    ("CatTransform([ExpTransform(), AffineTransform(0.0, 3.0)], dim=-1, lengths=[1, 2])", "t.randn(2, 3)"),
    ("StackTransform([ExpTransform(), AffineTransform(0.0, 3.0)], dim=-1)", "t.randn(3, 2)"),
    ("ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0), ExpTransform().inv])", "t.randn(3)"),
    ("ComposeTransform([AffineTransform(1.0, 2.0), StickBreakingTransform()])", "t.randn(2, 3)"),
    ("CorrCholeskyTransform()", "t.randn(2, 6)"), ("ExpTransform()", "t.randn(3)"),
    ("CumulativeDistributionTransform(D.Normal(0.0, 1.0))", "t.randn(3)"),
    ("IndependentTransform(ExpTransform(), 1)", "t.randn(2, 3)"), ("LowerCholeskyTransform()", "t.randn(2, 3, 3)"),
    ("PositiveDefiniteTransform()", "t.randn(2, 3, 3)"), ("PowerTransform(t.tensor([2.0, -1.0, 0.5]))", "t.rand(3)"),
    ("ReshapeTransform((2, 3), (6,))", "t.randn(4, 2, 3)"), ("SigmoidTransform()", "t.randn(3) * 9"),
    ("SoftmaxTransform()", "t.randn(2, 3)"), ("SoftplusTransform()", "t.randn(3) * 9"),
    ("StickBreakingTransform()", "t.randn(2, 3)"), ("TanhTransform()", "t.randn(3)"), ("identity_transform",
    "t.randn(3)"),
]  # fmt: skip


@pytest.mark.parametrize("text,x", TRANSFORMS)
def test_transforms(text, x):
    both = []
    for t in (strided, torch):
        names = {"t": t, "D": t.distributions, **{k: getattr(t.distributions, k) for k in T.transforms.__all__}}
        t.manual_seed(4)
        both.append((eval(text, names), eval(x, names)))
    (f, u), (g, v) = both
    assert (repr(f), repr(f.inv)) == (repr(g), repr(g.inv))
    assert f.bijective == g.bijective
    assert (f.domain.event_dim, f.codomain.event_dim) == (g.domain.event_dim, g.codomain.event_dim)
    close(f(u), g(v))
    same(lambda: f.inv(f(u)), lambda: g.inv(g(v)), "inverse", rtol=1e-3, atol=1e-4)
    same(
        lambda: f.log_abs_det_jacobian(u, f(u)),
        lambda: g.log_abs_det_jacobian(v, g(v)),
        "jacobian",
        rtol=1e-4,
        atol=1e-5,
    )
    assert outcome(lambda: tuple(f.forward_shape(tuple(u.shape)))) == outcome(
        lambda: tuple(g.forward_shape(tuple(v.shape)))
    )
    shape = tuple(g(v).shape)
    assert outcome(lambda: tuple(f.inverse_shape(shape))) == outcome(lambda: tuple(g.inverse_shape(shape)))
    assert f.inv.inv is f and f == f and f.with_cache(1)(u).shape == f(u).shape


CONSTRAINTS = [
    "boolean", "cat([positive, real], lengths=[1, 2])", "corr_cholesky", "greater_than(1)", "greater_than_eq(0.5)",
    "half_open_interval(0.0, 1.0)", "independent(positive, 1)", "integer_interval(0, 2)", "interval(-1, 1)",
    "less_than(1)",
    "lower_cholesky", "lower_triangular", "multinomial(3)", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
    "stack([positive, real, less_than(0)], -1)", "symmetric", "unit_interval",
]  # fmt: skip
VALUES = [
    [[0.0, 1.0, 0.0]] * 3, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[0.25, 0.5, 0.25]] * 3,
    [[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 3.0]], [[-1.0, 2.0, 1.5], [0.5, 1.0, float("nan")], [3.0, -0.0, 1.0]],
    [[0.5, 0.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 0.2]], [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]],
]  # fmt: skip


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_constraints(text):
    a, b = eval(text, vars(D.constraints).copy()), eval(text, vars(T.constraints).copy())
    assert (repr(a), a.event_dim, a.is_discrete) == (repr(b), b.event_dim, b.is_discrete)
    for value in VALUES:
        assert a.check(strided.tensor(value)).tolist() == b.check(torch.tensor(value)).tolist(), value
    for name in ("biject_to", "transform_to"):
        f, g = outcome(lambda: getattr(D, name)(a)), outcome(lambda: getattr(T, name)(b))
        if isinstance(g, type):
            assert f is g
        else:
            assert repr(f) == repr(g)


BAD = [
    "D.Normal(0.0, -1.0)", "D.Normal(t.zeros(2), t.ones(3))", "D.Normal(0.0, 1.0).log_prob(1.0)",
    "D.Exponential(1.0).log_prob(t.tensor(-1.0))", "D.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3))",
    "D.MultivariateNormal(t.zeros(2), t.eye(2)).log_prob(t.zeros(3))", "D.Bernoulli()", "D.Bernoulli(0.5, 0.2)",
    "D.Bernoulli('a')", "D.Binomial(3)", "D.Categorical(t.tensor(0.5))", "D.Dirichlet(t.tensor(0.5))",
    "D.Uniform(1.0, 0.0)", "D.Uniform(0.0, 1.0).log_prob(t.tensor(2.0))",
    "D.MultivariateNormal(t.tensor(0.0), t.eye(2))",
    "D.MultivariateNormal(t.zeros(2))", "D.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2))",
    "D.MultivariateNormal(t.zeros(2), -t.eye(2))", "D.LowRankMultivariateNormal(t.ones(2), t.ones(3, 2), t.ones(2))",
    "D.LowRankMultivariateNormal(t.ones(2), t.ones(2, 2), t.ones(3))", "D.LKJCholesky(1)",
    "D.Wishart(t.tensor(0.0), t.eye(2))",
    "D.Wishart(t.tensor(3.0))", "D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0))",
    "D.MixtureSameFamily(D.Categorical(t.ones(3)), 3)",
    "D.MixtureSameFamily(D.Categorical(t.ones(3)), D.Normal(t.zeros(2), 1.0))",
    "D.Independent(D.Normal(0.0, 1.0), 1)", "D.TransformedDistribution(D.Normal(0.0, 1.0), 3)",
    "D.TransformedDistribution(D.Normal(0.0, 1.0), [3])",
    "D.TransformedDistribution(D.Normal(0.0, 1.0), [D.StickBreakingTransform()])",
    "D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(1.0))", "D.biject_to(D.constraints.square)", "D.Geometric(0.0)",
    "D.Multinomial(t.tensor([1, 2]), t.ones(2))", "D.Binomial(t.tensor([1.0, 2.0]), t.ones(2) / 2).enumerate_support()",
    "D.ReshapeTransform((4,), (3, 2))", "D.ExpTransform(cache_size=2)",
    "D.constraints.real_vector.check(t.tensor(1.0))",
    "D.CorrCholeskyTransform().forward_shape((4,))", "D.Distribution.set_default_validate_args(3)",
    "D.biject_to.register(3, 4)",
    "D.Independent(D.Bernoulli(t.ones(2) / 2), 1).enumerate_support()", "D.Poisson(-1.0)", "D.Beta(0.0, 1.0)",
    "D.Gamma(1.0, 0.0)",
    "D.Categorical(t.ones(3)).log_prob(t.tensor(3))", "D.ContinuousBernoulli(2.0, validate_args=True)",
    "D.NegativeBinomial(1.0, t.tensor(1.0))",
]  # fmt: skip


def error(t, text):
    with pytest.raises(Exception) as caught:
        eval(text, {"t": t, "D": t.distributions})
    return caught.type, str(caught.value)


@pytest.mark.parametrize("text", BAD)
def test_errors(text):
    assert error(strided, text) == error(torch, text)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_clipped_sigmoid_that_libraries_import(dtype):
    results = []
    for t in (strided, torch):
        x = t.tensor([-1e3, -2.0, 0.0, 3.0, 1e3], dtype=getattr(t, dtype))
        results.append(t.distributions.transforms._clipped_sigmoid(x))
    np.testing.assert_allclose(*(r.numpy() for r in results), rtol=1e-6)
    assert 0 < results[0].min() and results[0].max() < 1
