"""Transposed, broadcast and strided operands, and operations that only move elements."""

from case import Case, arrays

M = arrays(a=("f4", 2048, 2048))
V = arrays(a=("f4", 2000, 2000), r=("f4", 2000), c=("f4", 2000, 1))
T = arrays(a=("f4", 64, 128, 256))
SIZE = 2048 * 2048 * 4


def cases():
    yield Case("transposed copy 2048", M, "a.t().contiguous()", "xp.ascontiguousarray(a.T)", "a.T + 0", moved=2 * SIZE)
    yield Case("a + a.T 2048", M, "a + a.T", moved=3 * SIZE)
    for order in ((0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0)):
        text = f"a.permute{order}.contiguous()"
        yield Case(
            f"permute{order}", T, text, f"xp.ascontiguousarray(a.transpose{order})", None, moved=2 * 64 * 128 * 256 * 4
        )
    yield Case("a + row", V, "a + r", moved=2 * 16e6)
    yield Case("a + column", V, "a + c", moved=2 * 16e6)
    yield Case("row + column", V, "r + c", moved=16e6)
    yield Case("a[::2, ::2] + 1", V, "a[::2, ::2] + 1", moved=8e6)
    yield Case("a[:, 500:1500] * 2", V, "a[:, 500:1500] * 2", moved=16e6)
    yield Case("a[::2] = 1", V, "a[::2].fill_(1)", "a[::2].fill(1)", None, moved=8e6)
    yield Case("clone", V, "a.clone()", "a.copy()", None, moved=2 * 16e6)
    yield Case("cat 0", V, "xp.cat([a, a])", "xp.concatenate([a, a])", moved=3 * 16e6)
    yield Case("cat 1", V, "xp.cat([a, a], 1)", "xp.concatenate([a, a], 1)", moved=3 * 16e6)
    yield Case("stack 2", V, "xp.stack([a, a], 2)", moved=3 * 16e6)
    yield Case("flip", V, "xp.flip(a, (0, 1))", "xp.flip(a, (0, 1)).copy()", moved=2 * 16e6)
    yield Case("roll", V, "xp.roll(a, (5, 7), (0, 1))", moved=2 * 16e6)
    yield Case("repeat", V, "a.repeat(2, 2)", "xp.tile(a, (2, 2))", moved=5 * 16e6)
    yield Case("repeat_interleave", V, "a.repeat_interleave(2, 1)", "xp.repeat(a, 2, 1)", moved=3 * 16e6)
    yield Case("tril", V, "xp.tril(a)", moved=2 * 16e6)
    yield Case("diagonal copy", V, "xp.diagonal(a).clone()", "xp.diagonal(a).copy()", None)


def curves():
    for n in (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
        data = arrays(a=("f4", n, n))
        yield Case(
            "transposed copy", data, "a.t().contiguous()", "xp.ascontiguousarray(a.T)", None, moved=8 * n * n, size=n
        )
        yield Case("a + a.T", data, "a + a.T", moved=12 * n * n, size=n)
