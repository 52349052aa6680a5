"""The cases of bench/gpu.py that are not limited by memory alone: products, linear systems, scans and sorts.

A case is (name, amount, unit, operands, work): `amount` of `unit` is done by one call, `operands` makes them for a
library, and `work` gives the call, or None where the library has no such function. PyTorch and CuPy call cuBLAS and
cuSOLVER: they are the yardstick.
"""


def product_cases(smoke):
    sizes = (64,) if smoke else (512, 1024, 2048, 4096, 8192)

    def multiply(lib, a, b):
        return lambda: a @ b

    cases = []
    for dtype in ("float32", "bfloat16", "float16", "float64", "complex64"):
        for n in sizes if dtype in ("float32", "bfloat16") else sizes[-2:-1] or sizes:

            def operands(lib, n=n, dtype=dtype):
                return lib.rand(n, n, dtype=dtype), lib.rand(n, n, dtype=dtype)

            cases.append(
                (
                    f"{dtype} {n} x {n} @ {n} x {n}",
                    (8 if dtype == "complex64" else 2) * n**3,
                    "FLOP",
                    operands,
                    multiply,
                )
            )
    n = sizes[-2] if len(sizes) > 1 else sizes[0]
    square = lambda lib: (lib.rand(n, n), lib.rand(n, n))
    cases += [
        (f"float32 {n}, A transposed", 2 * n**3, "FLOP", square, lambda lib, a, b: lambda: a.T @ b),
        (f"float32 {n}, B transposed", 2 * n**3, "FLOP", square, lambda lib, a, b: lambda: a @ b.T),
        (f"float32 {n} x {n} @ {n} x 8", 4 * n * n, "B", lambda lib: (lib.rand(n, n), lib.rand(n, 8)), multiply),
        (f"matrix {n} x {n} @ vector", 4 * n * n, "B", lambda lib: (lib.rand(n, n), lib.rand(n)), multiply),
        (
            f"transposed {n} x {n} @ vector",
            4 * n * n,
            "B",
            lambda lib: (lib.rand(n, n), lib.rand(n)),
            lambda lib, a, x: lambda: a.T @ x,
        ),
        ("dot product", 8 * n * n, "B", lambda lib: (lib.rand(n * n), lib.rand(n * n)), multiply),
        (f"float32 32 x {n} @ {n} x 32", 8 * 32 * n, "B", lambda lib: (lib.rand(32, n), lib.rand(n, 32)), multiply),
    ]
    for s in (4, 8, 16, 32, 64):
        batch = 10 if smoke else 2**24 // (s * s)
        cases.append((f"{batch} x ({s} x {s} @ {s} x {s})", 12 * batch * s * s, "B",
                      lambda lib, s=s, batch=batch: (lib.rand(batch, s, s), lib.rand(batch, s, s)),
                      multiply))  # fmt: skip
    return cases


def system_cases(smoke):
    def regular(lib, *shape):
        return lib.rand(*shape) + lib.xp.eye(shape[-1], **({} if lib.is_cupy else {"device": "cuda"})) * shape[-1]

    def linalg(name):
        def work(lib, *operands):
            f = getattr(lib.xp.linalg, name, None)
            return f and (lambda: f(*operands))

        return work

    cases = []
    for n in (20,) if smoke else (500, 1000, 2000, 4000, 8000):
        cases.append(
            (f"solve {n}", 2 * n**3 / 3, "FLOP", lambda lib, n=n: (regular(lib, n, n), lib.rand(n, 1)), linalg("solve"))
        )
    for n in (20,) if smoke else (1000, 4000):
        spd = lambda lib, n=n: (
            lambda a: (a @ a.T / n + lib.xp.eye(n, **({} if lib.is_cupy else {"device": "cuda"})),)
        )(lib.rand(n, n))
        cases += [
            (f"inv {n}", 2 * n**3, "FLOP", lambda lib, n=n: (regular(lib, n, n),), linalg("inv")),
            (f"cholesky {n}", n**3 / 3, "FLOP", spd, linalg("cholesky")),
            (f"solve {n}, float64", 2 * n**3 / 3, "FLOP",
             lambda lib, n=n: (lib.cast(regular(lib, n, n), "float64"), lib.cast(lib.rand(n, 1), "float64")),
             linalg("solve")),
        ]  # fmt: skip
    for n in (3, 8, 16, 32):
        for batch in (10,) if smoke else (1000, 100000):
            matrices = lambda lib, n=n, batch=batch: (regular(lib, batch, n, n),)
            systems = lambda lib, n=n, batch=batch: (regular(lib, batch, n, n), lib.rand(batch, n, 1))
            cases += [
                (f"{batch} x lu_factor {n}", batch * 2 * n**3 / 3, "FLOP", matrices, linalg("lu_factor")),
                (f"{batch} x solve {n}", batch * 2 * n**3 / 3, "FLOP", systems, linalg("solve")),
                (f"{batch} x inv {n}", batch * 2 * n**3, "FLOP", matrices, linalg("inv")),
                (f"{batch} x det {n}", batch * 2 * n**3 / 3, "FLOP", matrices, linalg("det")),
            ]
    return cases


