// Building blocks of the scalar mathematics: bit views, fused multiply-add, error-free sums and products, rounding and
// classification. Everything is branch-free, so that loops over it vectorise (see Note [Vectorisable mathematics] in
// base/math.h).
#pragma once

#include <cmath>

#include "base/complex.h"

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define STRIDED_DEVICE_CODE 1
#else
#define STRIDED_DEVICE_CODE 0
#endif

// A fused multiply-add where the machine has one. Elsewhere __builtin_fma would be a call into libm, slow and in the
// way of vectorisation, so a product and a sum take its place; code that needs the exact product asks `two_prod` for
// it.
#if STRIDED_DEVICE_CODE || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define STRIDED_HAS_FMA 1
#else
#define STRIDED_HAS_FMA 0
#endif

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

constexpr double kPi = 3.14159265358979323846;

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using U = uint32_t;
  static constexpr int mantissa = 23;
  static constexpr int bias = 127;
  static constexpr U sign = 0x80000000u;
  static constexpr U exponent = 0x7f800000u;
};
template <>
struct Bits<double> {
  using U = uint64_t;
  static constexpr int mantissa = 52;
  static constexpr int bias = 1023;
  static constexpr U sign = 0x8000000000000000u;
  static constexpr U exponent = 0x7ff0000000000000u;
};

template <class T>
STRIDED_HD typename Bits<T>::U to_bits(T x) {
  return bit_cast<typename Bits<T>::U>(x);
}
template <class T>
STRIDED_HD T from_bits(typename Bits<T>::U u) {
  return bit_cast<T>(u);
}
template <class T>
STRIDED_HD constexpr T infinity() {
  return static_cast<T>(__builtin_huge_val());
}
template <class T>
STRIDED_HD constexpr T quiet_nan() {
  return static_cast<T>(__builtin_nan(""));
}

