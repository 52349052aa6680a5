// Special functions of float and double, host and device: the normal law and its relatives, short ones, and from
// base/math_gamma.h those of the gamma function. They may branch and loop: unlike base/math.h they are not meant to
// vectorise (except the short ones at the end). Each works in double; a float argument is converted and the result
// rounded once. Poles, infinities and NaN follow SciPy and PyTorch.
#pragma once

#include "base/math_gamma.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

// The double-precision bodies. Public names follow below.
namespace special {

// The quantile of the normal law from q = p - 1/2 and tail = min(p, 1 - p) > 0; p < 1/2 is told by the sign of q.
// M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988).
// Usual: where tail >= exp(-25).
STRIDED_HD bool has_usual_quantile(double tail) { return tail >= 1.3887943864964021e-11; }
STRIDED_INLINE_HD double normal_quantile_usual(double q, double tail) {
  const bool middle = abs(q) <= 0.425;
  const double z = 0.180625 - q * q, r = math::sqrt(-log_usual(tail)) - 1.6;
  const double near =
      q * poly(z, 3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
               4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3);
  const double near_below =
      poly(z, 1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
           2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3);
  const double far =
      poly(r, 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
           1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4);
  const double far_below =
      poly(r, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
           1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9);
  return choose(middle, near, mulsign(far, q)) / choose(middle, near_below, far_below);
}
STRIDED_HD double normal_quantile(double q, double tail) {
  if (has_usual_quantile(tail)) return normal_quantile_usual(q, tail);
  const double r = math::sqrt(-math::log(tail)) - 5;
  const double value =
      poly(r, 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
           2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7) /
      poly(r, 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
           7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15);
  return mulsign(value, q);
}

STRIDED_INLINE_HD double erfinv_usual(double x) {
  return normal_quantile_usual(0.5 * x, 0.5 * (1 - abs(x))) * 0.70710678118654752440;
}
STRIDED_HD double erfinv(double x) {
  if (!(abs(x) < 1)) return abs(x) == 1 ? copysign(infinity<double>(), x) : quiet_nan<double>();
  return normal_quantile(0.5 * x, 0.5 * (1 - abs(x))) * 0.70710678118654752440;
}

STRIDED_INLINE_HD double ndtri_usual(double p) { return normal_quantile_usual(p - 0.5, p < 0.5 ? p : 1 - p); }
STRIDED_HD double ndtri(double p) {
  if (!(p > 0 && p < 1)) {
    return p == 0 ? -infinity<double>() : p == 1 ? infinity<double>() : quiet_nan<double>();
  }
  return normal_quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

// exp(x^2) erfc(x), without overflow or underflow. (1 + 2x) erfcx(x) is smooth in t = (x - 2) / (x + 2) over all x >=
// 0 (after M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", Math. Comp.
// 36 (1981)).
STRIDED_INLINE_HD double erfcx(double x) {
  const double a = abs(x), right = a > 1e8 ? 0.56418958354775628695 / a : erfcx_positive(a);
  const Pair<double> square = two_prod(x, x);
  const double e = math::exp(square.hi);
  const double left = x < -26.7 ? infinity<double>() : 2 * (e + e * square.lo) - right;
  return x < 0 ? left : right;
}

// In the tail the rounding error of t counts 2 t^2 times: it is taken off to first order.
STRIDED_INLINE_HD double ndtr(double x) {
  const double c = 0.70710678118654752440, c_lo = -4.8336466567264567e-17;
  const double t = x * c, rest = mul_add(x, c_lo, product_minus(x, c, t));
  const double near = 0.5 + 0.5 * math::erf(t), far = 0.5 * math::erfc(-t);
  const double outer = (t < -1) & (t >= -40) ? far * (1 - 2 * t * rest) : far;
  return abs(t) < 0.7 ? near : outer;
}

STRIDED_INLINE_HD double log_ndtr(double x) {
  const double tail = math::log(0.5 * special::erfcx(x * -0.70710678118654752440)) - 0.5 * x * x;
  return x < -1 ? tail : math::log1p(-special::ndtr(-x));
}

}  // namespace special

STRIDED_HD bool has_usual_erfinv(double x) { return special::has_usual_quantile(0.5 * (1 - abs(x))); }
STRIDED_INLINE_HD double erfinv_usual(double x) { return special::erfinv_usual(x); }
STRIDED_HD double erfinv(double x) { return special::erfinv(x); }
#if STRIDED_DEVICE_CODE
STRIDED_HD float erfinv(float x) { return static_cast<float>(special::erfinv(x)); }
#else
// For float x P(w), w = -log(1 - x^2), after M. Giles, "Approximating the erfinv function", GPU Computing Gems 2
// (2011), with a minimax fit for w < 5. P(0) is a float to 2^-50.
STRIDED_HD bool has_usual_erfinv(float x) { return abs(x) < 0.9966f; }
STRIDED_HD float erfinv_usual(float x) {
  const Scaled<float> v = split_exponent<true>(-product_minus(x, x, 1.0f));
  const Pair<float> w = log_pair(v.k, v.m - 1.0f, log_rest(v.m - 1.0f));  // -w of the formula
  const float curve = poly(w.hi, -0.0115488469f, -0.00233459664f, 0.000127226327f, 4.4437088e-5f, -4.02224369e-6f,
                           -1.98353665e-6f, -2.21733722e-7f, -8.8204859e-9f);
  // P = c0 + w (c1 + w curve), the sums of pairs.
  const Pair<float> slope = fast_two_sum(-0.232013761f, -w.hi * curve);
  const Pair<float> term = two_prod(w.hi, slope.hi);
  const Pair<float> p = fast_two_sum(0.886226952f, term.hi);
  const float lo = p.lo + (mul_add(w.hi, slope.lo, mul_add(w.lo, slope.hi, term.lo)) - 2.66232003e-08f);
  return copysign(mul_add(x, p.hi, x * lo), x);
}
STRIDED_HD float erfinv(float x) {
  return has_usual_erfinv(x) ? erfinv_usual(x) : static_cast<float>(special::erfinv(x));
}
#endif
template <class T>
STRIDED_HD T erfcx(T x) {
  return T(special::erfcx(double(x)));
}
template <class T>
STRIDED_HD T ndtr(T x) {
  return T(special::ndtr(double(x)));
}
STRIDED_HD float ndtr(float x) { return float(0.5 * math::erfc_short(double(x) * -0.70710678118654752440)); }
template <class T>
STRIDED_HD bool has_usual_ndtri(T p) {
  return (p > T(1.3887943864964021e-11)) & special::has_usual_quantile(1 - double(p));
}
template <class T>
STRIDED_HD T ndtri_usual(T p) {
  return T(special::ndtri_usual(double(p)));
}
template <class T>
STRIDED_HD T ndtri(T p) {
  return T(special::ndtri(double(p)));
}
template <class T>
STRIDED_HD T log_ndtr(T x) {
  return T(special::log_ndtr(double(x)));
}

// The short ones, branch-free.

// sin(pi x) / (pi x), 1 at 0.
template <class T>
STRIDED_HD T sinc(T x) {
  // Reduced before the multiplication: sin(pi x) = (-1)^n sin(pi (x - n)), exact zeros at the integers.
  const T n = math::round(x);
  const T odd = n - T(2) * math::floor(n * T(0.5));
  const T sine = math::sin(T(kPi) * (x - n));
  const T value = (odd == T(1) ? -sine : sine) / (T(kPi) * x);
  return x == T(0) ? T(1) : value;
}

#if STRIDED_DEVICE_CODE
template <class T>
STRIDED_HD T logit(T p) {
  // Near 1/2 the quotient is near 1 and its rounding would be the result: log1p((2p - 1) / (1 - p)) there.
  const T far = math::log(p / (T(1) - p));
  const T near = math::log1p((T(2) * p - T(1)) / (T(1) - p));
  return (p > T(0.3)) & (p < T(0.65)) ? near : far;
}
#else
// log(p / (1 - p)); the logarithm is that of the quotient to twice its precision, whose rounding would be the result
// where p is near 1/2.
template <class T>
STRIDED_HD bool has_usual_logit(T p) {
  return (p > T(sizeof(T) == 4 ? 1e-30 : 1e-280)) & (p < T(1));
}
template <class T>
STRIDED_HD T logit_usual(T p) {
  const Pair<T> d = two_sum(T(1), -p);
  const T inverse = T(1) / d.hi, q = p * inverse;
  return log_with(q, (-product_minus(q, d.hi, p) - q * d.lo) * inverse);
}
template <class T>
STRIDED_HD T logit(T p) {
  return has_usual_logit(p) ? logit_usual(p) : math::log(p / (T(1) - p));
}
#endif

template <class T>
STRIDED_HD T xlogy(T x, T y) {
  const T product = x * math::log(y);
  return (x == T(0)) & !isnan(y) ? T(0) : product;
}
template <class T>
STRIDED_HD T xlog1py(T x, T y) {
  const T product = x * math::log1p(y);
  return (x == T(0)) & !isnan(y) ? T(0) : product;
}

// -x log(x): 0 at 0, -inf below.
template <class T>
STRIDED_HD T entr(T x) {
  const T inside = -x * math::log(x);
  const T outside = x == T(0) ? T(0) : -infinity<T>();
  return (x > T(0)) | isnan(x) ? inside : outside;
}

template <class T>
STRIDED_HD T logaddexp(T a, T b) {
  const T larger = a < b ? b : a;
  const T sum = larger + math::log1p(math::exp(-abs(a - b)));
  const T result = (a == b) & isinf(a) ? a : sum;
  return isnan(a) | isnan(b) ? a + b : result;
}
#if !STRIDED_DEVICE_CODE
// For finite operands whose difference has a usual exponential.
template <class T>
STRIDED_HD T logaddexp_usual(T a, T b) {
  return (a < b ? b : a) + log1p_usual(exp_usual(-abs(a - b)));
}
#endif
template <class T>
STRIDED_HD T logaddexp2(T a, T b) {
  const T larger = a < b ? b : a;
  const T sum = larger + math::log1p(math::exp2(-abs(a - b))) * T(1.4426950408889634074);
  const T result = (a == b) & isinf(a) ? a : sum;
  return isnan(a) | isnan(b) ? a + b : result;
}

// |x| as an unsigned number of 64 bits, defined also for the most negative integer.
template <class T>
STRIDED_HD uint64_t magnitude(T x) {
  const uint64_t u = static_cast<uint64_t>(x);
  return x < T(0) ? uint64_t(0) - u : u;
}

// Greatest common divisor and least common multiple, >= 0 and 0 for two zeros (lcm: for any zero). A result that T
// cannot hold, as gcd(INT_MIN, 0), wraps.
template <class T>
STRIDED_HD T gcd(T x, T y) {
  uint64_t a = magnitude(x), b = magnitude(y);
  while (b != 0) {
    const uint64_t r = a % b;
    a = b;
    b = r;
  }
  return static_cast<T>(a);
}
template <class T>
STRIDED_HD T lcm(T x, T y) {
  if (x == T(0) || y == T(0)) return T(0);
  uint64_t a = magnitude(x), b = magnitude(y);
  const uint64_t product_of = a;
  while (b != 0) {
    const uint64_t r = a % b;
    a = b;
    b = r;
  }
  // The magnitude in T's own width first: PyTorch takes the absolute value of the wrapped product.
  const T wrapped = static_cast<T>((product_of / a) * magnitude(y));
  return static_cast<T>(magnitude(wrapped));
}

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
