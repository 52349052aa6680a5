// Elementwise arithmetic of two operands.
#pragma once

#include "backend/elementwise_transcendental.h"

namespace strided {
inline namespace STRIDED_ISA {

struct Ge;
struct Isnan;
struct LogicalAnd;
struct Lt;
struct LogicalOr;
struct LogicalNot;

struct Add {
  static constexpr Info info{"add", Promote::Same, kinds::all, Saves::Nothing,
                             "Sum of two operands; integers wrap around, for bool it is their logical or."};
  STRIDED_HD static bool fwd(bool a, bool b) { return a | b; }
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::add(a, b);
    else return a + b;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return g;
  }
};

struct Sub {
  static constexpr Info info =
      Info{"sub", Promote::Same, kinds::numeric, Saves::Nothing, "Difference of two operands; integers wrap around."}
          .with_aliases("subtract")
          .with_reflected_node("RsubBackward1");
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::sub(a, b);
    else return a - b;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    if constexpr (I == 0) return g;
    else return -g;
  }
};

struct Mul {
  static constexpr Info info = Info{"mul", Promote::Same, kinds::all, Saves::Inputs,
                                    "Product of two operands; integers wrap around, for bool it is their logical and."}
                                   .with_aliases("multiply");
  STRIDED_HD static bool fwd(bool a, bool b) { return a & b; }
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::mul(a, b);
    else return a * b;
  }
  static constexpr uint8_t reads[] = {2, 1};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(s.in[1 - I]);
  }
};

struct Div {
  static constexpr Info info =
      Info{"div", Promote::Floating, kinds::floating, Saves::Inputs,
           "Quotient of two operands, in floating point also for integers. Division by zero gives inf or "
           "NaN."}
          .with_aliases("divide true_divide")
          .with_reflected_node("MulBackward0");  // by the reciprocal
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return a / b;
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g / conj(s.in[1]);
    else return -g * conj(s.in[0] / s.in[1] / s.in[1]);
  }
};

// ---- integral quotients and remainders ------------------------------------------------------------------------------

// Note [Usual operands]
// Some ops have two functions beside fwd, which is right for every operand, and slow. Where is_usual says so, which are
// nearly all operands in practice, fwd_usual gives the same bits, and is fast vector code: csrc/cpu/pointwise/loops.inc
// asks for some elements at a time. An op whose is_usual looks at the result says `using UsualDependsOnResult = void`:
// it is then asked once for each element.

struct DivTrunc : ZeroGradient {
  static constexpr Info info = Info{"_div_trunc", Promote::Same, kinds::Int | kinds::Float, Saves::Nothing,
                                    "Quotient of two operands, rounded towards zero (div with rounding_mode='trunc')."}
                                   .with_node("Div");
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::div_trunc(a, b);
    else return math::trunc(a / b);
  }
  template <class T, class = std::enable_if_t<is_int_v<T>>>
  static bool is_usual(T a, T b) {
    return integer::divides_as_float_usually(a, b);
  }
  template <class T, class = std::enable_if_t<is_int_v<T>>>
  static T fwd_usual(T a, T b) {
    return integer::div_trunc_as_float(a, b);
  }
};

struct FloorDivide : ZeroGradient {
  static constexpr Info info{
      "floor_divide", Promote::Same, kinds::Int | kinds::Float, Saves::Nothing,
      "Quotient of two operands, rounded down, as Python's // does. Integer division by zero "
      "raises, the most negative integer by -1 wraps; floating-point division by zero gives inf or "
      "NaN."};
  // From the remainder, which is exact, as Python's float.__floordiv__: rounding a / b first could pass an integer.
  template <class T>
  STRIDED_HD static T from(T a, T b, T mod) {
    const T quotient = a / b;
    T whole = (a - mod) / b;
    whole -= T((mod != T(0)) & ((b < T(0)) != (mod < T(0))));
    const T below = math::floor(whole);
    const T nearest = below + T(whole - below > T(0.5));
    const T result = whole == T(0) ? math::copysign(T(0), quotient) : nearest;
    return b == T(0) ? quotient : result;
  }
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::div_floor(a, b);
    else return from(a, b, math::fmod(a, b));
  }
  template <class T>
  static bool is_usual(T a, T b) {
    if constexpr (is_int_v<T>) return integer::divides_as_float_usually(a, b);
    else return math::fmod_is_near(a, b);
  }
  template <class T>
  static T fwd_usual(T a, T b) {
    if constexpr (is_int_v<T>) return integer::div_floor_as_float(a, b);
    else return from(a, b, math::fmod_near(a, b));
  }
};

