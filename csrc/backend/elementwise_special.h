// Elementwise special functions, of one and two operands. A name "special.f" stands in that namespace only; algorithms
// and their sources are in base/math_gamma.h, base/math_special.h and base/math_bessel.h.
#pragma once

#include "backend/elementwise_binary.h"
#include "base/math_bessel.h"

namespace strided {
inline namespace STRIDED_ISA {

// A function of the namespace `special` alone.
constexpr Info special_function(const char* name, Saves saves, const char* doc) {
  return Info{name, Promote::Floating, kinds::Float, saves, doc}.without_inplace();
}

// ---- error function and normal distribution -------------------------------------------------------------------------

struct Erf {
  static constexpr Info info = Info{"erf", Promote::Floating, kinds::Float, Saves::Inputs,
                                    "Error function 2/sqrt(pi) * integral of exp(-t^2) from 0 to x."}
                                   .with_aliases("special.erf");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::erf(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (2 / kSqrtPi * apply<Exp>(-(s.in[0] * s.in[0])));
  }
};

struct Erfc {
  static constexpr Info info = Info{"erfc", Promote::Floating, kinds::Float, Saves::Inputs,
                                    "Complementary error function 1 - erf(x), accurate also where it is tiny."}
                                   .with_aliases("special.erfc");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::erfc(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (-2 / kSqrtPi * apply<Exp>(-(s.in[0] * s.in[0])));
  }
};

struct Erfcx {
  static constexpr Info info =
      special_function("special.erfcx", Saves::Both, "Scaled complementary error function exp(x^2) * erfc(x).");
  using Computes = double;
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::erfcx(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (2 * s.in[0] * s.out - 2 / kSqrtPi);
  }
};

struct Erfinv {
  static constexpr Info info = Info{"erfinv", Promote::Floating, kinds::Float, Saves::Output,
                                    "Inverse of erf; infinite at -1 and 1, NaN outside."}
                                   .with_aliases("special.erfinv")
                                   .hiding("result");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::erfinv(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_erfinv(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    return math::erfinv_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (kSqrtPi / 2 * apply<Exp>(s.out * s.out));
  }
};

struct Ndtr {
  static constexpr Info info =
      special_function("special.ndtr", Saves::Inputs, "Distribution function of the standard normal law.");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::ndtr(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (1 / kSqrt2Pi * apply<Exp>(-0.5 * s.in[0] * s.in[0]));
  }
};

struct LogNdtr {
  static constexpr Info info =
      special_function("special.log_ndtr", Saves::Inputs,
                       "Logarithm of the distribution function of the standard normal law, accurate in the lower "
                       "tail.");
  using Computes = double;
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::log_ndtr(x);
  }
  // density / distribution, as a quotient that stays finite in the lower tail
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (2 / kSqrt2Pi / apply<Erfcx>(s.in[0] * (-1 / kSqrt2)));
  }
};

struct Ndtri {
  static constexpr Info info =
      special_function("special.ndtri", Saves::Output,
                       "Quantile function of the standard normal law, the inverse of ndtr; infinite at 0 and 1, NaN "
                       "outside.");
  using Computes = double;
  template <class T>
  STRIDED_HD static T fwd(T p) {
    return math::ndtri(p);
  }
  template <class T>
  static bool is_usual(T p) {
    return math::has_usual_ndtri(p);
  }
  template <class T>
  static T fwd_usual(T p) {
    return math::ndtri_usual(p);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (kSqrt2Pi * apply<Exp>(0.5 * s.out * s.out));
  }
};

// ---- gamma function and its relatives -------------------------------------------------------------------------------

struct Digamma;
struct Polygamma;
struct Zeta;

struct Lgamma {
  static constexpr Info info = Info{"lgamma", Promote::Floating, kinds::Float, Saves::Inputs,
                                    "Logarithm of the absolute value of the gamma function; infinity at 0, -1, -2, ..."}
                                   .with_aliases("special.gammaln");
  using UsualDependsOnResult = void;
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::lgamma(x);
  }
  // Of double is_usual computes fwd_usual: inlined, they do so once.
  template <class T, class = if_float<T>>
  STRIDED_INLINE static bool is_usual(T x) {
    return math::has_usual_lgamma(x);
  }
  template <class T, class = if_float<T>>
  STRIDED_INLINE static T fwd_usual(T x) {
    return math::lgamma_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * apply<Digamma>(s.in[0]);
  }
};

struct Digamma {
  static constexpr Info info = Info{"digamma", Promote::Floating, kinds::Float, Saves::Inputs,
                                    "Derivative of lgamma; NaN at -1, -2, ..., infinite at 0 with the opposite sign."}
                                   .with_aliases("special.digamma special.psi");
  using UsualDependsOnResult = void;
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::digamma(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_digamma(x);
  }
  template <class T, class = std::enable_if_t<std::is_same_v<T, float>>>
  static T fwd_usual(T x) {
    return math::digamma_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    static constexpr double order[4] = {1};
    return g * apply_with<Polygamma>(order, s.in[0]);
  }
};

