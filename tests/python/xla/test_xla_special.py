"""Special functions made of sums and loops, beside the CPU, over their ranges and at the ends of these."""

import strided as torch
from strided import special
from xla_calls import check_program

INF, NAN = float("inf"), float("nan")
EDGES = [0.0, -0.0, INF, -INF, NAN, 1, 2, -2, 3, 18, 709, 712, -27]


def points():
    logs = torch.logspace(-8, 5, 27, dtype=torch.float64)
    edges = torch.tensor(EDGES, dtype=torch.float64)
    return torch.cat([torch.linspace(-40, 40, 161, dtype=torch.float64), logs, -logs, edges])


BESSEL = """i0 i0e bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 erfcx log_ndtr
scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0""".split()


def test_functions_of_one_number():
    check_program(lambda x: {name: getattr(special, name)(x) for name in BESSEL}, points())
    # The phase loses digits as the argument grows, and so do two programs that round it differently.
    check_program(lambda x: [special.airy_ai(x)], torch.cat([torch.linspace(-40, 40, 161), torch.tensor(EDGES)]))


def test_incomplete_gamma_functions():
    a = torch.tensor([0, 1e-3, 0.3, 1, 2.5, 10, 50, 1000, 1e5, INF, -1, NAN], dtype=torch.float64)[:, None]
    x = torch.tensor([0, 1e-6, 0.1, 0.5, 1, 2, 9, 11, 45, 60, 990, 1e3, 1.1e3, 1e5, INF, -1, NAN], dtype=torch.float64)
    check_program(lambda a, x: [special.gammainc(a, x), special.gammaincc(a, x)], a, x)


POLYNOMIALS = [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


def test_polynomials():
    n = torch.tensor([-2.0, -0.5, 0, 1, 2, 3, 7.5, 30, 100, NAN, INF], dtype=torch.float64)[:, None]
    ends = torch.tensor([1e5, -1e5, INF, -INF, NAN, 1, -1], dtype=torch.float64)
    x = torch.cat([torch.linspace(-3, 3, 31, dtype=torch.float64), ends])
    check_program(lambda x, n: {name: getattr(special, name)(x, n) for name in POLYNOMIALS}, x, n)


def test_common_divisors():
    a = torch.tensor([0, 0, 6, -6, 12, 127, -128, 100, 1], dtype=torch.int8)
    b = torch.tensor([0, 5, 4, 4, -18, 127, 3, 75, -1], dtype=torch.int8)

    def program(a, b):
        wide = a.long() * 1_000_000_007, b.long() * 1_000_000_007
        return [torch.gcd(a, b), torch.lcm(a, b), torch.gcd(*wide), torch.gcd(a.int(), b.int()), torch.lcm(*wide)]

    check_program(program, a, b)


def test_logaddexp_of_complex_numbers():
    z = torch.tensor([1 + 2j, -300 + 1j, complex(-INF, 1), 5 - 3j], dtype=torch.complex128)
    w = torch.tensor([1 - 2j, 300 + 2j, complex(-INF, 2), -5 + 3j], dtype=torch.complex128)
    check_program(lambda z, w: [torch.logaddexp(z, w)], z, w)


def test_gradients():
    def program(x):
        x = x.detach().requires_grad_()
        total = torch.nn.functional.mish(x) + special.i0(x) + special.log_ndtr(x) + special.modified_bessel_k0(x)
        total.sum().backward()
        return [x.grad]

    check_program(program, torch.linspace(0.1, 4, 9, dtype=torch.float64))
