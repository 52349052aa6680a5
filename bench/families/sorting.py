"""Sorting, searching, and what is made of them."""

from case import Case, arrays


def cases():
    for dtype in ("f4", "f8", "i8", "i4"):
        for shape in ((1000,), (10**6,), (100_000, 32), (1000, 1000)):
            size = "x".join(map(str, shape))
            data = arrays(a=(dtype, *shape))
            yield Case(
                f"sort {dtype} {size}", data, "xp.sort(a)", jax=None if len(shape) == 1 and shape[0] > 1000 else ""
            )
            if dtype in ("f4", "i8"):
                yield Case(f"argsort {dtype} {size}", data, "xp.argsort(a)", jax=None)
    yield Case(
        "stable sort f4 1e6", arrays(a=("f4", 10**6)), "xp.sort(a, stable=True)", "xp.sort(a, kind='stable')", None
    )
    yield Case(
        "topk 10 of 1e6",
        arrays(a=("f4", 10**6)),
        "xp.topk(a, 10)",
        "xp.partition(a, -10)[-10:]",
        "lib.lax.top_k(a, 10)",
    )
    yield Case("kthvalue of 1e6", arrays(a=("f4", 10**6)), "xp.kthvalue(a, 500000)", "xp.partition(a, 500000)", None)
    yield Case("unique i8 1e6", arrays(a=("i8", 10**6)), "xp.unique(a)", jax=None)
    yield Case("unique f4 1e5", arrays(a=("f4", 10**5)), "xp.unique(a)", jax=None)

    def ordered():
        made = arrays(a=("f4", 10**5), v=("f4", 10**5))()
        made["a"].sort()
        return made

    yield Case("searchsorted 1e5", ordered, "xp.searchsorted(a, v)")
    yield Case("isin i8 1e5 of 1000", arrays(a=("i8", 10**5), b=("i8", 1000)), "xp.isin(a, b)")
    yield Case("histc 1e6", arrays(a=("f4", 10**6)), "xp.histc(a, 100, -3, 3)", "xp.histogram(a, 100, (-3, 3))", None)


def curves():
    for n in (10, 30, 100, 300, 1000, 3000, 10**4, 10**5, 10**6, 10**7):
        yield Case("sort f4", arrays(a=("f4", n)), "xp.sort(a)", jax=None, size=n)
        yield Case("argsort f4", arrays(a=("f4", n)), "xp.argsort(a)", jax=None, size=n)
