// Exponentials, logarithms, powers and hyperbolic functions for the host (see Note [Vectorisable mathematics] in
// base/math.h; include that file, not this one).
//
// One algorithm serves several precisions through a policy: F32 is pure float; F64 is double; Lite is double with
// polynomials just long enough (2^-29) for a result that is then rounded to float. Polynomials are minimax fits made
// for this library (Remez exchange); the schemes are those of W. J. Cody and W. Waite, "Software Manual for the
// Elementary Functions" (1980), and P. T. P. Tang's papers on exp, log and expm1 (ACM TOMS 1989 to 1992), without
// tables.
#pragma once

#include <type_traits>

#include "base/math_basic.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

struct F32 {
  using T = float;
  static constexpr T magic = 0x1.8p23f;  // adding it rounds to an integer, which then stands in the low bits
  static constexpr T log2e = 0x1.715476p0f;
  static constexpr T ln2_short = 0x1.62e4p-1f, ln2_rest = 0x1.7f7d1cp-20f;  // n * ln2_short is exact
  static constexpr T ln2 = 0x1.62e43p-1f, ln2_lo = -0x1.05c61p-29f;
  static constexpr T exp_low = -104.0f, exp_high = 89.0f;
  static constexpr T exp2_low = -151.0f, exp2_high = 129.0f;
  static constexpr T tanh_high = 10.0f;
  static constexpr T expm1_low = -20.0f, expm1_end = 88.8f, expm1_high = 89.5f;
  // (e^r - 1 - r) / r^2
  STRIDED_HD static T exp_tail(T r) {
    return poly(r, 0.5f, 0.166666672f, 0.041666355f, 0.00833327323f, 0.00139411003f, 0.00019914197f);
  }
};

struct F64 {
  using T = double;
  static constexpr T magic = 0x1.8p52;
  static constexpr T log2e = 0x1.71547652b82fep0;
  static constexpr T ln2_short = 0x1.62e42fefa3p-1, ln2_rest = 0x1.3de6af278ece6p-42;
  static constexpr T ln2 = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56;
  static constexpr T exp_low = -746.0, exp_high = 710.0;
  static constexpr T exp2_low = -1076.0, exp2_high = 1025.0;
  static constexpr T tanh_high = 22.0;
  static constexpr T expm1_low = -80.0, expm1_end = 709.9, expm1_high = 710.7;
  STRIDED_HD static T exp_tail(T r) {
    return mul_add(
        poly_in_halves(r, 0.16666666666666677, 0.041666666666666699, 0.0083333333333215302, 0.0013888888888866772,
                       0.00019841269886401825, 2.4801587360757029e-05, 2.7557243911715583e-06, 2.7557242561678142e-07,
                       2.5109147144758418e-08, 2.0924508134506408e-09),
        r, 0.5);
  }
  // (log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2
  STRIDED_HD static T log_tail(T z) {
    return poly_in_halves(z, 0.66666666666667351, 0.39999999999411229, 0.28571428743225114, 0.22222198480415781,
                          0.1818356948502515, 0.15313910290929975, 0.14797432826636175);
  }
};

struct Lite : F64 {
  STRIDED_HD static T exp_tail(T r) {
    return poly(r, 0.50000000783061438, 0.16666666860201579, 0.041666268558158859, 0.0083332643933174879,
                0.0013946173310946755, 0.00019918392306085726);
  }
};

template <class T>
STRIDED_HD T clamp_keep_nan(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}

// The factors of 2^n, t = n + magic, n between twice the smallest and twice the largest exponent: subnormal results
// and those next to overflow need two multiplications.
template <class P>
STRIDED_HD Pair<typename P::T> power_of_two_factors(typename P::T n, typename P::T t) {
  using T = typename P::T;
  constexpr int bias = Bits<T>::bias;
  const T half = mul_add(n, T(0.5), P::magic + T(bias));
  const auto rest = to_bits(t) - to_bits(half) + 2 * bias;
  return {from_bits<T>(to_bits(half) << Bits<T>::mantissa), from_bits<T>(rest << Bits<T>::mantissa)};
}

// 2^n, t = n + magic, where it is a normal number.
template <class P>
STRIDED_HD typename P::T power_of_two(typename P::T t) {
  return from_bits<typename P::T>((to_bits(t) + Bits<typename P::T>::bias) << Bits<typename P::T>::mantissa);
}

// 0 for x < low, else value. As the last factor of an exponential: a product that underflows takes the processor
// much longer than one with zero (measured: exp of float ten times), and softmax has many where -inf masks elements.
template <class T>
STRIDED_HD T zero_below(T x, T low, T value) {
  return x < low ? T(0) : value;
}

// exp(x + lo) = (hi + lo) * 2^n.
template <class T>
struct ExpParts {
  Pair<T> mantissa;
  T n, t;
};

