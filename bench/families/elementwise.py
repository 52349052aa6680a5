"""Elementwise functions on contiguous data, which are limited by memory or by arithmetic."""

from case import Case, arrays

N = 10**6
#: function, NumPy's spelling, SciPy's
FLOATS = [
    ("xp.exp(a)", ""), ("xp.log(p)", ""), ("xp.sin(a)", ""), ("xp.cos(a)", ""), ("xp.tan(a)", ""),
    ("xp.tanh(a)", ""), ("xp.sqrt(p)", ""), ("xp.rsqrt(p)", "1 / xp.sqrt(p)"),
    ("xp.sigmoid(a)", "1 / (1 + xp.exp(-a))"), ("xp.expm1(a)", ""), ("xp.log1p(p)", ""), ("p ** 1.7", ""),
    ("p ** b", ""), ("a ** 2", ""), ("xp.atan2(a, b)", "xp.arctan2(a, b)"), ("xp.abs(a)", ""),
    ("xp.floor(a)", ""), ("xp.relu(a)", "xp.maximum(a, 0)"), ("xp.clamp(a, -1, 1)", "xp.clip(a, -1, 1)"),
    ("xp.maximum(a, b)", ""), ("xp.fmod(a, b)", ""), ("xp.isnan(a)", ""), ("a > b", ""),
    ("xp.where(a > b, a, b)", ""), ("xp.logaddexp(a, b)", ""), ("xp.hypot(a, b)", ""),
]  # fmt: skip


def cases():
    for n in (10**4, N, 10**7):
        for dtype, width in (("f4", 4), ("f8", 8)):
            data = arrays(a=(dtype, n), b=(dtype, n))
            yield Case(f"a + b {dtype} {n:.0e}", data, "a + b", moved=3 * width * n)
            yield Case(f"a * 2.5 {dtype} {n:.0e}", data, "a * 2.5", moved=2 * width * n)
            yield Case(f"a += b {dtype} {n:.0e}", data, "a.add_(b)", "xp.add(a, b, out=a)", None, moved=3 * width * n)
    for dtype, width in (("f4", 4), ("f8", 8)):
        data = arrays(a=(dtype, N), b=(dtype, N))

        def positive(data=data):
            made = data()
            return made | {"p": abs(made["a"]) + 0.1}

        for text, numpy in FLOATS:
            yield Case(f"{text.replace('xp.', '')} {dtype}", positive, text, numpy, moved=2 * width * N)
    yield Case("erf(a) f4", arrays(a=("f4", N)), "xp.erf(a)", None, "lib.scipy.special.erf(a)", "lib.special.erf(a)")
    yield Case("lgamma(a) f4", arrays(a=("f4", N)), "xp.lgamma(a)", None, None, "lib.special.gammaln(a)")
    ints = arrays(a=("i8", N), b=("i8", N))
    for text, numpy in [
        ("a + b", ""),
        ("a * b", ""),
        ("a // 7", ""),
        ("a % 7", ""),
        ("a & b", ""),
        ("a << 3", ""),
        ("a == b", ""),
    ]:
        yield Case(f"{text} i8", ints, text, numpy, moved=24 * N)
    two = arrays(a=("f4", N), b=("f4", N))
    yield Case("a + b f4 1e6 after a pause", two, "a + b", moved=12 * N, rested=True)
    yield Case("exp(a) f4 1e6 after a pause", two, "xp.exp(a)", moved=8 * N, rested=True)
    yield Case("a + b u8", arrays(a=("u1", N), b=("u1", N)), "a + b", moved=3 * N)
    yield Case("a * b c8", arrays(a=("c8", N), b=("c8", N)), "a * b", moved=24 * N)
    yield Case("f4 to f8", arrays(a=("f4", N)), "a.to(xp.float64)", "a.astype('f8')", moved=12 * N)
    yield Case("f4 to i8", arrays(a=("f4", N)), "a.to(xp.int64)", "a.astype('i8')", moved=12 * N)
    yield Case("i8 to f4", arrays(a=("i8", N)), "a.to(xp.float32)", "a.astype('f4')", moved=12 * N)
    yield Case("f2 + f2", arrays(a=("f2", N), b=("f2", N)), "a + b", moved=6 * N)
    yield Case("f4 to f2", arrays(a=("f4", N)), "a.to(xp.float16)", "a.astype('f2')", moved=6 * N)
    chain = "(a * b + a) * a - b"
    yield Case(chain, arrays(a=("f4", N), b=("f4", N)), chain, moved=12 * N)
    yield Case(f"compiled {chain}", arrays(a=("f4", N), b=("f4", N)), chain, moved=12 * N, compiled=True)


def curves():
    for n in (1, 10, 100, 1000, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7, 10**8):
        data = arrays(a=("f4", n), b=("f4", n))
        yield Case("a + b", data, "a + b", moved=12 * n, size=n)
        yield Case("exp", data, "xp.exp(a)", moved=8 * n, size=n)