STRIDED_HD float mul_add(float a, float b, float c) {
#if STRIDED_HAS_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
STRIDED_HD double mul_add(double a, double b, double c) {
#if STRIDED_HAS_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// c[0] + c[1] x + ... + c[N-1] x^(N-1) by Horner's rule. The coefficients are arguments, not an array: an array would
// be loaded from memory in some loops.
template <class T>
STRIDED_HD T poly(T, T c0) {
  return c0;
}
template <class T, class... Rest>
STRIDED_HD T poly(T x, T c0, Rest... rest) {
  return mul_add(poly(x, rest...), x, c0);
}

// The same as a polynomial of even powers and x times another: half as long a chain, for one product more. For long
// polynomials, whose chains fill the processor's queues before another vector's begins.
template <class T>
STRIDED_HD T poly_even(T, T c0) {
  return c0;
}
template <class T>
STRIDED_HD T poly_even(T, T c0, T) {
  return c0;
}
template <class T, class... Rest>
STRIDED_HD T poly_even(T square, T c0, T, Rest... rest) {
  return mul_add(poly_even(square, rest...), square, c0);
}
template <class T, class... Rest>
STRIDED_HD T poly_in_halves(T x, T c0, Rest... rest) {
  const T square = x * x;
  return mul_add(poly_even(square, rest...), x, poly_even(square, c0, rest...));
}

// Sign and absolute value.
template <class T>
STRIDED_HD T abs(T x) {
  return from_bits<T>(to_bits(x) & ~Bits<T>::sign);
}
template <class T>
STRIDED_HD T copysign(T magnitude, T sign) {
  return from_bits<T>((to_bits(magnitude) & ~Bits<T>::sign) | (to_bits(sign) & Bits<T>::sign));
}
// x, negated where `sign` is negative (or -0).
template <class T>
STRIDED_HD T mulsign(T x, T sign) {
  return from_bits<T>(to_bits(x) ^ (to_bits(sign) & Bits<T>::sign));
}
template <class T>
STRIDED_HD bool signbit(T x) {
  return (to_bits(x) & Bits<T>::sign) != 0;
}

// first if the condition holds, else second: by masks, since the compiler makes a branch of a conditional expression
// with long sides, and then no vector code of the loop.
template <class T>
STRIDED_HD T choose(bool condition, T first, T second) {
  using U = typename Bits<T>::U;
  const U mask = U(0) - static_cast<U>(condition);
  return from_bits<T>((to_bits(first) & mask) | (to_bits(second) & ~mask));
}

// Classification.
template <class T>
STRIDED_HD bool isnan(T x) {
  return x != x;
}
template <class T>
STRIDED_HD bool isinf(T x) {
  return abs(x) == infinity<T>();
}
template <class T>
STRIDED_HD bool isfinite(T x) {
  return abs(x) < infinity<T>();
}

// Rounding to an integral value; `round` takes ties to even.
#if STRIDED_DEVICE_CODE
STRIDED_HD float floor(float x) { return ::floorf(x); }
STRIDED_HD double floor(double x) { return ::floor(x); }
STRIDED_HD float ceil(float x) { return ::ceilf(x); }
STRIDED_HD double ceil(double x) { return ::ceil(x); }
STRIDED_HD float trunc(float x) { return ::truncf(x); }
STRIDED_HD double trunc(double x) { return ::trunc(x); }
STRIDED_HD float round(float x) { return ::rintf(x); }
STRIDED_HD double round(double x) { return ::rint(x); }
STRIDED_HD float sqrt(float x) { return ::sqrtf(x); }
STRIDED_HD double sqrt(double x) { return ::sqrt(x); }
STRIDED_HD float rsqrt(float x) { return ::rsqrtf(x); }
STRIDED_HD double rsqrt(double x) { return ::rsqrt(x); }
#else
STRIDED_HD float floor(float x) { return __builtin_floorf(x); }
STRIDED_HD double floor(double x) { return __builtin_floor(x); }
STRIDED_HD float ceil(float x) { return __builtin_ceilf(x); }
STRIDED_HD double ceil(double x) { return __builtin_ceil(x); }
STRIDED_HD float trunc(float x) { return __builtin_truncf(x); }
STRIDED_HD double trunc(double x) { return __builtin_trunc(x); }
STRIDED_HD float round(float x) { return __builtin_rintf(x); }
STRIDED_HD double round(double x) { return __builtin_rint(x); }
STRIDED_HD float sqrt(float x) { return __builtin_sqrtf(x); }
STRIDED_HD double sqrt(double x) { return __builtin_sqrt(x); }
STRIDED_HD double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
#endif

// Remainder of the truncated division, with the sign of x. Exact, hence a loop of its own in libm: not vectorised.
STRIDED_HD float fmod(float x, float y) { return ::fmodf(x, y); }
STRIDED_HD double fmod(double x, double y) { return ::fmod(x, y); }

// The same, vectorised, where the quotient is not too large: where fmod_is_near. The remainder of the quotient rounded
// to an integer is exact in a fused multiply-add, and off by one divisor at most, which is added back exactly.
// (Without such an instruction products of float are exact in double, and there is no fmod_near of double.)
template <class T>
STRIDED_HD bool fmod_is_near(T x, T y) {
  constexpr bool possible = STRIDED_HAS_FMA || sizeof(T) == 4;
  const T a = abs(x), b = abs(y);
  constexpr T limit = static_cast<T>(uint64_t{1} << Bits<T>::mantissa);
  return possible & (a < b * limit) & (b < infinity<T>());
}
template <class T>
STRIDED_HD T fmod_near(T x, T y) {
#if STRIDED_HAS_FMA
  const T a = abs(x), b = abs(y), r = mul_add(-trunc(a / b), b, a);
#else
  const double a = abs(x), b = abs(y), r = a - trunc(a / b) * b;
#endif
  return copysign(static_cast<T>(r < 0 ? r + b : r), x);
}

// The next representable value after x in the direction of y; y itself when they are equal.
template <class T>
STRIDED_HD T nextafter(T x, T y) {
  using U = typename Bits<T>::U;
  const U u = to_bits(x);
  const U away = u + 1;
  const U toward = u - 1;
  const bool grows = (x < y) == !signbit(x);
  const T step = from_bits<T>(grows ? away : toward);
  const T smallest = copysign(from_bits<T>(1), y);
  const T moved = x == T(0) ? smallest : step;
  const T result = x == y ? y : moved;
  return (x != x) | (y != y) ? x + y : result;
}

// An unevaluated sum hi + lo with |lo| <= ulp(hi) / 2.
template <class T>
struct Pair {
  T hi, lo;
};

// Error-free sum. D. E. Knuth, The Art of Computer Programming 2, section 4.2.2.
template <class T>
STRIDED_HD Pair<T> two_sum(T a, T b) {
  const T s = a + b;
  const T bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}
// The same for |a| >= |b|. T. J. Dekker, "A floating-point technique for extending the available precision",
// Numerische Mathematik 18 (1971).
template <class T>
STRIDED_HD Pair<T> fast_two_sum(T a, T b) {
  const T s = a + b;
  return {s, b - (s - a)};
}
// Error-free product; without a fused multiply-add by Veltkamp's splitting (Dekker 1971), which wants |a|, |b| < 2^996.
template <class T>
STRIDED_HD Pair<T> two_prod(T a, T b) {
  const T p = a * b;
#if STRIDED_HAS_FMA
  return {p, mul_add(a, b, -p)};
#else
  const T splitter = sizeof(T) == 4 ? T(4097) : T(134217729);
  const T ca = a * splitter, cb = b * splitter;
  const T ah = ca - (ca - a), bh = cb - (cb - b);
  const T al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

// a * b - c, where the result is small: exact with a fused multiply-add, and nearly so without.
template <class T>
STRIDED_HD T product_minus(T a, T b, T c) {
#if STRIDED_HAS_FMA
  return mul_add(a, b, -c);
#else
  const Pair<T> p = two_prod(a, b);
  return (p.hi - c) + p.lo;
#endif
}

#if !STRIDED_DEVICE_CODE
STRIDED_HD float rsqrt(float x) {
#if STRIDED_HAS_FMA
  // y = 1 / s and s = sqrt(x) are each rounded; what they lack is found from s^2 - x and s y - 1.
  const float s = sqrt(x), y = 1 / s;
  const float value = y - y * (mul_add(s, y, -1.0f) - 0.5f * (mul_add(s, s, -x) * y) * y);
  return (x == 0) | isinf(x) ? y : value;
#else
  return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
#endif
}
#endif

// The quotient of two pairs: one division and one step of refinement, in error by little more than the last rounding.
template <class T>
STRIDED_HD T divide(const Pair<T>& n, const Pair<T>& d) {
  const T inverse = T(1) / d.hi;
  const T q = n.hi * inverse;
  const T rest = (n.lo - q * d.lo) - product_minus(q, d.hi, n.hi);
  return mul_add(rest, inverse, q);
}

// sqrt(large^2 + small^2), large >= small >= 0, where large is from about 1.
STRIDED_HD float root_of_squares(float large, float small) { return math::sqrt(mul_add(large, large, small * small)); }
STRIDED_HD double root_of_squares(double large, double small) {
  const Pair<double> u = two_prod(large, large), v = two_prod(small, small);
  const Pair<double> sum = fast_two_sum(u.hi, v.hi);
  const double root = math::sqrt(sum.hi);
  const double rest = (sum.lo + u.lo + v.lo) - product_minus(root, root, sum.hi);
  return root + rest * 0.5 / root;  // one Newton step
}
// Where no square overflows or underflows.
template <class T>
STRIDED_HD bool has_usual_hypot(T x, T y) {
  constexpr T low = sizeof(T) == 4 ? T(0x1p-50) : T(0x1p-400), high = 1 / low;
  const T a = abs(x), b = abs(y), large = a < b ? b : a, small = a < b ? a : b;
  return (large > low) & (large < high) & ((small > low) | (small == 0));
}
template <class T>
STRIDED_HD T hypot_usual(T x, T y) {
  const T a = abs(x), b = abs(y);
  return root_of_squares(a < b ? b : a, a < b ? a : b);
}
// sqrt(x^2 + y^2) without overflow or underflow on the way; infinite where an argument is, even beside a NaN.
template <class T>
STRIDED_HD T hypot(T x, T y) {
  using U = typename Bits<T>::U;
  const T a = abs(x), b = abs(y);
  const T large = a < b ? b : a, small = a < b ? a : b;
  // Scaled by a normal power of two, so that the larger lies below 8.
  constexpr U one = U(1) << Bits<T>::mantissa, top = Bits<T>::exponent - 3 * one;
  const U exponent = to_bits(large) & Bits<T>::exponent;
  const T scale = from_bits<T>(top + 2 * one - (exponent > top ? top : exponent));
  const T value = large == 0 ? T(0) : root_of_squares(large * scale, small * scale) / scale;
  const T checked = isnan(x) | isnan(y) ? x + y : value;
  return isinf(x) | isinf(y) ? infinity<T>() : checked;
}

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
