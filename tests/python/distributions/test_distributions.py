"""Distributions without PyTorch: densities integrate to 1 and give the moments, samples and gradients fit."""

import math

import distribution_cases as cases
import numpy as np
import pytest
import strided

D = strided.distributions

# name, parameters (float64 scalars), where the density is, by quantiles or bounds
CONTINUOUS = [
    ("Beta", (2.0, 3.5), (0, 1)), ("Cauchy", (0.3, 0.7), None), ("Chi2", (5.0,), (0, 200)),
    ("ContinuousBernoulli", (0.3,), (0, 1)), ("ContinuousBernoulli", (0.5004,), (0, 1)),
    ("Exponential", (2.0,), (0, 40)),
    ("FisherSnedecor", (4.0, 20.0), (0, 4000)), ("Gamma", (3.0, 2.0), (0, 60)),
    ("GeneralizedPareto", (1.0, 2.0, -0.5), (1, 5)),
    ("GeneralizedPareto", (0.0, 1.0, 0.1), (0, 2e5)), ("Gumbel", (1.0, 2.0), (-20, 150)),
    ("HalfNormal", (2.0,), (0, 40)),
    ("InverseGamma", (6.0, 2.0), (0, 3000)), ("Kumaraswamy", (2.0, 3.0), (0, 1)), ("Laplace", (0.0, 1.5), (-90, 0, 90)),
    ("LogNormal", (0.2, 0.5), (0, 200)), ("Normal", (1.0, 2.0), (-40, 40)), ("Pareto", (1.0, 9.0), (1, 1e5)),
    ("RelaxedBernoulli", (strided.tensor(0.7), 0.3), (0, 1)), ("StudentT", (9.0, 1.0, 2.0), (-9000, 1, 9000)),
    ("Uniform", (-1.0, 3.0), (-1, 3)), ("VonMises", (0.5, 3.0), (-math.pi, math.pi)), ("Weibull", (2.0, 1.5), (0, 100)),
]  # fmt: skip
IDS = [f"{name}{i}" for i, (name, *_) in enumerate(CONTINUOUS)]


def double(name, parameters):
    return getattr(D, name)(*(strided.as_tensor(p, dtype=strided.float64) for p in parameters))


def nodes(low, high, *more):
    """Points and weights for integrals over the ranges between bounds, dense at all of them (tanh-sinh)."""
    if more:
        x, w = zip(nodes(low, high), nodes(high, *more))
        return strided.cat(x), strided.cat(w)
    s = strided.linspace(-3.6, 3.6, 2001, dtype=strided.float64)
    t = (math.pi / 2 * s.sinh()).tanh()
    w = math.pi / 2 * s.cosh() * (1 - t * t) * (s[1] - s[0])
    x = low + (high - low) * (1 + t) / 2
    inside = (x > low) & (x < high)
    return x[inside], w[inside] * (high - low) / 2


@pytest.mark.parametrize("name,parameters,where", CONTINUOUS, ids=IDS)
def test_densities_integrate(name, parameters, where):
    d = double(name, parameters)
    if where is None:
        q = (strided.arange(2000, dtype=strided.float64) + 0.5) / 2000
        step = 1e-6  # the density is the derivative of the distribution function
        x = d.icdf(q)
        np.testing.assert_allclose(
            ((d.cdf(x + step) - d.cdf(x - step)) / (2 * step)).numpy(),
            d.log_prob(x).exp().numpy(),
            rtol=1e-4,
            atol=1e-9,
        )
        return
    x, w = nodes(*where)
    density = d.log_prob(x).exp() * w
    assert float(density.sum()) == pytest.approx(1, abs=1e-6)
    for what, value in (("mean", x), ("variance", None), ("entropy", -d.log_prob(x).clamp(min=-800))):
        if name == "VonMises" and what == "variance":
            assert float(d.variance) == pytest.approx(float(1 - (density * (x - d.loc).cos()).sum()), abs=1e-7)
            continue
        if name == "VonMises" and what == "mean":
            continue
        try:
            stated = getattr(d, what)
            stated = stated() if what == "entropy" else stated
        except NotImplementedError:
            continue
        if what == "variance":
            value = (x - float(d.mean)) ** 2
        assert float(stated) == pytest.approx(float((density * value).sum()), rel=1e-5, abs=1e-6), what


