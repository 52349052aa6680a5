// Elementwise activations of neural networks. Those whose gradient is more than a product or a mask have an op for it,
// "_name_grad": one pass over memory instead of one for each step of the formula. A name "nn.functional.f" stands in
// that namespace only, as does its in-place form.
#pragma once

#include "backend/elementwise_special.h"

namespace strided {
inline namespace STRIDED_ISA {

// No method of Tensor: PyTorch has these as functions.
constexpr Info activation(const char* name, Saves saves, const char* doc) {
  return Info{name, Promote::Same, kinds::Float, saves, doc}.without_method();
}
constexpr Info activation_grad(const char* name, const char* doc) {
  return activation(name, Saves::Inputs, doc).with_operands("grad, input").without_inplace();
}

// ---- exponential linear units ---------------------------------------------------------------------------------------

struct EluGrad {
  static constexpr Info info = activation_grad("_elu_grad", "grad times the derivative of nn.functional.elu at input.")
                                   .with_params("float alpha=1, float scale=1, float input_scale=1");
  template <class T>
  STRIDED_HD static T fwd(T g, T x, const double* p) {
    const T inner = static_cast<T>(p[2]), outer = static_cast<T>(p[0] * p[1] * p[2]), scale = static_cast<T>(p[1]);
    return g * (x > T(0) ? scale : outer * math::exp(x * inner));
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return apply_with<EluGrad>(s.params, g, s.in[1]);
    else return masked(g * (s.params[2] * apply_with<EluGrad>(s.params, s.in[0], s.in[1])), apply<Lt>(s.in[1], 0.0));
  }
};

struct Elu {
  static constexpr Info info =
      activation("nn.functional.elu", Saves::Inputs,
                 "scale * x where x > 0, else scale * alpha * (exp(input_scale * x) - 1). D.-A. Clevert, T. "
                 "Unterthiner, S. Hochreiter, \"Fast and accurate deep network learning by exponential linear "
                 "units\" (2016).")
          .with_params("float alpha=1, float scale=1, float input_scale=1");
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    const T inner = static_cast<T>(p[2]), outer = static_cast<T>(p[0] * p[1]), scale = static_cast<T>(p[1]);
    return x > T(0) ? x * scale : outer * math::expm1(x * inner);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply_with<EluGrad>(s.params, g, s.in[0]);
  }
};

// ---- x times a distribution function --------------------------------------------------------------------------------

struct GeluGrad {
  static constexpr Info info =
      activation_grad("_gelu_grad", "grad times the derivative of nn.functional.gelu at input.");
  template <class T>
  STRIDED_HD static T fwd(T g, T x) {
    return slope(g, x, math::normal_law(x));
  }
  template <class T, class = std::enable_if_t<std::is_same_v<T, float>>>
  static bool is_usual(T, T x) {
    return math::has_usual_normal_law(x);
  }
  template <class T, class = std::enable_if_t<std::is_same_v<T, float>>>
  static T fwd_usual(T g, T x) {
    return slope(g, x, math::normal_law_usual(x));
  }
  template <class T, class Law>
  STRIDED_HD static T slope(T g, T x, const Law& law) {
    return g * (law.hi + x * (T(1 / kSqrt2Pi) * law.lo));
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[1];
    if constexpr (I == 0) return apply<GeluGrad>(g, x);
    else return g * s.in[0] * (1 / kSqrt2Pi * apply<Exp>(-0.5 * x * x) * (2 - x * x));
  }
};

struct Gelu {
  static constexpr Info info =
      activation("_gelu", Saves::Inputs,
                 "x times the distribution function of the standard normal law at x. D. Hendrycks, K. Gimpel, "
                 "\"Gaussian error linear units\" (2016).")
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * math::normal_law(x).hi;
  }
  template <class T, class = std::enable_if_t<std::is_same_v<T, float>>>
  static bool is_usual(T x) {
    return math::has_usual_normal_law(x);
  }
  template <class T, class = std::enable_if_t<std::is_same_v<T, float>>>
  static T fwd_usual(T x) {
    return x * math::normal_law_usual(x).hi;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<GeluGrad>(g, s.in[0]);
  }
};

