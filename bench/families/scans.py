"""Running sums and extremes."""

from case import Case, arrays


def cases():
    one, rows = arrays(a=("f4", 10**6)), arrays(a=("f4", 1000, 1000))
    yield Case("cumsum f4 1e6", one, "a.cumsum(0)", moved=8e6)
    yield Case("cumsum f8 1e6", arrays(a=("f8", 10**6)), "a.cumsum(0)", moved=16e6)
    yield Case("cumsum i8 1e6", arrays(a=("i8", 10**6)), "a.cumsum(0)", moved=16e6)
    yield Case("cumsum(1) f4", rows, "a.cumsum(1)", moved=8e6)
    yield Case("cumsum(0) f4", rows, "a.cumsum(0)", moved=8e6)
    yield Case("cumprod f4 1e6", one, "a.cumprod(0)", moved=8e6)
    yield Case("cummax(1) f4", rows, "xp.cummax(a, 1)", None)
    yield Case("diff f4 1e6", one, "xp.diff(a)", moved=8e6)


def curves():
    for n in (10, 100, 1000, 10**4, 10**5, 10**6, 10**7):
        yield Case("cumsum", arrays(a=("f4", n)), "a.cumsum(0)", moved=8 * n, size=n)
