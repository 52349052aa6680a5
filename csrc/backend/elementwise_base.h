// What the elementwise ops are written with: the vocabulary of backward formulas, and integer arithmetic that is always
// defined.
#pragma once

#include <limits>
#include <type_traits>

#include "backend/op.h"
#include "base/math.h"
#include "base/math_complex.h"
#include "base/math_special.h"

namespace strided {
inline namespace STRIDED_ISA {

// Note [Backward formulas]
// vjp<I>(g, saved) is the gradient for operand I when g is the gradient of the result, in PyTorch's convention for
// complex numbers: g * conj(df/dx). It is written over any value type V, so that with V = Tensor every step is a
// recorded operation (hence second derivatives), and with V = double it can be tested against finite differences. Its
// words:
//   + - * /, unary -        between values, and between a value and a number
//   apply<Op>(v...)         another op of the table; comparisons give a condition
//   apply_with<Op>(p, v...) another op of the table, with params
//   conj(x)                 complex conjugate, x itself for a real x
//   masked(x, condition)    x where the condition holds, else 0 (a product would make NaN of 0 * inf)
//   zero_like(x)            zeros
//   times_i(x)              the imaginary unit times x; 0 for a real x, as the engine keeps real parts only
//   no_derivative(g, what)  raises NotImplementedError: the derivative for `what` is not implemented
// For Tensor they are found in namespace strided by argument-dependent lookup (ops/operators.h). A result that has more
// dimensions, or is complex where the operand is real, is reduced by the engine.
template <class Op, class... V>
auto apply(const V&... v);
template <class Op, class... V>
auto apply_with(const double* params, const V&... v);

inline double conj(double x) { return x; }
inline double masked(double x, bool condition) { return condition ? x : 0.0; }
inline double zero_like(double) { return 0.0; }
inline double times_i(double) { return 0.0; }
inline double no_derivative(double, const char*) { return __builtin_nan(""); }

// 1 where x is 0, else x: a denominator for quotients whose value at 0 is masked away. Dividing by the 0 itself would
// leave a NaN in second derivatives.
struct Eq;
struct Ne;
template <class V>
V nonzero(const V& x) {
  return x + apply<Eq>(x, 0.0);
}

// The gradient of ops that are constant between their steps.
struct ZeroGradient {
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return zero_like(g);
  }
};

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLn10 = 2.30258509299404568402;
constexpr double kSqrtPi = 1.77245385090551602730;
constexpr double kSqrt2Pi = 2.50662827463100050242;
constexpr double kSqrt2 = 1.41421356237309504880;

template <class T>
constexpr bool is_int_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr bool is_float_v = std::is_floating_point_v<T>;
template <class T>
using if_float = std::enable_if_t<is_float_v<T>>;
template <class T>
using if_complex = std::enable_if_t<is_complex_v<T>>;

// Integer arithmetic wraps around, as two's complement does: computed in an unsigned type at least as wide as unsigned,
// because narrower ones would be promoted to int, whose overflow is undefined.
template <class T>
using wrap_t = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

namespace integer {

template <class T>
STRIDED_HD T add(T a, T b) {
  return static_cast<T>(static_cast<wrap_t<T>>(a) + static_cast<wrap_t<T>>(b));
}
template <class T>
STRIDED_HD T sub(T a, T b) {
  return static_cast<T>(static_cast<wrap_t<T>>(a) - static_cast<wrap_t<T>>(b));
}
template <class T>
STRIDED_HD T mul(T a, T b) {
  return static_cast<T>(static_cast<wrap_t<T>>(a) * static_cast<wrap_t<T>>(b));
}
template <class T>
STRIDED_HD T neg(T a) {
  return static_cast<T>(wrap_t<T>(0) - static_cast<wrap_t<T>>(a));
}
template <class T>
STRIDED_HD bool is_negative(T a) {
  if constexpr (std::is_signed_v<T>) return a < T(0);
  else return false;
}
template <class T>
STRIDED_HD T abs(T a) {
  return is_negative(a) ? neg(a) : a;
}

// Integer division.
// Division by zero is refused before the loop runs; here it merely must not trap: quotient and remainder are 0. The one
// overflow, the most negative number by -1, wraps to itself, with remainder 0.
template <class T>
STRIDED_HD bool divides_plainly(T b) {
  if constexpr (std::is_signed_v<T>) return (b != T(0)) & (b != T(-1));
  else return b != T(0);
}
template <class T>
STRIDED_HD T div_trunc(T a, T b) {
  const bool plain = divides_plainly(b);
  const T quotient = static_cast<T>(a / (plain ? b : T(1)));
  return plain ? quotient : b == T(0) ? T(0) : neg(a);
}
template <class T>
STRIDED_HD T mod_trunc(T a, T b) {
  const bool plain = divides_plainly(b);
  return static_cast<T>(plain ? a % (plain ? b : T(1)) : T(0));
}
template <class T>
STRIDED_HD bool rounds_up(T mod, T b) {  // did truncation leave a quotient above the floor?
  return (mod != T(0)) & (is_negative(mod) != is_negative(b));
}
template <class T>
STRIDED_HD T div_floor(T a, T b) {
  return static_cast<T>(div_trunc(a, b) - T(rounds_up(mod_trunc(a, b), b)));
}
template <class T>
STRIDED_HD T mod_floor(T a, T b) {
  const T mod = mod_trunc(a, b);
  return static_cast<T>(mod + (rounds_up(mod, b) ? b : T(0)));
}

// The same in floating point, for which processors have vector instructions: 8 and 16 bits in float, others in double,
// below 2^51. It is exact: a quotient that is no integer is further from one, relatively, than the rounding of the
// division can move it.
template <class T>
constexpr bool divides_as_float = sizeof(T) <= 2 || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
template <class T>
bool divides_as_float_usually(T a, T b) {
  if constexpr (sizeof(T) <= 2) {
    return b != 0;
  } else {
    constexpr int64_t limit = int64_t{1} << 51;
    const int64_t x = a, y = b;
    return (x < limit) & (x > -limit) & (y < limit) & (y > -limit) & (y != 0);
  }
}
// A sum with 1.5 * 2^52 has the integer in its low bits. Larger integers give anything, and so do their quotients.
template <class T>
auto to_float(T x) {
  constexpr double magic = 0x1.8p52;
  if constexpr (sizeof(T) <= 2) return static_cast<float>(x);
  else return bit_cast<double>(static_cast<uint64_t>(int64_t{x}) + bit_cast<uint64_t>(magic)) - magic;
}
template <class T>
T from_float(float x) {
  return static_cast<T>(static_cast<int32_t>(x));
}
template <class T>
T from_float(double x) {
  constexpr double magic = 0x1.8p52;
  return static_cast<T>(bit_cast<uint64_t>(x + magic) - bit_cast<uint64_t>(magic));
}
template <class T>
T div_floor_as_float(T a, T b) {
  return from_float<T>(math::floor(to_float(a) / to_float(b)));
}
template <class T>
T div_trunc_as_float(T a, T b) {
  return from_float<T>(math::trunc(to_float(a) / to_float(b)));
}
template <class T>
T mod_floor_as_float(T a, T b) {
  const auto x = to_float(a), y = to_float(b);
  return from_float<T>(x - math::floor(x / y) * y);
}
template <class T>
T mod_trunc_as_float(T a, T b) {
  const auto x = to_float(a), y = to_float(b);
  return from_float<T>(x - math::trunc(x / y) * y);
}

// Exponentiation by squaring. A negative exponent gives what is left of 1 / base^|exponent| when truncated: only the
// bases 1 and -1 give something, and 0 gives 0.
template <class T>
STRIDED_HD T pow(T base, T exponent) {
  using U = wrap_t<T>;
  if (is_negative(exponent)) {
    if (base == T(1)) return T(1);
    if (base == static_cast<T>(-1)) return exponent % 2 ? static_cast<T>(-1) : T(1);
    return T(0);
  }
  U result = 1, square = static_cast<U>(base);
  for (U e = static_cast<U>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Shifts by a negative amount or by the width and more move every bit out. Up to 32 bits in lanes of 32.
template <class T>
using shift_t = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <class T>
STRIDED_HD T shift_left(T a, T n) {
  using U = shift_t<T>;
  constexpr U width = 8 * sizeof(T);
  const U by = static_cast<U>(n), shifted = static_cast<U>(a) << (by & (8 * sizeof(U) - 1));
  return by < width ? static_cast<T>(shifted) : T(0);
}
template <class T>
STRIDED_HD T shift_right(T a, T n) {
  using U = shift_t<T>;
  constexpr U width = 8 * sizeof(T);
  const U by = static_cast<U>(n);
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (by < width ? by : width - 1));
  else return by < width ? static_cast<T>(a >> (by & (width - 1))) : T(0);
}

}  // namespace integer

template <class T>
STRIDED_HD bool is_true(T x) {
  return x != T(0);
}

}  // namespace STRIDED_ISA
}  // namespace strided