// For x within the policy's range.
template <class P>
STRIDED_HD ExpParts<typename P::T> exp_parts(typename P::T x, typename P::T lo) {
  using T = typename P::T;
  const T t = mul_add(x, P::log2e, P::magic);
  const T n = t - P::magic;
  const T r0 = mul_add(n, -P::ln2_short, x);
  const T r1 = mul_add(n, -P::ln2_rest, lo);
  const T r = r0 + r1;
  const T lost = (r0 - r) + r1;
  const T p = r + mul_add(r * r, P::exp_tail(r), lost);
  return {fast_two_sum(T(1), p), n, t};
}

// kUsual: the result is a normal number.
template <class P, bool kUsual = false>
STRIDED_HD typename P::T exp_impl(typename P::T x, typename P::T lo) {
  using T = typename P::T;
  const ExpParts<T> e = exp_parts<P>(kUsual ? x : clamp_keep_nan(x, P::exp_low, P::exp_high), lo);
  if constexpr (kUsual) {
    return e.mantissa.hi * power_of_two<P>(e.t);
  } else {
    const Pair<T> factor = power_of_two_factors<P>(e.n, e.t);
    return e.mantissa.hi * factor.hi * zero_below(x, P::exp_low, factor.lo);
  }
}

// The same for lo = 0: here the rounding error of r, 0.2 ulp of the result, is let go.
template <class P, bool kUsual = false>
STRIDED_HD typename P::T exp_plain(typename P::T x) {
  using T = typename P::T;
  const T c = kUsual ? x : clamp_keep_nan(x, P::exp_low, P::exp_high);
  const T t = mul_add(c, P::log2e, P::magic);
  const T n = t - P::magic;
  const T r = mul_add(n, -P::ln2_rest, mul_add(n, -P::ln2_short, c));
  const T p = mul_add(r * r, P::exp_tail(r), r);
  if constexpr (kUsual) {
    return (T(1) + p) * power_of_two<P>(t);
  } else {
    const Pair<T> factor = power_of_two_factors<P>(n, t);
    return (T(1) + p) * factor.hi * zero_below(x, P::exp_low, factor.lo);
  }
}

template <class P, bool kUsual = false>
STRIDED_HD typename P::T exp2_impl(typename P::T x) {
  using T = typename P::T;
  const T c = kUsual ? x : clamp_keep_nan(x, P::exp2_low, P::exp2_high);
  const T t = c + P::magic;
  const T n = t - P::magic;
  const T f = c - n;
  const T r = f * P::ln2;
  const T lost = mul_add(f, P::ln2_lo, product_minus(f, P::ln2, r));
  const T p = r + mul_add(r * r, P::exp_tail(r), lost);
  if constexpr (kUsual) {
    return (T(1) + p) * power_of_two<P>(t);
  } else {
    const Pair<T> factor = power_of_two_factors<P>(n, t);
    return (T(1) + p) * factor.hi * zero_below(x, P::exp2_low, factor.lo);
  }
}

// (e^x - 1) / 4 as a pair, x up to 50.
template <class P>
STRIDED_HD Pair<typename P::T> quarter_expm1(typename P::T x) {
  using T = typename P::T;
  const T t = mul_add(x, P::log2e, P::magic);
  const T n = t - P::magic;
  const T r0 = mul_add(n, -P::ln2_short, x);
  const T r1 = n * -P::ln2_rest;
  const T r = r0 + r1;
  const T lost = (r0 - r) + r1;
  const Pair<T> p = fast_two_sum(r, mul_add(r * r, P::exp_tail(r), mul_add(r, lost, lost)));
  const T scale = from_bits<T>((to_bits(t) + (Bits<T>::bias - 2)) << Bits<T>::mantissa);
  const T base = scale - T(0.25);
  const Pair<T> sum = fast_two_sum(base, scale * p.hi);  // either base is zero or it is the larger
  return {sum.hi, mul_add(scale, p.lo, sum.lo)};
}

// 2^n e^r - 1 = 2 (2^(n-1) (e^r - 1 - r) + (2^(n-1) r + (2^(n-1) - 1/2))): the last sum is the only one whose rounding
// counts beside that of the result.
template <class P>
STRIDED_HD typename P::T expm1_plain(typename P::T x) {
  using T = typename P::T;
  const T c = clamp_keep_nan(x, P::expm1_low, P::expm1_end);
  const T t = mul_add(c, P::log2e, P::magic);
  const T n = t - P::magic;
  const T r0 = mul_add(n, -P::ln2_short, c);
  const T r1 = n * -P::ln2_rest;
  const T r = r0 + r1;
  const T lost = (r0 - r) + r1;
  const T tail = mul_add(r * r, P::exp_tail(r), mul_add(r, lost, lost));
  const T scale = from_bits<T>((to_bits(t) + (Bits<T>::bias - 1)) << Bits<T>::mantissa);
  const T value = mul_add(scale, tail, mul_add(scale, r, scale - T(0.5)));
  return copysign(T(2) * value, x);
}

