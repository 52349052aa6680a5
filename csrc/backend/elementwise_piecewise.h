// Elementwise activations that are made of straight pieces. (Relu and Hardshrink are in elementwise_unary.h.)
#pragma once

#include "backend/elementwise_activation.h"

namespace strided {
inline namespace STRIDED_ISA {

// A parameter as a value of T: integers take the nearest one that they have.
template <class T>
STRIDED_HD T parameter(double p) {
  if constexpr (is_int_v<T>) {
    constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
    if (!(p > low)) return std::numeric_limits<T>::min();
    return p < static_cast<double>(std::numeric_limits<T>::max()) ? static_cast<T>(p) : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(p);
  }
}

// A parameter that was found to fit T: negative integers wrap around in unsigned dtypes.
template <class T>
STRIDED_HD T wrapped_parameter(double p) {
  if constexpr (is_int_v<T>) return p < 0 ? static_cast<T>(static_cast<int64_t>(p)) : parameter<T>(p);
  else return static_cast<T>(p);
}

// These gradients are ops of their own, as the bounds are compared with 16-bit floats unrounded.
struct ThresholdGrad {
  static constexpr Info info =
      activation_grad("_threshold_grad", "0 where input <= threshold, else grad.").with_params("float threshold=0");
  template <class T>
  STRIDED_HD static T fwd(T g, T x, const double* p) {
    const T bound = static_cast<T>(p[0]);
    return x <= bound ? T(0) : g;
  }
  static constexpr uint8_t reads[] = {2, 0};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return apply_with<ThresholdGrad>(s.params, g, s.in[1]);
    else return zero_like(g);
  }
};

struct Threshold {
  static constexpr Info info =
      Info{"threshold", Promote::Same, kinds::Int | kinds::Float, Saves::Inputs,
           "Each element that is greater than `threshold`, and `value` for the others. NaN stays."}
          .with_params("float threshold, float value")
          .without_method()
          .hiding("value")
          .with_steady_gradient();
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    const T bound = parameter<T>(p[0]), value = wrapped_parameter<T>(p[1]);
    return x <= bound ? value : x;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply_with<ThresholdGrad>(s.params, g, s.in[0]);
  }
};

struct HardtanhGrad {
  static constexpr Info info =
      activation_grad("_hardtanh_grad", "grad where min_val < input < max_val or input is NaN, else 0.")
          .with_params("float min_val=-1, float max_val=1");
  template <class T>
  STRIDED_HD static T fwd(T g, T x, const double* p) {
    const T low = static_cast<T>(p[0]), high = static_cast<T>(p[1]);
    const T above = x <= low ? T(0) : g;
    return x >= high ? T(0) : above;
  }
  static constexpr uint8_t reads[] = {2, 0};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return apply_with<HardtanhGrad>(s.params, g, s.in[1]);
    else return zero_like(g);
  }
};

struct Hardtanh {
  static constexpr Info info =
      Info{"nn.functional.hardtanh", Promote::Same, kinds::Int | kinds::Float, Saves::Inputs,
           "Each element, but not below min_val and not above max_val; no gradient at the bounds."}
          .with_params("float min_val=-1, float max_val=1")
          .without_method()
          .with_steady_gradient();
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    const T low = parameter<T>(p[0]), high = parameter<T>(p[1]);
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply_with<HardtanhGrad>(s.params, g, s.in[0]);
  }
};

// x brought into [0, 6]; NaN stays.
template <class T>
STRIDED_HD T clamped_to_six(T x) {
  const T raised = x < T(0) ? T(0) : x;
  return raised > T(6) ? T(6) : raised;
}

struct Hardsigmoid {
  static constexpr Info info =
      activation("nn.functional.hardsigmoid", Saves::Inputs, "(x + 3) / 6 of each element, within [0, 1].");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return clamped_to_six(x + T(3)) / T(6);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return masked(g / 6, apply<LogicalAnd>(apply<Gt>(s.in[0], -3.0), apply<Lt>(s.in[0], 3.0)));
  }
};

