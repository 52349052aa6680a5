// Orthogonal polynomials of any degree, host and device, by recurrences on pairs of doubles: what they lose by
// cancellation and by the number of steps stays below the last bit, also next to zeros. A float argument is converted,
// the result rounded once. What overflows is infinite where the sign is that of the leading term, else NaN.
//
// D is double, or several of them that are computed side by side (cpu/pointwise/lanes.inc): conditions are then several
// as well, loops run until the last of the elements has come to its degree, and the others keep their value.
#pragma once

#include "base/math.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {
namespace special {

// What the recurrences ask of conditions.
STRIDED_HD bool any(bool condition) { return condition; }
STRIDED_HD double select(bool condition, double first, double second) { return condition ? first : second; }
template <class M, class D>
STRIDED_HD Pair<D> select(M condition, Pair<D> first, Pair<D> second) {
  return {select(condition, first.hi, second.hi), select(condition, first.lo, second.lo)};
}

// Sums and products of pairs, with a relative error of a few 2^-104 of the terms (T. J. Dekker 1971). The low parts of
// a product, and of `wide_terms`, are small, but no rounding errors of the high ones: a sum of them is a pair again.
template <class D>
STRIDED_INLINE_HD Pair<D> wide_mul(Pair<D> a, Pair<D> b) {
  const Pair<D> p = two_prod(a.hi, b.hi);
  return {p.hi, mul_add(a.hi, b.lo, mul_add(a.lo, b.hi, p.lo))};
}
template <class D>
STRIDED_INLINE_HD Pair<D> wide_mul(D a, Pair<D> b) {
  const Pair<D> p = two_prod(a, b.hi);
  return {p.hi, mul_add(a, b.lo, p.lo)};
}
template <class D>
STRIDED_INLINE_HD Pair<D> wide_terms(Pair<D> a, Pair<D> b) {
  const Pair<D> s = two_sum(a.hi, b.hi);
  return {s.hi, s.lo + (a.lo + b.lo)};
}
template <class D>
STRIDED_INLINE_HD Pair<D> wide_add(Pair<D> a, Pair<D> b) {
  const Pair<D> s = wide_terms(a, b);
  return fast_two_sum(s.hi, s.lo);
}
// a / d, where the inverse of d is that number, rounded.
template <class D>
STRIDED_INLINE_HD Pair<D> wide_over(Pair<D> a, D d, D inverse) {
  const D q = a.hi * inverse;
  return fast_two_sum(q, (a.lo - product_minus(q, d, a.hi)) * inverse);
}

// The degree as a number of steps, 0 where the polynomial has none.
template <class D>
STRIDED_INLINE_HD D steps_of(D degree, double most) {
  return select((degree > D(-1)) & (degree < D(most)), trunc(degree), D(0));
}
// `value`, or what a polynomial is without such a degree: 0 by convention below 0, else it has no value.
template <class D>
STRIDED_INLINE_HD D for_degree(D degree, double most, D steps, D value) {
  const D some = select(steps == D(0), D(1), value);
  return select(degree < D(most), select(degree > D(-1), some, D(0)), D(quiet_nan<double>()));
}
// What a polynomial with a positive leading term is where x is large.
template <class D>
STRIDED_INLINE_HD D signed_infinity(D x, D n) {
  const D half = n * D(0.5);
  return select((x < D(0)) & (trunc(half) != half), D(-infinity<double>()), D(infinity<double>()));
}

constexpr double kMostDegree = 9e18;

// Eight functions end in this one.
#if STRIDED_DEVICE_CODE
#define STRIDED_ONE_COPY
#else
#define STRIDED_ONE_COPY __attribute__((noinline))
#endif

// p U_(n-1) + T_n of Chebyshev's polynomials at x, where p = x, x - 1, x + 1 or 0 gives U, V, W or T. The degree is
// doubled bit by bit: T_2m = 2 T_m^2 - 1, U_(2m-1) = 2 T_m U_(m-1), and one more by the sums of angles
// (NIST DLMF 18.7, 4.21). An error grows with n^2, as it does with the condition of T_n.
template <class D>
STRIDED_HD STRIDED_ONE_COPY D chebyshev_value(Pair<D> x, Pair<D> p, D degree) {
  const D n = steps_of(degree, kMostDegree), zero(0), one(1);
  double power = 1;
  while (any(n >= D(2 * power))) power *= 2;
  const auto first = n >= D(power);  // T_1 and U_0, or T_0 and U_(-1)
  Pair<D> t{select(first, x.hi, one), select(first, x.lo, zero)}, u{select(first, one, zero), zero};
  D rest = select(first, n - D(power), n);
  const bool with_u = any(p.hi != zero);
  if (power > 1) {
    const Pair<D> square = wide_mul(x, x), bend = wide_add(Pair<D>{-square.hi, -square.lo}, Pair<D>{one, zero});
    for (power *= 0.5; power >= 1; power *= 0.5) {
      const Pair<D> product = wide_mul(Pair<D>{t.hi + t.hi, t.lo + t.lo}, u), both = wide_mul(t, t);
      u = fast_two_sum(product.hi, product.lo);
      t = wide_add(Pair<D>{both.hi + both.hi, both.lo + both.lo}, Pair<D>{-one, zero});
      const auto odd = rest >= D(power);
      if (any(odd)) {
        const Pair<D> turned = wide_mul(bend, u);
        const Pair<D> next = wide_add(wide_mul(x, t), Pair<D>{-turned.hi, -turned.lo});
        if (power > 1 || with_u) u = select(odd, wide_add(wide_mul(x, u), t), u);
        t = select(odd, next, t);
        rest = select(odd, rest - D(power), rest);
      }
    }
  }
  D value = t.hi;
  if (with_u) value = wide_add(wide_mul(p, u), t).hi;
  if (any(n == one)) value = select(n == one, wide_add(p, x).hi, value);  // the square of a large x overflows
  const D finite = select((value != value) & (x.hi == x.hi), signed_infinity(x.hi, n), value);
  return for_degree(degree, kMostDegree, n, finite);
}
// kind: 0, 1, 2, 3 for T, U, V, W
template <int kKind, class D>
STRIDED_HD D chebyshev_of(Pair<D> x, D degree) {
  const Pair<D> none{D(0), D(0)}, shift{D(kKind == 2 ? -1 : 1), D(0)};
  return chebyshev_value(x, kKind == 0 ? none : kKind == 1 ? x : wide_add(x, shift), degree);
}
template <int kKind, class D>
STRIDED_HD D chebyshev_polynomial(D x, D degree) {
  return chebyshev_of<kKind>(Pair<D>{x, D(0)}, degree);
}
template <int kKind, class D>
STRIDED_HD D shifted_chebyshev_polynomial(D x, D degree) {
  return chebyshev_of<kKind>(two_sum(x + x, D(-1)), degree);
}

// Hermite's polynomials, orthogonal with exp(-x^2) (factor 2) or exp(-x^2 / 2) (factor 1): DLMF 18.9.1. They overflow
// before the loop gets long.
template <int kFactor, class D>
STRIDED_HD D hermite_polynomial(D x, D degree) {
  const D n = steps_of(degree, kMostDegree), scaled = D(kFactor) * x;
  Pair<D> before{D(1), D(0)}, value{scaled, D(0)};
  for (double k = 1;; ++k) {
    const auto on = (n > D(k)) & isfinite(value.hi);
    if (!any(on)) break;
    const Pair<D> next = wide_add(wide_mul(scaled, value), wide_mul(D(-kFactor * k), before));
    before = value;
    value = select(on, next, value);
  }
  // Beyond the zeros the sign is that of the leading term.
  const D end = select(x * x > D(4.0 / kFactor) * n, signed_infinity(x, n), D(quiet_nan<double>()));
  return for_degree(degree, kMostDegree, n, select(isfinite(value.hi), value.hi, end));
}

// Longer loops are not worth their time: NaN.
constexpr double kMostSteps = 1000001;

// Laguerre's polynomials by their differences: (k + 1) (L_(k+1) - L_k) = k (L_k - L_(k-1)) - x L_k (DLMF 18.9.1).
template <class D>
STRIDED_HD D laguerre_polynomial(D x, D degree) {
  const D n = steps_of(degree, kMostSteps);
  Pair<D> value = two_sum(D(1), -x), step{-x, D(0)};
  for (double k = 1;; ++k) {
    const auto on = (n > D(k)) & isfinite(value.hi);
    if (!any(on)) break;
    step = wide_over(wide_terms(wide_mul(D(k), step), wide_mul(-x, value)), D(k + 1), D(1 / (k + 1)));
    value = select(on, wide_add(value, step), value);
  }
  const D none(quiet_nan<double>());
  const D end = select((x < D(0)) | (x >= D(4) * n + D(2)), signed_infinity(-x, n), none);
  return for_degree(degree, kMostSteps, n, select(isfinite(value.hi), value.hi, end));
}

// Legendre's polynomials at |x|, in the same way: (k + 1) (P_(k+1) - P_k) = k (P_k - P_(k-1)) + (2 k + 1) (x - 1) P_k.
template <class D>
STRIDED_HD D legendre_polynomial(D x, D degree) {
  const D n = steps_of(degree, kMostSteps), size = select(x < D(0), -x, x), half = n * D(0.5);
  const Pair<D> less = two_sum(size, D(-1));
  Pair<D> value{size, D(0)}, step = less;
  for (double k = 1;; ++k) {
    const auto on = (n > D(k)) & isfinite(value.hi);
    if (!any(on)) break;
    const Pair<D> bend = wide_mul(D(2 * k + 1), wide_mul(less, value));
    step = wide_over(wide_terms(wide_mul(D(k), step), bend), D(k + 1), D(1 / (k + 1)));
    value = select(on, wide_add(value, step), value);
  }
  const D end = select(x == x, D(infinity<double>()), x), some = select(isfinite(value.hi), value.hi, end);
  return for_degree(degree, kMostSteps, n, select((x < D(0)) & (trunc(half) != half), -some, some));
}

#undef STRIDED_ONE_COPY

}  // namespace special
}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