// polygamma(n, x) = (-1)^(n+1) n! zeta(n + 1, x)  (Abramowitz and Stegun, 6.4.10)
struct Polygamma {
  static constexpr Info info =
      Info{"polygamma", Promote::Floating, kinds::Float, Saves::Inputs, "Derivative of order n >= 0 of digamma."}
          .with_operands("input")
          .with_params("int n");
  using Computes = double;
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    return math::polygamma(static_cast<int64_t>(p[0] < 1e18 && p[0] > -1e18 ? p[0] : 1e18),
                           x);  // any order that large is alike
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const double n = s.params[0];
    double factor = 1;
    for (double k = 2; k <= n + 1 && factor < math::infinity<double>(); ++k) factor *= k;
    if (math::fmod(n, 2.0) != 0) factor = -factor;
    return g * (factor * apply<Zeta>(n + 2, s.in[0]));
  }
};

struct Zeta {
  static constexpr Info info = special_function(
      "special.zeta", Saves::Inputs, "Hurwitz zeta function: sum of 1 / (k + other)^input over k >= 0, for input > 1.");
  using Computes = double;
  template <class T>
  STRIDED_HD static T fwd(T x, T q) {
    return math::zeta(x, q);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return no_derivative(g, "zeta: input");
    else return g * (-s.in[0] * apply<Zeta>(s.in[0] + 1.0, s.in[1]));
  }
};

// x^(a-1) exp(-x) / Gamma(a), the derivative of igamma by x
template <class V>
V gamma_density(const V& a, const V& x) {
  return apply<Exp>((a - 1.0) * apply<Log>(x) - x - apply<Lgamma>(a));
}

struct Igamma {
  static constexpr Info info =
      Info{"igamma", Promote::Same, kinds::Float, Saves::Inputs,
           "Regularized lower incomplete gamma function P(input, other); NaN for negative arguments."}
          .with_aliases("special.gammainc");
  template <class T>
  STRIDED_HD static T fwd(T a, T x) {
    return math::igamma(a, x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return no_derivative(g, "igamma: input");
    else return g * gamma_density(s.in[0], s.in[1]);
  }
};

struct Igammac {
  static constexpr Info info =
      Info{"igammac", Promote::Same, kinds::Float, Saves::Inputs,
           "Regularized upper incomplete gamma function Q(input, other) = 1 - P(input, other)."}
          .with_aliases("special.gammaincc");
  template <class T>
  STRIDED_HD static T fwd(T a, T x) {
    return math::igammac(a, x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return no_derivative(g, "igammac: input");
    else return -g * gamma_density(s.in[0], s.in[1]);
  }
};

// ---- modified Bessel functions --------------------------------------------------------------------------------------

struct I1;
struct I1e;

// y / x, where y is odd in x with slope 1/2 at 0
template <class V>
V half_at_zero(const V& y, const V& x) {
  return masked(y / nonzero(x), apply<Ne>(x, 0.0)) + 0.5 * apply<Eq>(x, 0.0);
}

struct I0 {
  static constexpr Info info =
      Info{"i0", Promote::Floating, kinds::Float, Saves::Inputs, "Modified Bessel function of the first kind, order 0."}
          .with_aliases("special.i0 special.modified_bessel_i0");
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::i0(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * apply<I1>(s.in[0]);
  }
};

struct I0e {
  static constexpr Info info = special_function(
      "special.i0e", Saves::Both, "exp(-|x|) * i0(x): the modified Bessel function of order 0 without its overflow.");
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::i0e(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (apply<I1e>(s.in[0]) - apply<Sign>(s.in[0]) * s.out);
  }
};

struct I1 {
  static constexpr Info info =
      special_function("special.i1", Saves::Both, "Modified Bessel function of the first kind, order 1.")
          .with_aliases("special.modified_bessel_i1");
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::i1(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (apply<I0>(s.in[0]) - half_at_zero(s.out, s.in[0]));
  }
};

struct I1e {
  static constexpr Info info = special_function(
      "special.i1e", Saves::Both, "exp(-|x|) * i1(x): the modified Bessel function of order 1 without its overflow.");
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::i1e(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (apply<I0e>(s.in[0]) - apply<Sign>(s.in[0]) * s.out - half_at_zero(s.out, s.in[0]));
  }
};

// ---- logarithms and exponentials in disguise ------------------------------------------------------------------------

struct Logit {
  static constexpr Info info =
      Info{"logit", Promote::Floating, kinds::Float, Saves::Inputs,
           "log(x / (1 - x)), the inverse of sigmoid; NaN outside [0, 1]. With `eps`, x is first clamped "
           "to [eps, 1 - eps]."}
          .with_params("float? eps=None")
          .with_aliases("special.logit");
  template <class T>
  STRIDED_HD static T clamped(T x, const double* p) {
    // None is NaN, which no comparison lets in.
    const T lo = static_cast<T>(p[0]), hi = T(1) - lo;
    const T above = x < lo ? lo : x;
    return above > hi ? hi : above;
  }
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    return math::logit(clamped(x, p));
  }
  template <class T>
  static bool is_usual(T x, const double* p) {
    return math::has_usual_logit(clamped(x, p));
  }
  template <class T>
  static T fwd_usual(T x, const double* p) {
    return math::logit_usual(clamped(x, p));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[0];
    const double eps = s.params[0];
    const V slope = g / (x * (1 - x));
    if (eps != eps) return slope;
    return masked(slope, apply<LogicalAnd>(apply<Ge>(x, eps), apply<Le>(x, 1 - eps)));
  }
};

struct Sinc {
  static constexpr Info info =
      Info{"sinc", Promote::Floating, kinds::floating, Saves::Both, "sin(pi x) / (pi x) of each element, 1 at 0."}
          .with_aliases("special.sinc")
          .hiding("result");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::sinc(x);
  }
  template <class T>
  STRIDED_HD static Complex<T> fwd(Complex<T> z) {
    // In double: the rounding of pi z would be that of the result.
    const Complex<double> w(math::kPi * static_cast<double>(z.re), math::kPi * static_cast<double>(z.im));
    return z == Complex<T>(0) ? Complex<T>(1) : Complex<T>(math::sin(w) / w);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[0];
    return masked(g * conj((apply<Cos>(math::kPi * x) - s.out) / nonzero(x)), apply<Ne>(x, 0.0));
  }
};