// (sinh r - r) / r^3 for |r| < 0.6 and (cosh r - 1) / r^2 for |r| <= ln2 / 2, z = r^2.
STRIDED_HD float sinh_tail(float z) { return poly(z, 0.166666687f, 0.0083329631f, 0.000200273338f); }
STRIDED_HD double sinh_tail(double z) {
  return poly(z, 0.16666666666666666, 0.0083333333333339421, 0.00019841269840073354, 2.7557320263457805e-06,
              2.5051660319706487e-08, 1.6153036868047456e-10);
}
STRIDED_HD float cosh_tail(float z) { return poly(z, 0.5f, 0.0416664854f, 0.00139331515f); }
STRIDED_HD double cosh_tail(double z) {
  return poly(z, 0.50000000000000133, 0.041666666666509471, 0.0013888888948791873, 2.4801487920455824e-05,
              2.7632057153026394e-07);
}

// sinh and cosh of n ln2 + r are S cosh(n ln2) + C sinh(n ln2) and C cosh(n ln2) + S sinh(n ln2), S = sinh r,
// C = cosh r. Sums and differences of powers of two need no quotient, and the rounding error of one counts little;
// `short_r` is all of r but for digits that are lost where they do not count.
template <class T>
struct Hyperbolics {
  T sinh, cosh, sinh_lo, cosh_lo;  // of n ln2, halved so that they do not overflow before the result does
  T short_r, odd, even;            // short_r + odd and 1 + even are S and C
};
template <class P>
STRIDED_HD Hyperbolics<typename P::T> hyperbolics(typename P::T a, typename P::T t) {
  using T = typename P::T;
  using U = typename Bits<T>::U;
  const T n = t - P::magic, r0 = mul_add(n, -P::ln2_short, a), lost = n * -P::ln2_rest, r = r0 + lost, z = r * r;
  constexpr U quarters = U(2 * Bits<T>::bias - 4) << Bits<T>::mantissa;
  constexpr U most = U(Bits<T>::bias + 60) << Bits<T>::mantissa;
  const U grown = (to_bits(t) + (Bits<T>::bias - 2)) << Bits<T>::mantissa;  // 2^n / 4
  const T up = from_bits<T>(grown), down = from_bits<T>(quarters - (grown < most ? grown : most));
  const T sinh = up - down, cosh = up + down;
  return {sinh, cosh, (up - sinh) - down, (up - cosh) + down, r0, mul_add(z * r, sinh_tail(z), lost), z * cosh_tail(z)};
}
// Below 0.6 n is 0, and the result is S: a difference of two terms would lose digits.
template <class P>
STRIDED_HD typename P::T sinh_impl(typename P::T x) {
  using T = typename P::T;
  const T size = abs(x), a = size > P::expm1_high ? P::expm1_high : size;
  const T t = mul_add(a, P::log2e, P::magic);
  const Hyperbolics<T> h = hyperbolics<P>(a, choose(a < T(0.6), P::magic, t));
  const T rest = mul_add(h.sinh, h.even, mul_add(h.cosh, h.odd, mul_add(h.cosh_lo, h.short_r, h.sinh_lo)));
  const T value = T(2) * (h.sinh + mul_add(h.cosh, h.short_r, rest));
  return copysign(a < T(1e-9) ? a : value, x);
}
template <class P>
STRIDED_HD typename P::T cosh_impl(typename P::T x) {
  using T = typename P::T;
  const T size = abs(x), a = size > P::expm1_high ? P::expm1_high : size;
  const Hyperbolics<T> h = hyperbolics<P>(a, mul_add(a, P::log2e, P::magic));
  const T rest = mul_add(h.cosh, h.even, mul_add(h.sinh, h.odd, mul_add(h.sinh_lo, h.short_r, h.cosh_lo)));
  return T(2) * (h.cosh + mul_add(h.sinh, h.short_r, rest));
}

template <class P>
STRIDED_HD typename P::T tanh_impl(typename P::T x) {
  using T = typename P::T;
  const T a = abs(x);
  const Pair<T> q = quarter_expm1<P>(T(2) * (a > P::tanh_high ? P::tanh_high : a));
  const T d = q.hi + T(0.5);
  const T value = divide<T>(q, {d, ((T(0.5) - d) + q.hi) + q.lo});
  return copysign(a < T(1e-9) ? a : value, x);
}