struct Remainder {
  static constexpr Info info =
      Info{"remainder", Promote::Same, kinds::Int | kinds::Float, Saves::Inputs,
           "Remainder of floor_divide, with the sign of `other`, as Python's %. Zero as integer divisor "
           "raises; in floating point it gives NaN."}
          .with_overloads(".n .t");
  template <class T>
  STRIDED_HD static T from(T b, T mod) {
    return (mod != T(0)) & ((b < T(0)) != (mod < T(0))) ? mod + b : mod;
  }
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::mod_floor(a, b);
    else return from(b, math::fmod(a, b));
  }
  template <class T>
  static bool is_usual(T a, T b) {
    if constexpr (is_int_v<T>) return integer::divides_as_float_usually(a, b);
    else return math::fmod_is_near(a, b);
  }
  template <class T>
  static T fwd_usual(T a, T b) {
    if constexpr (is_int_v<T>) return integer::mod_floor_as_float(a, b);
    else return from(b, math::fmod_near(a, b));
  }
  static constexpr uint8_t reads[] = {0, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g;
    else return -g * apply<FloorDivide>(s.in[0], s.in[1]);
  }
};

struct Fmod {
  static constexpr Info info =
      Info{"fmod", Promote::Same, kinds::Int | kinds::Float, Saves::Inputs,
           "Remainder of the division rounded towards zero, with the sign of `input`, as C's fmod. Zero "
           "as integer divisor raises; in floating point it gives NaN."}
          .with_overloads(".n .t");
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::mod_trunc(a, b);
    else return math::fmod(a, b);
  }
  template <class T>
  static bool is_usual(T a, T b) {
    if constexpr (is_int_v<T>) return integer::divides_as_float_usually(a, b);
    else return math::fmod_is_near(a, b);
  }
  template <class T>
  static T fwd_usual(T a, T b) {
    if constexpr (is_int_v<T>) return integer::mod_trunc_as_float(a, b);
    else return math::fmod_near(a, b);
  }
  static constexpr uint8_t reads[] = {0, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g;
    else return -g * apply<DivTrunc>(s.in[0], s.in[1]);
  }
};

// ---- powers ---------------------------------------------------------------------------------------------------------

struct Pow {
  static constexpr Info info =
      Info{"pow", Promote::Same, kinds::numeric, Saves::Inputs,
           "input to the power of `exponent`. Integers wrap around. A negative exponent of integers "
           "raises RuntimeError if it is a number; in a tensor it leaves 0 except for the bases 1 and "
           "-1."}
          .with_operands("input, exponent")
          .with_overloads("tn tt nt");
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_int_v<T>) return integer::pow(a, b);
    else return math::pow(a, b);
  }
  template <class T>
  static bool is_usual(T a, T b) {
    return math::has_usual_pow(a, b);
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T a, T b) {
    return math::pow_usual(a, b);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &a = s.in[0], &b = s.in[1];
    if constexpr (I == 0) {
      return masked(g * conj(b * apply<Pow>(a, b - 1.0)), apply<Ne>(b, 0.0));
    } else {
      // 0^b is 0 in a neighbourhood of b > 0; log(0) must not get in.
      const auto power = apply<Pow>(a, b);
      const auto matters = apply<LogicalOr>(apply<Ne>(a, 0.0), apply<LogicalNot>(apply<Isfinite>(power)));
      return masked(g * conj(power * apply<Log>(a)), matters);
    }
  }
};