@pytest.mark.parametrize("name,parameters,where", CONTINUOUS, ids=IDS)
def test_distribution_functions(name, parameters, where):
    d = double(name, parameters)
    q = strided.tensor([0.001, 0.1, 0.5, 0.9, 0.999], dtype=strided.float64)
    try:
        x = d.icdf(q)
    except NotImplementedError:
        return
    np.testing.assert_allclose(d.cdf(x).numpy(), q.numpy(), rtol=1e-9)


@pytest.mark.parametrize("name,parameters,where", CONTINUOUS, ids=IDS)
def test_samples_follow_the_density(name, parameters, where):
    """The integral of the density up to the samples is uniform: Kolmogorov's distance is below 1.95 / sqrt(n)."""
    strided.manual_seed(11)
    d, n = double(name, parameters), 4000
    samples = d.sample((n,)).double().sort().values
    try:
        cdf = d.cdf(samples)
    except NotImplementedError:
        x, w = nodes(*where)
        running = (d.log_prob(x).exp() * w).cumsum(0)
        cdf = running[strided.searchsorted(x, samples).clamp(max=len(x) - 1)]
    distance = (cdf - (strided.arange(n, dtype=strided.float64) + 0.5) / n).abs().max()
    assert float(distance) < 1.95 / n**0.5


@pytest.fixture(params=["loops", "composed"])
def samplers(request, monkeypatch):
    """The device's loops of gamma and binomial laws, and what stands in where a device has none."""
    if request.param == "composed":
        for name in ("_gamma_numbers", "_binomial_numbers"):
            monkeypatch.setitem(strided._C.functions, name, lambda *args: None)


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 4.0, 300.0])
def test_gamma_samples(samplers, a):
    strided.manual_seed(11)
    d, n = D.Gamma(strided.tensor(a, dtype=strided.float64), 2.0), 4000
    cdf = d.cdf(d.sample((n,)).sort().values)
    assert float((cdf - (strided.arange(n, dtype=strided.float64) + 0.5) / n).abs().max()) < 1.95 / n**0.5
    small = strided._sample_dirichlet(strided.full((200, 3), 1e-3))
    assert (small > 0).all() and (small < 1).all() and small.sum(-1).allclose(strided.ones(200))
    assert float((small.amax(-1) > 0.9).double().mean()) > 0.9  # one of them has nearly everything


@pytest.mark.parametrize("n,p", [(3, 0.2), (12, 0.9), (40, 0.5), (500, 0.03), (2000, 0.7), (10**6, 0.31)])
def test_binomial_samples(samplers, n, p):
    strided.manual_seed(5)
    count = 20000
    d = D.Binomial(n, strided.tensor(p, dtype=strided.float64))
    x = d.sample((count,))
    assert x.min() >= 0 and x.max() <= n and bool((x == x.round()).all())
    assert float(x.mean()) == pytest.approx(n * p, abs=4 * (n * p * (1 - p) / count) ** 0.5)
    assert float(x.var()) == pytest.approx(n * p * (1 - p), rel=0.06)
    if n <= 2000:  # chi squared over the values that are expected often enough
        probs = d.log_prob(d.enumerate_support()).exp()
        often = probs * count > 10
        found = strided.bincount(x.long(), minlength=n + 1)[often]
        expected = probs[often] * count
        chi2 = ((found - expected) ** 2 / expected).sum()
        degrees = int(often.sum())
        assert float(chi2) < degrees + 5 * (2 * degrees) ** 0.5