// 1 / (1 + e^-x) where e^-x + 1 is exact but for the last bits of e^-x, which are carried along.
template <class P>
STRIDED_HD typename P::T sigmoid_plain(typename P::T x) {
  using T = typename P::T;
  const T t = mul_add(-x, P::log2e, P::magic);
  const T n = t - P::magic;
  const T r = mul_add(n, -P::ln2_rest, mul_add(n, -P::ln2_short, -x));
  const T p = mul_add(r * r, P::exp_tail(r), r);
  const T scale = power_of_two<P>(t);
  const T base = scale + T(1);
  const Pair<T> d = fast_two_sum(base, scale * p);
  const T q = T(1) / d.hi;
  return mul_add(-q, mul_add(q, d.lo, product_minus(q, d.hi, T(1))), q);
}
// The same where e^-|x| is so small that its cube does not count.
template <class P>
STRIDED_HD typename P::T sigmoid_far(typename P::T x) {
  using T = typename P::T;
  const ExpParts<T> e = exp_parts<P>(clamp_keep_nan(-abs(x), P::exp_low, T(0)), T(0));
  const Pair<T> f = power_of_two_factors<P>(e.n, e.t), m = e.mantissa;
  const T last = zero_below(-abs(x), P::exp_low, f.lo), power = m.hi * f.hi * last;
  return x < T(0) ? (m.hi + mul_add(-power, m.hi, m.lo)) * f.hi * last : T(1) - power;
}

