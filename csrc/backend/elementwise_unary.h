// Elementwise ops of one operand: sign, rounding, powers, pieces. (elementwise_transcendental.h has the others.)
#pragma once

#include "backend/elementwise_base.h"

namespace strided {
inline namespace STRIDED_ISA {

struct Gt;
struct Le;
struct LogicalNot;
struct Isfinite;

// ---- sign ----------------------------------------------------------------------------------------------------------

struct Sgn;

struct Abs {
  static constexpr Info info =
      Info{"abs", Promote::Same, kinds::numeric, Saves::Inputs,
           "Absolute value of each element; of a complex number, its modulus, in the real dtype. The "
           "most negative integer stays itself."}
          .with_aliases("absolute");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_int_v<T>) return integer::abs(x);
    else return math::abs(x);
  }
  template <class T>
  STRIDED_HD static T fwd(Complex<T> z) {
    return math::abs(z);
  }
  static uint16_t of_bits(uint16_t x) { return static_cast<uint16_t>(x & 0x7fffu); }  // of a 16-bit float
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * apply<Sgn>(s.in[0]);
  }
};

struct Neg {
  static constexpr Info info =
      Info{"neg", Promote::Same, kinds::numeric, Saves::Nothing, "Negative of each element; integers wrap around."}
          .with_aliases("negative");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_int_v<T>) return integer::neg(x);
    else return -x;
  }
  static uint16_t of_bits(uint16_t x) { return static_cast<uint16_t>(x ^ 0x8000u); }  // of a 16-bit float
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return -g;
  }
};

struct Positive {
  static constexpr Info info =
      Info{"positive", Promote::Same, kinds::numeric, Saves::Nothing, "Each element as it is (unary plus)."}
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return g;
  }
};

struct Sign : ZeroGradient {
  static constexpr Info info{"sign", Promote::Same, kinds::real, Saves::Nothing,
                             "-1, 0 or 1 by the sign of each element; 0 for NaN. bool stays as it is."};
  STRIDED_HD static bool fwd(bool x) { return x; }
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (std::is_unsigned_v<T>) return T(x != T(0));
    else return static_cast<T>(T(x > T(0)) - T(x < T(0)));
  }
};

struct Sgn {
  static constexpr Info info{"sgn", Promote::Same, kinds::all, Saves::Both,
                             "z / |z| of a complex number, 0 at 0; for real dtypes the same as sign."};
  STRIDED_HD static bool fwd(bool x) { return x; }
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return Sign::fwd(x);
  }
  template <class T>
  STRIDED_HD static Complex<T> fwd(Complex<T> z) {
    const T r = math::abs(z);
    const bool zero = r == T(0);
    return {zero ? T(0) : z.re / r, zero ? T(0) : z.im / r};
  }
  // The part of g along z has no effect: (g - s Re(conj(s) g)) / |z| with s = sgn(z), |s| = 1.
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const auto across = (g - s.out * s.out * conj(g)) / (2 * nonzero(apply<Abs>(s.in[0])));
    return masked(across, apply<Ne>(s.in[0], 0.0));
  }
};

struct Angle {
  static constexpr Info info =
      Info{"angle", Promote::Floating, kinds::floating, Saves::Inputs,
           "Angle of each complex number in (-pi, pi], in the real dtype; for real elements pi if "
           "negative, else 0, and NaN for NaN."}
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    const T angle = x < T(0) ? T(math::kPi) : T(0);
    return math::isnan(x) ? x : angle;
  }
  template <class T>
  STRIDED_HD static T fwd(Complex<T> z) {
    return math::arg(z);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return masked(g * times_i(1 / nonzero(conj(s.in[0]))), apply<Ne>(s.in[0], 0.0));
  }
};

struct ConjPhysical {
  static constexpr Info info{"conj_physical", Promote::Same, kinds::all, Saves::Nothing,
                             "Complex conjugate of each element; real elements as they are."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_complex_v<T>) return conj(x);
    else return x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return conj(g);
  }
};

// ---- rounding ------------------------------------------------------------------------------------------------------

