// Elementwise ops of one operand: exponentials, logarithms, trigonometric and hyperbolic functions, and their inverses.
#pragma once

#include "backend/elementwise_unary.h"

namespace strided {
inline namespace STRIDED_ISA {

struct Cos;
struct Cosh;

// ---- exponentials and logarithms -----------------------------------------------------------------------------------

struct Exp {
  static constexpr Info info{"exp", Promote::Floating, kinds::floating, Saves::Output, "Exponential of each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::exp(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_exp(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    return math::exp_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(s.out);
  }
};

struct Exp2 {
  static constexpr Info info =
      Info{"exp2", Promote::Floating, kinds::floating, Saves::Output, "2 to the power of each element."}.with_aliases(
          "special.exp2");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::exp2(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_exp2(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    return math::exp2_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (kLn2 * conj(s.out));
  }
};

struct Expm1 {
  static constexpr Info info =
      Info{"expm1", Promote::Floating, kinds::floating, Saves::Output, "exp(x) - 1 of each element, accurate near 0."}
          .with_aliases("special.expm1");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::expm1(x);
  }
  template <class T, class = if_complex<T>>
  static bool is_usual(T x) {
    return math::has_usual_expm1(x);
  }
  template <class T, class = if_complex<T>>
  static T fwd_usual(T x) {
    return math::expm1_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(s.out + 1);
  }
};

struct Log {
  static constexpr Info info{"log", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Natural logarithm of each element; -inf at 0, NaN for negative real numbers."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::log(x);
  }
  template <class T, class = if_float<T>>
  static bool is_usual(T x) {
    return math::has_usual_log(x);
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T x) {
    return math::log_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / conj(s.in[0]);
  }
};

struct Log2 {
  static constexpr Info info{"log2", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Logarithm of each element to base 2."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::log2(x);
  }
  template <class T, class = if_float<T>>
  static bool is_usual(T x) {
    return math::has_usual_log(x);
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T x) {
    return math::log2_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / (kLn2 * conj(s.in[0]));
  }
};

struct Log10 {
  static constexpr Info info{"log10", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Logarithm of each element to base 10."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::log10(x);
  }
  template <class T, class = if_float<T>>
  static bool is_usual(T x) {
    return math::has_usual_log(x);
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T x) {
    return math::log10_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / (kLn10 * conj(s.in[0]));
  }
};

struct Log1p {
  static constexpr Info info =
      Info{"log1p", Promote::Floating, kinds::floating, Saves::Inputs, "log(1 + x) of each element, accurate near 0."}
          .with_aliases("special.log1p");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::log1p(x);
  }
  template <class T, class = if_float<T>>
  static bool is_usual(T x) {
    return (x > T(-1)) & (x < math::infinity<T>());
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T x) {
    return math::log1p_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / conj(1 + s.in[0]);
  }
};

struct SigmoidGrad;
struct TanhGrad;

struct Sigmoid {
  static constexpr Info info = Info{"sigmoid", Promote::Floating, kinds::floating, Saves::Output,
                                    "Logistic function 1 / (1 + exp(-x)) of each element."}
                                   .with_aliases("special.expit");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::sigmoid(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_sigmoid(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    return math::sigmoid_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<SigmoidGrad>(g, s.out);
  }
};

// ---- trigonometric and hyperbolic functions ------------------------------------------------------------------------

struct Sin {
  static constexpr Info info{"sin", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Sine of each element, in radians."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::sin(x);
  }
  template <class T>
  static bool is_usual(T x) {
    if constexpr (is_complex_v<T>) return math::has_usual_sin(x);
    else return math::is_near_quadrant(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    if constexpr (is_complex_v<T>) return math::sin_usual(x);
    else return math::sin_near(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Cos>(s.in[0]));
  }
};

struct Cos {
  static constexpr Info info{"cos", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Cosine of each element, in radians."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::cos(x);
  }
  template <class T>
  static bool is_usual(T x) {
    if constexpr (is_complex_v<T>) return math::has_usual_cos(x);
    else return math::is_near_quadrant(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    if constexpr (is_complex_v<T>) return math::cos_usual(x);
    else return math::cos_near(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * conj(apply<Sin>(s.in[0]));
  }
};

struct Tan {
  static constexpr Info info{"tan", Promote::Floating, kinds::floating, Saves::Output,
                             "Tangent of each element, in radians."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::tan(x);
  }
  template <class T>
  static bool is_usual(T x) {
    if constexpr (is_complex_v<T>) return math::has_usual_tan(x);
    else return math::is_near_quadrant(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    if constexpr (is_complex_v<T>) return math::tan_usual(x);
    else return math::tan_near(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(1 + s.out * s.out);
  }
};

struct Asin {
  static constexpr Info info = Info{"asin", Promote::Floating, kinds::floating, Saves::Inputs,
                                    "Arc sine of each element, in [-pi/2, pi/2]; NaN outside [-1, 1] for real dtypes."}
                                   .with_aliases("arcsin");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::asin(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Rsqrt>((1 - s.in[0]) * (1 + s.in[0])));
  }
};

struct Acos {
  static constexpr Info info = Info{"acos", Promote::Floating, kinds::floating, Saves::Inputs,
                                    "Arc cosine of each element, in [0, pi]; NaN outside [-1, 1] for real dtypes."}
                                   .with_aliases("arccos");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::acos(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * conj(apply<Rsqrt>((1 - s.in[0]) * (1 + s.in[0])));
  }
};

struct Atan {
  static constexpr Info info =
      Info{"atan", Promote::Floating, kinds::floating, Saves::Inputs, "Arc tangent of each element, in (-pi/2, pi/2)."}
          .with_aliases("arctan");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::atan(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / conj(1 + s.in[0] * s.in[0]);
  }
};

struct Sinh {
  static constexpr Info info{"sinh", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Hyperbolic sine of each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::sinh(x);
  }
  template <class T, class = if_complex<T>>
  static bool is_usual(T x) {
    return math::has_usual_sinh(x);
  }
  template <class T, class = if_complex<T>>
  static T fwd_usual(T x) {
    return math::sinh_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Cosh>(s.in[0]));
  }
};

struct Cosh {
  static constexpr Info info{"cosh", Promote::Floating, kinds::floating, Saves::Inputs,
                             "Hyperbolic cosine of each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::cosh(x);
  }
  template <class T, class = if_complex<T>>
  static bool is_usual(T x) {
    return math::has_usual_cosh(x);
  }
  template <class T, class = if_complex<T>>
  static T fwd_usual(T x) {
    return math::cosh_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Sinh>(s.in[0]));
  }
};

struct Tanh {
  static constexpr Info info{"tanh", Promote::Floating, kinds::floating, Saves::Output,
                             "Hyperbolic tangent of each element."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::tanh(x);
  }
  template <class T, class = if_complex<T>>
  static bool is_usual(T x) {
    return math::has_usual_tanh(x);
  }
  template <class T, class = if_complex<T>>
  static T fwd_usual(T x) {
    return math::tanh_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<TanhGrad>(g, s.out);
  }
};

struct Asinh {
  static constexpr Info info =
      Info{"asinh", Promote::Floating, kinds::floating, Saves::Inputs, "Inverse hyperbolic sine of each element."}
          .with_aliases("arcsinh");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::asinh(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Rsqrt>(1 + s.in[0] * s.in[0]));
  }
};

struct Acosh {
  static constexpr Info info = Info{"acosh", Promote::Floating, kinds::floating, Saves::Inputs,
                                    "Inverse hyperbolic cosine of each element, >= 0; NaN below 1 for real dtypes."}
                                   .with_aliases("arccosh");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::acosh(x);
  }
  // Two roots, not one of x^2 - 1: only so is it right on the whole complex plane.
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Rsqrt>(s.in[0] - 1) * apply<Rsqrt>(s.in[0] + 1));
  }
};

struct Atanh {
  static constexpr Info info = Info{"atanh", Promote::Floating, kinds::floating, Saves::Inputs,
                                    "Inverse hyperbolic tangent of each element; NaN outside [-1, 1] for real dtypes."}
                                   .with_aliases("arctanh");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::atanh(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g / conj((1 - s.in[0]) * (1 + s.in[0]));
  }
};

struct Deg2rad {
  static constexpr Info info{"deg2rad", Promote::Floating, kinds::Float, Saves::Nothing,
                             "Degrees to radians: x * pi / 180."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * T(math::kPi / 180);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return g * (math::kPi / 180);
  }
};

struct Rad2deg {
  static constexpr Info info{"rad2deg", Promote::Floating, kinds::Float, Saves::Nothing,
                             "Radians to degrees: x * 180 / pi."};
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * T(180 / math::kPi);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return g * (180 / math::kPi);
  }
};

using TranscendentalOps = List<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sigmoid, Sin, Cos, Tan, Asin, Acos, Atan,
                               Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Deg2rad, Rad2deg>;

}  // namespace STRIDED_ISA
}  // namespace strided
