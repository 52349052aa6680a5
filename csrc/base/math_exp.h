// Exponentials, logarithms, powers and hyperbolic functions for the host (see Note [Vectorisable mathematics] in
// base/math.h; include that file, not this one).
//
// One algorithm serves several precisions through a policy: F32 is pure float; F64 is double; Lite is double with
// polynomials just long enough (2^-29) for a result that is then rounded to float. Polynomials are minimax fits made
// for this library (Remez exchange); the schemes are those of W. J. Cody and W. Waite, "Software Manual for the
// Elementary Functions" (1980), and P. T. P. Tang's papers on exp, log and expm1 (ACM TOMS 1989 to 1992), without
// tables.
#pragma once

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
  static constexpr T tiny = 1e-9f;  // below, odd functions of slope 1 return their argument
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
  static constexpr T tiny = 1e-17;
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
  STRIDED_HD static T log_tail(T z) { return poly(z, 0.66666776743082812, 0.39977492884842225, 0.29873128506679253); }
};

template <class T>
STRIDED_HD T clamp_keep_nan(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}

// The factors of 2^n, t = n + magic, n between twice the smallest and twice the largest exponent: subnormal results
// and those next to overflow cannot be had by one multiplication.
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

template <class P>
STRIDED_HD typename P::T exp2_impl(typename P::T x) {
  using T = typename P::T;
  const T c = clamp_keep_nan(x, P::exp2_low, P::exp2_high);
  const T t = c + P::magic;
  const T n = t - P::magic;
  const T f = c - n;
  const T r = f * P::ln2;
  const T lost = mul_add(f, P::ln2_lo, product_minus(f, P::ln2, r));
  const T p = r + mul_add(r * r, P::exp_tail(r), lost);
  const Pair<T> factor = power_of_two_factors<P>(n, t);
  return (T(1) + p) * factor.hi * zero_below(x, P::exp2_low, factor.lo);
}

// (e^x - 1) / 4 as a pair: the quarter so that sinh and cosh do not overflow before their results do.
// kFar: x may exceed 50, where 1/4 is lost in 2^n / 4.
template <class P, bool kFar>
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
  const T lo = mul_add(scale, p.lo, sum.lo);
  return {sum.hi, kFar ? lo + ((scale - base) - T(0.25)) : lo};
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

template <class P>
STRIDED_HD typename P::T sinh_impl(typename P::T x) {
  using T = typename P::T;
  const T a = abs(x);
  const Pair<T> q = quarter_expm1<P, true>(clamp_keep_nan(a, T(0), P::expm1_high));
  // (t + t / (t + 1)) / 2 with t = 4 q.
  const T q4 = T(4) * q.hi;
  const T value = mul_add(T(2), q.hi, T(2) * (q.hi / (q4 + T(1)) + q.lo));
  return copysign(a < T(1e-9) ? a : value, x);
}

template <class P>
STRIDED_HD typename P::T cosh_impl(typename P::T x) {
  using T = typename P::T;
  const Pair<T> q = quarter_expm1<P, true>(clamp_keep_nan(abs(x), T(0), P::expm1_high));
  const T g = q.hi + T(0.25);  // e^|x| / 4
  const T rest = ((q.hi - g) + T(0.25)) + q.lo;
  return T(2) * g + (T(0.125) / g + T(2) * rest);
}

