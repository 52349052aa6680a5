"""What each elementwise op of the table should give, in float64, complex128 or exact integers: one entry for each name.

A reference takes NumPy arrays: float64 for floating dtypes, complex128 for complex ones, and for integers and bool
either the dtype itself or, where ``exact`` stands, Python integers one by one, whose result is wrapped into the dtype.
"""

import math
import statistics
from fractions import Fraction

import numpy as np


class Exact:
    """Different functions for integers (Python ints, wrapped) and for the rest."""

    def __init__(self, integer, other=None):
        self.integer, self.other = integer, other

    def __call__(self, *arrays, **params):
        if arrays[0].dtype.kind in "iu":
            return np.array(
                [self.integer(*map(int, v)) for v in zip(*(a.ravel().tolist() for a in arrays))], dtype=object
            )
        return self.other(*arrays, **params)


def wrap(values, dtype):
    """Python integers modulo 2^bits into a NumPy integer dtype."""
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([int(v) % (1 << bits) for v in values], dtype=np.uint64).astype(f"u{bits // 8}").view(dtype)


def each(function, outside=math.nan):
    """A function of floats applied to each element; ``outside`` where it raises."""

    def one(*x):
        try:
            return function(*x)
        except (ValueError, ZeroDivisionError):
            return outside
        except OverflowError:
            return math.inf

    return lambda *arrays: np.array([one(*v) for v in zip(*(a.tolist() for a in arrays))], dtype=np.float64)


# ---- special functions by slow but plain means


def digamma(x):
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0 and x == math.floor(x):
        return math.nan
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 20:
        shift -= 1 / x
        x += 1
    # Stirling's series, Abramowitz and Stegun 6.3.18
    b = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132]
    return shift + math.log(x) - 0.5 / x - sum(c / x ** (2 * k + 2) for k, c in enumerate(b))


def zeta(s, q):
    """Hurwitz zeta by Euler-Maclaurin summation."""
    n = 30
    total = math.fsum((q + k) ** -s for k in range(n))
    a = q + n
    total += a ** (1 - s) / (s - 1) + 0.5 * a**-s
    term = s * a ** (-s - 1)
    for k, b in enumerate([1 / 12, -1 / 720, 1 / 30240, -1 / 1209600]):
        total += b * term
        term *= (s + 2 * k + 1) * (s + 2 * k + 2) / a**2
    return total


def polygamma(x, n):
    if n == 0:
        return digamma(x)
    return (-1) ** (n + 1) * math.factorial(n) * zeta(n + 1, x)


def igamma(a, x):
    """The series of P(a, x), all terms positive."""
    if x == 0:
        return 0.0
    term = total = 1 / a
    k = a
    while term > total * 1e-18:
        k += 1
        term *= x / k
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a))


_angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)


def bessel(order, scaled):
    """The mean over a period of exp(x cos t) cos(order t); the trapezoidal rule converges exponentially."""

    def value(x):
        return float(np.mean(np.exp(x * np.cos(_angles) - (abs(x) if scaled else 0)) * np.cos(order * _angles)))

    return each(value)


def bessel_j(order):
    """The mean over a period of cos(order t - x sin t)."""

    def value(x):
        return float(np.mean(np.cos(order * _angles - x * np.sin(_angles))))

    return each(value)


_steps = np.linspace(0, 25, 20001)


_nodes, _weights = np.polynomial.legendre.leggauss(40)


def integral(f, begin, end, pieces):
    """Of f by Gauss's rule of 40 points on each of some pieces."""
    half = (end - begin) / pieces / 2
    middles = begin + half * (2 * np.arange(pieces) + 1)
    return half * float((f(middles[:, None] + half * _nodes) * _weights).sum())


def bessel_y(order):
    """NIST DLMF 10.9.7: an integral over a half period, and one to infinity."""

    def value(x):
        near = integral(lambda t: np.sin(x * np.sin(t) - order * t), 0, np.pi, 8)
        far = integral(
            lambda t: (np.exp(order * t) + (-1) ** order * np.exp(-order * t)) * np.exp(-x * np.sinh(t)), 0, 12, 48
        )
        return (near - far) / np.pi

    return each(value)


def bessel_k(order, scaled):
    """The integral of exp(-x cosh t) cosh(order t), t > 0, by the trapezoidal rule."""

    def value(x):
        y = np.exp(-x * (np.cosh(_steps) - (1 if scaled else 0))) * np.cosh(order * _steps)
        return float((y.sum() - 0.5 * y[0]) * (_steps[1] - _steps[0]))

    return each(value)