// x sigmoid(w), w = 2 sqrt(2 / pi) (x + 0.044715 x^3): the same as x (1 + tanh(w / 2)) / 2, and accurate in the tail.
constexpr double kGeluTanh = 1.59576912160573071176, kGeluCubic = 0.044715;

struct GeluTanhGrad {
  static constexpr Info info = activation_grad("_gelu_tanh_grad", "grad times the derivative of _gelu_tanh at input.");
  template <class T>
  STRIDED_HD static T fwd(T g, T x) {
    const T z = x * x;
    const T s = math::sigmoid(T(kGeluTanh) * x * (T(1) + T(kGeluCubic) * z));
    return g * (s + x * (s * (T(1) - s)) * (T(kGeluTanh) * (T(1) + T(3 * kGeluCubic) * z)));
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[1];
    if constexpr (I == 0) {
      return apply<GeluTanhGrad>(g, x);
    } else {
      const V z = x * x, f = apply<Sigmoid>(kGeluTanh * x * (1 + kGeluCubic * z));
      const V slope = kGeluTanh * (1 + 3 * kGeluCubic * z);
      const V bend = (1 - 2 * f) * slope * slope + 6 * kGeluTanh * kGeluCubic * x;
      return g * s.in[0] * (f * (1 - f) * (2 * slope + x * bend));
    }
  }
};

struct GeluTanh {
  static constexpr Info info =
      activation("_gelu_tanh", Saves::Inputs, "0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), close to gelu.")
          .with_node("Gelu")
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * math::sigmoid(T(kGeluTanh) * x * (T(1) + T(kGeluCubic) * (x * x)));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<GeluTanhGrad>(g, s.in[0]);
  }
};

// Of sigmoid and tanh, from the result y: one pass where the formula would take three.
struct SigmoidGrad {
  static constexpr Info info = Info{"_sigmoid_backward", Promote::Same, kinds::floating, Saves::Inputs,
                                    "grad times the conjugate derivative of sigmoid where its result is y."}
                                   .with_operands("grad, y")
                                   .without_inplace()
                                   .without_method();
  template <class T>
  STRIDED_HD static T fwd(T g, T y) {
    if constexpr (is_complex_v<T>) return g * conj(y * (T(1) - y));
    else return g * (y * (T(1) - y));
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& y = s.in[1];
    if constexpr (I == 0) return conj(apply<SigmoidGrad>(conj(g), y));
    else return conj(g) * s.in[0] * conj(1 - 2 * y);
  }
};

struct TanhGrad {
  static constexpr Info info = Info{"_tanh_backward", Promote::Same, kinds::floating, Saves::Inputs,
                                    "grad times the conjugate derivative of tanh where its result is y."}
                                   .with_operands("grad, y")
                                   .without_inplace()
                                   .without_method();
  template <class T>
  STRIDED_HD static T fwd(T g, T y) {
    if constexpr (is_complex_v<T>) return g * conj((T(1) - y) * (T(1) + y));
    else return g * ((T(1) - y) * (T(1) + y));  // 1 - y^2 without its cancellation
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& y = s.in[1];
    if constexpr (I == 0) return conj(apply<TanhGrad>(conj(g), y));
    else return conj(g) * s.in[0] * (-2 * conj(y));
  }
};

