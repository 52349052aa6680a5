"""To and from Python and NumPy."""

from case import Case, arrays


def cases():
    def numbers():
        return arrays(a=("f4", 4), m=("f4", 1000))() | {"n": arrays(a=("f4", 1000))()["a"]}

    yield Case("from_numpy", numbers, "xp.from_numpy(q)", None, setup="q = n.numpy()")
    yield Case("numpy()", numbers, "m.numpy()", None)
    yield Case("tolist of 1000", numbers, "m.tolist()", jax=None)
    yield Case("tensor of a list of 1000", numbers, "xp.tensor(q)", None, setup="q = n.tolist()")
    yield Case("tensor of an array", numbers, "xp.tensor(q)", None, setup="q = n.numpy()")
    yield Case("iteration over 1000", numbers, "[v for v in m]", jax=None)
    yield Case("item()", numbers, "m[3].item()", jax=None)
    yield Case("repr of 4", numbers, "repr(a)", jax=None)
    yield Case("repr of 1000", numbers, "repr(m)", jax=None)


def curves():
    return ()