def airy(x):
    """The power series of Ai (DLMF 9.4.1)."""
    f = g = 0.0
    a, b = 1.0, x
    for k in range(60):
        f, g = f + a, g + b
        a *= x**3 / ((3 * k + 2) * (3 * k + 3))
        b *= x**3 / ((3 * k + 3) * (3 * k + 4))
    return f / (3 ** (2 / 3) * math.gamma(2 / 3)) - g / (3 ** (1 / 3) * math.gamma(1 / 3))


def three_term(first, step):
    """Polynomials p_(k+1) = step(k, x, p_k, p_(k-1)) with p_0 = 1 and p_1 = first(x); exact for rational x."""

    def value(x, n):
        if n <= -1:
            return 0.0
        x, before, last = Fraction(x), Fraction(1), first(Fraction(x))
        if int(n) == 0:
            return 1.0
        for k in range(1, int(n)):
            before, last = last, step(k, x, last, before)
        return float(last)

    return each(value)


def chebyshev(first, shifted=False):
    def at(x):
        return 2 * x - 1 if shifted else x

    return three_term(lambda x: first(at(x)), lambda k, x, p, q: 2 * at(x) * p - q)


CHEBYSHEV = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}


def erfcx(x):
    return math.exp(x * x) * math.erfc(x)


def log_ndtr(x):
    return math.log(0.5 * math.erfc(-x / math.sqrt(2)))


# ---- arithmetic


def real_or(real, complex_):
    return lambda *a, **k: (complex_ if a[0].dtype.kind == "c" else real)(*a, **k)


def sgn(x):
    if x.dtype.kind != "c":
        return sign(x)
    r = np.abs(x)
    return np.where(r == 0, 0, x / np.where(r == 0, 1, r))


def sign(x):
    return np.where(np.isnan(x), 0, np.sign(x)) if x.dtype.kind == "f" else x if x.dtype.kind == "b" else np.sign(x)


def pow_int(a, b):
    if b >= 0:
        return pow(a, b, 1 << 64) if a >= 0 else (1 if b % 2 == 0 else -1) * pow(-a, b, 1 << 64)
    return 1 if a == 1 else (-1 if b % 2 else 1) if a == -1 else 0


def float_power(a, b):
    return np.power(a, b)


def complex_power(a, b):
    with np.errstate(all="ignore"):
        return np.where(b == 0, 1, np.exp(b * np.log(np.where(a == 0, np.nan, a))))


def div_trunc_int(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def round_decimals(x, decimals=0):
    if decimals == 0 or x.dtype.kind != "f":
        return np.rint(x) if x.dtype.kind == "f" else x
    scale = 10.0 ** abs(decimals)
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


def nan_to_num(x, nan=0.0, posinf=None, neginf=None, top=None):
    if x.dtype.kind == "c":
        return nan_to_num(x.real, nan, posinf, neginf, top) + 1j * nan_to_num(x.imag, nan, posinf, neginf, top)
    if x.dtype.kind != "f":
        return x
    x = np.where(np.isnan(x), nan, x)
    x = np.where(x == np.inf, top if posinf is None else posinf, x)
    return np.where(x == -np.inf, -top if neginf is None else neginf, x)


def isclose(a, b, rtol, atol, equal_nan):
    if a.dtype.kind in "iub":
        return np.array([abs(int(x) - int(y)) <= atol + rtol * abs(int(y)) for x, y in zip(a, b)])
    return np.isclose(a, b, rtol, atol, bool(equal_nan))


def logit(x, eps=None):
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(x) - np.log1p(-x)


def lerp(a, b, w):
    return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w))


def logaddexp_complex(a, b):
    big, small = np.where(a.real < b.real, b, a), np.where(a.real < b.real, a, b)
    return big + np.log(1 + np.exp(small - big))


def heaviside(x, v):
    return np.where(x == 0, v, (x > 0).astype(x.dtype))


def shift(left):
    def value(a, b, bits, signed):
        if left:
            return a << b if 0 <= b < bits else 0
        return a >> b if 0 <= b < bits else (-1 if a < 0 else 0)

    def run(a, b):
        bits = 8 * a.dtype.itemsize
        return np.array([value(int(x), int(y), bits, a.dtype.kind == "i") for x, y in zip(a, b)], dtype=object)

    return run


def xlogy_like(log):
    return lambda x, y: np.where((x == 0) & ~np.isnan(y), 0.0, x * log(y))


# ---- activations


def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(input_scale * x))


def elu_grad(g, x, alpha=1.0, scale=1.0, input_scale=1.0):
    return g * np.where(x > 0, scale, scale * alpha * input_scale * np.exp(input_scale * x))


