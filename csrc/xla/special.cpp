#include "xla/special.h"

#include <limits>
#include <vector>

#include "base/math_basic.h"
#include "xla/loop.h"

namespace strided::xla {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kGamma = 0.57721566490153286061;
using math::kPi;

template <class F>
Num in_double(const Num& x, F f) {
  return cast(f(cast(x, DType::Float64)), x.v->dtype);
}
template <class F>
Num in_double(const Num& x, const Num& y, F f) {
  return cast(f(cast(x, DType::Float64), cast(y, DType::Float64)), x.v->dtype);
}

// c[0] + c[1] x + ...
Num polynomial(const std::vector<double>& c, const Num& x) {
  Num sum = x.like(c.back());
  for (size_t k = c.size() - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}
// sign^k t^k / (k! (k + order)!) times weight(k).
template <class F>
Num power_series(int terms, double sign, int order, const Num& t, F weight) {
  std::vector<double> c;
  double factor = 1;  // order is 0 or 1, so 1 / order! is 1
  for (int k = 0; k < terms; ++k) {
    c.push_back(factor * weight(k));
    factor *= sign / ((k + 1.0) * (k + 1.0 + order));
  }
  return polynomial(c, t);
}
double one(int) { return 1; }
double harmonic(int k) {
  double sum = 0;
  for (int j = 1; j <= k; ++j) sum += 1.0 / j;
  return sum;
}
double two_digammas(int k) { return harmonic(k) + harmonic(k + 1) - 2 * kGamma; }

// Integrals by the trapezoidal rule
// The integral of exp(-s^2) f(s) over s >= 0, f even and smooth: the error of the trapezoidal rule is exp(-2 pi d / h)
// where the nearest singularity of f is d away from the axis (L. N. Trefethen, J. A. C. Weideman, "The exponentially
// convergent trapezoidal rule", SIAM Review 56 (2014)).
template <class F>
void for_points(double h, double decay, F f) {
  for (int j = 0; decay * (j * h) * (j * h) < 38; ++j) f(j * h, j == 0 ? h / 2 : h);
}

// DLMF 10.31.2, 10.31.1
Num k_near(int order, const Num& x) {
  const Num t = x * x / 4, log_half = log(x / 2);
  const Num i = power_series(14, 1, order, t, one);
  if (order == 0) return power_series(14, 1, 0, t, harmonic) - (log_half + kGamma) * i;
  return where(x == 0.0, kInf, 1 / x + log_half * i * (x / 2) - power_series(14, 1, 1, t, two_digammas) * (x / 4));
}
// exp(x) K(x), from DLMF 10.32.9 with sinh(t / 2) = s / sqrt(2 x).
Num k_far(int order, const Num& x) {
  Num sum = x.like(0);
  for_points(0.2, 1, [&](double s, double weight) {
    const Num root = 1 / sqrt(x * 2 + s * s);
    sum = sum + (order == 0 ? root : root * (s * s / x + 1)) * (2 * weight * std::exp(-s * s));
  });
  return sum;
}

// K(-i x) exp(-i x), which is H(x), up to a factor: DLMF 10.27.8. x > 0.
struct Wave {
  Num re, im;
};
Wave wave(int order, const Num& x) {
  Num re = x.like(0), im = x.like(0);
  for_points(0.2, 1, [&](double s, double weight) {
    const Num ratio = s * s / x, size = sqrt(ratio * ratio + 4);
    const Num p = sqrt((size + ratio) / 2), q = 1 / p;
    const Num scale = (2 * weight * std::exp(-s * s)) / size;
    re = re + scale * (order == 0 ? p : p - q * ratio);
    im = im + scale * (order == 0 ? q : q + p * ratio);
  });
  const Num root = sqrt(x);
  return {re / root, im / root};
}
struct CylinderPair {
  Num j, y;
};
CylinderPair cylinder_far(int order, const Num& x) {
  const Wave f = wave(order, x);
  const Num c = cos(x), s = sin(x);
  if (order == 0) return {(c * f.im + s * f.re) * (2 / kPi), (s * f.im - c * f.re) * (2 / kPi)};
  return {(s * f.im - c * f.re) * (2 / kPi), (s * f.re + c * f.im) * (-2 / kPi)};
}
Num j_near(int order, const Num& x) {
  const Num sum = power_series(18, -1, order, x * x / 4, one);
  return order == 0 ? sum : sum * (x / 2);
}
// DLMF 10.8.2, 10.8.1
Num y_near(int order, const Num& x) {
  const Num t = x * x / 4, log_half = log(x / 2), j = j_near(order, x);
  if (order == 0) return ((log_half + kGamma) * j - power_series(18, -1, 0, t, harmonic)) * (2 / kPi);
  const Num rest = power_series(18, -1, 1, t, two_digammas) * x * (-0.5 / kPi);
  return where(x == 0.0, -kInf, rest + log_half * j * (2 / kPi) - (2 / kPi) / x);
}

Num erfcx_double(const Num& x) {
  Num sum = x.like(0);
  const Num far = larger(x, x.like(2));
  for_points(0.25, 1, [&](double s, double weight) {
    const Num ratio = s / far;
    sum = sum + (weight * std::exp(-s * s)) / (ratio * ratio + 1);
  });
  return where(x < 2.0, exp(x * x) * erfc(x), sum * (2 / kPi) / far);
}

Num i0e_double(const Num& x) {
  const Num a = abs(x), near = smaller(a, a.like(18)), far = larger(a, a.like(18));
  std::vector<double> c{1};
  for (int k = 1; k < 30; ++k) c.push_back(c.back() * (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k));
  const Num small = power_series(46, 1, 0, near * near / 4, one) * exp(-near);
  return where(a < 18.0, small, polynomial(c, 1 / far) / sqrt(far * (2 * kPi)));  // DLMF 10.40.1
}

Value any(const Num& x) {
  Dims axes;
  for (int i = 0; i < x.v->shape.ndim(); ++i) axes.push_back(i);
  return fold("stablehlo.or", x.v, constant_int(0, DType::Bool), axes);
}
Num is_odd(const Num& degree) { return mod(degree, degree.like(2)) == 1.0; }

constexpr double kMostSteps = 1000000;  // of a recurrence; for more: NaN, as on the CPU

// What is left to do about degrees: 0 below 0, NaN where the degree is no number, or is too large.
Num with_degrees(const Num& value, const Num& n, double most) {
  const Num above = (n < most) | (n == most);
  return where(above, where(n > -1.0, value, 0.0), value.like(NAN));
}
Num signed_infinity(const Num& x, const Num& degree) {
  return where((x < 0.0) & is_odd(degree), x.like(-kInf), x.like(kInf));
}

// value and what steps it, from degree 1 on, while values are finite.
template <class F>
Num recurrence(const Num& x, const Num& degree, const Num& value, const Num& other, F step) {
  const Num k(constant(1, x.v->dtype));
  const Values end = loop(
      {k.v, x.v, degree.v, value.v, other.v, ((degree > 1.0) & finite(value)).v},
      [&](const Values& v) { return any(Num(v[5])); },
      [&](const Values& v) {
        const Num k(v[0]), wide(broadcast(v[0], v[1]->shape)), x(v[1]), n(v[2]), going(v[5]);
        const auto [next, beside] = step(wide, x, Num(v[3]), Num(v[4]));
        const Num now = where(going, next, Num(v[3]));
        return Values{(k + 1).v, x.v, n.v, now.v, beside.v, (going & (wide + 1 < n) & finite(now)).v};
      });
  return Num(end[3]);
}

}  // namespace

Num erfcx(const Num& x) { return in_double(x, erfcx_double); }
Num log_ndtr(const Num& x) {
  return in_double(x, [](const Num& x) {
    const Num t = x * 0.70710678118654752440;
    return where(x < -1.0, log(erfcx_double(-t) / 2) - t * t, log1p(erfc(t) * -0.5));
  });
}

Num bessel_i0(const Num& x, bool scaled) {
  return in_double(x, [&](const Num& x) {
    const Num value = i0e_double(x), half = exp(abs(x) / 2);
    return scaled ? value : where(abs(x) == kInf, kInf, value * half * half);
  });
}
Num bessel_k(int order, const Num& x, bool scaled) {
  return in_double(x, [&](const Num& x) {
    const Num far = k_far(order, larger(x, x.like(1))), near = k_near(order, smaller(x, x.like(1)));
    return where(x < 1.0, scaled ? near * exp(x) : near, scaled ? far : far * exp(-x));
  });
}
Num bessel_j(int order, const Num& x) {
  return in_double(x, [&](const Num& x) {
    const Num a = abs(x), far = cylinder_far(order, larger(a, a.like(2))).j;
    const Num value = where(a == kInf, 0.0, where(a < 2.0, j_near(order, smaller(a, a.like(2))), far));
    return order == 0 ? value : where(x < 0.0, -value, value);
  });
}
Num bessel_y(int order, const Num& x) {
  return in_double(x, [&](const Num& x) {
    const Num far = cylinder_far(order, larger(x, x.like(2))).y, near = y_near(order, smaller(x, x.like(2)));
    return where(x == kInf, 0.0, where(x < 2.0, near, far));
  });
}
Num spherical_bessel_j0(const Num& x) {
  return where(x == 0.0, 1.0, where(abs(x) == kInf, 0.0, sin(x) / where(x == 0.0, 1.0, x)));
}

// DLMF 9.4.1 near 0; far from it 9.5.8, with t = s / |x|^(1/4), and 9.2.14 for negative numbers.
Num airy_ai(const Num& x) {
  return in_double(x, [](const Num& x) {
    const Num near = smaller(larger(x, x.like(-2)), x.like(2)), cube = near * near * near;
    std::vector<double> f{1}, g{1};
    for (int k = 1; k < 18; ++k) {
      f.push_back(f.back() / ((3.0 * k - 1) * (3.0 * k)));
      g.push_back(g.back() / ((3.0 * k) * (3.0 * k + 1)));
    }
    const Num middle =
        polynomial(f, cube) * 0.35502805388781723926 - polynomial(g, cube) * near * 0.25881940379280679840;
    const Num a = larger(abs(x), x.like(2)), root = sqrt(a), quarter = sqrt(root), zeta = a * root * (2.0 / 3);
    const Num bend = 1 / (root * quarter * 3);
    Num right = x.like(0), re = x.like(0), im = x.like(0);
    for_points(0.15, 0.866, [&](double s, double weight) {
      const Num c = cos(bend * (s * s * s));
      const double slow = weight * std::exp(-s * s * std::sqrt(0.75));
      right = right + c * (weight * std::exp(-s * s));
      re = re + c * (slow * std::cos(s * s / 2));
      im = im - c * (slow * std::sin(s * s / 2));
    });
    const Num turn = kPi / 3 - zeta;
    const Num left = (cos(turn) * re - sin(turn) * im) * (2 / kPi) / quarter;
    const Num outside = where(x < 0.0, left, exp(-zeta) * right / quarter / kPi);
    return where(abs(x) == kInf, 0.0, where(abs(x) < 2.0, middle, where(nan(x), x, outside)));
  });
}

// The series for P where x < a + 1, else the continued fraction for Q (W. H. Press et al., "Numerical Recipes", 6.2),
// by Lentz's method. Digits get lost as a grows: about its logarithm, in tens.
Num incomplete_gamma(const Num& input, const Num& other, bool upper) {
  return in_double(input, other, [&](const Num& given_a, const Num& given_x) {
    const Num usual = (given_a > 0.0) & (given_x > 0.0) & finite(given_a) & finite(given_x);
    const Num a = where(usual, given_a, 1.0), x = where(usual, given_x, 1.0), series = x < a + 1;
    const double tiny = 1e-300;
    auto away = [&](const Num& v) { return where(abs(v) < tiny, tiny, v); };
    const Num first = 1 / away(x + 1 - a), term = 1 / a;
    const Values end = loop(
        {constant(1, DType::Float64), a.v, x.v, term.v, term.v, (x + 1 - a).v, x.like(1 / tiny).v, first.v, first.v,
         series.v, (x == x).v},
        [&](const Values& v) { return binary("stablehlo.and", any(Num(v[10])), (Num(v[0]) < 100000.0).v); },
        [&](const Values& v) {
          const Num i(broadcast(v[0], v[1]->shape)), a(v[1]), x(v[2]), series(v[9]);
          const Num term = Num(v[3]) * x / (a + i), sum = Num(v[4]) + term;
          const Num an = i * (a - i), b = Num(v[5]) + 2, d = 1 / away(an * Num(v[7]) + b);
          const Num c = away(b + an / Num(v[6])), change = c * d, fraction = Num(v[8]) * change;
          const Num going =
              where(series, cast(term > sum * 1e-17, DType::Int32), cast(abs(change - 1) > 2e-16, DType::Int32)) != 0.0;
          const Num was(v[10]), keep = was & ~series;
          return Values{(Num(v[0]) + 1).v,
                        a.v,
                        x.v,
                        term.v,
                        where(was, sum, Num(v[4])).v,
                        b.v,
                        c.v,
                        d.v,
                        where(keep, fraction, Num(v[8])).v,
                        series.v,
                        (was & going).v};
        });
    const Num scale = exp(a * log(x) - x - call("chlo.lgamma", a));
    const Num p = Num(end[4]) * scale, q = Num(end[8]) * scale;
    const Num value = upper ? where(series, 1 - p, q) : where(series, p, 1 - q);
    // The ends of both ranges.
    const Num zero_a = given_a == 0.0, zero_x = given_x == 0.0, large_a = given_a == kInf, large_x = given_x == kInf;
    const Num all = value.like(upper ? 0 : 1), none = value.like(upper ? 1 : 0), unknown = value.like(NAN);
    Num edge = where(zero_a, where(given_x > 0.0, all, unknown), where(zero_x, none, unknown));
    edge = where(large_a, where(large_x, unknown, none), where(large_x, all, edge));
    const Num outside = (given_a < 0.0) | (given_x < 0.0) | nan(given_a) | nan(given_x);
    return where(usual, value, where(outside, unknown, edge));
  });
}

// T_2m = 2 T_m^2 - 1, U_(2m-1) = 2 T_m U_(m-1), and one more by the sums of angles (DLMF 18.7, 4.21): from the first
// bit of the degree to the last.
Num chebyshev(Chebyshev kind, const Num& input, const Num& n, bool shifted) {
  return in_double(input, n, [&](const Num& given, const Num& n) {
    const Num x = shifted ? given * 2 - 1 : given;
    const Num degree = cast(trunc(where((n > -1.0) & (n < 9e18), n, 0.0)), DType::Int64);
    const Values end = repeat(63, {x.v, degree.v, x.like(1).v, x.like(0).v}, [&](const Value& step, const Values& v) {
      const Num x(v[0]), degree(v[1]), t(v[2]), u(v[3]);
      const Num place(broadcast((Num(constant_int(62, DType::Int64)) - Num(step)).v, v[1]->shape));
      const Num bit = (call("stablehlo.shift_right_logical", degree, place) & degree.like(1)) == 1.0;
      const Num t2 = t * t * 2 - 1, u2 = t * u * 2, more = x * t2 - (1 - x) * (1 + x) * u2;
      return Values{x.v, degree.v, where(bit, more, t2).v, where(bit, x * u2 + t2, u2).v};
    });
    const Num t(end[2]), u(end[3]);
    const Num value = kind == Chebyshev::T   ? t
                      : kind == Chebyshev::U ? x * u + t
                      : kind == Chebyshev::V ? (x - 1) * u + t
                                             : (x + 1) * u + t;
    const Num known = where(nan(value) & ~nan(x), signed_infinity(x, cast(degree, DType::Float64)), value);
    return with_degrees(where(degree == 0.0, 1.0, known), n, 9e18);
  });
}

// DLMF 18.9.1
Num hermite(double factor, const Num& input, const Num& n) {
  return in_double(input, n, [&](const Num& x, const Num& n) {
    const Num degree = trunc(n);
    const Num value = recurrence(x, degree, x * factor, x.like(1),
                                 [&](const auto& k, const auto& x, const auto& now, const auto& before) {
                                   return std::pair<Num, Num>{x * factor * now - k * factor * before, now};
                                 });
    const Num beyond = x * x > degree * (4 / factor);
    const Num known = where(finite(value) | nan(x), value, where(beyond, signed_infinity(x, degree), x.like(NAN)));
    return with_degrees(where(degree == 0.0, 1.0, known), n, 9e18);
  });
}
// DLMF 18.9.1 for the differences, here and below.
Num laguerre(const Num& input, const Num& n) {
  return in_double(input, n, [&](const Num& x, const Num& n) {
    const Num degree = trunc(n), few = where(degree > kMostSteps, 0.0, degree);
    const Num value =
        recurrence(x, few, 1 - x, -x, [](const auto& k, const auto& x, const auto& now, const auto& step) {
          const Num next = (k * step - x * now) / (k + 1);
          return std::pair<Num, Num>{now + next, next};
        });
    const Num between = (x > 0.0) & (x < degree * 4 + 2);
    const Num known = where(finite(value) | nan(x), value, where(between, x.like(NAN), signed_infinity(-x, degree)));
    return with_degrees(where(degree == 0.0, 1.0, known), n, kMostSteps);
  });
}
Num legendre(const Num& input, const Num& n) {
  return in_double(input, n, [&](const Num& x, const Num& n) {
    const Num degree = trunc(n), few = where(degree > kMostSteps, 0.0, degree), a = abs(x);
    const Num value = recurrence(a, few, a, a - 1, [](const auto& k, const auto& a, const auto& now, const auto& step) {
      const Num next = (k * step + (k * 2 + 1) * (a - 1) * now) / (k + 1);
      return std::pair<Num, Num>{now + next, next};
    });
    const Num size = where(finite(value) | nan(x), value, kInf);
    const Num known = where((x < 0.0) & is_odd(degree), -size, size);
    return with_degrees(where(degree == 0.0, 1.0, known), n, kMostSteps);
  });
}

// Euclid's.
Num gcd(const Num& a, const Num& b) {
  const Values end = loop(
      {abs(a).v, abs(b).v}, [](const Values& v) { return any(Num(v[1]) != 0.0); },
      [](const Values& v) {
        const Num a(v[0]), b(v[1]), done = b == 0.0;
        return Values{where(done, a, b).v, where(done, 0.0, mod(a, where(done, 1.0, b))).v};
      });
  return abs(Num(end[0]));
}
Num lcm(const Num& a, const Num& b) {
  const Num g = gcd(a, b);
  return abs(a) / where(g == 0.0, 1.0, g) * abs(b);
}

}  // namespace strided::xla