struct HardswishGrad {
  static constexpr Info info =
      activation_grad("_hardswish_grad", "grad times the derivative of nn.functional.hardswish at input.");
  template <class T>
  STRIDED_HD static T fwd(T g, T x) {
    const T inside = x < T(3) ? g * ((x + T(1.5)) / T(3)) : g;
    return x <= T(-3) ? T(0) : inside;
  }
  static constexpr uint8_t reads[] = {2, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[1];
    if constexpr (I == 0) return apply<HardswishGrad>(g, x);
    else return masked(g * s.in[0] / 3, apply<LogicalAnd>(apply<Gt>(x, -3.0), apply<Lt>(x, 3.0)));
  }
};

struct Hardswish {
  static constexpr Info info =
      activation("nn.functional.hardswish", Saves::Inputs,
                 "x * hardsigmoid(x) of each element. A. Howard et al., \"Searching for MobileNetV3\" (2019).");
  template <class T>
  STRIDED_HD static T fwd(T x) {
    return x * clamped_to_six(x + T(3)) / T(6);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<HardswishGrad>(g, s.in[0]);
  }
};

struct Softshrink {
  static constexpr Info info =
      activation("_softshrink", Saves::Inputs,
                 "Each element brought nearer to 0 by lambd, and 0 where |x| <= lambd. NaN stays.")
          .with_params("float lambd=0.5")
          .without_inplace()
          .with_steady_gradient();
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    const T by = static_cast<T>(p[0]);
    const T below = x < -by ? x + by : x * T(0);
    return x > by ? x - by : below;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return masked(g, apply<LogicalNot>(apply<Le>(apply<Abs>(s.in[0]), s.params[0])));
  }
};

// ---- a slope below zero ---------------------------------------------------------------------------------------------

struct PreluGrad {
  static constexpr Info info =
      activation_grad("_prelu_grad", "grad where input > 0, else weight * grad.").with_operands("grad, input, weight");
  template <class T>
  STRIDED_HD static T fwd(T g, T x, T weight) {
    return x > T(0) ? g : weight * g;
  }
  static constexpr uint8_t reads[] = {6, 0, 3};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 0) return apply<PreluGrad>(g, s.in[1], s.in[2]);
    else if constexpr (I == 1) return zero_like(g);
    else return masked(g * s.in[0], apply<LogicalNot>(apply<Gt>(s.in[1], 0.0)));
  }
};

struct Prelu {
  static constexpr Info info = Info{"_prelu_kernel", Promote::Same, kinds::Float, Saves::Inputs,
                                    "Each element where it is positive, else weight times it."}
                                   .with_operands("input, weight")
                                   .without_inplace()
                                   .without_method();
  template <class T>
  STRIDED_HD static T fwd(T x, T weight) {
    return x > T(0) ? x : weight * x;
  }
  static constexpr uint8_t reads[] = {3, 1};
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[0];
    if constexpr (I == 0) return apply<PreluGrad>(g, x, s.in[1]);
    else return masked(g * x, apply<LogicalNot>(apply<Gt>(x, 0.0)));
  }
};

struct LeakyRelu {
  static constexpr Info info = activation("nn.functional.leaky_relu", Saves::Inputs,
                                          "Each element where it is positive, else negative_slope times it.")
                                   .with_params("float negative_slope=0.01");
  template <class T>
  STRIDED_HD static T fwd(T x, const double* p) {
    const T slope = static_cast<T>(p[0]);  // read here: a load on one way only would keep the loop from vectors
    return x > T(0) ? x : x * slope;
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return apply<PreluGrad>(g, s.in[0], s.params[0]);
  }
};

using PiecewiseActivations = List<ThresholdGrad, Threshold, HardtanhGrad, Hardtanh, Hardsigmoid, HardswishGrad,
                                  Hardswish, Softshrink, PreluGrad, Prelu, LeakyRelu>;

}  // namespace STRIDED_ISA
}  // namespace strided
