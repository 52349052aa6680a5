"""Distributions with parameters, as text that means the same for strided and for PyTorch (``t`` and ``D``)."""

CASES = {
    "Bernoulli": ["probs=t.tensor([0.1, 0.5, 0.9])", "logits=t.tensor([[-3.0], [0.0], [2.5]])", "0.3"],
    "Beta": ["t.tensor([0.5, 1.0, 3.0, 20.0])[:, None], t.tensor([0.3, 1.0, 4.0])", "2.0, 3.0"],
    "Binomial": ["5, t.tensor([0.0, 0.2, 0.7, 1.0])", "t.tensor([3.0, 30.0]), logits=t.tensor([-1.0, 0.3])"],
    "Categorical": ["t.tensor([[1.0, 2.0, 3.0], [0.2, 0.3, 0.5]])", "logits=t.tensor([0.3, -1.0, 2.0, 0.0])"],
    "Cauchy": ["t.tensor([0.0, 2.0]), t.tensor([0.5, 3.0])", "0.0, 1.0"],
    "Chi2": ["t.tensor([0.5, 2.0, 7.0])", "3.0"],
    "ContinuousBernoulli": ["t.tensor([0.1, 0.499, 0.4995, 0.5, 0.502, 0.9])", "logits=t.tensor([-2.0, 0.001, 3.0])"],
    "Dirichlet": ["t.tensor([0.5, 1.0, 4.0])", "t.tensor([[2.0, 1.5, 3.0], [1.5, 5.0, 20.0]])"],
    "Exponential": ["t.tensor([0.1, 1.0, 4.0])", "2.0"],
    "FisherSnedecor": ["t.tensor([1.0, 5.0, 8.0]), t.tensor([3.0, 5.0, 10.0])", "2.0, 6.0"],
    "Gamma": ["t.tensor([0.3, 1.0, 5.0]), t.tensor([1.0, 0.5, 2.0])", "2.0, 3.0"],
    "GeneralizedPareto": ["t.tensor([0.0, 1.0, 0.0]), t.tensor([1.0, 2.0, 0.5]), t.tensor([-0.3, 0.0, 0.4])"],
    "Geometric": ["t.tensor([0.2, 0.7, 1.0])", "logits=t.tensor([-1.0, 2.0])", "0.4"],
    "Gumbel": ["t.tensor([0.0, 2.0]), t.tensor([1.0, 3.0])", "0.5, 2.0"],
    "HalfCauchy": ["t.tensor([0.5, 2.0])", "1.0"],
    "HalfNormal": ["t.tensor([0.5, 2.0])", "1.0"],
    "Independent": ["D.Normal(t.zeros(2, 3), t.ones(3)), 1", "D.Bernoulli(t.tensor([0.2, 0.5])), 0"],
    "InverseGamma": ["t.tensor([0.8, 1.5, 5.0]), t.tensor([1.0, 0.5, 2.0])"],
    "Kumaraswamy": ["t.tensor([0.5, 1.0, 3.0]), t.tensor([2.0, 0.7, 1.5])"],
    "LKJCholesky": ["3, 1.0", "4, t.tensor([0.5, 2.0])"],
    "Laplace": ["t.tensor([0.0, 2.0]), t.tensor([0.5, 3.0])", "0.0, 1.0"],
    "LogNormal": ["t.tensor([0.0, 0.5]), t.tensor([0.5, 1.0])", "0.0, 1.0"],
    "LogisticNormal": ["t.tensor([0.0, 0.5]), t.tensor([0.5, 1.0])"],
    "LowRankMultivariateNormal": [
        "t.tensor([0.0, 1.0, 2.0]), t.tensor([[1.0], [0.5], [-1.0]]), t.tensor([1.0, 2.0, 0.5])",
        "t.zeros(2, 3), t.tensor([[1.0, 0.0], [0.5, 1.0], [-1.0, 2.0]]), t.tensor([1.0, 2.0, 0.5])",
    ],
    "MixtureSameFamily": [
        "D.Categorical(t.tensor([0.2, 0.8])), D.Normal(t.tensor([0.0, 3.0]), t.tensor([1.0, 0.5]))",
        "D.Categorical(t.ones(2, 2)), D.Independent(D.Normal(t.zeros(2, 2, 3), 1.0), 1)",
    ],
    "Multinomial": ["4, t.tensor([0.2, 0.3, 0.5])", "3, logits=t.tensor([[0.0, 1.0], [2.0, -1.0]])"],
    "MultivariateNormal": [
        "t.tensor([0.0, 1.0]), t.tensor([[2.0, 0.5], [0.5, 1.0]])",
        "t.zeros(3, 2), precision_matrix=t.tensor([[2.0, 0.5], [0.5, 1.0]])",
        "t.zeros(2), scale_tril=t.tensor([[[1.0, 0.0], [0.5, 2.0]], [[3.0, 0.0], [1.0, 1.0]]])",
    ],
    "NegativeBinomial": ["t.tensor([1.0, 4.5]), t.tensor([0.3, 0.8])", "3, logits=t.tensor([-1.0, 0.5])"],
    "Normal": ["t.tensor([0.0, 2.0]), t.tensor([0.5, 3.0])", "0.0, 1.0", "t.zeros(2, 1, dtype=t.float64), 2"],
    "OneHotCategorical": ["t.tensor([[1.0, 2.0, 3.0], [0.2, 0.3, 0.5]])", "logits=t.tensor([0.3, -1.0, 2.0])"],
    "OneHotCategoricalStraightThrough": ["t.tensor([1.0, 2.0, 3.0])"],
    "Pareto": ["t.tensor([1.0, 2.0, 0.5]), t.tensor([0.5, 1.5, 3.0])", "1.0, 4.0"],
    "Poisson": ["t.tensor([0.1, 3.0, 40.0])", "2.5"],
    "RelaxedBernoulli": ["t.tensor(0.7), t.tensor([0.2, 0.6])", "t.tensor([0.5]), logits=t.tensor([1.0, -2.0])"],
    "RelaxedOneHotCategorical": ["t.tensor(0.7), t.tensor([0.2, 0.3, 0.5])"],
    "StudentT": ["t.tensor([0.7, 1.5, 5.0])", "3.0, t.tensor([1.0, -1.0]), 2.0"],
    "TransformedDistribution": [
        "D.Normal(t.zeros(3), 1.0), [D.SigmoidTransform(), D.AffineTransform(1.0, t.tensor([2.0, -1.0, 3.0]))]",
        "D.Normal(t.zeros(3), 1.0), [D.StickBreakingTransform()]",
        "D.Normal(t.zeros(6), 1.0), [D.TanhTransform(cache_size=1), D.ReshapeTransform((6,), (2, 3))]",
    ],
    "Uniform": ["t.tensor([0.0, -1.0]), t.tensor([1.0, 3.0])", "0.0, 1.0"],
    "VonMises": ["t.tensor([0.0, 1.0, -2.0]), t.tensor([1e-6, 1.0, 50.0])"],
    "Weibull": ["t.tensor([1.0, 2.0]), t.tensor([1.5, 3.0])", "1.0, 1.0"],
    "Wishart": [
        "t.tensor(4.0), t.tensor([[2.0, 0.5], [0.5, 1.0]])",
        "t.tensor([5.0, 7.5]), scale_tril=t.tensor([[1.0, 0.0], [0.5, 2.0]])",
        "3.5, precision_matrix=t.tensor([[2.0, 0.5], [0.5, 1.0]])",
    ],
}

# Their samples are made of gamma or binomial samples, for which strided has numbers of its own.
OWN_NUMBERS = {
    "Beta", "Binomial", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "LKJCholesky",
    "NegativeBinomial", "StudentT", "Wishart",
}  # fmt: skip

ALL = [(name, i) for name, texts in CASES.items() for i in range(len(texts))]


def make(t, name, i):
    """The distribution, of the module t."""
    D = t.distributions
    arguments = CASES[name][i]
    return eval(f"D.{name}({arguments})", {"t": t, "D": D})