// Whole exponents scale: the power alone may be infinite or zero where the product is neither.
struct Ldexp {
  static constexpr Info info =
      Info{"ldexp", Promote::Floating, kinds::floating, Saves::Inputs, "input * 2^other."}.hiding("self");
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_complex_v<T>) {
      if (b.im == 0 && math::isfinite(b.re) && math::trunc(b.re) == b.re)
        return {math::scaled(a.re, b.re), math::scaled(a.im, b.re)};
      return a * math::exp2(b);
    } else {
      return math::isfinite(b) && math::trunc(b) == b ? math::scaled(a, b) : a * math::exp2(b);
    }
  }
  template <class T>
  static bool is_usual(T, T b) {
    if constexpr (is_complex_v<T>) return (b.im == 0) & math::is_usual_exponent(b.re);
    else return math::is_usual_exponent(b);
  }
  template <class T>
  static T fwd_usual(T a, T b) {
    if constexpr (is_complex_v<T>) return {math::scaled_usual(a.re, b.re), math::scaled_usual(a.im, b.re)};
    else return math::scaled_usual(a, b);
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return apply<Ldexp>(g, conj(s.in[1]));
    else return g * (kLn2 * conj(apply<Ldexp>(s.in[0], s.in[1])));
  }
};

struct Hypot {
  static constexpr Info info{"hypot", Promote::Same, kinds::Float, Saves::Both,
                             "sqrt(input^2 + other^2) without overflow on the way; infinity if either is infinite."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return math::hypot(a, b);
  }
  template <class T>
  static bool is_usual(T a, T b) {
    return math::has_usual_hypot(a, b);
  }
  template <class T>
  static T fwd_usual(T a, T b) {
    return math::hypot_usual(a, b);
  }
  static constexpr uint8_t reads[] = {1, 2};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (s.in[I] / s.out);
  }
};

struct Atan2 {
  static constexpr Info info =
      Info{"atan2", Promote::Floating, kinds::Float, Saves::Inputs,
           "Angle of the point (other, input) in [-pi, pi]; signed zeros tell the side of the cut."}
          .with_aliases("arctan2");
  template <class T>
  STRIDED_HD static T fwd(T y, T x) {
    return math::atan2(y, x);
  }
  template <class T>
  static bool is_usual(T a, T b) {
    return math::has_usual_angle(a, b);
  }
  template <class T>
  static T fwd_usual(T a, T b) {
    return math::atan2_usual(a, b);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &y = s.in[0], &x = s.in[1];
    const auto radius = nonzero(apply<Hypot>(y * 1.0, x * 1.0));  // integers have no hypot
    if constexpr (I == 0) return g * (x / radius / radius);
    else return -g * (y / radius / radius);
  }
};

struct Copysign {
  static constexpr Info info = Info{"copysign", Promote::Floating, kinds::Float, Saves::Both,
                                    "Magnitude of `input` with the sign of `other`, zeros and NaN included."}
                                   .with_overloads(".. tn");
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return math::copysign(a, b);
  }
  static uint16_t of_bits(uint16_t a, uint16_t b) {  // of 16-bit floats
    return static_cast<uint16_t>((a & 0x7fffu) | (b & 0x8000u));
  }
  static constexpr uint8_t reads[] = {1, 0};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g * masked(apply<Sign>(s.out) * apply<Sign>(s.in[0]), apply<Ne>(s.in[0], 0.0));
    else return zero_like(g);
  }
};