def test_parameters_without_samples(samplers):
    """Candidates from such parameters are never accepted: the samplers do not wait for one."""
    a = strided.tensor([math.nan, math.inf, -math.inf, -2.0, -0.5])
    sample = D.Gamma(a, 1.0, validate_args=False).sample()
    np.testing.assert_array_equal(sample.numpy(), [math.nan, math.inf, math.nan, math.nan, math.nan])
    assert D.Dirichlet(strided.tensor([math.nan, 1.0]), validate_args=False).sample().isnan().all()
    k = strided.tensor([math.nan, -1.0, -math.inf, math.inf])
    sample = D.VonMises(0.5, k, validate_args=False).sample()
    np.testing.assert_allclose(sample.numpy(), [math.nan, math.nan, math.nan, 0.5], rtol=1e-6)
    assert D.ContinuousBernoulli(strided.tensor(math.nan), validate_args=False).sample().isnan()
    with pytest.raises(NotImplementedError, match="int64"):
        D.Gamma(strided.tensor(2), strided.tensor(1)).sample()


@pytest.mark.parametrize("k", [0.0, 1e-310, 9e5, 2e6, 1e30])
def test_von_mises_of_extreme_concentrations(k):
    """Uniform angles towards 0; normal ones, of variance 1 / k, towards infinity."""
    strided.manual_seed(5)
    k = strided.tensor(k, dtype=strided.float64)
    x = D.VonMises(strided.zeros_like(k), k, validate_args=False).sample((20000,))
    if k < 1:
        assert x.min() < -3.1 and x.max() > 3.1
        assert abs(float(x.square().mean()) - math.pi**2 / 3) < 0.1
    elif k < 1e20:  # beyond, the angles are smaller than the rounding of pi
        assert abs(float(x.square().mean() * k) - 1) < 0.04
    else:
        assert x.abs().max() < 1e-13


def test_binomial_edges(samplers):
    nan = math.nan
    x = strided.binomial(strided.tensor([0.0, 7.0, 7.0, nan, 3.0]), strided.tensor([0.5, 0.0, 1.0, 0.5, nan]))
    assert x[:3].tolist() == [0, 0, 7] and bool(x[3:].isnan().all())
    inf = math.inf  # no candidate would ever be accepted
    assert strided.binomial(strided.tensor([inf, inf, -inf]), strided.tensor([0.5, 0.0, 0.5])).tolist() == [inf, 0, 0]
    assert strided.binomial(strided.ones(2, 1), strided.rand(3)).shape == (2, 3)
    with pytest.raises(ValueError, match="floating-point"):
        strided.binomial(strided.ones(2, dtype=strided.int64), strided.rand(2))
    a, b = (
        strided.binomial(strided.full((50,), 30.0), strided.full((50,), 0.4), strided.Generator().manual_seed(3))
        for _ in range(2)
    )
    assert a.equal(b)


@pytest.mark.parametrize(
    "name,i", [("Poisson", 0), ("Geometric", 0), ("NegativeBinomial", 0), ("Binomial", 0), ("Bernoulli", 0)]
)
def test_probabilities_sum_to_one(name, i):
    d = cases.make(strided, name, i)
    values = strided.arange(200).float()[:, None].expand(-1, *d.batch_shape)
    valid = d.support.check(values)
    probs = strided.where(valid, getattr(D, name).log_prob(d.expand(d.batch_shape), values.where(valid, 0)).exp(), 0)
    np.testing.assert_allclose(probs.sum(0).numpy(), 1, rtol=1e-4)
    np.testing.assert_allclose((probs * values).sum(0).numpy(), d.mean.numpy(), rtol=1e-3, atol=1e-5)


