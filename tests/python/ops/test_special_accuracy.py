"""Special functions in float64 against 22 digits (support/special_points.json), and polynomials against exact ones."""

import json
import math
from fractions import Fraction
from pathlib import Path

import elementwise_reference as ref
import numpy as np
import pytest
import strided as torch

POINTS = json.loads((Path(__file__).parents[1] / "support" / "special_points.json").read_text("utf-8"))


def envelope(name, x):
    """What the error is measured by where a function oscillates, that is, next to its zeros."""
    if name == "airy_ai" and x < -1:
        return abs(x) ** -0.25 / math.sqrt(math.pi)
    if name[:8] in ("bessel_j", "bessel_y") and (x > 5 or name[7] == "y"):
        return math.sqrt(2 / math.pi / x)
    return 0.0


@pytest.mark.parametrize("name", POINTS)
def test_within_four_ulp(name):
    f = getattr(torch.special, name)
    xs = [float.fromhex(x) for x, _ in POINTS[name]]
    got = f(torch.tensor(xs, dtype=torch.float64)).tolist()
    single = f(torch.tensor(xs, dtype=torch.float32)).tolist()
    for x, y, s, (_, digits) in zip(xs, got, single, POINTS[name]):
        want = Fraction(digits)
        ulp = np.spacing(max(abs(float(want)), envelope(name, x)))
        # (Y without a fused multiply-add: 4.002)
        most = 5 if name.startswith("bessel_y") else 4
        assert abs(Fraction(y) - want) <= most * Fraction(float(ulp)), (x, y, digits)
        # x itself is rounded for float32: its value is that of the rounded x in float64.
        exact = f(torch.tensor(float(np.float32(x)), dtype=torch.float64))
        if name == "spherical_bessel_j0":  # the one with a path of its own for float32
            assert abs(s - exact.item()) <= np.spacing(np.float32(1))
        else:
            assert s == exact.to(torch.float32).item() or math.isnan(s) and math.isnan(exact)


def test_ends():
    inf, nan = math.inf, math.nan
    x = torch.tensor([0.0, inf, -inf, nan, -1.0], dtype=torch.float64)
    ends = {
        "bessel_j0": [1, 0, 0, nan], "bessel_j1": [0, 0, 0, nan], "bessel_y0": [-inf, 0, nan, nan, nan],
        "bessel_y1": [-inf, 0, nan, nan, nan], "modified_bessel_k0": [inf, 0, nan, nan, nan],
        "modified_bessel_k1": [inf, 0, nan, nan, nan], "scaled_modified_bessel_k0": [inf, 0, nan, nan, nan],
        "scaled_modified_bessel_k1": [inf, 0, nan, nan, nan], "spherical_bessel_j0": [1, 0, 0, nan],
        "airy_ai": [0.355028053887817239, 0, 0, nan],
    }  # fmt: skip
    for name, want in ends.items():
        got = getattr(torch.special, name)(x).numpy()[: len(want)]
        np.testing.assert_array_equal(got, np.array(want, dtype=float), err_msg=name)
    # odd and even
    y = torch.linspace(0.1, 30, 50, dtype=torch.float64)
    assert (torch.special.bessel_j0(-y) == torch.special.bessel_j0(y)).all()
    assert (torch.special.bessel_j1(-y) == -torch.special.bessel_j1(y)).all()
    assert torch.special.modified_bessel_i0 is torch.special.i0 or (torch.special.modified_bessel_i0(y) == y.i0()).all()
    assert (torch.special.modified_bessel_i1(y) == torch.special.i1(y)).all()
    assert torch.special.modified_bessel_k0(torch.tensor(800.0)).item() == 0
    assert torch.special.airy_ai(torch.tensor([200.0, 1e30])).tolist() == [0, 0]
    far = torch.special.airy_ai(torch.tensor([-1e12, -1e100, -1e300], dtype=torch.float64))
    assert (far.abs() < 1e-3).all()