struct SiluGrad {
  static constexpr Info info = Info{"_silu_grad", Promote::Same, kinds::floating, Saves::Inputs,
                                    "grad times the conjugate derivative of nn.functional.silu at input."}
                                   .with_operands("grad, input")
                                   .without_inplace()
                                   .without_method();
  template <class T>
  STRIDED_HD static T fwd(T g, T x) {
    const T s = math::sigmoid(x);
    return g * (s + x * (s * (T(1) - s)));
  }
  template <class T, class = if_float<T>>
  static bool is_usual(T, T x) {
    return math::has_usual_sigmoid(x);
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T g, T x) {
    const T s = math::sigmoid_usual(x);
    return g * (s + x * (s * (T(1) - s)));
  }
  template <class T>
  STRIDED_HD static Complex<T> fwd(Complex<T> g, Complex<T> x) {
    const Complex<T> one(1), s = math::sigmoid(x);
    return g * conj(s + x * (s * (one - s)));
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[1];
    if constexpr (I == 0) {
      // g' -> g' conj(f') is linear with the adjoint g -> g f'
      return conj(apply<SiluGrad>(conj(g), x));
    } else {
      const V f = apply<Sigmoid>(x);
      return conj(g) * s.in[0] * conj(f * (1 - f) * (2 + x * (1 - 2 * f)));
    }
  }
};

struct Silu {
  static constexpr Info info =
      Info{"nn.functional.silu", Promote::Same, kinds::floating, Saves::Inputs, "x * sigmoid(x) of each element."}
          .without_method();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * math::sigmoid(x);
  }
  template <class T, class = if_float<T>>
  static bool is_usual(T x) {
    return math::has_usual_sigmoid(x);
  }
  template <class T, class = if_float<T>>
  static T fwd_usual(T x) {
    return x * math::sigmoid_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<SiluGrad>(g, s.in[0]);
  }
};

// tanh(softplus(x)) = n / (n + rest), of exponentials that do not overflow.
template <class T>
struct TanhSoftplus {
  T n, rest;
  STRIDED_HD explicit TanhSoftplus(T x) {
    const T t = math::exp(-math::abs(x));
    n = x > T(0) ? T(1) + T(2) * t : t * (t + T(2));
    rest = x > T(0) ? T(2) * t * t : T(2);
  }
};

struct LogSigmoid;

struct MishGrad {
  static constexpr Info info =
      activation_grad("_mish_grad", "grad times the derivative of nn.functional.mish at input.");
  template <class T>
  STRIDED_HD static T fwd(T g, T x) {
    // 1 - t^2 = rest (2 n + rest) / (n + rest)^2, where the difference would lose digits
    const TanhSoftplus<T> p(x);
    const T t = p.n / (p.n + p.rest), left = p.rest / (p.n + p.rest);
    return g * (t + x * (left * (T(1) + t) * math::sigmoid(x)));
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[1];
    if constexpr (I == 0) {
      return apply<MishGrad>(g, x);
    } else {
      const V f = apply<Sigmoid>(x), t = apply<Tanh>(-apply<LogSigmoid>(-x));
      return g * s.in[0] * ((1 - t * t) * f * (2 + x * (1 - f - 2 * t * f)));
    }
  }
};

struct Mish {
  static constexpr Info info =
      activation("nn.functional.mish", Saves::Inputs,
                 "x * tanh(log(1 + exp(x))) of each element. D. Misra, \"Mish: a self regularized "
                 "non-monotonic activation function\" (2020).");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    const TanhSoftplus<T> p(x);
    return x * (p.n / (p.n + p.rest));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<MishGrad>(g, s.in[0]);
  }
};

// ---- logarithms of 1 + exp ------------------------------------------------------------------------------------------

struct SoftplusGrad {
  static constexpr Info info =
      activation_grad("_softplus_grad", "grad times the derivative of nn.functional.softplus at input.")
          .with_params("float beta=1, float threshold=20");
  template <class T>
  STRIDED_HD static T fwd(T g, T x, const double* p) {
    const T scaled = x * static_cast<T>(p[0]);
    return scaled > static_cast<T>(p[1]) ? g : g * math::sigmoid(scaled);
  }
  template <class T>
  static bool is_usual(T, T x, const double* p) {
    return math::has_usual_sigmoid(x * static_cast<T>(p[0]));
  }
  template <class T>
  static T fwd_usual(T g, T x, const double* p) {
    const T scaled = x * static_cast<T>(p[0]), value = g * math::sigmoid_usual(scaled);
    return scaled > static_cast<T>(p[1]) ? g : value;
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) {
      return apply_with<SoftplusGrad>(s.params, g, s.in[1]);
    } else {
      const V scaled = s.params[0] * s.in[1], f = apply<Sigmoid>(scaled);
      return masked(g * s.in[0] * (s.params[0] * f * (1 - f)), apply<Le>(scaled, s.params[1]));
    }
  }
};