template <class P>
STRIDED_HD typename P::T tanh_impl(typename P::T x) {
  using T = typename P::T;
  const T a = abs(x);
  const Pair<T> q = quarter_expm1<P, false>(T(2) * (a > P::tanh_high ? P::tanh_high : a));
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

// log x = k ln2 + hi + lo, x > 0.
template <class T>
struct LogParts {
  T k, hi, lo;
};

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

template <class P, bool kNormal = false>
STRIDED_HD LogParts<double> log_parts(double x) {
  const Scaled<double> v = split_exponent<kNormal>(x);
  const double f = v.m - 1;
  const double s = f / (f + 2);
  const double z = s * s;
  const double half = 0.5 * f * f;
  const double rest = s * mul_add(z, P::log_tail(z), half) - half;
  const Pair<double> sum = fast_two_sum(f, rest);
  return {v.k, sum.hi, sum.lo};
}
// log(m 2^k) in the base whose logarithm of two is two_short + two_rest and whose log(e) is unit + unit_lo.
template <class P>
STRIDED_HD double log_sum(const LogParts<double>& p, double two_short, double two_rest, double unit, double unit_lo) {
  const double h = p.hi * unit;
  const double l = mul_add(p.hi, unit_lo, product_minus(p.hi, unit, h)) + p.lo * unit;
  const Pair<double> sum = fast_two_sum(p.k * two_short, h);
  return sum.hi + (sum.lo + mul_add(p.k, two_rest, l));
}

// log(m 2^k) for m = 1 + f, with rest = log m - f; and what its rounding loses.
template <class P, class T>
STRIDED_HD Pair<T> log_pair(T k, T f, T rest) {
  const Pair<T> sum = fast_two_sum(k * P::ln2_short, f);
  return fast_two_sum(sum.hi, sum.lo + mul_add(k, P::ln2_rest, rest));
}
template <class P>
STRIDED_HD double log_rest(double f) {
  const double s = f / (f + 2);
  const double z = s * s;
  const double half = 0.5 * f * f;
  return mul_add(s, mul_add(z, P::log_tail(z), half), -half);
}
template <bool kNormal = false>
STRIDED_HD double log_double(double x) {
  const Scaled<double> v = split_exponent<kNormal>(x);
  const double f = v.m - 1;
  return log_pair<F64>(v.k, f, log_rest<F64>(f)).hi;
}
// log(x + c), c a correction below ulp(x): 1 / m is about 1 - f + f^2.
template <class P>
STRIDED_HD double log_double(double x, double c) {
  const Scaled<double> v = split_exponent<true>(x);
  const double f = v.m - 1;
  const double scale = from_bits<double>(to_bits(v.m) - to_bits(x) + to_bits(1.0));  // 2^-k
  const double scaled = x < 0x1p60 ? c * scale : 0.0;
  return log_pair<P>(v.k, f, mul_add(scaled, mul_add(f, f - 1, 1.0), log_rest<P>(f))).hi;
}

// value where x > 0 is finite; else what every logarithm gives.
template <class T>
STRIDED_HD T log_special(T x, T value) {
  const T below = x == T(0) ? -infinity<T>() : quiet_nan<T>();
  const T outside = x <= T(0) ? below : x;
  return (x > T(0)) & (x < infinity<T>()) ? value : outside;
}

// The same in float: f - f^2 / 2 + f^3 P(f), f = m - 1, without a division.
STRIDED_HD float log_rest(float f) {
  const float square = f * f;
  const float tail = poly(f, 0.333333105f, -0.249999866f, 0.200022236f, -0.166692361f, 0.142186895f, -0.123846024f,
                          0.118730061f, -0.117884047f, 0.0691364631f);
  return mul_add(-0.5f * f, f, square * f * tail);
}
STRIDED_HD float log_float(const Scaled<float>& v) { return log_pair<F32>(v.k, v.m - 1.0f, log_rest(v.m - 1.0f)).hi; }
// log((m + c) 2^k), c a correction below ulp(m).
STRIDED_HD float log_float(const Scaled<float>& v, float c) {
  const float f = v.m - 1.0f;
  return log_pair<F32>(v.k, f, log_rest(f) + c * mul_add(f, f - 1.0f, 1.0f)).hi;  // 1 / m is about 1 - f + f^2
}
STRIDED_HD float log_float(const Scaled<float>& v, float two_short, float two_rest, float unit, float unit_lo) {
  const float f = v.m - 1.0f;
  const float h = f * unit;
  const float l = mul_add(log_rest(f), unit, mul_add(f, unit_lo, product_minus(f, unit, h)));
  const Pair<float> sum = fast_two_sum(v.k * two_short, h);
  return sum.hi + (sum.lo + mul_add(v.k, two_rest, l));
}
// log(1 + x) for -1 < x < infinity: the rounding error of 1 + x is carried along.
STRIDED_HD float log1p_usual(float x) {
  const Pair<float> u = two_sum(1.0f, x);
  const Scaled<float> v = split_exponent<true>(u.hi);
  const float scale = from_bits<float>(to_bits(v.m) - to_bits(u.hi) + to_bits(1.0f));  // 2^-k
  return copysign(log_float(v, u.hi < 0x1p60f ? u.lo * scale : 0.0f), x);
}

template <class P>
STRIDED_HD double log2_impl(double x) {
  return log_special(x, log_sum<P>(log_parts<P>(x), 1, 0, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56));
}
template <class P>
STRIDED_HD double log10_impl(double x) {
  return log_special(x, log_sum<P>(log_parts<P>(x), 0x1.34413509f7p-2, 0x1.3fde623e2566bp-43, 0x1.bcb7b1526e50ep-2,
                                   0x1.95355baaafad3p-57));
}
// log(1 + x): the rounding error of 1 + x is carried along.
template <class P>
STRIDED_HD double log1p_impl(double x) {
  const Pair<double> u = two_sum(1.0, x);
  const double value = log_special(u.hi, log_double<P>(u.hi, u.lo));
  return (x == 0) | (x == infinity<double>()) ? x : value;
}

template <class P>
STRIDED_HD double asinh_impl(double x) {
  const double a = abs(x);
  const bool large = a > 0x1p60;
  const double square = a * a;
  const double v = large ? a : a + square / (1 + math::sqrt(square + 1));
  const double value = log1p_impl<P>(v) + (large ? P::ln2 : 0.0);
  return copysign(a < 1e-9 ? a : value, x);
}
template <class P>
STRIDED_HD double acosh_impl(double x) {
  const bool large = x > 0x1p60;
  const double t = x - 1;
  const double v = large ? t : t + math::sqrt(t * (t + 2));
  const double value = log1p_impl<P>(v) + (large ? P::ln2 : 0.0);
  return x < 1 ? quiet_nan<double>() : value;
}
template <class P>
STRIDED_HD double atanh_impl(double x) {
  const double a = abs(x);
  const double twice = a + a;
  const double v = twice + twice * a / (1 - a);
  const double value = 0.5 * log1p_impl<P>(v);
  return copysign(a > 1 ? quiet_nan<double>() : a < 1e-9 ? a : value, x);
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
STRIDED_HD float exp2(float x) { return exp2_impl<F32>(x); }
STRIDED_HD double exp2(double x) { return exp2_impl<F64>(x); }
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

STRIDED_HD float log(float x) { return log_special(x, log_float(split_exponent(x))); }
STRIDED_HD double log(double x) { return log_special(x, log_double(x)); }
// Of a positive normal number.
template <class T>
STRIDED_HD bool has_usual_log(T x) {
  constexpr auto least = typename Bits<T>::U(1) << Bits<T>::mantissa;
  return to_bits(x) - least < Bits<T>::exponent - least;
}
STRIDED_HD float log_usual(float x) { return log_float(split_exponent<true>(x)); }
STRIDED_HD double log_usual(double x) { return log_double<true>(x); }
STRIDED_HD float log2(float x) {
  return log_special(x, log_float(split_exponent(x), 1, 0, 0x1.715476p0f, 0x1.4ae0cp-26f));
}
STRIDED_HD double log2(double x) { return log2_impl<F64>(x); }
STRIDED_HD float log10(float x) {
  return log_special(x, log_float(split_exponent(x), 0x1.344p-2f, 0x1.3509f8p-18f, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f));
}
STRIDED_HD double log10(double x) { return log10_impl<F64>(x); }
STRIDED_HD float log1p(float x) {
  const float value = log_special(1.0f + x, log1p_usual(x));
  return (x == 0) | (x == infinity<float>()) ? x : value;
}
STRIDED_HD double log1p(double x) { return log1p_impl<F64>(x); }
// For -1 < x < infinity.
STRIDED_HD double log1p_usual(double x) {
  const Pair<double> u = two_sum(1.0, x);
  return copysign(log_double<F64>(u.hi, u.lo), x);
}

STRIDED_HD float sinh(float x) {
  const float z = x * x;
  const float near = mul_add(z * x, poly(z, 0.166666672f, 0.00833331048f, 0.00019842881f, 2.78237007e-06f), x);
  return abs(x) < 1.0f ? near : sinh_impl<F32>(x);
}
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
STRIDED_HD float asinh(float x) { return static_cast<float>(asinh_impl<Lite>(x)); }
STRIDED_HD double asinh(double x) { return asinh_impl<F64>(x); }
STRIDED_HD float acosh(float x) { return static_cast<float>(acosh_impl<Lite>(x)); }
STRIDED_HD double acosh(double x) { return acosh_impl<F64>(x); }
STRIDED_HD float atanh(float x) { return static_cast<float>(atanh_impl<Lite>(x)); }
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