def normal(x):
    return each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def gelu_grad(g, x):
    return g * (normal(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))


def logistic(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def gelu_tanh_grad(g, x):
    k = 2 * math.sqrt(2 / math.pi)
    u = k * (x + 0.044715 * x**3)
    return g * logistic(u) * (1 + x * logistic(-u) * k * (1 + 3 * 0.044715 * x**2))


def silu_grad(g, x):
    return g * np.conj(logistic(x) * (1 + x * (1 - logistic(x))))


def huber(a, b, delta=1.0):
    d = np.abs(a - b)
    return np.where(d < delta, d * d / 2, delta * (d - delta / 2))


def mish_grad(g, x):
    t = np.log1p(np.exp(x))
    return g * (np.tanh(t) + x / np.cosh(t) ** 2 * logistic(x))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def softplus_grad(g, x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, g, g * logistic(x * beta))


def near_zero(x, lambd=0.5):
    return np.where(np.abs(x) <= lambd, 0.0 * x, x - np.copysign(lambd, x))


def threshold(x, threshold, value):
    if x.dtype.kind in "iu":
        low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        threshold, value = (x.dtype.type(min(max(int(v), low), high)) for v in (threshold, value))
    return np.where(x <= threshold, value, x).astype(x.dtype)


def hardtanh(x, min_val=-1.0, max_val=1.0):
    if x.dtype.kind in "iu":
        low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        min_val, max_val = (x.dtype.type(min(max(int(v), low), high)) for v in (min_val, max_val))
    return np.clip(x, min_val, max_val)


def integers(function):
    """One function of Python ints for integer dtypes."""
    return Exact(lambda *v: function(*v))


REFERENCES = {
    # unary
    "abs": Exact(abs, np.abs),
    "neg": Exact(lambda x: -x, np.negative),
    "positive": lambda x: x,
    "sign": sign,
    "sgn": sgn,
    "angle": lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0)) if x.dtype.kind != "c" else np.angle(x),
    "conj_physical": lambda x: np.conj(x) if x.dtype.kind == "c" else x,
    "ceil": lambda x: np.ceil(x) if x.dtype.kind == "f" else x,
    "floor": lambda x: np.floor(x) if x.dtype.kind == "f" else x,
    "trunc": lambda x: np.trunc(x) if x.dtype.kind == "f" else x,
    "frac": lambda x: x - np.trunc(x),
    "round": round_decimals,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": Exact(lambda x: x * x, lambda x: x.astype(np.int64) if x.dtype.kind == "b" else x * x),
    "_cube": lambda x: x * x * x,
    "_huber": huber,
    "_huber_slope": lambda a, b, delta=1.0: np.clip(a - b, -delta, delta),
    "_inverse_square": lambda x: 1 / (x * x),
    "_times_number": lambda x, number=1.0: x * number,
    "_over_number": lambda x, number=1.0: x / number,
    "_sigmoid_backward": lambda g, y: g * np.conj(y * (1 - y)),
    "_tanh_backward": lambda g, y: g * np.conj(1 - y * y),
    "_logsigmoid_grad": lambda g, x: g * logistic(-x),
    "reciprocal": lambda x: 1 / x,
    "exp": np.exp,
    "exp2": real_or(np.exp2, lambda x: np.exp(x * math.log(2))),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
    "relu": lambda x: np.where(x < 0, np.zeros_like(x), x),
    "hardshrink": lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, np.zeros_like(x), x),
    "nan_to_num": nan_to_num,
    # arithmetic
    "add": Exact(lambda a, b: a + b, np.add),
    "sub": Exact(lambda a, b: a - b, np.subtract),
    "mul": Exact(lambda a, b: a * b, np.multiply),
    "div": np.divide,
    "_div_trunc": Exact(div_trunc_int, lambda a, b: np.trunc(a / b)),
    "floor_divide": Exact(lambda a, b: a // b, np.floor_divide),
    "remainder": Exact(lambda a, b: a % b, np.remainder),
    "fmod": Exact(lambda a, b: a - b * div_trunc_int(a, b), np.fmod),
    "pow": Exact(pow_int, real_or(float_power, complex_power)),
    "ldexp": lambda a, b: a * (np.exp2(b) if b.dtype.kind != "c" else np.exp(b * math.log(2))),
    "hypot": np.hypot,
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "nextafter": None,  # depends on the dtype: tested by itself
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "heaviside": heaviside,
    "gcd": integers(math.gcd),
    "lcm": integers(math.lcm),
    # truth values
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "isclose": isclose,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isreal": np.isreal,
    "isfinite": np.isfinite,
    "isposinf": lambda x: x == np.inf,
    "isneginf": lambda x: x == -np.inf,
    "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
    "logical_not": np.logical_not,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_not": np.invert,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": shift(True),
    "bitwise_right_shift": shift(False),
    # special functions
    "erf": each(math.erf),
    "erfc": each(math.erfc),
    "special.erfcx": each(erfcx),
    "erfinv": each(lambda x: statistics.NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)),
    "special.ndtr": each(lambda x: 0.5 * math.erfc(-x / math.sqrt(2))),
    "special.log_ndtr": each(log_ndtr),
    "special.ndtri": each(lambda p: statistics.NormalDist().inv_cdf(p)),
    "lgamma": each(math.lgamma, math.inf),
    "digamma": each(digamma),
    "polygamma": lambda x, n: each(lambda v: polygamma(v, n))(x),
    "special.zeta": each(zeta),
    "igamma": each(igamma),
    "igammac": each(lambda a, x: 1 - igamma(a, x)),
    "i0": bessel(0, False),
    "special.i0e": bessel(0, True),
    "special.i1": bessel(1, False),
    "special.i1e": bessel(1, True),
    "special.bessel_j0": bessel_j(0),
    "special.bessel_j1": bessel_j(1),
    "special.bessel_y0": bessel_y(0),
    "special.bessel_y1": bessel_y(1),
    "special.modified_bessel_k0": bessel_k(0, False),
    "special.modified_bessel_k1": bessel_k(1, False),
    "special.scaled_modified_bessel_k0": bessel_k(0, True),
    "special.scaled_modified_bessel_k1": bessel_k(1, True),
    "special.spherical_bessel_j0": lambda x: np.where(x == 0, 1, np.sin(x) / x),
    "special.airy_ai": each(airy),
    **{f"special.chebyshev_polynomial_{k}": chebyshev(p) for k, p in CHEBYSHEV.items()},
    **{f"special.shifted_chebyshev_polynomial_{k}": chebyshev(p, True) for k, p in CHEBYSHEV.items()},
    "special.hermite_polynomial_h": three_term(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
    "special.hermite_polynomial_he": three_term(lambda x: x, lambda k, x, p, q: x * p - k * q),
    "special.laguerre_polynomial_l": three_term(
        lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)
    ),
    "special.legendre_polynomial_p": three_term(
        lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
    ),
    "logit": logit,
    "sinc": real_or(np.sinc, lambda x: np.where(x == 0, 1, np.sin(np.pi * x) / (np.pi * np.where(x == 0, 1, x)))),
    "special.entr": lambda x: np.where(x == 0, 0.0, np.where(x < 0, -np.inf, -x * np.log(x))),
    "xlogy": xlogy_like(np.log),
    "special.xlog1py": xlogy_like(np.log1p),
    "logaddexp": real_or(np.logaddexp, logaddexp_complex),
    "logaddexp2": np.logaddexp2,
    # activations and their gradients
    "_elu_grad": elu_grad,
    "nn.functional.elu": elu,
    "_gelu_grad": gelu_grad,
    "_gelu": lambda x: x * normal(x),
    "_gelu_tanh_grad": gelu_tanh_grad,
    "_gelu_tanh": gelu_tanh,
    "_silu_grad": silu_grad,
    "nn.functional.silu": lambda x: x * logistic(x),
    "_mish_grad": mish_grad,
    "nn.functional.mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "_softplus_grad": softplus_grad,
    "nn.functional.softplus": softplus,
    "nn.functional.logsigmoid": lambda x: np.where(x < 0, x - np.log1p(np.exp(x)), -np.log1p(np.exp(-x))),
    "nn.functional.tanhshrink": lambda x: x - np.tanh(x),
    "_softsign": lambda x: x / (1 + np.abs(x)),
    "_threshold_grad": lambda g, x, threshold: np.where(x <= threshold, 0, g),
    "threshold": threshold,
    "_hardtanh_grad": lambda g, x, min_val=-1.0, max_val=1.0: np.where((x <= min_val) | (x >= max_val), 0, g),
    "nn.functional.hardtanh": hardtanh,
    "nn.functional.hardsigmoid": lambda x: np.clip((x + 3) / 6, 0, 1),
    "_hardswish_grad": lambda g, x: np.where(x <= -3, 0, np.where(x < 3, g * (x / 3 + 0.5), g)),
    "nn.functional.hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "_softshrink": near_zero,
    "_prelu_grad": lambda g, x, w: np.where(x > 0, g, g * w),
    "_prelu_kernel": lambda x, w: np.where(x > 0, x, x * w),
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope),
    # three and more
    "clamp": lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi),
    "lerp": lerp,
    "addcmul": Exact(lambda a, b, c, v: a + v * b * c, lambda a, b, c, v: a + v * b * c),
    "addcdiv": lambda a, b, c, v: a + v * b / c,
}