struct Nextafter {
  // A step in the 16-bit formats is not one in float.
  static constexpr bool on_storage = true;
  static constexpr Info info{
      "nextafter", Promote::Same, kinds::Float, Saves::Nothing,
      "The next representable number after `input` in the direction of `other`; `other` where they "
      "are equal."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (is_reduced<T>) {
      const float x = a, y = b;
      const bool grows = (x < y) == !(a.bits & 0x8000u);
      T step = a;
      step.bits = static_cast<uint16_t>(x == 0.0f ? (b.bits & 0x8000u) | 1u : a.bits + (grows ? 1u : 0xffffu));
      return (x != x) | (y != y) ? T(x + y) : x == y ? b : step;
    } else {
      return math::nextafter(a, b);
    }
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return no_derivative(g, I == 0 ? "nextafter: input" : "nextafter: other");
  }
};

// ---- smaller and larger ---------------------------------------------------------------------------------------------

// Where both are equal the gradient is shared, and a NaN passes it to both.
struct Maximum {
  static constexpr Info info =
      Info{"maximum", Promote::Same, kinds::real, Saves::Inputs, "The larger of two operands; NaN if either is NaN."}
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a | b;
    const T larger = a < b ? b : a;
    if constexpr (is_float_v<T>) return math::isnan(b) ? b : larger;
    else return larger;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &mine = s.in[I], &other = s.in[1 - I];
    return masked(g, apply<LogicalNot>(apply<Le>(mine, other))) + masked(g * 0.5, apply<Eq>(mine, other));
  }
};

struct Minimum {
  static constexpr Info info =
      Info{"minimum", Promote::Same, kinds::real, Saves::Inputs, "The smaller of two operands; NaN if either is NaN."}
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a & b;
    const T smaller = b < a ? b : a;
    if constexpr (is_float_v<T>) return math::isnan(b) ? b : smaller;
    else return smaller;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &mine = s.in[I], &other = s.in[1 - I];
    return masked(g, apply<LogicalNot>(apply<Ge>(mine, other))) + masked(g * 0.5, apply<Eq>(mine, other));
  }
};

struct Fmax {
  static constexpr Info info = Info{"fmax", Promote::Same, kinds::real, Saves::Inputs,
                                    "The larger of two operands; the other one where one is NaN."}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a | b;
    const T larger = a < b ? b : a;
    if constexpr (is_float_v<T>) return math::isnan(a) ? b : larger;
    else return larger;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const auto first = apply<LogicalOr>(apply<Ge>(s.in[0], s.in[1]), apply<Isnan>(s.in[1]));
    if constexpr (I == 0) return masked(g, first);
    else return masked(g, apply<LogicalNot>(first));
  }
};

struct Fmin {
  static constexpr Info info = Info{"fmin", Promote::Same, kinds::real, Saves::Inputs,
                                    "The smaller of two operands; the other one where one is NaN."}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a & b;
    const T smaller = b < a ? b : a;
    if constexpr (is_float_v<T>) return math::isnan(a) ? b : smaller;
    else return smaller;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const auto first = apply<LogicalOr>(apply<Le>(s.in[0], s.in[1]), apply<Isnan>(s.in[1]));
    if constexpr (I == 0) return masked(g, first);
    else return masked(g, apply<LogicalNot>(first));
  }
};

struct ClampMin {
  static constexpr Info info =
      Info{"clamp_min", Promote::Same, kinds::real, Saves::Inputs,
           "Each element, but not below `min`; NaN if either is NaN. Where they are equal, `input` gets "
           "the gradient."}
          .with_operands("input, min")
          .with_overloads(".n .t");
  static constexpr OutOfRange numbers = OutOfRange::Saturate;
  template <class T>
  STRIDED_HD static T fwd(T x, T lo) {
    return Maximum::fwd(x, lo);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return masked(g, apply<Ge>(s.in[0], s.in[1]));
    else return masked(g, apply<Lt>(s.in[0], s.in[1]));
  }
};

