"""Points at which every differentiable elementwise op has a derivative."""

import elementwise_reference as ref
import numpy as np
import strided as torch

ROWS = {row["name"]: row for row in torch._C.ops_table() if row["differentiable"]}
FLOAT = [n for n, row in ROWS.items() if "float64" in row["out_dtypes"]]
COMPLEX = [n for n, row in ROWS.items() if "complex128" in row["out_dtypes"]]


# Operands without a derivative: NotImplementedError.
NONE = {("nextafter", 0), ("nextafter", 1), ("special.zeta", 0), ("igamma", 0), ("igammac", 0)}


DOMAINS = {
    **ref.DOMAINS, "lgamma": [(0.2, 5)], "digamma": [(0.2, 5)], "polygamma": [(0.5, 5)],
    "special.zeta": [(1.5, 4), (0.5, 4)], "igamma": [(0.5, 4), (0.5, 4)],
    "igammac": [(0.5, 4), (0.5, 4)], "acosh": [(1.2, 4)], "erfinv": [(-0.9, 0.9)], "special.ndtri": [(0.1, 0.9)],
    "logit": [(0.3, 0.7)],
    "asin": [(-0.9, 0.9)], "acos": [(-0.9, 0.9)], "atanh": [(-0.9, 0.9)], "pow": [(0.3, 3), (-2, 2)],
    "sqrt": [(0.3, 3)], "rsqrt": [(0.3, 3)],
    "log": [(0.3, 3)], "log2": [(0.3, 3)], "log10": [(0.3, 3)], "log1p": [(-0.6, 3)], "special.entr": [(0.3, 3)],
    "xlogy": [(-2, 2), (0.3, 3)],
    "sin": [(-3, 3)], "cos": [(-3, 3)], "tan": [(-1.2, 1.2)], "i0": [(-4, 4)], "special.i1": [(-4, 4)],
    "special.i0e": [(-4, 4)],
    "special.i1e": [(-4, 4)], "special.xlog1py": [(-2, 2), (-0.6, 3)], "special.erfcx": [(-1, 4)],
    "hardshrink": [(0.7, 3)],
}  # fmt: skip


def points(name, complex_=False):
    rng = np.random.default_rng(len(name))
    arrays = []
    for i in range(ROWS[name]["arity"]):
        domain = DOMAINS.get(name, [(-3, 3)])
        low, high = domain[i % len(domain)]
        # Different midpoints keep the operands of maximum and the like apart, and values off the integers.
        x = rng.uniform(low, high, 7)
        x = np.where(np.abs(x - np.rint(x)) < 0.05, x + 0.1 * (1 if high > 1 else -1), x)
        arrays.append(x + 1j * rng.uniform(-1, 1, 7) if complex_ else x)
    return arrays


def params_of(name):
    if name == "polygamma":
        return {"n": 1}
    if name == "logit":
        return {"eps": 0.1}
    return {}


def call(name, args):
    if name in ("addcmul", "addcdiv"):
        return torch._C.functions[name](*args[:3], value=1.5)
    return torch._C.functions[name](*args, **params_of(name))


def arity(name):
    return 3 if name in ("addcmul", "addcdiv") else ROWS[name]["arity"]