# Where the plain reference holds, for each operand: (low, high). Elsewhere the C++ tests have literal values.
DOMAINS = {
    "asin": [(-1, 1)], "acos": [(-1, 1)], "atanh": [(-0.99, 0.99)], "acosh": [(1, 50)],
    "erfinv": [(-0.999, 0.999)], "special.ndtri": [(0.001, 0.999)], "special.erfcx": [(-5, 5)],
    "special.log_ndtr": [(-15, 5)],
    "lgamma": [(-8, 40)], "digamma": [(0.02, 40)], "polygamma": [(0.1, 30)], "special.zeta": [(1.1, 12), (0.1, 10)],
    "igamma": [(0.1, 20), (0.1, 25)], "igammac": [(0.1, 20), (0.1, 25)],
    "i0": [(-20, 20)], "special.i0e": [(-20, 20)], "special.i1": [(-20, 20)], "special.i1e": [(-20, 20)],
    "logit": [(0.01, 0.99)], "special.xlog1py": [(-5, 5), (-0.9, 5)], "sin": [(-100, 100)], "cos": [(-100, 100)],
    "tan": [(-100, 100)],
    "erfc": [(-5, 5)], "sinc": [(-20, 20)], "special.ndtr": [(-5, 5)], "ldexp": [(-5, 5), (-10, 10)],
    "lerp": [(-5, 5)] * 3, "_gelu": [(-5, 20)], "_gelu_grad": [(-5, 5)], "_gelu_tanh": [(-4, 20)],
    "_gelu_tanh_grad": [(-5, 5)], "_silu_grad": [(-20, 20)], "nn.functional.mish": [(-20, 20)],
    "_mish_grad": [(-20, 20)], "special.bessel_j0": [(-20, 20)], "special.bessel_j1": [(-20, 20)],
    "special.bessel_y0": [(0.5, 10)], "special.bessel_y1": [(0.5, 10)], "special.modified_bessel_k0": [(0.01, 20)],
    "special.modified_bessel_k1": [(0.01, 20)], "special.scaled_modified_bessel_k0": [(0.01, 20)],
    "special.scaled_modified_bessel_k1": [(0.01, 20)], "special.spherical_bessel_j0": [(-20, 20)],
    "special.airy_ai": [(-4, 1)], **{f"special.{kind}_polynomial_{k}": [(-1.5, 1.5), (-2, 12)]
        for kind, letters in (("chebyshev", "tuvw"), ("shifted_chebyshev", "tuvw"), ("legendre", "p"),
            ("laguerre", "l"), ("hermite", ("h", "he"))) for k in letters},
}  # fmt: skip

