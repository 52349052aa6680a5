"""Reductions over everything, over the last and the first axis, and over short axes."""

from case import Case, arrays

ALL = [
    ("sum", ""), ("mean", ""), ("amax", "a.max(%s)"), ("prod", ""), ("argmax", ""), ("std", "a.std(%s, ddof=1)"),
    ("var", "a.var(%s, ddof=1)"),
]  # fmt: skip


def reduction(name, numpy, at):
    text = f"a.{name}({at})"
    return text, (numpy % at).replace("(, ", "(") if numpy else text


def cases():
    for n, dtypes in ((10**4, ("f4",)), (10**6, ("f4", "f8", "i8", "i4")), (10**7, ("f4",))):
        for dtype in dtypes:
            for name, numpy in ALL:
                if dtype[0] == "i" and name in ("mean", "std", "var"):
                    continue
                yield Case(
                    f"{name} {dtype} {n:.0e}",
                    arrays(a=(dtype, n)),
                    *reduction(name, numpy, ""),
                    moved=n * int(dtype[1]),
                )
    for shape, axis in (
        ((1000, 1000), 1),
        ((1000, 1000), 0),
        ((100_000, 16), 1),
        ((1_000_000, 8), 1),
        ((8, 100_000), 0),
    ):
        for dtype in ("f4", "i8"):
            moved = shape[0] * shape[1] * int(dtype[1])
            for name, numpy in ALL:
                if dtype == "f4" or name in ("sum", "amax", "argmax"):
                    size = "x".join(map(str, shape))
                    yield Case(
                        f"{name}({axis}) {dtype} {size}",
                        arrays(a=(dtype, *shape)),
                        *reduction(name, numpy, axis),
                        moved=moved,
                    )
    three = arrays(a=("f4", 100, 100, 100))
    yield Case("sum((0, 2)) f4 100^3", three, "a.sum((0, 2))", moved=4e6)
    yield Case("sum(1) f4 100^3", three, "a.sum(1)", moved=4e6)
    flags = arrays(a=("?", 10**6))
    yield Case("all ? 1e6", lambda: {"a": flags()["a"] | True}, "a.all()", moved=1e6)
    yield Case("count_nonzero ? 1e6", flags, "xp.count_nonzero(a)", moved=1e6)
    yield Case("norm f4 1e6", arrays(a=("f4", 10**6)), "xp.linalg.norm(a)", moved=4e6)
    matrix = arrays(a=("f4", 1000, 1000))
    shifted = "xp.exp(a - a.max(1, keepdims=True))"
    yield Case(
        "softmax f4 1000x1000",
        matrix,
        "xp.softmax(a, 1)",
        f"(lambda e: e / e.sum(1, keepdims=True))({shifted})",
        moved=8e6,
    )
    yield Case("logsumexp f4 1000x1000", matrix, "xp.logsumexp(a, 1)", f"xp.log({shifted}.sum(1))", moved=4e6)
    yield Case("median f4 1e6", arrays(a=("f4", 10**6)), "a.median()", "xp.median(a)", None)
    yield Case("max(1) with positions", matrix, "a.max(1)", None, moved=4e6)


def curves():
    for n in (10, 100, 1000, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7, 10**8):
        data = arrays(a=("f4", n))
        yield Case("sum", data, "a.sum()", moved=4 * n, size=n)
        yield Case("argmax", data, "a.argmax()", moved=4 * n, size=n)
        yield Case("amax", data, "a.amax()", "a.max()", moved=4 * n, size=n)
    for n in (10, 100, 1000, 10**4, 10**5, 10**6):
        yield Case("sum of rows of 16", arrays(a=("f4", n, 16)), "a.sum(1)", moved=64 * n, size=n)