POLYNOMIALS = [name[8:] for name in torch._C.functions if name.startswith("special.") and "_polynomial_" in name]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_correctly_rounded(name):
    """Next to zeros as well, and for high degrees."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1, 1, 30), rng.uniform(-4, 4, 20), [1.0, -1.0, 0.5, 0.0]])
    n = np.concatenate([rng.integers(0, 40, 48), [63, 64, 100, 127, 65, 128]])
    got = getattr(torch.special, name)(torch.tensor(x), torch.tensor(n)).numpy()
    np.testing.assert_allclose(got, ref.REFERENCES["special." + name](x, n), rtol=2e-16, atol=0)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_degrees(name):
    f = getattr(torch.special, name)
    x = torch.tensor([0.25, -2.0, math.nan], dtype=torch.float64)
    assert f(x, 0).tolist() == [1, 1, 1] and f(x, -1).tolist() == [0, 0, 0] and f(x, -0.5).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(f(x, 2.9).numpy(), f(x, 2).numpy())
    assert math.isnan(f(x, 3)[2]) and f(x, math.nan).isnan().all()
    assert f(0.5, torch.tensor([1, 2])).shape == (2,) and f(torch.ones(2, 1), torch.arange(3)).shape == (2, 3)
    assert f(torch.tensor([1]), 2).dtype == torch.float32
    # degrees of any size come to an end; what overflows is infinite
    for n in (10**6, 10**9, 2**62):
        assert f(x[:2], n).shape == (2,)
    big = torch.tensor([1e100, -1e100, math.inf], dtype=torch.float64)
    odd = -1 if name == "laguerre_polynomial_l" else 1
    assert f(big, 5).tolist() == [odd * math.inf, -odd * math.inf, odd * math.inf]
    assert f(big, 6).tolist() == [math.inf] * 3


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_beside_each_other(name):
    """Elements that are computed together have the values that each has alone, whatever stands beside them."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-1.5, 1.5, 30), [0.0, -0.0, 1e30, -1e30, math.inf, -math.inf, math.nan]])
    n = np.concatenate([rng.integers(-2, 70, 30), [0, 5, 1, 3, 2, 3, 4]]).astype(float)
    n[7] = math.nan
    f = getattr(torch.special, name)
    x, n = torch.tensor(x).float().double(), torch.tensor(n)
    alone = torch.cat([f(x[i : i + 1], n[i : i + 1]) for i in range(len(x))])
    for length in (1, 7, 8, 9, 16, 17, 37):
        for start in {0, len(x) - length}:
            part = slice(start, start + length)
            np.testing.assert_array_equal(f(x[part], n[part]).numpy(), alone[part].numpy())
            np.testing.assert_array_equal(f(x[part].float(), n[part].float()).numpy(), alone[part].float().numpy())


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_float32_below_zero(name):
    """Next to zeros and poles as well, in rows with few and with many elements of each."""
    f = getattr(torch, name)
    rng = np.random.default_rng(0)
    poles = -np.arange(8.0)
    near = (poles[:, None] + np.geomspace(1e-6, 0.5, 200) * np.array([1, -1])[:, None, None]).reshape(-1)
    x = torch.tensor(np.concatenate([rng.uniform(-60, 0, 4000), near, poles, [-1e6, -1e30, -math.inf]]))
    for part in (x, x[:4000], x[4000:], x[:1]):
        single = part.float()
        want, got = f(single.double()).numpy(), f(single).numpy()
        finite = np.isfinite(want)
        np.testing.assert_array_equal(got[~finite], want[~finite].astype(np.float32))
        ulp = np.spacing(np.abs(want[finite]).astype(np.float32))
        assert (np.abs(got[finite] - want[finite]) <= 0.6 * ulp).all()


# The logarithm of the absolute value of the gamma function, to 22 digits.
LGAMMA = [
    (1e-90, "2.072326583694641115667e+2"), (0.25, "1.288022524698077457371"), (0.75, "2.032809514312953714814e-1"),
    (0.99999, "5.772238896093089372713e-6"), (1.0000001, "-5.772155829918507096964e-8"),
    (1.25, "-9.827183642181316146385e-2"), (1.75, "-8.440112102048555595779e-2"),
    (1.9999, "-4.227520877215345801134e-5"), (2.0001, "4.228165811291994631743e-5"),
    (2.5, "2.846828704729191596325e-1"), (3.0, "6.931471805599453094172e-1"), (3.0625, "7.515863607495560212857e-1"),
    (3.5, "1.200973602347074224816"), (7.5, "7.534364236758732955158"), (12.25, "1.811566950571089261902e+1"),
    (100.5, "3.614355404677776215553e+2"), (1000000.5, "1.281551147690276564211e+7"),
    (1000000000000000.0, "3.353877639491066890982e+16"), (1e+250, "5.746462732485113755842e+252"),
    (-1e-90, "2.072326583694641115667e+2"), (-0.5, "1.265512123484645396489"), (-0.999, "6.908179385717436328212"),
    (-1.25, "1.36643176123697623455"), (-1.5, "8.600470153764810145109e-1"), (-1.875, "1.524341090755944830722"),
    (-2.0001, "8.517100927455313146837"), (-2.375, "1.582075798955272704738e-1"),
    (-2.4570247382208006, "5.619192358950096450913e-17"), (-2.5, "-5.624371649767405067259e-2"),
    (-2.625, "-1.175111003089048599947e-1"), (-2.75, "4.487897535955773311462e-3"),
    (-2.875, "4.682884165066310681673e-1"), (-3.25, "-6.231534513209986466254e-1"),
    (-3.5, "-1.309006684993042046361"), (-3.9375, "-3.053332227836192173805e-1"),
    (-4.0625, "-4.935939605954715475688e-1"), (-5.5, "-4.517832174007741354379"),
    (-7.9999999, "5.513492959472920595206"), (-10.001, "-8.19900744932894103581"),
    (-20.5, "-4.270719597482576043008e+1"), (-33.25, "-8.444198963688153261132e+1"),
    (-49.75, "-1.460065858725262725601e+2"), (-100.5, "-3.649009683094273518228e+2"),
    (-12345.6789, "-1.039680376863737971634e+5"), (-1000000000.5, "-1.972326585744388564092e+10"),
]  # fmt: skip


