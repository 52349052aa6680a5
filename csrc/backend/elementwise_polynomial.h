// Orthogonal polynomials: operands input and n, the degree, of which the integral part counts. The mathematics is in
// base/math_polynomial.h; `in_double` is of double, or of several at once (cpu/pointwise/lanes.inc).
#pragma once

#include "backend/elementwise_special.h"
#include "base/math_polynomial.h"

namespace strided {
inline namespace STRIDED_ISA {

constexpr Info polynomial(const char* name, const char* backward, const char* doc) {
  return Info{name, Promote::Floating, kinds::Float, Saves::Inputs, doc}
      .with_operands("input, n")
      .with_node(backward)
      .without_inplace();
}

// The derivative by input, where it is a multiple of another polynomial: factor n Q_(n-1)(x), with n an integer.
template <class Lower, class V>
V lower_degree(const V& g, double factor, const V& x, const V& n) {
  const V degree = apply<Trunc>(n);
  return g * (factor * degree * apply<Lower>(x, degree - 1));
}

struct ChebyshevU;
struct ShiftedChebyshevU;

struct ChebyshevT {
  static constexpr Info info = polynomial("special.chebyshev_polynomial_t", "SpecialChebyshevPolynomialT",
                                          "Chebyshev polynomial of the first kind, T_n(input); 0 for n < 0.");
  using Computes = double;
  template <class D>
  STRIDED_HD static D in_double(D x, D n) {
    return math::special::chebyshev_polynomial<0>(x, n);
  }
  template <class T>
  STRIDED_HD static T fwd(T x, T n) {
    return T(in_double(double(x), double(n)));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 1) return no_derivative(g, "chebyshev_polynomial_t: n");
    else return lower_degree<ChebyshevU>(g, 1, s.in[0], s.in[1]);
  }
};

struct ShiftedChebyshevT {
  static constexpr Info info =
      polynomial("special.shifted_chebyshev_polynomial_t", "SpecialShiftedChebyshevPolynomialT",
                 "Chebyshev polynomial of the first kind at 2 * input - 1; 0 for n < 0.");
  using Computes = double;
  template <class D>
  STRIDED_HD static D in_double(D x, D n) {
    return math::special::shifted_chebyshev_polynomial<0>(x, n);
  }
  template <class T>
  STRIDED_HD static T fwd(T x, T n) {
    return T(in_double(double(x), double(n)));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 1) return no_derivative(g, "shifted_chebyshev_polynomial_t: n");
    else return lower_degree<ShiftedChebyshevU>(g, 2, s.in[0], s.in[1]);
  }
};

struct HermiteH {
  static constexpr Info info =
      polynomial("special.hermite_polynomial_h", "SpecialHermitePolynomialH",
                 "Physicist's Hermite polynomial H_n(input), orthogonal with exp(-x^2); 0 for n < 0.");
  using Computes = double;
  template <class D>
  STRIDED_HD static D in_double(D x, D n) {
    return math::special::hermite_polynomial<2>(x, n);
  }
  template <class T>
  STRIDED_HD static T fwd(T x, T n) {
    return T(in_double(double(x), double(n)));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 1) return no_derivative(g, "hermite_polynomial_h: n");
    else return lower_degree<HermiteH>(g, 2, s.in[0], s.in[1]);
  }
};

struct HermiteHe {
  static constexpr Info info =
      polynomial("special.hermite_polynomial_he", "SpecialHermitePolynomialHe",
                 "Probabilist's Hermite polynomial He_n(input), orthogonal with exp(-x^2 / 2); 0 for n < 0.");
  using Computes = double;
  template <class D>
  STRIDED_HD static D in_double(D x, D n) {
    return math::special::hermite_polynomial<1>(x, n);
  }
  template <class T>
  STRIDED_HD static T fwd(T x, T n) {
    return T(in_double(double(x), double(n)));
  }
  template <int I, class V>
  static V vjp(const V& g, const Saved<V>& s) {
    if constexpr (I == 1) return no_derivative(g, "hermite_polynomial_he: n");
    else return lower_degree<HermiteHe>(g, 1, s.in[0], s.in[1]);
  }
};

// Those whose derivative is not such a multiple have none, as in PyTorch.
#define STRIDED_POLYNOMIAL(Op, name, backward, value, doc) \
  struct Op { \
    static constexpr Info info = polynomial("special." name, "Special" backward, doc); \
    using Computes = double; \
    template <class D> \
    STRIDED_HD static D in_double(D x, D n) { \
      return math::special::value(x, n); \
    } \
    template <class T> \
    STRIDED_HD static T fwd(T x, T n) { \
      return T(in_double(double(x), double(n))); \
    } \
    template <int I, class V> \
    static V vjp(const V& g, const Saved<V>&) { \
      return no_derivative(g, name); \
    } \
  };
STRIDED_POLYNOMIAL(ChebyshevU, "chebyshev_polynomial_u", "ChebyshevPolynomialU", chebyshev_polynomial<1>,
                   "Chebyshev polynomial of the second kind, U_n(input); 0 for n < 0.")
STRIDED_POLYNOMIAL(ChebyshevV, "chebyshev_polynomial_v", "ChebyshevPolynomialV", chebyshev_polynomial<2>,
                   "Chebyshev polynomial of the third kind, V_n(input); 0 for n < 0.")
STRIDED_POLYNOMIAL(ChebyshevW, "chebyshev_polynomial_w", "ChebyshevPolynomialW", chebyshev_polynomial<3>,
                   "Chebyshev polynomial of the fourth kind, W_n(input); 0 for n < 0.")
STRIDED_POLYNOMIAL(ShiftedChebyshevU, "shifted_chebyshev_polynomial_u", "ShiftedChebyshevPolynomialU",
                   shifted_chebyshev_polynomial<1>,
                   "Chebyshev polynomial of the second kind at 2 * input - 1; 0 for n < 0.")
STRIDED_POLYNOMIAL(ShiftedChebyshevV, "shifted_chebyshev_polynomial_v", "ShiftedChebyshevPolynomialV",
                   shifted_chebyshev_polynomial<2>,
                   "Chebyshev polynomial of the third kind at 2 * input - 1; 0 for n < 0.")
STRIDED_POLYNOMIAL(ShiftedChebyshevW, "shifted_chebyshev_polynomial_w", "ShiftedChebyshevPolynomialW",
                   shifted_chebyshev_polynomial<3>,
                   "Chebyshev polynomial of the fourth kind at 2 * input - 1; 0 for n < 0.")
STRIDED_POLYNOMIAL(LaguerreL, "laguerre_polynomial_l", "LaguerrePolynomialL", laguerre_polynomial,
                   "Laguerre polynomial L_n(input); 0 for n < 0, NaN for n > 1000000.")
STRIDED_POLYNOMIAL(LegendreP, "legendre_polynomial_p", "LegendrePolynomialP", legendre_polynomial,
                   "Legendre polynomial P_n(input); 0 for n < 0, NaN for n > 1000000.")
#undef STRIDED_POLYNOMIAL

using PolynomialOps = List<ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW, ShiftedChebyshevT, ShiftedChebyshevU,
                           ShiftedChebyshevV, ShiftedChebyshevW, HermiteH, HermiteHe, LaguerreL, LegendreP>;

}  // namespace STRIDED_ISA
}  // namespace strided