struct Entr {
  static constexpr Info info =
      special_function("special.entr", Saves::Inputs, "Entropy -x * log(x) of each element; 0 at 0, -inf below.");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return math::entr(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * (1 + apply<Log>(s.in[0]));
  }
};

struct Xlogy {
  static constexpr Info info = Info{"xlogy", Promote::Floating, kinds::Float, Saves::Inputs,
                                    "input * log(other), and 0 where input is 0, whatever `other` is unless NaN."}
                                   .with_aliases("special.xlogy")
                                   .with_overloads("tt nt tn");
  template <class T>
  STRIDED_HD static T fwd(T x, T y) {
    return math::xlogy(x, y);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &x = s.in[0], &y = s.in[1];
    if constexpr (I == 0) return masked(g * apply<Log>(y), apply<LogicalOr>(apply<Ne>(x, 0.0), apply<Gt>(y, 0.0)));
    else return g * (x / y);
  }
};

struct Xlog1py {
  static constexpr Info info =
      special_function("special.xlog1py", Saves::Inputs,
                       "input * log1p(other), and 0 where input is 0, whatever `other` is unless NaN.");
  template <class T>
  STRIDED_HD static T fwd(T x, T y) {
    return math::xlog1py(x, y);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V &x = s.in[0], &y = s.in[1];
    if constexpr (I == 0) return masked(g * apply<Log1p>(y), apply<LogicalOr>(apply<Ne>(x, 0.0), apply<Gt>(y, -1.0)));
    else return g * (x / (y + 1));
  }
};

struct Logaddexp {
  static constexpr Info info = Info{"logaddexp", Promote::Same, kinds::floating, Saves::Inputs,
                                    "log(exp(input) + exp(other)) without overflow on the way."}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return math::logaddexp(a, b);
  }
  template <class T>
  STRIDED_HD static Complex<T> fwd(Complex<T> a, Complex<T> b) {
    const bool swap = a.re < b.re;
    const Complex<T> larger = swap ? b : a, smaller = swap ? a : b;
    // Two equal infinities: -inf is the limit, and at +inf only the sum of the exponentials tells the direction.
    if ((larger.re == smaller.re) & math::isinf(larger.re))
      return larger.re < T(0) ? smaller : math::log(math::exp(smaller) + math::exp(larger));
    return larger + math::log1p(math::exp(smaller - larger));
  }
  template <class T, class = std::enable_if_t<is_float_v<T>>>
  static bool is_usual(T a, T b) {
    return math::isfinite(a) & math::isfinite(b) & math::has_usual_exp(a - b);
  }
  template <class T, class = std::enable_if_t<is_float_v<T>>>
  static T fwd_usual(T a, T b) {
    return math::logaddexp_usual(a, b);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * conj(apply<Sigmoid>(s.in[I] - s.in[1 - I]));
  }
};

struct Logaddexp2 {
  static constexpr Info info = Info{"logaddexp2", Promote::Same, kinds::Float, Saves::Inputs,
                                    "log2(2^input + 2^other) without overflow on the way."}
                                   .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T a, T b) {
    return math::logaddexp2(a, b);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * apply<Sigmoid>(kLn2 * (s.in[I] - s.in[1 - I]));
  }
};

using SpecialOps = List<Erf, Erfc, Erfcx, Erfinv, Ndtr, LogNdtr, Ndtri, Lgamma, Digamma, Polygamma, Zeta, Igamma,
                        Igammac, I0, I0e, I1, I1e, Logit, Sinc, Entr, Xlogy, Xlog1py, Logaddexp, Logaddexp2>;

}  // namespace STRIDED_ISA
}  // namespace strided
