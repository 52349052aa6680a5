"""Factorisations, systems of equations and decompositions."""

from case import Case, arrays


def system(n, right=1, dtype="f4", batch=()):
    def make():
        import numpy as np

        made = arrays(a=(dtype, *batch, n, n), b=(dtype, *batch, n, right))()
        symmetric = made["a"] @ np.swapaxes(made["a"], -1, -2) + n * np.eye(n, dtype=dtype)
        return made | {"a": made["a"] + 3 * np.eye(n, dtype=dtype), "s": symmetric}

    return make


def cases():
    for dtype in ("f4", "f8"):
        double = dtype == "f8"
        for n in (3, 10, 30, 100, 300, 1000, 2000):
            yield Case(
                f"solve {dtype} {n}", system(n, dtype=dtype), "xp.linalg.solve(a, b)", flops=2 / 3 * n**3, double=double
            )
        for n in (100, 1000):
            made = system(n, dtype=dtype)
            yield Case(f"inv {dtype} {n}", made, "xp.linalg.inv(a)", flops=2 * n**3, double=double)
            yield Case(f"det {dtype} {n}", made, "xp.linalg.det(a)", flops=2 / 3 * n**3, double=double)
            yield Case(f"cholesky {dtype} {n}", made, "xp.linalg.cholesky(s)", flops=n**3 / 3, double=double)
            lower = "xp.linalg.solve_triangular(a, s, upper=False)"
            jax = "lib.scipy.linalg.solve_triangular(a, s, lower=True)"
            scipy = "lib.linalg.solve_triangular(a, s, lower=True, check_finite=False)"
            yield Case(f"triangular {dtype} {n}", made, lower, None, jax, scipy, flops=n**3, double=double)
    for n in (3, 16, 64, 300):
        made = system(n, dtype="f8")
        yield Case(f"qr f8 {n}", made, "xp.linalg.qr(a)", flops=4 / 3 * n**3, double=True)
        yield Case(f"eigh f8 {n}", made, "xp.linalg.eigh(s)")
        yield Case(f"svd f8 {n}", made, "xp.linalg.svd(a)")
        yield Case(f"eigvals f8 {n}", made, "xp.linalg.eigvals(a)")
    for count, n in ((100_000, 3), (10_000, 8), (1000, 32)):
        made = system(n, batch=(count,))
        yield Case(f"batch solve f4 {count} of {n}", made, "xp.linalg.solve(a, b)")
        yield Case(f"batch inv f4 {count} of {n}", made, "xp.linalg.inv(a)")
        yield Case(f"batch cholesky f4 {count} of {n}", made, "xp.linalg.cholesky(s)")
        if count < 100_000:
            yield Case(f"batch qr f4 {count} of {n}", made, "xp.linalg.qr(a)")
            yield Case(f"batch eigh f4 {count} of {n}", made, "xp.linalg.eigh(s)")
    yield Case("matrix_exp f8 100", arrays(a=("f8", 100, 100)), "xp.linalg.matrix_exp(a / 100)", None,
               "lib.scipy.linalg.expm(a / 100)", "lib.linalg.expm(a / 100)")  # fmt: skip


def curves():
    for n in (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048):
        yield Case("solve f4", system(n), "xp.linalg.solve(a, b)", flops=2 / 3 * n**3, size=n)
        yield Case("cholesky f8", system(n, dtype="f8"), "xp.linalg.cholesky(s)", flops=n**3 / 3, double=True, size=n)
    for count in (1, 10, 100, 1000, 10**4, 10**5, 10**6):
        yield Case("batch solve of 3", system(3, batch=(count,)), "xp.linalg.solve(a, b)", size=count)