def order_cases(smoke):
    n, side = (1000, 30) if smoke else (2**26, 8192)

    def softmax(lib, x):
        return None if lib.is_cupy else lambda: lib.xp.softmax(x, 1)

    def argsort(lib, x):
        return lambda: lib.xp.argsort(x)

    one = lambda lib: (lib.rand(n),)
    rows = lambda lib: (lib.rand(side, side),)
    many = lambda lib: (lib.rand(n // 64, 64),)
    return [
        ("cumsum", 8 * n, "B", one, lambda lib, x: lambda: x.cumsum(0)),
        ("cumsum of rows", 8 * side * side, "B", rows, lambda lib, x: lambda: x.cumsum(1)),
        ("cumsum of columns", 8 * side * side, "B", rows, lambda lib, x: lambda: x.cumsum(0)),
        ("cummax", 16 * n, "B", one, lambda lib, x: None if lib.is_cupy else lambda: x.cummax(0)),
        ("softmax of rows", 8 * side * side, "B", rows, softmax),
        ("sort float32", n, "elements", one, lambda lib, x: lambda: lib.xp.sort(x)),
        ("argsort float32", n, "elements", one, argsort),
        ("sort int64", n, "elements", lambda lib: (lib.integers(2**40, n),), lambda lib, x: lambda: lib.xp.sort(x)),
        ("sort rows of 64", n, "elements", many, lambda lib, x: lambda: lib.xp.sort(x)),
        ("topk 10", n, "elements", one, lambda lib, x: None if lib.is_cupy else lambda: lib.xp.topk(x, 10)),
        ("median", n, "elements", one, lambda lib, x: lambda: lib.xp.median(x)),
        ("unique", n, "elements", lambda lib: (lib.integers(1000, n),), lambda lib, x: lambda: lib.xp.unique(x)),
        ("searchsorted", n, "elements", lambda lib: (lib.xp.sort(lib.rand(n // 8)), lib.rand(n)),
         lambda lib, s, x: lambda: lib.xp.searchsorted(s[0] if isinstance(s, tuple) else s, x)),
    ]  # fmt: skip


def all_cases(smoke):
    return product_cases(smoke) + system_cases(smoke) + order_cases(smoke)


def tile_cases(lib, seconds_of, smoke, only):
    """(name, work): every tile of the table for a few shapes, in FLOP/s: where the speeds in csrc/cuda/gemm_*.cu come
    from."""
    force = __import__("strided")._C.functions["_cuda_force_gemm_tile"]
    shapes = (
        [(40, 40, 40)]
        if smoke
        else [(n, n, n) for n in (4096, 256, 512, 1024, 2048, 8192)]
        + [(8192, 64, 8192), (64, 64, 65536), (4096, 4096, 64)]
    )

    def measure(dtype, m, n, k):
        a, b = lib.rand(m, k, dtype=dtype), lib.rand(k, n, dtype=dtype)
        rates = []
        for tile in (0, 1, 2, 3, 4, 5, 6, -1):
            force(tile)
            try:
                seconds = seconds_of(lib, lambda: a @ b, 1 if smoke else 3, 1 if smoke else 3)
            except ValueError:  # the table of this dtype is shorter, or for other devices
                rates.append(None)
            else:
                rates.append(2 * m * n * k / max(seconds, 1e-12) / 1e9)
            finally:
                force(-1)
        print(
            f"  {dtype:10} {m:>6} x {n:>6} x {k:>6}" + "".join(f"{'-' if r is None else f'{r:.0f}':>10}" for r in rates)
        )
        return {"dtype": dtype, "shape": [m, n, k], "gflops": rates}

    return [
        (f"tiles of {dtype} {m} x {n} x {k}", lambda case=(dtype, m, n, k): measure(*case))
        for dtype in ("bfloat16", "float32", "float64", "complex64", "int32")
        if only in dtype
        for m, n, k in shapes
    ]
