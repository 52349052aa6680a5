"""Tiny operations: what a call costs before any arithmetic."""

import itertools

from case import Case, arrays

TINY = arrays(a=("f4", 4), b=("f4", 4), c=("f4", 3, 4), m=("f4", 3, 3), v=("f4", 3))


def cases():
    for text, numpy in [
        ("a + b", ""), ("a + 1", ""), ("a * 2.5", ""), ("a == b", ""), ("-a", ""), ("xp.exp(a)", ""),
        ("xp.add(a, b)", ""), ("xp.where(a > b, a, b)", ""), ("a[0]", ""), ("c[1, 2]", ""), ("c[1]", ""),
        ("a[1:3]", ""),
        ("c[:, 1]", ""), ("c[..., None]", ""), ("c.T", ""), ("c.reshape(4, 3)", ""), ("c.view(12)", "c.reshape(12)"),
        ("c.unsqueeze(0)", "c[None]"), ("c.shape", ""), ("a.dtype", ""), ("a.sum()", ""), ("c.sum(1)", ""),
        ("a.max()", ""), ("c @ a", ""), ("m @ m", ""), ("xp.linalg.solve(m, v)", ""), ("a[0].item()", ""),
        ("xp.zeros(3, 4)", "xp.zeros((3, 4), 'f4')"), ("xp.empty(3, 4)", "xp.empty((3, 4), 'f4')"),
        ("xp.ones(4)", "xp.ones(4, 'f4')"), ("xp.tensor([1., 2., 3.])", "xp.array([1., 2., 3.], 'f4')"),
        ("xp.arange(5)", ""), ("a.clone()", "a.copy()"), ("a.tolist()", ""),
        ("xp.cat([a, b])", "xp.concatenate([a, b])"),
        ("xp.stack([a, b])", ""), ("a.add_(b)", "xp.add(a, b, out=a)"), ("a.to(xp.float64)", "a.astype('f8')"),
    ]:  # fmt: skip
        yield Case(text, TINY, text, numpy, jax=None)


def curves():
    for n in itertools.chain(*((k, 3 * k) for k in (1, 10, 100, 1000, 10_000))):
        yield Case("a + b, small", arrays(a=("f4", n), b=("f4", n)), "a + b", jax=None, size=n, moved=12 * n)