struct Softplus {
  static constexpr Info info =
      activation("nn.functional.softplus", Saves::Inputs,
                 "log(1 + exp(beta * x)) / beta of each element, and x where beta * x > threshold.")
          .with_params("float beta=1, float threshold=20")
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    const T beta = static_cast<T>(p[0]), scaled = x * beta;
    return scaled > static_cast<T>(p[1]) ? x : math::log1p(math::exp(scaled)) / beta;
  }
  template <class T>
  static bool is_usual(T x, const double* p) {
    return math::has_usual_exp(x * static_cast<T>(p[0]));
  }
  template <class T>
  static T fwd_usual(T x, const double* p) {
    const T beta = static_cast<T>(p[0]), scaled = x * beta;
    const T value = math::log1p_usual(math::exp_usual(scaled)) / beta;
    return scaled > static_cast<T>(p[1]) ? x : value;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply_with<SoftplusGrad>(s.params, g, s.in[0]);
  }
};

struct LogSigmoidGrad {
  static constexpr Info info =
      activation_grad("_logsigmoid_grad", "grad times the derivative of nn.functional.logsigmoid at input.")
          .with_node("LogSigmoidGrad");
  template <class T>
  STRIDED_HD static T fwd(T g, T x) {
    return g * math::sigmoid(-x);
  }
  template <class T>
  static bool is_usual(T, T x) {
    return math::has_usual_sigmoid(x);
  }
  template <class T>
  static T fwd_usual(T g, T x) {
    return g * math::sigmoid_usual(-x);
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[1];
    if constexpr (I == 0) return apply<LogSigmoidGrad>(g, x);
    else return g * s.in[0] * -apply<SigmoidGrad>(1.0, apply<Sigmoid>(-x));
  }
};

struct LogSigmoid {
  static constexpr Info info =
      activation("nn.functional.logsigmoid", Saves::Inputs, "log(1 / (1 + exp(-x))) of each element, without overflow.")
          .with_node("LogSigmoid")
          .without_inplace();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return (x < T(0) ? x : T(0)) - math::log1p(math::exp(-math::abs(x)));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<LogSigmoidGrad>(g, s.in[0]);
  }
};

// ---- others ---------------------------------------------------------------------------------------------------------

struct Tanhshrink {
  static constexpr Info info = Info{"nn.functional.tanhshrink", Promote::Floating, kinds::floating, Saves::Inputs,
                                    "x - tanh(x) of each element."}
                                   .without_inplace()
                                   .without_method();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x - math::tanh(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V t = apply<Tanh>(s.in[0]);
    return g * conj(t * t);
  }
};

struct Softsign {
  static constexpr Info info =
      Info{"_softsign", Promote::Floating, kinds::Float, Saves::Inputs, "x / (1 + |x|) of each element."}
          .without_inplace()
          .without_method();
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x / (math::abs(x) + T(1));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V size = 1 + apply<Abs>(s.in[0]);
    return g / (size * size);
  }
};

using SmoothActivations =
    List<SigmoidGrad, TanhGrad, LogSigmoidGrad, EluGrad, Elu, GeluGrad, Gelu, GeluTanhGrad, GeluTanh, SiluGrad, Silu,
         MishGrad, Mish, SoftplusGrad, Softplus, LogSigmoid, Tanhshrink, Softsign>;

}  // namespace STRIDED_ISA
}  // namespace strided
