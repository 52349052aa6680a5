"""Reading and writing by index and mask."""

from case import Case


def data(size=10**6, count=10**5, bound=None):
    def make():
        import numpy as np

        rng = np.random.default_rng(0)
        return {
            "a": rng.standard_normal(size).astype("f4"), "m": rng.standard_normal((10_000, 64)).astype("f4"),
            "i": rng.integers(0, size, count), "r": rng.integers(0, 10_000, count),
            "v": rng.standard_normal(count).astype("f4"),
            "k": rng.random(size) < 0.5, "g": rng.integers(0, 64, (10_000, 8)),
        }  # fmt: skip

    return make


def cases():
    made = data()
    yield Case("a[i] 1e5 of 1e6", made, "a[i]", moved=16e5)
    yield Case("m[r] rows of 64", made, "m[r]", moved=1e5 * 64 * 8)
    yield Case("m[:, c]", made, "m[:, g[0]]", moved=0)
    yield Case("m[r, 0]", made, "m[r, 0]")
    yield Case("a[k] half of 1e6", made, "a[k]", jax=None, moved=7e6)
    yield Case("a[k] = 0", made, "a.masked_fill_(k, 0)", "xp.copyto(a, 0, where=k)", None, moved=9e6)
    yield Case("a[i] = v", made, "a.__setitem__(i, v)", "", None)
    yield Case("a[i] += v, repeated", made, "a.index_add_(0, i, v)", "xp.add.at(a, i, v)", None)
    yield Case("gather(1)", made, "m.gather(1, g)", "xp.take_along_axis(m, g, 1)")
    yield Case("index_select rows", made, "m.index_select(0, r)", "m.take(r, 0)", moved=1e5 * 64 * 8)
    yield Case("nonzero of 1e6", made, "k.nonzero()", "xp.argwhere(k)", None)
    yield Case("bincount 1e5", made, "xp.bincount(r)", "", None)
    yield Case("where(k)", made, "xp.where(k)", jax=None)
    yield Case("scatter_add", made, "xp.zeros(10000).scatter_add(0, r, v)", "xp.bincount(r, v, 10000)", None)


def curves():
    for n in (1, 10, 100, 1000, 10**4, 10**5, 10**6):
        yield Case("a[i]", data(count=n), "a[i]", size=n, moved=16 * n)
