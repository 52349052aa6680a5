"""Products of matrices, vectors and batches."""

from case import Case, arrays


def square(n, dtype="f4", **more):
    times = 8 if dtype[0] == "c" else 2
    data = arrays(a=(dtype, n, n), b=(dtype, n, n))
    return Case(f"a @ b {dtype} {n}", data, "a @ b", flops=times * n**3, double=dtype in ("f8", "c16"), **more)


def cases():
    for n in (16, 32, 64, 100, 128, 256, 500, 512, 1000, 1024, 2000):
        yield square(n)
    for dtype in ("f8", "c8", "c16"):
        for n in (64, 256, 1000):
            yield square(n, dtype)
    n = 1000
    pair = arrays(a=("f4", n, n), b=("f4", n, n), v=("f4", n))
    yield Case("a.T @ b f4 1000", pair, "a.T @ b", flops=2e9)
    yield Case("a @ b.T f4 1000", pair, "a @ b.T", flops=2e9)
    yield Case("a @ b f4 1000 after a pause", pair, "a @ b", flops=2e9, rested=True)
    yield Case("a @ v f4 1000", pair, "a @ v", moved=4e6)
    yield Case("v @ a f4 1000", pair, "v @ a", moved=4e6)
    yield Case("outer f4 1000", pair, "xp.outer(v, v)", moved=4e6)
    yield Case("dot f4 1e6", arrays(a=("f4", 10**6), b=("f4", 10**6)), "xp.dot(a, b)", moved=8e6)
    for m, k, p in (
        (1000, 16, 1000),
        (16, 1000, 16),
        (10000, 64, 64),
        (64, 10000, 64),
        (1, 1000, 1000),
        (1000, 1000, 8),
    ):
        yield Case(f"a @ b f4 {m}x{k}x{p}", arrays(a=("f4", m, k), b=("f4", k, p)), "a @ b", flops=2 * m * k * p)
    for count, n in ((10000, 4), (1000, 16), (1000, 32), (100, 64), (16, 256)):
        yield Case(
            f"batch f4 {count} of {n}",
            arrays(a=("f4", count, n, n), b=("f4", count, n, n)),
            "a @ b",
            flops=2 * count * n**3,
        )
    yield Case("a @ b i8 200", arrays(a=("i8", 200, 200), b=("i8", 200, 200)), "a @ b")
    low = "a, b = a.to(xp.bfloat16), b.to(xp.bfloat16)"
    yield Case("a @ b bf16 1000", arrays(a=("f4", 1000, 1000), b=("f4", 1000, 1000)), "a @ b", None, None, setup=low)
    text = "xp.einsum('bij,bkj->bik', a, b)"
    yield Case(
        "einsum bij,bkj->bik", arrays(a=("f4", 32, 128, 64), b=("f4", 32, 128, 64)), text, flops=2 * 32 * 128 * 128 * 64
    )


def curves():
    for n in (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 100, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096):
        case = square(n, size=n)
        case.name = "a @ b"
        yield case
    for count in (1, 10, 100, 1000, 10**4, 10**5):
        yield Case(
            "batch of 8x8",
            arrays(a=("f4", count, 8, 8), b=("f4", count, 8, 8)),
            "a @ b",
            flops=1024 * count,
            size=count,
        )
