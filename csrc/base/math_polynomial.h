// Orthogonal polynomials of any degree, host and device, by recurrences on pairs of doubles: what they lose by
// cancellation and by the number of steps stays below the last bit, also next to zeros. A float argument is converted,
// the result rounded once. What overflows is infinite where the sign is that of the leading term, else NaN.
#pragma once

#include "base/math.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {
namespace special {

// Sums and products of pairs, with a relative error of a few 2^-104 of the terms (T. J. Dekker 1971).
using Wide = Pair<double>;
STRIDED_HD Wide wide_add(Wide a, Wide b) {
  const Wide s = two_sum(a.hi, b.hi);
  return fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}
STRIDED_HD Wide wide_mul(Wide a, Wide b) {
  const Wide p = two_prod(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
STRIDED_HD Wide wide_mul(double a, Wide b) {
  const Wide p = two_prod(a, b.hi);
  return fast_two_sum(p.hi, p.lo + a * b.lo);
}
STRIDED_HD Wide wide_neg(Wide a) { return {-a.hi, -a.lo}; }
STRIDED_HD Wide wide_div(Wide a, double b) {
  const double q = a.hi / b;
  return fast_two_sum(q, (a.lo - product_minus(q, b, a.hi)) / b);
}

// The degree as a number of steps: -1 where the polynomial is 0 by convention (n < 0), -2 where it has no value.
STRIDED_HD int64_t degree_of(double n) {
  if (!(n < 9e18)) return -2;
  return n > -1 ? static_cast<int64_t>(n) : -1;
}
STRIDED_HD double no_degree(int64_t n) { return n == -1 ? 0.0 : quiet_nan<double>(); }
STRIDED_HD double sign_of_power(double x, int64_t n) { return x < 0 && (n & 1) != 0 ? -1.0 : 1.0; }

// `value`, or what a polynomial with a positive leading term has become when it overflowed.
STRIDED_HD double or_infinity(double value, double x, int64_t n) {
  if (!isnan(value) || isnan(x)) return isnan(x) ? x : value;
  return sign_of_power(x, n) * infinity<double>();
}

// p U_(n-1) + T_n of Chebyshev's polynomials at x, where p = x, x - 1, x + 1 or 0 gives U, V, W or T. The degree is
// doubled bit by bit: T_2m = 2 T_m^2 - 1, U_(2m-1) = 2 T_m U_(m-1), and one more by the sums of angles
// (NIST DLMF 18.7, 4.21). An error grows with n^2, as it does with the condition of T_n.
STRIDED_HD double chebyshev_value(Wide x, Wide p, int64_t n) {
  if (n < 0) return no_degree(n);
  if (n == 0) return 1;
  if (n == 1) return or_infinity(wide_add(p, x).hi, x.hi, n);
  const Wide one{1, 0}, sine = wide_add(one, wide_neg(wide_mul(x, x)));  // 1 - x^2
  Wide t = x, u = one;
  int bit = 62;
  while ((n >> bit) == 0) --bit;
  for (--bit; bit >= 0; --bit) {
    u = wide_mul(wide_mul(2.0, t), u);
    t = wide_add(wide_mul(2.0, wide_mul(t, t)), wide_neg(one));
    if ((n >> bit & 1) != 0) {
      const Wide next = wide_add(wide_mul(x, t), wide_neg(wide_mul(sine, u)));
      u = wide_add(wide_mul(x, u), t);
      t = next;
    }
  }
  return or_infinity(wide_add(wide_mul(p, u), t).hi, x.hi, n);
}
// kind: 0, 1, 2, 3 for T, U, V, W
template <int kKind>
STRIDED_HD double chebyshev_of(Wide x, double n) {
  const Wide none{0, 0}, shift{kKind == 2 ? -1.0 : 1.0, 0};
  return chebyshev_value(x, kKind == 0 ? none : kKind == 1 ? x : wide_add(x, shift), degree_of(n));
}
template <int kKind>
STRIDED_HD double chebyshev_polynomial(double x, double n) {
  return chebyshev_of<kKind>(Wide{x, 0}, n);
}
template <int kKind>
STRIDED_HD double shifted_chebyshev_polynomial(double x, double n) {
  return chebyshev_of<kKind>(two_sum(2 * x, -1.0), n);
}

// Hermite's polynomials, orthogonal with exp(-x^2) (factor 2) or exp(-x^2 / 2) (factor 1): DLMF 18.9.1. They overflow
// before the loop gets long.
template <int kFactor>
STRIDED_HD double hermite_polynomial(double x, double degree) {
  const int64_t n = degree_of(degree);
  if (n < 0) return no_degree(n);
  if (n == 0 || isnan(x)) return n == 0 ? 1 : x;
  Wide before{1, 0}, value{kFactor * x, 0};
  for (int64_t k = 1; k < n && isfinite(value.hi); ++k) {
    const Wide next = wide_add(wide_mul(kFactor * x, value), wide_mul(-double(kFactor) * double(k), before));
    before = value;
    value = next;
  }
  if (isfinite(value.hi)) return value.hi;
  // Beyond the zeros the sign is that of the leading term.
  return x * x > 4.0 / kFactor * double(n) ? sign_of_power(x, n) * infinity<double>() : quiet_nan<double>();
}

// Longer loops are not worth their time: NaN.
constexpr int64_t kMostSteps = 1000000;

// Laguerre's polynomials by their differences: (k + 1) (L_(k+1) - L_k) = k (L_k - L_(k-1)) - x L_k (DLMF 18.9.1).
STRIDED_HD double laguerre_polynomial(double x, double degree) {
  const int64_t n = degree_of(degree);
  if (n < 0 || n > kMostSteps) return no_degree(n);
  if (n == 0 || isnan(x)) return n == 0 ? 1 : x;
  Wide value = two_sum(1.0, -x), step{-x, 0};
  for (int64_t k = 1; k < n && isfinite(value.hi); ++k) {
    step = wide_div(wide_add(wide_mul(double(k), step), wide_mul(-x, value)), double(k + 1));
    value = wide_add(value, step);
  }
  if (isfinite(value.hi)) return value.hi;
  if (x > 0 && x < 4.0 * double(n) + 2) return quiet_nan<double>();
  return sign_of_power(-x, n) * infinity<double>();
}

// Legendre's polynomials at |x|, in the same way: (k + 1) (P_(k+1) - P_k) = k (P_k - P_(k-1)) + (2 k + 1) (x - 1) P_k.
STRIDED_HD double legendre_polynomial(double x, double degree) {
  const int64_t n = degree_of(degree);
  if (n < 0 || n > kMostSteps) return no_degree(n);
  if (n == 0 || isnan(x)) return n == 0 ? 1 : x;
  const Wide less = two_sum(abs(x), -1.0);
  Wide value{abs(x), 0}, step = less;
  for (int64_t k = 1; k < n && isfinite(value.hi); ++k) {
    const Wide bend = wide_mul(double(2 * k + 1), wide_mul(less, value));
    step = wide_div(wide_add(wide_mul(double(k), step), bend), double(k + 1));
    value = wide_add(value, step);
  }
  return sign_of_power(x, n) * (isfinite(value.hi) ? value.hi : infinity<double>());
}

}  // namespace special
}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