struct Ceil : ZeroGradient {
  static constexpr Info info{"ceil", Promote::Same, kinds::Int | kinds::Float, Saves::Nothing,
                             "Smallest integral value not below each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_int_v<T>) return x;
    else return math::ceil(x);
  }
};

struct Floor : ZeroGradient {
  static constexpr Info info{"floor", Promote::Same, kinds::Int | kinds::Float, Saves::Nothing,
                             "Largest integral value not above each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_int_v<T>) return x;
    else return math::floor(x);
  }
};

struct Trunc : ZeroGradient {
  static constexpr Info info = Info{"trunc", Promote::Same, kinds::Int | kinds::Float, Saves::Nothing,
                                    "Integral part of each element: rounded towards zero."}
                                   .with_aliases("fix");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_int_v<T>) return x;
    else return math::trunc(x);
  }
};

struct Frac {
  static constexpr Info info{"frac", Promote::Same, kinds::Float, Saves::Nothing,
                             "Fractional part of each element, x - trunc(x), with the sign of x; NaN for infinities."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x - math::trunc(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return g;
  }
};

struct Round : ZeroGradient {
  static constexpr Info info =
      Info{"round", Promote::Same, kinds::Int | kinds::Float, Saves::Nothing,
           "Nearest integral value of each element, ties to even. With `decimals`, x * 10^decimals is "
           "rounded and scaled back (negative: positions before the point); floating-point dtypes only."}
          .with_params("*, int decimals=0")
          .with_aliases("special.round")
          .with_overloads(". .p")
          .hiding("decimals");
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    if constexpr (is_int_v<T>) {
      return x;
    } else {
      if (p[0] == 0) return math::round(x);
      // One of the two is 1. libm's pow is exact here as far as 10^22, and leaves a loop in which p is fixed.
      const T up = static_cast<T>(::pow(10.0, p[0] > 0 ? p[0] : 0.0));
      const T down = static_cast<T>(::pow(10.0, p[0] < 0 ? -p[0] : 0.0));
      return math::round(x * up / down) / up * down;
    }
  }
};

// ---- powers --------------------------------------------------------------------------------------------------------

struct Sqrt {
  static constexpr Info info{
      "sqrt", Promote::Floating, kinds::floating, Saves::Output,
      "Square root of each element; NaN for negative real numbers, the principal root for complex "
      "ones."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::sqrt(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / (2 * conj(s.out));
  }
};

struct Rsqrt {
  static constexpr Info info{"rsqrt", Promote::Floating, kinds::floating, Saves::Output,
                             "Reciprocal of the square root of each element; infinity at 0, with its sign."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::rsqrt(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -0.5 * g * conj(s.out * s.out * s.out);
  }
};

struct Square {
  static constexpr Info info = Info{"square", Promote::Same, kinds::all, Saves::Inputs,
                                    "Square of each element; integers wrap around, bool gives int64."}
                                   .with_node("Pow");
  STRIDED_HD static int64_t fwd(bool x) { return x; }
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_int_v<T>) return integer::mul(x, x);
    else return x * x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (2 * conj(s.in[0]));
  }
};

// What x ** 3 computes; its node is that of the power.
struct Cube {
  static constexpr Info info{"_cube", Promote::Same, kinds::floating, Saves::Inputs, "x * x * x for each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * x * x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (3 * conj(s.in[0] * s.in[0]));
  }
};

// What x * number and x / number compute for 16-bit floats: the number is not rounded to their dtype.
struct TimesNumber {
  static constexpr Info info =
      Info{"_times_number", Promote::Same, kinds::Float, Saves::Nothing, "The product with a number."}.with_params(
          "float number=1");
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    return x * static_cast<T>(p[0]);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * s.params[0];
  }
};
struct OverNumber {
  static constexpr Info info =
      Info{"_over_number", Promote::Same, kinds::Float, Saves::Nothing, "The quotient by a number."}.with_params(
          "float number=1");
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    return x / static_cast<T>(p[0]);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / s.params[0];
  }
};

