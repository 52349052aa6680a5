"""Writes the coefficients of csrc/base/math_bessel.h: rational and polynomial fits, made with mpmath.

    python tools/special_coefficients.py [NAME ...]

A line for each fit: its name, the largest error in bits (relative, or as the weight says), then the coefficients from
the constant term on. Fits are linear least squares of p - f q, reweighted until the errors level out (C. L. Lawson,
"Contributions to the theory of linear least maximum approximation", 1961; the denominators after H. L. Loeb, "On
rational fraction approximations at discrete points", 1957).
"""

import sys

from mpmath import mp, mpf

mp.dps = 50


def levelled(f, low, high, up, down, weight=None):
    """Coefficients of degree `up` over those of degree `down` (constant term 1), and the largest weighted error."""
    n = 4 * (up + down + 2)
    low, high = mpf(low), mpf(high)
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    fs = [f(x) for x in xs]
    scale = [weight(x) if weight else 1 / abs(v) for x, v in zip(xs, fs)]
    level, below, best = [mpf(1)] * n, [mpf(1)] * n, None
    for step in range(10):
        rows, right = mp.matrix(n, up + 1 + down), mp.matrix(n, 1)
        for i, (x, v) in enumerate(zip(xs, fs)):
            w = mp.sqrt(level[i]) * scale[i] / below[i]
            for j in range(up + 1):
                rows[i, j] = w * x**j
            for j in range(1, down + 1):
                rows[i, up + j] = -w * v * x**j
            right[i] = w * v
        c = list(mp.lu_solve(rows.T * rows, rows.T * right))
        p, q = c[: up + 1], [mpf(1), *c[up + 1 :]]
        below = [mp.polyval(q[::-1], x) for x in xs]
        errors = [abs((mp.polyval(p[::-1], x) / d - v) * s) for x, d, v, s in zip(xs, below, fs, scale)]
        if best is None or max(errors) < best[2]:
            best = p, q, max(errors)
        if step >= 2:
            mean = sum(k * e for k, e in zip(level, errors)) / n
            level = [max(k * e / mean, mpf(10) ** -8) for k, e in zip(level, errors)]
    return best


def beside(c, f):
    """(f(x) - c) / x: what is left of a function whose value at 0 is c, so that c is rounded once."""
    return lambda x: (f(x) - c) / x


def about(p, centre):
    """The coefficients of a polynomial in x - centre."""
    return [mp.diff(lambda x: mp.polyval(p[::-1], x), centre, k) / mp.factorial(k) for k in range(len(p))]


def of_square(f):
    return lambda s: f(mp.sqrt(s))


def hankel(order, z):
    """P + i Q w of J + i Y = sqrt(2 / (pi x)) exp(i chi) (P + i Q w), where w = 5 / x and z = w^2."""
    x = 5 / mp.sqrt(z)
    chi = x - (2 * order + 1) * mp.pi / 4
    return (mp.besselj(order, x) + 1j * mp.bessely(order, x)) * mp.sqrt(mp.pi * x / 2) * mp.expj(-chi)


def airy_left(v):
    """P and Q u of Ai(-x) = (sin(t) P - cos(t) Q u) / (sqrt(pi) x^(1/4)), t = zeta + pi/4, u = 1 / zeta, v = u^2."""
    zeta = 1 / mp.sqrt(v)
    x = (1.5 * zeta) ** (mpf(2) / 3)
    a, b = mp.airyai(-x), mp.airybi(-x)
    k, t = mp.sqrt(mp.pi) * x**0.25, zeta + mp.pi / 4
    return k * (a * mp.sin(t) + b * mp.cos(t)), k * (b * mp.sin(t) - a * mp.cos(t)) / mp.sqrt(v)


def airy_right(u):
    zeta = 1 / u
    x = (1.5 * zeta) ** (mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * x**0.25 * mp.exp(zeta) * mp.airyai(x)


def scaled_k(order):
    return lambda u: mp.exp(1 / u) * mp.besselk(order, 1 / u) / mp.sqrt(u)


def one(s):
    return mpf(1)


def same(x):
    return x


z01, z02, z11 = mp.besseljzero(0, 1), mp.besseljzero(0, 2), mp.besseljzero(1, 1)
two_pi = 2 / mp.pi
airy_end = 1 / (mpf(2) / 3 * mpf(3) ** 1.5) ** 2  # x < -3: the oscillating form

# name: (function, interval, degrees, weight)
FITS = {
    "j0": (of_square(lambda x: mp.besselj(0, x) / ((x * x - z01**2) * (x * x - z02**2))), 0, 25, 3, 8),
    "j1": (of_square(lambda x: mp.besselj(1, x) / x / (x * x - z11**2)), 0, 25, 4, 8),
    "y0": (of_square(lambda x: mp.bessely(0, x) - two_pi * mp.log(x) * mp.besselj(0, x)), 0, 25, 6, 7, one),
    "y1": (
        of_square(lambda x: (mp.bessely(1, x) - two_pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x),
        0, 25, 5, 8, mp.sqrt,
    ),
    "p0": (beside(1, lambda z: hankel(0, z).real), 0, 1, 5, 6, same),
    "q0": (lambda z: hankel(0, z).imag / mp.sqrt(z), 0, 1, 6, 7),
    "p1": (beside(1, lambda z: hankel(1, z).real), 0, 1, 5, 6, same),
    "q1": (lambda z: hankel(1, z).imag / mp.sqrt(z), 0, 1, 6, 7),
    "i0": (of_square(lambda x: mp.besseli(0, x)), 0, 1, 7, 0),
    "i1": (of_square(lambda x: mp.besseli(1, x) / x), 0, 1, 7, 0),
    "k0": (of_square(lambda x: mp.besselk(0, x) + mp.log(x) * mp.besseli(0, x)), 0, 1, 7, 0),
    "k1": (of_square(lambda x: (mp.besselk(1, x) - 1 / x - mp.log(x) * mp.besseli(1, x)) / x), 0, 1, 7, 0),
    "scaled_k0": (beside(mp.sqrt(mp.pi / 2), scaled_k(0)), 0, 1, 8, 8, same),
    "scaled_k1": (beside(mp.sqrt(mp.pi / 2), scaled_k(1)), 0, 1, 8, 8, same),
    "airy_p": (beside(1, lambda v: airy_left(v)[0]), 0, airy_end, 6, 7, same),
    "airy_q": (lambda v: airy_left(v)[1], 0, airy_end, 7, 7),
    "airy_right": (beside(1, airy_right), 0, 1.5, 8, 9, same),
    "airy_near": (mp.airyai, -1, 1, 8, 9),
    "airy_middle": (lambda t: mp.airyai(t - 2), -1, 1, 18, 0, one),  # in x + 2
}  # fmt: skip


def main(names):
    for name in names or FITS:
        p, q, error = levelled(*FITS[name])
        print(f"{name}: 2^{float(mp.log(error, 2)):.1f}")
        if name in ("j0", "j1", "y0", "y1"):  # the numerator in x^2 - 12.5, where its terms do not cancel
            p = about(p, mpf(12.5))
        print("  ", ", ".join(mp.nstr(c, 18) for c in p))
        if len(q) > 1:
            print(" /", ", ".join(mp.nstr(c, 18) for c in q))


if __name__ == "__main__":
    main(sys.argv[1:])