def test_moments_of_vectors():
    strided.manual_seed(2)
    n = 20000
    for text in ("Dirichlet", "MultivariateNormal", "LowRankMultivariateNormal", "Multinomial", "Wishart"):
        d = cases.make(strided, text, 0)
        x = d.sample((n,)).double()
        spread = d.variance.double().sqrt()
        error = (x.mean(0) - d.mean.double()).abs()
        assert bool((error < 5 * spread / n**0.5 + 1e-9).all()), text
        np.testing.assert_allclose(x.var(0).numpy(), d.variance.numpy(), rtol=0.1, atol=1e-9)


def test_correlations_of_lkj():
    strided.manual_seed(2)
    d = D.LKJCholesky(3, 1.0)
    factors = d.sample((20000,))
    assert bool(d.support.check(factors).all())
    off = (factors @ factors.mT)[:, 2, 0]
    assert abs(float(off.mean())) < 0.02  # uniform over correlation matrices: each is beta(1.5, 1.5) over -1 ... 1
    assert float(off.var()) == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("a", [1e-4, 0.05, 0.8, 1.0, 7.0, 300.0])
def test_gradient_of_gamma_samples(a):
    """The derivative of the quantile by the concentration, from differences of the distribution function."""
    from strided.distributions._gradients import gamma_gradient

    a = strided.full((40,), a, dtype=strided.float64)
    strided.manual_seed(1)
    x = D.Gamma(a, 1.0).sample()
    keep = x > 1e-250
    a, x = a[keep], x[keep]
    h = a * 1e-4
    slope = (strided.special.gammainc(a + h, x) - strided.special.gammainc(a - h, x)) / (2 * h)
    expected = -slope / D.Gamma(a, 1.0).log_prob(x).exp()
    np.testing.assert_allclose(gamma_gradient(a, x).numpy(), expected.numpy(), rtol=1e-4)


