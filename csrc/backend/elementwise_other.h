// Elementwise ops of three and more operands.
#pragma once

#include "backend/elementwise_binary.h"

namespace strided {
inline namespace STRIDED_ISA {

struct Clamp {
  static constexpr Info info =
      Info{"clamp", Promote::Same, kinds::Int | kinds::Float, Saves::Inputs,
           "Each element, but not below `min` and not above `max`; `max` where min > max. NaN if any of "
           "the three is NaN. At a bound `input` gets the gradient."}
          .with_operands("input, min, max")
          .with_aliases("clip")
          .with_overloads("... .nn");
  static constexpr OutOfRange numbers = OutOfRange::Saturate;
  template <class T>
  STRIDED_HD static T fwd(T x, T lo, T hi) {
    // Each comparison is one instruction of the processor. It keeps an x that is NaN, and not a bound that is.
    const T above = lo > x ? lo : x, result = hi < above ? hi : above;
    if constexpr (is_float_v<T>) return math::isnan(lo) | math::isnan(hi) ? lo + hi : result;
    else return result;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &x = s.in[0], &lo = s.in[1], &hi = s.in[2];
    if constexpr (I == 0) return masked(g, apply<LogicalAnd>(apply<Ge>(x, lo), apply<Le>(x, hi)));
    else if constexpr (I == 1) return masked(g, apply<LogicalAnd>(apply<Lt>(lo, hi), apply<Lt>(x, lo)));
    else return masked(g, apply<LogicalOr>(apply<Gt>(x, hi), apply<Gt>(lo, hi)));
  }
};

struct Lerp {
  static constexpr Info info =
      Info{"lerp", Promote::Same, kinds::floating, Saves::Inputs,
           "Linear interpolation input + weight * (end - input), computed from the nearer end so that "
           "weight 1 gives `end` exactly."}
          .with_operands("input, end, weight")
          .with_overloads("..n ..t");
  template <class T>
  STRIDED_HD static T fwd(T a, T b, T w) {
    const T span = b - a;
    const T from_start = a + w * span, from_end = b - span * (T(1) - w);
    return math::abs(w) < real_t<T>(0.5) ? from_start : from_end;
  }
  static constexpr uint8_t reads[] = {4, 4, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g * conj(1 - s.in[2]);
    else if constexpr (I == 1) return g * conj(s.in[2]);
    else return g * conj(s.in[1] - s.in[0]);
  }
};

struct Addcmul {
  static constexpr Info info = Info{"addcmul", Promote::Same, kinds::numeric, Saves::Inputs,
                                    "input + value * tensor1 * tensor2; integers wrap around."}
                                   .with_operands("input, tensor1, tensor2, *, Number value=1");
  static constexpr OutOfRange numbers = OutOfRange::Raise;
  template <class T>
  STRIDED_HD static T fwd(T a, T b, T c, T value) {
    return Add::fwd(a, Mul::fwd(Mul::fwd(value, b), c));
  }
  static constexpr uint8_t reads[] = {0, 12, 10, 6};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return g;
    else if constexpr (I == 1) return g * conj(s.in[2] * s.in[3]);
    else if constexpr (I == 2) return g * conj(s.in[1] * s.in[3]);
    else return g * conj(s.in[1] * s.in[2]);
  }
};

struct Addcdiv {
  static constexpr Info info =
      Info{"addcdiv", Promote::Same, kinds::floating, Saves::Inputs, "input + value * tensor1 / tensor2."}
          .with_operands("input, tensor1, tensor2, *, Number value=1");
  static constexpr OutOfRange numbers = OutOfRange::Raise;
  template <class T>
  STRIDED_HD static T fwd(T a, T b, T c, T value) {
    return a + value * b / c;
  }
  static constexpr uint8_t reads[] = {0, 12, 14, 6};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &b = s.in[1], &c = s.in[2], &value = s.in[3];
    if constexpr (I == 0) return g;
    else if constexpr (I == 1) return g * conj(value / c);
    else if constexpr (I == 2) return -g * conj(value * b / c / c);
    else return g * conj(b / c);
  }
};

using OtherOps = List<Clamp, Lerp, Addcmul, Addcdiv>;

}  // namespace STRIDED_ISA
}  // namespace strided
