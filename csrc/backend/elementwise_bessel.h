// Bessel functions of the orders 0 and 1 and their relatives; the mathematics is in base/math_bessel.h.
#pragma once

#include "backend/elementwise_special.h"
#include "base/math_bessel.h"

namespace strided {
inline namespace STRIDED_ISA {

struct BesselJ1;
struct BesselY1;
struct BesselK1;
struct ScaledBesselK1;

struct BesselJ0 {
  static constexpr Info info =
      special_function("special.bessel_j0", Saves::Inputs, "Bessel function of the first kind, order 0.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::bessel_j0(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_bessel(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    return math::bessel_j0_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * apply<BesselJ1>(s.in[0]);
  }
};

struct BesselJ1 {
  static constexpr Info info =
      special_function("special.bessel_j1", Saves::Both, "Bessel function of the first kind, order 1.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::bessel_j1(x);
  }
  template <class T>
  static bool is_usual(T x) {
    return math::has_usual_bessel(x);
  }
  template <class T>
  static T fwd_usual(T x) {
    return math::bessel_j1_usual(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (apply<BesselJ0>(s.in[0]) - half_at_zero(s.out, s.in[0]));
  }
};

struct BesselY0 {
  static constexpr Info info =
      special_function("special.bessel_y0", Saves::Inputs,
                       "Bessel function of the second kind, order 0; -inf at 0, NaN for negative arguments.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::bessel_y0(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * apply<BesselY1>(s.in[0]);
  }
};

struct BesselY1 {
  static constexpr Info info =
      special_function("special.bessel_y1", Saves::Both,
                       "Bessel function of the second kind, order 1; -inf at 0, NaN for negative arguments.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::bessel_y1(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (apply<BesselY0>(s.in[0]) - s.out / s.in[0]);
  }
};

struct BesselK0 {
  static constexpr Info info =
      special_function("special.modified_bessel_k0", Saves::Inputs,
                       "Modified Bessel function of the second kind, order 0; infinite at 0, NaN for negative "
                       "arguments.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::bessel_k0(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * apply<BesselK1>(s.in[0]);
  }
};

struct BesselK1 {
  static constexpr Info info =
      special_function("special.modified_bessel_k1", Saves::Both,
                       "Modified Bessel function of the second kind, order 1; infinite at 0, NaN for negative "
                       "arguments.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::bessel_k1(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return -g * (apply<BesselK0>(s.in[0]) + s.out / s.in[0]);
  }
};

struct ScaledBesselK0 {
  static constexpr Info info = special_function("special.scaled_modified_bessel_k0", Saves::Both,
                                                "exp(x) * modified_bessel_k0(x), without its underflow.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::scaled_bessel_k0(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (s.out - apply<ScaledBesselK1>(s.in[0]));
  }
};

struct ScaledBesselK1 {
  static constexpr Info info = special_function("special.scaled_modified_bessel_k1", Saves::Both,
                                                "exp(x) * modified_bessel_k1(x), without its underflow.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::scaled_bessel_k1(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    return g * (s.out - s.out / s.in[0] - apply<ScaledBesselK0>(s.in[0]));
  }
};

struct SphericalBesselJ0 {
  static constexpr Info info = special_function("special.spherical_bessel_j0", Saves::Both,
                                                "Spherical Bessel function of order 0: sin(x) / x, 1 at 0.");
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::spherical_j0(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    const V& x = s.in[0];
    return masked(g * ((apply<Cos>(x) - s.out) / nonzero(x)), apply<Ne>(x, 0.0));
  }
};

struct AiryAi {
  static constexpr Info info = special_function("special.airy_ai", Saves::Inputs, "Airy function Ai of each element.");
  using Computes = double;
  template <class T>
  STRIDED_INLINE_HD static T fwd(T x) {
    return math::airy_ai(x);
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>&) {
    return no_derivative(g, "airy_ai");
  }
};

using BesselOps = List<BesselJ0, BesselJ1, BesselY0, BesselY1, BesselK0, BesselK1, ScaledBesselK0, ScaledBesselK1,
                       SphericalBesselJ0, AiryAi>;

}  // namespace STRIDED_ISA
}  // namespace strided