struct ClampMax {
  static constexpr Info info =
      Info{"clamp_max", Promote::Same, kinds::real, Saves::Inputs,
           "Each element, but not above `max`; NaN if either is NaN. Where they are equal, `input` gets "
           "the gradient."}
          .with_operands("input, max")
          .with_overloads(".n .t");
  static constexpr OutOfRange numbers = OutOfRange::Saturate;
  template <class T>
  STRIDED_HD static T fwd(T x, T hi) {
    return Minimum::fwd(x, hi);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return masked(g, apply<Le>(s.in[0], s.in[1]));
    else return masked(g, apply<Gt>(s.in[0], s.in[1]));
  }
};

struct Heaviside {
  static constexpr Info info =
      Info{"heaviside", Promote::Same, kinds::real, Saves::Inputs,
           "Step function of each element: 0 below zero and for NaN, 1 above, `values` at zero."}
          .with_operands("input, values");
  STRIDED_HD static bool fwd(bool x, bool values) { return x | values; }
  template <class T>
  STRIDED_HD static T fwd(T x, T values) {
    return x == T(0) ? values : T(x > T(0));
  }
  static constexpr uint8_t reads[] = {0, 1};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return zero_like(g);
    else return masked(g, apply<Eq>(s.in[0], 0.0));
  }
};

// ---- integers -------------------------------------------------------------------------------------------------------

struct Gcd {
  static constexpr Info info{"gcd", Promote::Same, kinds::Int, Saves::Nothing,
                             "Greatest common divisor, not negative (unless it is the most negative integer, wrapped); "
                             "gcd(0, 0) is 0. Euclid's algorithm."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return math::gcd(a, b);
  }
};

struct Lcm {
  static constexpr Info info{"lcm", Promote::Same, kinds::Int, Saves::Nothing,
                             "Least common multiple, not negative; 0 if either is 0. A multiple the dtype cannot hold "
                             "wraps around."};
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return integer::mul(integer::div_trunc(integer::abs(a), math::gcd(a, b)), integer::abs(b));
  }
};

// The derivative of Huber.
struct HuberSlope {
  static constexpr Info info = Info{"_huber_slope", Promote::Same, kinds::Float, Saves::Inputs,
                                    "input - target, but not below -delta and not above delta."}
                                   .with_operands("input, target")
                                   .with_params("float delta=1");
  template <class T>
  STRIDED_HD static T fwd(T a, T b, const double* p) {
    const T d = a - b, delta = static_cast<T>(p[0]), raised = d < -delta ? -delta : d;
    return raised > delta ? delta : raised;
  }
  static constexpr uint8_t reads[] = {3, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V inside = masked(g, apply<Lt>(apply<Abs>(s.in[0] - s.in[1]), s.params[0]));
    if constexpr (I == 0) return inside;
    else return -inside;
  }
};

// What huber_loss and smooth_l1_loss average.
struct Huber {
  static constexpr Info info =
      Info{"_huber", Promote::Same, kinds::Float, Saves::Inputs,
           "d^2 / 2 where |d| < delta, else delta * (|d| - delta / 2), with d = input - target."}
          .with_operands("input, target")
          .with_params("float delta=1");
  template <class T>
  STRIDED_HD static T fwd(T a, T b, const double* p) {
    const T d = math::abs(a - b), delta = static_cast<T>(p[0]), c = d < delta ? d : delta;
    return (d - T(0.5) * c) * c;
  }
  static constexpr uint8_t reads[] = {3, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g * apply_with<HuberSlope>(s.params, s.in[0], s.in[1]);
    else return g * apply_with<HuberSlope>(s.params, s.in[1], s.in[0]);
  }
};

using BinaryOps =
    List<Add, Sub, Mul, Div, DivTrunc, FloorDivide, Remainder, Fmod, Pow, Ldexp, Hypot, Atan2, Copysign, Nextafter,
         Maximum, Minimum, Fmax, Fmin, ClampMin, ClampMax, Heaviside, HuberSlope, Huber, Gcd, Lcm>;

}  // namespace STRIDED_ISA
}  // namespace strided