// x = m 2^k with m in [sqrt(1/2), sqrt(2)).
template <class T>
struct Scaled {
  T m, k;
};
// kNormal: x is a normal number.
template <bool kNormal = false>
STRIDED_HD Scaled<float> split_exponent(float x) {
  const bool tiny = !kNormal && x < 0x1p-126f;
  const uint32_t u = to_bits(tiny ? x * 0x1p24f : x) + (0x3f800000u - 0x3f3504f3u);
  const float k = static_cast<float>(static_cast<int32_t>(u >> 23));
  return {from_bits<float>((u & 0x007fffffu) + 0x3f3504f3u), k - (tiny ? 151.0f : 127.0f)};
}
template <bool kNormal = false>
STRIDED_HD Scaled<double> split_exponent(double x) {
  const bool tiny = !kNormal && x < 0x1p-1022;
  const uint64_t u = to_bits(tiny ? x * 0x1p54 : x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  const double k = from_bits<double>((u >> 52) | 0x4330000000000000u);  // 2^52 + (u >> 52)
  return {from_bits<double>((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu),
          k - (tiny ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0)};
}

// log m - f, m = 1 + f. In float without a division: f - f^2 / 2 + f^3 P(f).
STRIDED_HD float log_rest(float f) {
  const float square = f * f;
  const float tail = poly(f, 0.333333105f, -0.249999866f, 0.200022236f, -0.166692361f, 0.142186895f, -0.123846024f,
                          0.118730061f, -0.117884047f, 0.0691364631f);
  return mul_add(-0.5f * f, f, square * f * tail);
}
STRIDED_HD double log_rest(double f) {
  const double s = f / (f + 2), z = s * s, half = 0.5 * f * f;
  return mul_add(s, mul_add(z, F64::log_tail(z), half), -half);
}
// The same with f^2 / 2 rounded less often: in bases other than e, where the unit has a rounding of its own.
STRIDED_HD float log_rest_closely(float f) { return log_rest(f); }
STRIDED_HD double log_rest_closely(double f) {
  const double s = f / (f + 2), z = s * s, minus_half = -0.5 * f;
  return mul_add(minus_half, f, s * mul_add(z, F64::log_tail(z), -(minus_half * f)));
}
// log(m 2^k) for m = 1 + f, with rest = log m - f; and what its rounding loses.
template <class T>
STRIDED_HD Pair<T> log_pair(T k, T f, T rest) {
  using P = std::conditional_t<sizeof(T) == 4, F32, F64>;
  const Pair<T> sum = fast_two_sum(k * P::ln2_short, f);
  return fast_two_sum(sum.hi, sum.lo + mul_add(k, P::ln2_rest, rest));
}
template <class T>
STRIDED_HD T log_of(const Scaled<T>& v) {
  return log_pair(v.k, v.m - T(1), log_rest(v.m - T(1))).hi;
}
// log((m + c) 2^k), c a correction below ulp(m): 1 / m is about 1 - f + f^2.
template <class T>
STRIDED_HD T log_of(const Scaled<T>& v, T c) {
  const T f = v.m - T(1);
  return log_pair(v.k, f, mul_add(c, mul_add(f, f, -f), log_rest(f)) + c).hi;
}
// log(x + c), c a correction below ulp(x), x a positive normal number.
template <class T>
STRIDED_HD T log_with(T x, T c) {
  const Scaled<T> v = split_exponent<true>(x);
  const T scale = from_bits<T>(to_bits(v.m) - to_bits(x) + to_bits(T(1)));  // 2^-k
  return log_of(v, x < T(0x1p60) ? c * scale : T(0));
}
// log(m 2^k) in the base whose logarithm of two is two_short + two_rest and whose log(e) is unit + unit_lo.
template <class T>
STRIDED_HD T log_of(const Scaled<T>& v, T two_short, T two_rest, T unit, T unit_lo) {
  const T f = v.m - T(1), h = f * unit;
  const T l = mul_add(log_rest_closely(f), unit, mul_add(f, unit_lo, product_minus(f, unit, h)));
  const Pair<T> sum = fast_two_sum(v.k * two_short, h);
  return sum.hi + (sum.lo + (two_rest == T(0) ? l : mul_add(v.k, two_rest, l)));
}
STRIDED_HD float log2_of(const Scaled<float>& v) { return log_of(v, 1.0f, 0.0f, 0x1.715476p0f, 0x1.4ae0cp-26f); }
STRIDED_HD double log2_of(const Scaled<double>& v) {
  return log_of(v, 1.0, 0.0, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56);
}
STRIDED_HD float log10_of(const Scaled<float>& v) {
  return log_of(v, 0x1.344p-2f, 0x1.3509f8p-18f, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f);
}
STRIDED_HD double log10_of(const Scaled<double>& v) {
  return log_of(v, 0x1.34413509f7p-2, 0x1.3fde623e2566bp-43, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}

// value where x > 0 is finite; else what every logarithm gives.
template <class T>
STRIDED_HD T log_special(T x, T value) {
  const T below = x == T(0) ? -infinity<T>() : quiet_nan<T>();
  const T outside = x <= T(0) ? below : x;
  return (x > T(0)) & (x < infinity<T>()) ? value : outside;
}

// log(1 + x) for -1 < x < infinity: the rounding error of 1 + x is carried along.
template <class T>
STRIDED_HD T log1p_usual(T x) {
  const Pair<T> u = two_sum(T(1), x);
  return copysign(log_with(u.hi, u.lo), x);
}

// log of a sum, about x + sqrt(x^2) >= 1 and not rounded: where x is far it is 2 x to all digits that count.
template <class T>
STRIDED_HD T log_of_sum(const Pair<T>& sum, T sum_lo, T x) {
  const bool far = x > (sizeof(T) == 4 ? T(0x1p13) : T(0x1p27));
  const T value = far ? x : sum.hi;
  const Scaled<T> v = split_exponent<true>(value);
  const T scale = from_bits<T>(to_bits(v.m) - to_bits(value) + to_bits(T(1)));  // 2^-k
  const T k = v.k + (far ? T(1) : T(0)), f = v.m - T(1), c = far ? T(0) : (sum.lo + sum_lo) * scale;
  // 1 / m is about 1 - f + f^2 - 0.8 f^3.
  const T rest = mul_add(c, f * mul_add(mul_add(f, T(-0.8), T(1)), f, T(-1)), log_rest(f)) + c;
  return log_pair(k, f, rest).hi;
}
template <class T>
STRIDED_HD T asinh_impl(T x) {
  const T a = abs(x), square = mul_add(a, a, T(1)), r = math::sqrt(square);
  const T lost = product_minus(a, a, square - T(1)) - product_minus(r, r, square);
  const T value = log_of_sum(fast_two_sum(r, a), lost / (r + r), a);
  constexpr T small = sizeof(T) == 4 ? T(4e-4) : T(1.8e-8);  // a^3 / 6 is less than half of the last place
  return copysign((a > small) & (a < infinity<T>()) ? value : a, x);
}
template <class T>
STRIDED_HD T acosh_impl(T x) {
  const T t = x - T(1), square = mul_add(t, t, t + t), r = math::sqrt(square);
  const T lost = product_minus(t, t, square - (t + t)) - product_minus(r, r, square);
  const T value = log_of_sum(fast_two_sum(x, r), lost / (r > T(0) ? r + r : T(1)), x);
  const T outside = x < T(1) ? quiet_nan<T>() : x;
  return (x >= T(1)) & (x < infinity<T>()) ? value : outside;
}

// (atanh s - s) / s^3, z = s^2, |s| <= 1/5.
STRIDED_HD float atanh_tail(float z) { return poly(z, 0.333333313f, 0.200004667f, 0.142517596f, 0.120757356f); }
STRIDED_HD double atanh_tail(double z) {
  return poly_in_halves(z, 0.33333333333333298, 0.2000000000002832, 0.14285714277920908, 0.11111112147312767,
                        0.09090832999033728, 0.076955538473856167, 0.065868368389707929, 0.069212614251797755);
}
// (1 + a) / (1 - a) is 2^k (1 + s) / (1 - s); k is 0 up to 1/6, where s is a itself.
template <class P>
STRIDED_HD typename P::T atanh_impl(typename P::T x) {
  using T = typename P::T;
  using U = typename Bits<T>::U;
  constexpr U one = U(1) << Bits<T>::mantissa;
  const T a = abs(x), more = T(1) + a, less = T(1) - a, less_lo = (T(1) - less) - a;
  const U steps = (to_bits(more) - to_bits(less) + one / 2) & Bits<T>::exponent;
  const T k = from_bits<T>(to_bits(P::magic) + (steps >> Bits<T>::mantissa)) - P::magic;
  const T power = from_bits<T>(steps + to_bits(T(1))), part = power * less;
  const T above = T(1) - part, beside = mul_add(-power, less_lo, a);
  const T numerator = above + beside, denominator = more + part;
  const T inverse = T(1) / denominator, s = numerator * inverse, z = s * s;
  // What the quotient lacks, and its operands.
  const T missing = ((more - denominator) + part) + mul_add(power, less_lo, (T(1) - more) + a);
  const T rest = mul_add(-s, missing, ((above - numerator) + beside) - product_minus(s, denominator, numerator));
  const T tail = mul_add(s * z, atanh_tail(z), rest * inverse);
  const Pair<T> sum = fast_two_sum(k * (T(0.5) * P::ln2_short), s);
  const T value = sum.hi + (sum.lo + mul_add(k, T(0.5) * P::ln2_rest, tail));
  const T end = a == T(1) ? infinity<T>() : quiet_nan<T>();
  return copysign(a < T(1) ? value : end, x);
}

// log x as a pair good to 2^-66, for pow: s = (m - 1) / (m + 1) and the first terms of 2 s + 2/3 s^3 + ... in pairs.
// `lo` may exceed half a unit of `hi`.
template <bool kNormal>
STRIDED_HD Pair<double> log_pair(double x) {
  const Scaled<double> v = split_exponent<kNormal>(x);
  const double f = v.m - 1;
  const Pair<double> d = fast_two_sum(1.0, v.m);  // m may exceed 1, but then 1 + m is exact but for its last bit
  const double inverse = 1 / d.hi;
  const double s = f * inverse;
  const double s_lo = -mul_add(s, d.lo, product_minus(s, d.hi, f)) * inverse;
  const Pair<double> z = two_prod(s, s);
  const double z_lo = mul_add(2 * s, s_lo, z.lo);
  const double tail =
      poly_in_halves(z.hi, 0.3999999999999998, 0.28571428571445212, 0.22222222217511667, 0.18181818873362396,
                     0.15384556662594764, 0.13336325458247905, 0.11674654846299459, 0.11990380242646968);
  const double c = mul_add(z.hi, tail, 0x1.5555555555555p-1);
  const double c_lo = mul_add(z.hi, tail, 0x1.5555555555555p-1 - c) + 0x1.5555555555555p-55;
  const Pair<double> part = two_prod(z.hi, c);
  const double part_lo = mul_add(z.hi, c_lo, mul_add(z_lo, c, part.lo));
  const Pair<double> third = two_prod(s, part.hi);
  const double third_lo = mul_add(s, part_lo, mul_add(s_lo, part.hi, third.lo));
  const Pair<double> m = fast_two_sum(2 * s, third.hi);
  const Pair<double> sum = fast_two_sum(v.k * F64::ln2_short, m.hi);
  return {sum.hi, sum.lo + (m.lo + mul_add(v.k, F64::ln2_rest, mul_add(2.0, s_lo, third_lo)))};
}

// C99 special cases of x^y; `magnitude` is |x|^y for finite nonzero x.
template <class T>
STRIDED_HD T pow_special(T x, T y, T magnitude) {
  const T a = abs(x);
  const T whole = math::floor(y);
  const bool integer = whole == y;
  const bool odd = integer & (math::floor(y * T(0.5)) != y * T(0.5));
  const bool grows = (a == T(0)) == (y < T(0));  // only looked at where a is zero or infinite
  const T extreme = grows ? infinity<T>() : T(0);
  const T size = (a == T(0)) | isinf(a) ? extreme : magnitude;
  const T sign = odd ? x : T(1);
  const T value = copysign(size, sign);
  const T real = (x < T(0)) & isfinite(x) & !integer ? quiet_nan<T>() : value;
  const T checked = isnan(x) | isnan(y) ? x + y : real;
  return (y == T(0)) | (x == T(1)) ? T(1) : checked;
}

STRIDED_HD float exp(float x) { return exp_plain<F32>(x); }
STRIDED_HD double exp(double x) { return exp_plain<F64>(x); }
// Where the result is a normal number.
STRIDED_HD bool has_usual_exp(float x) { return abs(x) < 87.0f; }
STRIDED_HD bool has_usual_exp(double x) { return abs(x) < 708.0; }
STRIDED_HD float exp_usual(float x) { return exp_plain<F32, true>(x); }
STRIDED_HD double exp_usual(double x) { return exp_plain<F64, true>(x); }
// exp(x + lo), for small lo.
STRIDED_HD float exp_usual(float x, float lo) { return exp_impl<F32, true>(x, lo); }
STRIDED_HD double exp_usual(double x, double lo) { return exp_impl<F64, true>(x, lo); }
// x 2^n for a whole n, rounded once.
STRIDED_HD float scaled(float x, float n) {
  const double t = clamp_keep_nan(static_cast<double>(n), -1000.0, 1000.0) + F64::magic;
  return static_cast<float>(static_cast<double>(x) * power_of_two<F64>(t));
}
// Up to three factors: results that are not normal numbers come from the last one alone.
STRIDED_HD double scaled(double x, double n) {
  for (int i = 0; i < 2; ++i) {
    const bool large = n > 1023, small = n < -1022;
    x *= large ? 0x1p1023 : small ? 0x1p-969 : 1.0;
    n -= large ? 1023 : small ? -969 : 0;
  }
  return x * power_of_two<F64>(clamp_keep_nan(n, -1022.0, 1023.0) + F64::magic);
}
STRIDED_HD bool is_usual_exponent(float n) { return (abs(n) < 126.0f) & (trunc(n) == n); }
STRIDED_HD bool is_usual_exponent(double n) { return (abs(n) < 1022.0) & (trunc(n) == n); }
STRIDED_HD float scaled_usual(float x, float n) { return x * power_of_two<F32>(n + F32::magic); }
STRIDED_HD double scaled_usual(double x, double n) { return x * power_of_two<F64>(n + F64::magic); }
STRIDED_HD float exp2(float x) { return exp2_impl<F32>(x); }
STRIDED_HD double exp2(double x) { return exp2_impl<F64>(x); }
STRIDED_HD bool has_usual_exp2(float x) { return abs(x) < 126.0f; }
STRIDED_HD bool has_usual_exp2(double x) { return abs(x) < 1022.0; }
STRIDED_HD float exp2_usual(float x) { return exp2_impl<F32, true>(x); }
STRIDED_HD double exp2_usual(double x) { return exp2_impl<F64, true>(x); }
// 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)), with n = 0 up to 0.44, so that the sum never loses many digits. `lost` is
// -1/2 where 2^(n-1) is too large for the difference.
STRIDED_HD float expm1(float x) {
  using P = F32;
  const float c = clamp_keep_nan(x, P::expm1_low, P::expm1_end);
  const float rounded = mul_add(c, P::log2e, P::magic);
  const float t = abs(x) < 0.44f ? P::magic : rounded, n = t - P::magic;
  const float r0 = mul_add(n, -P::ln2_short, c);
  const float r = mul_add(n, -P::ln2_rest, r0), r_lo = mul_add(n, -P::ln2_rest, r0 - r);
  const float tail = poly(r, 0.5f, 0.16666665f, 0.041666166f, 0.0083335674f, 0.0013962018f, 0.00019813164f);
  const float p = r + mul_add(r * r, tail, r_lo);
  const float scale = from_bits<float>((to_bits(t) + (Bits<float>::bias - 1)) << Bits<float>::mantissa);
  const float base = scale - 0.5f, lost = (scale - base) - 0.5f;
  const float value = 2.0f * (mul_add(scale, p, lost) + base);
  return abs(x) < 0x1p-25f ? x : value;
}
STRIDED_HD double expm1(double x) { return expm1_plain<F64>(x); }

template <class T>
STRIDED_HD T log(T x) {
  return log_special(x, log_of(split_exponent(x)));
}
template <class T>
STRIDED_HD T log2(T x) {
  return log_special(x, log2_of(split_exponent(x)));
}
template <class T>
STRIDED_HD T log10(T x) {
  return log_special(x, log10_of(split_exponent(x)));
}
// Of a positive normal number.
template <class T>
STRIDED_HD bool has_usual_log(T x) {
  constexpr auto least = typename Bits<T>::U(1) << Bits<T>::mantissa;
  return to_bits(x) - least < Bits<T>::exponent - least;
}
template <class T>
STRIDED_HD T log_usual(T x) {
  return log_of(split_exponent<true>(x));
}
template <class T>
STRIDED_HD T log2_usual(T x) {
  return log2_of(split_exponent<true>(x));
}
template <class T>
STRIDED_HD T log10_usual(T x) {
  return log10_of(split_exponent<true>(x));
}
template <class T>
STRIDED_HD T log1p(T x) {
  const T value = log_special(T(1) + x, log1p_usual(x));
  return (x == T(0)) | (x == infinity<T>()) ? x : value;
}

STRIDED_HD float sinh(float x) { return sinh_impl<F32>(x); }
STRIDED_HD double sinh(double x) { return sinh_impl<F64>(x); }
STRIDED_HD float cosh(float x) { return cosh_impl<F32>(x); }
STRIDED_HD double cosh(double x) { return cosh_impl<F64>(x); }
// 1 - 2 / (e^2a + 1) from 0.7 on, where errors of the quotient are too small to count.
STRIDED_HD float tanh(float x) {
  using P = F32;
  const float a = abs(x), y = 2 * (a > P::tanh_high ? P::tanh_high : a), z = a * a;
  const float t = mul_add(y, P::log2e, P::magic), n = t - P::magic;
  const float r = mul_add(n, -P::ln2_rest, mul_add(n, -P::ln2_short, y));
  const float p = mul_add(r * r, P::exp_tail(r), r);
  const float scale = power_of_two<P>(t);
  const float far = 1.0f - 2.0f / mul_add(scale, p, scale + 1.0f);
  const float near =
      mul_add(z * a, poly(z, -0.333331913f, 0.133291155f, -0.0535590686f, 0.020092342f, -0.0051388829f), a);
  return copysign(a < 0.7f ? near : far, x);
}
STRIDED_HD double tanh(double x) { return tanh_impl<F64>(x); }
STRIDED_HD float asinh(float x) { return asinh_impl(x); }
STRIDED_HD double asinh(double x) { return asinh_impl(x); }
STRIDED_HD float acosh(float x) { return acosh_impl(x); }
STRIDED_HD double acosh(double x) { return acosh_impl(x); }
STRIDED_HD float atanh(float x) { return atanh_impl<F32>(x); }
STRIDED_HD double atanh(double x) { return atanh_impl<F64>(x); }
STRIDED_HD bool has_usual_sigmoid(float x) { return abs(x) < 16.0f; }
STRIDED_HD bool has_usual_sigmoid(double x) { return abs(x) < 36.0; }
STRIDED_HD float sigmoid_usual(float x) { return sigmoid_plain<F32>(x); }
STRIDED_HD double sigmoid_usual(double x) { return sigmoid_plain<F64>(x); }
STRIDED_HD float sigmoid(float x) {
  const float usual = sigmoid_usual(clamp_keep_nan(x, -16.0f, 16.0f)), other = sigmoid_far<F32>(x);
  return has_usual_sigmoid(x) ? usual : other;
}
STRIDED_HD double sigmoid(double x) {
  const double usual = sigmoid_usual(clamp_keep_nan(x, -36.0, 36.0)), other = sigmoid_far<F64>(x);
  return has_usual_sigmoid(x) ? usual : other;
}

// a^y = 2^(y log2 a) for 0 < a < infinity, in double, whose range needs no care. log2 m is s P(s^2) with s = (m - 1) /
// (m + 1), to 2^-37.8, and 2^r is 1 + r Q(r), to 2^-33.
STRIDED_HD float pow_usual(float a, float y) {
  const Scaled<double> v = split_exponent<true>(static_cast<double>(a));
  const double s = (v.m - 1) / (v.m + 1);
  const double log2 = mul_add(
      s,
      poly(s * s, 2.8853900817900864, 0.9617966733417975, 0.5770835849651513, 0.4116727189977767, 0.34073010658534336),
      v.k);
  // Within +-200; of bits, since comparisons of double cost more. NaN is seen to by pow_special.
  const uint64_t bits = to_bits(y * log2), size = bits & ~Bits<double>::sign, most = to_bits(200.0);
  const double power = from_bits<double>((size < most ? size : most) | (bits & Bits<double>::sign));
  const double t = power + F64::magic;
  const double r = power - (t - F64::magic);
  const double scale = power_of_two<F64>(t);
  const double q = poly_in_halves(r, 0.6931471805537178, 0.24022650922396663, 0.05550410928754352, 0.009618056661258367,
                                  0.0013333454548154324, 0.0001546145022402711, 1.5310081143138152e-05);
  return static_cast<float>(mul_add(scale * r, q, scale));
}
STRIDED_HD float pow(float x, float y) {
  return pow_special(x, y, pow_usual(abs(x), clamp_keep_nan(y, -0x1p80f, 0x1p80f)));
}
// y log a for a > 0; kNormal: a is a normal number.
template <bool kNormal>
STRIDED_INLINE_HD Pair<double> log_times(double a, double y) {
  const Pair<double> l = log_pair<kNormal>(a);
  const Pair<double> p = two_prod(y, l.hi);
  return {p.hi, mul_add(y, l.lo, p.lo)};
}
STRIDED_INLINE_HD double pow_size(double a, double y) {
  const Pair<double> p = log_times<false>(a, clamp_keep_nan(y, -0x1p80, 0x1p80));
  return exp_impl<F64>(p.hi, abs(p.hi) < 800.0 ? p.lo : 0.0);
}
// Where base and result are normal numbers. The compiler finds the logarithm once for this and for the power.
STRIDED_HD bool has_usual_pow(float a, float y) { return has_usual_log(a) & isfinite(y); }
STRIDED_INLINE_HD bool has_usual_pow(double a, double y) {
  return has_usual_log(a) & (abs(log_times<true>(a, y).hi) < 708.0);
}
STRIDED_INLINE_HD double pow_usual(double a, double y) {
  const Pair<double> p = log_times<true>(a, y);
  return exp_impl<F64, true>(p.hi, p.lo);
}
STRIDED_INLINE_HD double pow(double x, double y) { return pow_special(x, y, pow_size(abs(x), y)); }

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
