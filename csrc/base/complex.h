// A complex number of two T, laid out as std::complex<T>, usable in device code and in vectorised loops.
// Only arithmetic stands here; the transcendental functions are in base/math_complex.h.
#pragma once

#include "base/half.h"

namespace strided {
inline namespace STRIDED_ISA {

// Keeps GCC (12 at least) from making one fmaddsub of the two parts of a product, which it does in vector code even
// under -ffp-contract=off: results would depend on where in a loop an element stands.
template <class T>
STRIDED_HD T fence(T x) {
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && __GNUC__ >= 12
  return __builtin_assoc_barrier(x);
#else
  return x;
#endif
}

template <class T>
struct Complex {
  T re, im;

  Complex() = default;
  STRIDED_HD constexpr Complex(T r, T i = T(0)) : re(r), im(i) {}
  template <class U>
  STRIDED_HD constexpr explicit Complex(const Complex<U>& z) : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}

  STRIDED_HD Complex& operator+=(const Complex& z) { return *this = *this + z; }
  STRIDED_HD Complex& operator-=(const Complex& z) { return *this = *this - z; }
  STRIDED_HD Complex& operator*=(const Complex& z) { return *this = *this * z; }
  STRIDED_HD Complex& operator/=(const Complex& z) { return *this = *this / z; }

  friend STRIDED_HD Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend STRIDED_HD Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
  friend STRIDED_HD Complex operator-(const Complex& a) { return {-a.re, -a.im}; }
  friend STRIDED_HD Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, fence(a.re * b.im + a.im * b.re)};
  }
  // Smith's algorithm: divide by the larger part first, so that |b|^2 is never formed.
  // R. L. Smith, "Algorithm 116: Complex division", CACM 5 (1962).
  friend STRIDED_HD Complex operator/(const Complex& a, const Complex& b) {
    const T abs_re = b.re < T(0) ? -b.re : b.re;
    const T abs_im = b.im < T(0) ? -b.im : b.im;
    if (abs_re >= abs_im) {
      if (abs_re == T(0) && abs_im == T(0)) return {a.re / abs_re, a.im / abs_im};
      const T ratio = b.im / b.re;
      const T scale = T(1) / (b.re + b.im * ratio);
      return {(a.re + a.im * ratio) * scale, fence(a.im - a.re * ratio) * scale};
    }
    const T ratio = b.re / b.im;
    const T scale = T(1) / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, fence(a.im * ratio - a.re) * scale};
  }
  friend STRIDED_HD bool operator==(const Complex& a, const Complex& b) { return a.re == b.re && a.im == b.im; }
  friend STRIDED_HD bool operator!=(const Complex& a, const Complex& b) { return !(a == b); }
};

template <class T>
STRIDED_HD Complex<T> conj(const Complex<T>& z) {
  return {z.re, -z.im};
}

template <class T>
struct IsComplex {
  static constexpr bool value = false;
};
template <class T>
struct IsComplex<Complex<T>> {
  static constexpr bool value = true;
};
template <class T>
constexpr bool is_complex_v = IsComplex<T>::value;

// The type of the parts of T; T itself for a real T.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename RealOf<T>::type;

}  // namespace STRIDED_ISA
}  // namespace strided