def test_gradient_of_gamma_samples_far_out():
    """By mpmath, with 40 digits."""
    from strided.distributions._gradients import gamma_gradient

    x = strided.tensor([99500.0, 1e5, 100300.0], dtype=strided.float64)
    expected = [0.9974974853786162, 1.0000016666683333, 1.0015001714113009]
    np.testing.assert_allclose(gamma_gradient(strided.full_like(x, 1e5), x).numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("x", [1e-9, 0.01, 0.3, 0.99, 1 - 1e-9])
def test_gradient_of_beta_samples(x):
    from strided.distributions._gradients import beta_gradient

    a = strided.tensor([0.2, 1.0, 3.0, 40.0], dtype=strided.float64)
    x = strided.full_like(a, x)
    # concentrations a and 1: the distribution function is x^a, and dx/da = -x log(x) / a
    np.testing.assert_allclose(beta_gradient(x, a, a + 1).numpy(), (-x * x.log() / a).numpy(), rtol=1e-8)


def test_gradients_of_means_through_samples():
    strided.manual_seed(3)
    a = strided.tensor([2.0, 3.0, 5.0], dtype=strided.float64, requires_grad=True)
    d = D.Dirichlet(a)
    d.rsample((40000,)).mean(0)[0].backward()
    expected = strided.autograd.grad(D.Dirichlet(a).mean[0], a)[0]
    np.testing.assert_allclose(a.grad.numpy(), expected.numpy(), atol=2e-3)


PAIRS = [
    (p, q) for p in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Laplace", "Normal", "Pareto",
    "Uniform")
    for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Laplace", "Normal", "Pareto", "Uniform")
    if (getattr(D, p), getattr(D, q)) in D.kl._KL_REGISTRY
]  # fmt: skip
FIRST = {
    "Beta": ((2.0, 3.5), (0, 1)), "ContinuousBernoulli": ((0.3,), (0, 1)), "Exponential": ((2.0,), (0, 40)),
    "Gamma": ((3.0, 2.0), (0, 60)), "Gumbel": ((1.0, 2.0), (-12, 120)), "Laplace": ((0.0, 0.5), (-30, 0, 0.5, 30)),
    "Normal": ((1.0, 0.5), (-12, 0.5, 12)), "Pareto": ((1.0, 9.0), (1, 1e5)), "Uniform": ((0.2, 0.9), (0.2, 0.9)),
}  # fmt: skip
SECOND = {
    "Beta": (1.5, 1.2), "ContinuousBernoulli": (0.6,), "Exponential": (1.5,), "Gamma": (2.0, 1.0), "Gumbel": (0.5, 4.0),
    "Laplace": (0.5, 1.0), "Normal": (0.5, 2.0), "Pareto": (0.1, 2.0), "Uniform": (0.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("p,q", PAIRS)
def test_divergences_are_integrals(p, q):
    parameters, where = FIRST[p]
    a, b = double(p, parameters), double(q, SECOND[q])
    kl = float(D.kl_divergence(a, b))
    x, w = nodes(*where)
    b._validate_args = False
    for part in (b, getattr(b, "base_dist", b)):
        part._validate_args = False
    if not bool(b.support.check(x).all()):
        assert kl == math.inf
        return
    term = a.log_prob(x).exp() * (a.log_prob(x) - b.log_prob(x)) * w
    assert kl == pytest.approx(float(term.sum()), rel=1e-4, abs=1e-6)


def test_the_most_special_divergence_is_taken():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def _mine(p, q):
        return strided.tensor(7.0)

    try:
        mine = Mine(0.0, 1.0)
        assert float(D.kl_divergence(mine, D.Normal(0.0, 1.0))) == 7
        assert float(D.kl_divergence(D.Normal(0.0, 1.0), mine)) == 0
        assert float(D.kl_divergence(mine, mine)) == 7
    finally:
        del D.kl._KL_REGISTRY[Mine, D.Normal]
        D.kl._KL_MEMOIZE.clear()


def test_entropy_has_gradients():
    p = strided.tensor([0.3], requires_grad=True)
    D.Exponential(p).entropy().backward()
    assert p.grad.tolist() == pytest.approx([-1 / 0.3])
    low = strided.eye(2).requires_grad_()
    D.ExponentialFamily.entropy(D.Wishart(3.0, scale_tril=low)).backward()
    np.testing.assert_allclose(low.grad.diagonal().numpy(), [3, 3], rtol=1e-5)


def test_caches_of_transforms():
    t = D.TanhTransform(cache_size=1)
    x = strided.tensor([20.0])
    y = t(x)
    assert t.inv(y) is x and float(y) == 1
    assert D.TanhTransform().inv(y).isinf().all()
    import pickle

    assert pickle.loads(pickle.dumps(D.ExpTransform()))(strided.zeros(1)).item() == 1


def test_lazy_properties_and_validation():
    assert isinstance(D.Bernoulli.logits, property)
    d = D.Bernoulli(probs=strided.tensor(0.5))
    assert "logits" not in d.__dict__ and float(d.logits) == 0 and "logits" in d.__dict__
    with pytest.raises(ValueError, match="must be a Tensor"):
        d.log_prob(1.0)
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.warns(UserWarning, match="arg_constraints"):
        D.Distribution()


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
def test_samples_of_small_concentrations_lie_between_0_and_1(dtype):
    x = D.Beta(strided.tensor(1e-3, dtype=dtype), strided.tensor(1e-3, dtype=dtype)).sample((2000,))
    assert x.dtype == dtype and bool(((x > 0) & (x < 1)).all())
    assert 0.4 < float((x < 0.5).double().mean()) < 0.6
    y = D.Dirichlet(strided.full((3,), 1e-3, dtype=dtype)).sample((2000,))
    assert bool(((y > 0) & (y < 1)).all())


def test_gradient_of_binomial_at_even_odds():
    logits = strided.tensor(0.0, requires_grad=True)
    D.Binomial(3, logits=logits).log_prob(strided.tensor(0.0)).backward()
    assert float(logits.grad) == -1.5


def test_wishart_of_an_integer_df():
    d = D.Wishart(strided.tensor(3), strided.eye(2))
    assert d.sample((4,)).shape == (4, 2, 2)