def test_lgamma_of_float64():
    """Between zeros and poles as well; in rows of every length, whatever stands beside an element."""
    x = torch.tensor([x for x, _ in LGAMMA], dtype=torch.float64)
    got = torch.lgamma(x)
    for value, (_, digits) in zip(got.tolist(), LGAMMA):
        want = Fraction(digits)
        assert abs(Fraction(value) - want) <= 4 * Fraction(float(np.spacing(abs(float(want))))), (value, digits)
    rng = np.random.default_rng(0)
    ends = [0.0, -0.0, -1.0, -7.0, math.inf, -math.inf, math.nan, 1e306, 5e-324, -5e-324, -(2.0**53), 1.0, 2.0]
    ends = torch.tensor(ends, dtype=torch.float64)
    y = torch.cat([x, ends, torch.tensor(rng.uniform(-4, 4, 100)), torch.tensor(rng.uniform(-60, 60, 100))])
    alone = torch.cat([torch.lgamma(y[i : i + 1]) for i in range(len(y))])
    assert alone[len(x) : len(x) + 6].tolist() == [math.inf] * 6 and alone[len(x) + 6].isnan()
    assert alone[len(x) + 7] == math.inf and alone[len(x) + 10 : len(x) + 13].tolist() == [math.inf, 0, 0]
    assert alone[len(x) + 8] == alone[len(x) + 9] == 1074 * math.log(2)
    for n in (1, 7, 8, 9, 63, len(y)):
        np.testing.assert_array_equal(torch.lgamma(y[:n]).numpy(), alone[:n].numpy())
        np.testing.assert_array_equal(torch.lgamma(y[-n:].clone()).numpy(), alone[-n:].numpy())
        into = y[:n].clone()
        np.testing.assert_array_equal(into.lgamma_().numpy(), alone[:n].numpy())
    np.testing.assert_array_equal(torch.lgamma(y[::2]).numpy(), alone[::2].numpy())


def test_sums_of_powers():
    """zeta and polygamma of rows with odd arguments among usual ones."""
    x = torch.tensor([2.5, 1.0, 0.5, 3.0, 3.0, 3.0, 1e200, math.inf, math.nan, 2.0, 1.001] * 14, dtype=torch.float64)
    q = torch.tensor([1.5, 2.0, 2.0, -1.0, -1.5, 1e-200, 2.0, 0.5, 1.0, math.inf, 300.0] * 14, dtype=torch.float64)
    for n in (11, 3 * 11, len(x)):
        got = torch.special.zeta(x[:n], q[:n]).numpy()
        alone = [torch.special.zeta(x[i : i + 1], q[i : i + 1]).item() for i in range(n)]
        np.testing.assert_array_equal(got, alone)
    ends = torch.special.zeta(x[:11], q[:11])
    assert ends[1] == math.inf and ends[2].isnan() and ends[3] == math.inf and ends[5] == math.inf
    assert ends[6] == 0 and ends[7] == math.inf and ends[8].isnan() and ends[9] == 0
    # (-3/2)^-3 + (-1/2)^-3 + the sum from 1/2 on, 7 zeta(3)
    assert ends[4].item() == pytest.approx(-8 / 27 - 8 + 7 * 1.2020569031595942)
    y = torch.tensor([0.5, -0.5, 0.0, -2.0, 30.0, 1e80, math.inf, -math.inf, math.nan, 1e-90] * 14, dtype=torch.float64)
    for order in (1, 2, 3, 9):
        got = torch.polygamma(order, y).numpy()
        alone = [torch.polygamma(order, y[i : i + 1]).item() for i in range(len(y))]
        np.testing.assert_array_equal(got, alone)
        single = torch.polygamma(order, y.float()).numpy()
        np.testing.assert_array_equal(single, torch.polygamma(order, y.float().double()).float().numpy())
    assert torch.polygamma(1, torch.tensor(0.5)).item() == pytest.approx(math.pi**2 / 2)


def test_derivatives_of_hermite_polynomials():
    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    for f, factor in ((torch.special.hermite_polynomial_h, 2), (torch.special.hermite_polynomial_he, 1)):
        (g,) = torch.autograd.grad(f(x, 5).sum(), [x])
        assert (g == factor * 5 * f(x.detach(), 4)).all()
    with pytest.raises(NotImplementedError, match="the derivative for 'legendre_polynomial_p' is not implemented"):
        torch.special.legendre_polynomial_p(x, 3).sum().backward()
