"""Arguments of random programs."""


def axis(rng, shape):
    return rng.randrange(-len(shape), len(shape))


def some_axes(rng, shape):
    return tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape)))))


def broadcasts(a, b):
    return all(m == n or m == 1 or n == 1 for m, n in zip(a[::-1], b[::-1]))