PARAMS = {
    "round": [{}, {"decimals": 2}, {"decimals": -1}],
    "logit": [{}, {"eps": 0.25}],
    "hardshrink": [{}, {"lambd": 2.0}],
    "_times_number": [{"number": 0.3}, {"number": -2.0}],
    "_over_number": [{"number": 0.3}, {"number": -2.0}],
    "polygamma": [{"n": 0}, {"n": 1}, {"n": 3}],
    "nan_to_num": [{}, {"nan": 1.5, "posinf": 2.0, "neginf": -3.0}],
    "nn.functional.elu": [{}, {"alpha": 0.5, "scale": 2.0, "input_scale": 1.5}],
    "_elu_grad": [{}, {"alpha": 0.5, "scale": 2.0, "input_scale": 1.5}],
    "nn.functional.softplus": [{}, {"beta": 2.0, "threshold": 1.0}],
    "_huber": [{}, {"delta": 0.25}],
    "_huber_slope": [{}, {"delta": 0.25}],
    "_softplus_grad": [{}, {"beta": 2.0, "threshold": 1.0}],
    "threshold": [{"threshold": 0.25, "value": 7.0}, {"threshold": 1e30, "value": 100.0}],
    "_threshold_grad": [{"threshold": 0.25}],
    "nn.functional.hardtanh": [{}, {"min_val": -2.0, "max_val": 0.5}],
    "_hardtanh_grad": [{}, {"min_val": -2.0, "max_val": 0.5}],
    "_softshrink": [{}, {"lambd": 2.0}],
    "nn.functional.leaky_relu": [{}, {"negative_slope": 0.25}],
    "isclose": [{"rtol": 0.1, "atol": 0.01, "equal_nan": False}, {"rtol": 0.0, "atol": 1.0, "equal_nan": True}],
}
