"""Points at which every differentiable elementwise op has a derivative."""

import elementwise_reference as ref
import numpy as np
import strided as torch

ROWS = {row["name"]: row for row in torch._C.ops_table() if row["differentiable"]}
FLOAT = [n for n, row in ROWS.items() if "float64" in row["out_dtypes"]]
COMPLEX = [n for n, row in ROWS.items() if "complex128" in row["out_dtypes"]]


# Operands without a derivative: NotImplementedError.
POLYNOMIALS = {name for name in ROWS if "_polynomial_" in name}
# Their derivative is another polynomial times the degree, which has none itself.
ONCE = {"special.chebyshev_polynomial_t", "special.shifted_chebyshev_polynomial_t"}
TWICE = {"special.hermite_polynomial_h", "special.hermite_polynomial_he"}
NONE = (
    {(name, 1) for name in POLYNOMIALS}
    | {(name, 0) for name in POLYNOMIALS - ONCE - TWICE}
    | {("nextafter", 0), ("nextafter", 1), ("special.zeta", 0), ("igamma", 0), ("igammac", 0), ("special.airy_ai", 0)}
)


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
    "special.hermite_polynomial_h": [(-1.5, 1.5), (0, 5)], "special.hermite_polynomial_he": [(-1.5, 1.5), (0, 5)],
    "special.shifted_chebyshev_polynomial_t": [(0.15, 0.85), (0, 12)],
    "hardshrink": [(0.7, 3)], "special.bessel_y0": [(0.5, 8)], "special.bessel_y1": [(0.5, 8)],
    "special.modified_bessel_k0": [(0.5, 4)], "special.modified_bessel_k1": [(0.5, 4)],
    "special.scaled_modified_bessel_k0": [(0.5, 4)], "special.scaled_modified_bessel_k1": [(0.5, 4)],
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
    if name == "threshold":
        return {"threshold": 0.4, "value": 7.0}
    if name == "_threshold_grad":
        return {"threshold": 0.4}
    if name in ("nn.functional.elu", "_elu_grad"):
        return {"alpha": 0.5, "scale": 2.0, "input_scale": 1.5}
    if name in ("nn.functional.softplus", "_softplus_grad"):
        return {"beta": 2.0, "threshold": 1.0}
    return {}


def call(name, args):
    if name in ("addcmul", "addcdiv"):
        return torch._C.functions[name](*args[:3], value=1.5)
    return torch._C.functions[name](*args, **params_of(name))


def arity(name):
    return 3 if name in ("addcmul", "addcdiv") else ROWS[name]["arity"]