// What x ** -2 computes.
struct InverseSquare {
  static constexpr Info info{"_inverse_square", Promote::Floating, kinds::floating, Saves::Inputs,
                             "1 / (x * x) for each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_complex_v<T>) return math::reciprocal(x * x);
    else return T(1) / (x * x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (-2 / conj(s.in[0] * s.in[0] * s.in[0]));
  }
};

struct Reciprocal {
  static constexpr Info info{"reciprocal", Promote::Floating, kinds::floating, Saves::Output,
                             "1 / x for each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (is_complex_v<T>) return math::reciprocal(x);
    else return T(1) / x;
  }
  template <class T, class = if_complex<T>>
  static bool is_usual(T x) {
    return math::has_usual_reciprocal(x);
  }
  template <class T, class = if_complex<T>>
  static T fwd_usual(T x) {
    return math::reciprocal_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * conj(s.out * s.out);
  }
};

// ---- others --------------------------------------------------------------------------------------------------------

struct Relu {
  static constexpr Info info = Info{"relu", Promote::Same, kinds::Int | kinds::Float, Saves::Output,
                                    "The positive part of each element: x if it is not negative, else 0. NaN stays."}
                                   .with_steady_gradient();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    if constexpr (std::is_unsigned_v<T>) return x;
    else return x < T(0) ? T(0) : x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return masked(g, apply<Gt>(s.out, 0.0));
  }
};

struct Hardshrink {
  // lambd is rounded to the dtype before it is compared, so the 16-bit floats come as they are.
  static constexpr bool on_storage = true;
  static constexpr Info info =
      Info{"hardshrink", Promote::Same, kinds::Float, Saves::Inputs, "0 where |x| <= lambd, else x. NaN stays."}
          .with_params("float lambd=0.5")
          .without_inplace()
          .with_steady_gradient();
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    using C = compute_t<T>;
    return math::abs(static_cast<C>(x)) <= static_cast<C>(T(static_cast<C>(p[0]))) ? T(C(0)) : x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return masked(g, apply<LogicalNot>(apply<Le>(apply<Abs>(s.in[0]), s.params[0])));
  }
};

// The largest finite value of a dtype.
template <class T>
STRIDED_HD T largest() {
  if constexpr (std::is_arithmetic_v<T>) return std::numeric_limits<T>::max();
  else return T(static_cast<compute_t<T>>(DTypeTraits<T>::greatest));
}

struct NanToNum {
  // What replaces an infinity depends on the dtype itself, so the 16-bit floats come as they are.
  static constexpr bool on_storage = true;
  static constexpr Info info =
      Info{"nan_to_num", Promote::Same, kinds::all, Saves::Inputs,
           "Each element, with `nan` for NaN (default 0), `posinf` for infinity (default: the dtype's "
           "largest value) and `neginf` for -infinity (default: its lowest). Complex numbers part by "
           "part."}
          .with_params("float? nan=None, float? posinf=None, float? neginf=None")
          .hiding("nan posinf neginf");
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      using C = compute_t<T>;
      const C v = static_cast<C>(x), top = static_cast<C>(largest<T>());
      const C nan = is_none(p[0]) ? C(0) : static_cast<C>(p[0]);
      const C posinf = is_none(p[1]) ? top : static_cast<C>(p[1]);
      const C neginf = is_none(p[2]) ? -top : static_cast<C>(p[2]);
      const C upper = v == math::infinity<C>() ? posinf : v;
      const C lower = v == -math::infinity<C>() ? neginf : upper;
      return T(math::isnan(v) ? nan : lower);
    }
  }
  template <class T>
  STRIDED_HD static Complex<T> fwd(Complex<T> z, const double* p) {
    return {fwd(z.re, p), fwd(z.im, p)};
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return masked(g, apply<Isfinite>(s.in[0]));
  }
};

using UnaryOps = List<Abs, Neg, Positive, Sign, Sgn, Angle, ConjPhysical, Ceil, Floor, Trunc, Frac, Round, Sqrt, Rsqrt,
                      Square, Cube, InverseSquare, TimesNumber, OverNumber, Reciprocal, Relu, Hardshrink, NanToNum>;

}  // namespace STRIDED_ISA
}  // namespace strided
