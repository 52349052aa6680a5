"""Random numbers and creation."""

from case import Case


def generator():
    import numpy as np

    return {"g": np.random.default_rng(0)}


def cases():
    for name, text, numpy in [
        ("rand f4", "xp.rand(1000000)", "g.random(1000000, 'f4')"),
        ("randn f4", "xp.randn(1000000)", "g.standard_normal(1000000, 'f4')"),
        ("rand f8", "xp.rand(1000000, dtype=xp.float64)", "g.random(1000000)"),
        ("randn f8", "xp.randn(1000000, dtype=xp.float64)", "g.standard_normal(1000000)"),
        ("randint i8", "xp.randint(0, 1000, (1000000,))", "g.integers(0, 1000, 1000000)"),
        ("randperm", "xp.randperm(1000000)", "g.permutation(1000000)"),
        ("bernoulli f4", "xp.empty(1000000).bernoulli_(0.3)", None),
        ("exponential f4", "xp.empty(1000000).exponential_()", "g.standard_exponential(1000000, 'f4')"),
        ("zeros 1e7", "xp.zeros(10000000)", "xp.zeros(10000000, 'f4')"),
        ("ones 1e7", "xp.ones(10000000)", "xp.ones(10000000, 'f4')"),
        ("arange 1e6", "xp.arange(1000000)", "xp.arange(1000000)"),
        ("full 1e6", "xp.full((1000000,), 2.5)", "xp.full((1000000,), 2.5, 'f4')"),
        ("linspace 1e6", "xp.linspace(0, 1, 1000000)", "xp.linspace(0, 1, 1000000, dtype='f4')"),
        ("eye 1000", "xp.eye(1000)", "xp.eye(1000, dtype='f4')"),
    ]:
        yield Case(name, generator, text, numpy, None)


def curves():
    for n in (1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7):
        yield Case("randn", generator, f"xp.randn({n})", f"g.standard_normal({n}, 'f4')", None, size=n)
        yield Case("zeros", generator, f"xp.zeros({n})", f"xp.zeros({n}, 'f4')", None, size=n)
