"""Writes special_points.json: values of special functions to 22 digits, made with mpmath.

python tests/python/support/special_points.py
"""

import json
import random
from pathlib import Path

from mpmath import mp

mp.dps = 40

OSCILLATING = [*(0.01, 0.5, 1.3, 2.2, 3.9, 4.6, 4.999, 5.001, 7.7, 12.5, 29.3, 101.5, 1234.5, 65432.1, 1e6 + 0.5)]
DECAYING = [1e-300, 1e-20, 1e-3, 0.03, 0.2, 0.5, 0.9999, 1.0, 1.0001, 1.7, 3.3, 10.5, 21.6, 90.3, 300.1, 600.7]
FUNCTIONS = {
    "bessel_j0": (lambda x: mp.besselj(0, x), OSCILLATING),
    "bessel_j1": (lambda x: mp.besselj(1, x), OSCILLATING),
    "bessel_y0": (lambda x: mp.bessely(0, x), OSCILLATING),
    "bessel_y1": (lambda x: mp.bessely(1, x), OSCILLATING),
    "modified_bessel_k0": (lambda x: mp.besselk(0, x), DECAYING),
    "modified_bessel_k1": (lambda x: mp.besselk(1, x), DECAYING),
    "scaled_modified_bessel_k0": (lambda x: mp.besselk(0, x) * mp.exp(x), DECAYING),
    "scaled_modified_bessel_k1": (lambda x: mp.besselk(1, x) * mp.exp(x), DECAYING),
    "spherical_bessel_j0": (lambda x: mp.sin(x) / x, OSCILLATING),
    "airy_ai": (
        mp.airyai,
        [
            -9999.5,
            -321.3,
            -30.7,
            -8.1,
            -3.001,
            -2.999,
            -1.7,
            -1.001,
            -0.999,
            -0.2,
            0.3,
            0.99,
            1.01,
            2.5,
            7.9,
            33.3,
            99.9,
        ],
    ),
}


def main():
    rng = random.Random(0)
    rows = {}
    for name, (f, points) in FUNCTIONS.items():
        xs = points + [p * rng.uniform(0.9, 1.1) for p in points for _ in range(2)]
        rows[name] = [[x.hex(), mp.nstr(f(mp.mpf(x)), 22)] for x in xs]
    path = Path(__file__).with_suffix(".json")
    text = ",\n".join(f'"{name}": {json.dumps(values)}' for name, values in rows.items())
    path.write_text("{\n" + text + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
