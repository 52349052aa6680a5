// Elementary functions of Complex<float> and Complex<double>, host and device. They work in double: a Complex<float>
// is converted and the result rounded once, so that only one formula of each is needed and float never overflows on
// the way. Special values follow C99 Annex G where it says something useful. They may branch and then do not vectorise.
//
// Sources: W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit" (1987), for
// sqrt, tanh and atanh; T. E. Hull, T. F. Fairgrieve and P. T. P. Tang, "Implementing the complex arcsine and
// arccosine functions using exception handling", ACM TOMS 23 (1997), for asin and acos.
#pragma once

#include "base/math.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

// The double-precision bodies. Public names follow below. The long ones are functions of their own, once for all loops
// and for both dtypes: loops that take one element at a time do not gain from copies of them.
#if STRIDED_DEVICE_CODE
#define STRIDED_COMPLEX_BODY STRIDED_HD
#else
#define STRIDED_COMPLEX_BODY STRIDED_HD __attribute__((noinline))
#endif
namespace cplx {

using Z = Complex<double>;

constexpr double kLn2 = 0.69314718055994530942;

STRIDED_HD Z times_i(const Z& z) { return {-z.im, z.re}; }
STRIDED_HD Z times_minus_i(const Z& z) { return {z.im, -z.re}; }

// e^x (c, s), also where e^x alone overflows.
STRIDED_HD Z scaled_exp(double x, double c, double s) {
  if (x <= 709) {
    const double e = math::exp(x);
    return {e * c, e * s};
  }
  const double step = 8.2184074615549724189e307;  // e^709
  const double e = math::exp(x - 709);
  return {c * e * step, s * e * step};
}

STRIDED_COMPLEX_BODY Z exp(const Z& z) {
  if (z.im == 0) return {math::exp(z.re), z.im};
  if (!isfinite(z.im)) {
    if (z.re == infinity<double>()) return {z.re, quiet_nan<double>()};
    if (z.re == -infinity<double>()) return {0, copysign(0.0, z.im)};
    return {quiet_nan<double>(), quiet_nan<double>()};
  }
  return scaled_exp(z.re, math::cos(z.im), math::sin(z.im));
}

STRIDED_COMPLEX_BODY Z expm1(const Z& z) {
  if (z.im == 0) return {math::expm1(z.re), z.im};
  if (!(z.re < 40) || !isfinite(z.im)) return exp(z) - Z(1);
  const double half = math::sin(0.5 * z.im);
  return {math::expm1(z.re) * math::cos(z.im) - 2 * half * half, math::exp(z.re) * math::sin(z.im)};
}

// log1p(extra + x^2 + y^2) / 2 with the sum in twice the precision; x and y of moderate size.
STRIDED_HD double half_log1p(double extra, double x, double y) {
  const Pair<double> xx = two_prod(x, x), yy = two_prod(y, y);
  const Pair<double> larger = xx.hi < yy.hi ? yy : xx, smaller = xx.hi < yy.hi ? xx : yy;
  const Pair<double> s1 = two_sum(extra, larger.hi);
  const Pair<double> s2 = two_sum(s1.hi, smaller.hi);
  return 0.5 * math::log1p(s2.hi + (s2.lo + s1.lo + larger.lo + smaller.lo));
}

// log |z|, accurate also for |z| near 1.
STRIDED_COMPLEX_BODY double log_abs(double x, double y) {
  const double a = abs(x), b = abs(y);
  const double large = a < b ? b : a, small = a < b ? a : b;
  if (large > 0.5 && large < 1.5 && small < 1.5) return half_log1p(-1, large, small);
  if (large > 1e150 && isfinite(large)) return math::log(math::hypot(a * 0x1p-600, b * 0x1p-600)) + 600 * kLn2;
  if (large < 1e-150 && large > 0) return math::log(math::hypot(a * 0x1p600, b * 0x1p600)) - 600 * kLn2;
  return math::log(math::hypot(a, b));
}

STRIDED_COMPLEX_BODY Z log(const Z& z) { return {log_abs(z.re, z.im), math::atan2(z.im, z.re)}; }

STRIDED_COMPLEX_BODY Z log1p(const Z& z) {
  const double angle = math::atan2(z.im, 1 + z.re);
  if (abs(z.re) < 0.5 && abs(z.im) < 1) return {half_log1p(2 * z.re, z.re, z.im), angle};
  return {log_abs(1 + z.re, z.im), angle};
}

STRIDED_COMPLEX_BODY Z sqrt(const Z& z) {
  if (isinf(z.im)) return {infinity<double>(), z.im};
  if (isinf(z.re)) {
    const double other = isnan(z.im) ? z.im : 0.0;
    return z.re > 0 ? Z(z.re, copysign(other, z.im)) : Z(other, copysign(infinity<double>(), z.im));
  }
  if (isnan(z.re) || isnan(z.im)) return {quiet_nan<double>(), quiet_nan<double>()};
  if (z.re == 0 && z.im == 0) return {0, z.im};
  double x = z.re, y = z.im, unscale = 1;
  const double size = abs(x) < abs(y) ? abs(y) : abs(x);
  if (size > 1e300) {
    x *= 0.25, y *= 0.25, unscale = 2;
  } else if (size < 1e-280) {
    x *= 0x1p108, y *= 0x1p108, unscale = 0x1p-54;
  }
  const double t = math::sqrt(0.5 * (abs(x) + math::hypot(x, y)));
  const double other = y / (2 * t);
  return x >= 0 ? Z(t * unscale, other * unscale) : Z(abs(other) * unscale, copysign(t * unscale, y));
}

STRIDED_COMPLEX_BODY Z sinh(const Z& z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {math::sinh(x), y};
  if (!isfinite(y)) return {x == 0 || isinf(x) ? x : quiet_nan<double>(), quiet_nan<double>()};
  const double c = math::cos(y), s = math::sin(y);
  if (abs(x) > 700) return scaled_exp(abs(x), copysign(0.5, x) * c, 0.5 * s);
  return {math::sinh(x) * c, math::cosh(x) * s};
}

STRIDED_COMPLEX_BODY Z cosh(const Z& z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {math::cosh(x), isnan(x) ? y : copysign(1.0, x) * y};
  if (!isfinite(y)) return {isinf(x) ? infinity<double>() : quiet_nan<double>(), x == 0 ? x : quiet_nan<double>()};
  const double c = math::cos(y), s = math::sin(y);
  if (abs(x) > 700) return scaled_exp(abs(x), 0.5 * c, copysign(0.5, x) * s);
  return {math::cosh(x) * c, math::sinh(x) * s};
}

STRIDED_COMPLEX_BODY Z tanh(const Z& z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {math::tanh(x), y};
  if (abs(x) > 22 && (isfinite(y) || isinf(x))) {
    if (!isfinite(y)) return {copysign(1.0, x), copysign(0.0, y)};
    return {copysign(1.0, x), 4 * math::sin(y) * math::cos(y) * math::exp(-2 * abs(x))};
  }
  if (!isfinite(y)) return {x == 0 ? x : quiet_nan<double>(), quiet_nan<double>()};
  const double t = math::tan(y), s = math::sinh(x);
  const double beta = 1 + t * t, denominator = 1 + beta * s * s;
  if (isinf(beta)) return {1 / math::tanh(x), 1 / t};
  return {beta * math::sqrt(1 + s * s) * s / denominator, t / denominator};
}

// For x, y >= 0, not NaN: asin = (asin_re, im), acos = (acos_re, -im).
struct ArcParts {
  double asin_re, acos_re, im;
};

STRIDED_HD ArcParts arc_parts(double x, double y) {
  if (x > 1e150 || y > 1e150) return {math::atan2(x, y), math::atan2(y, x), log_abs(x, y) + kLn2};
  const double gap = abs(x - 1);
  if (y <= 1e-17 * gap) {
    // The real line, up to a first-order term: here y * y could underflow.
    const double root = math::sqrt(gap * (x + 1));
    const double slope = y == 0 ? 0.0 : y / root;
    if (x < 1) return {math::asin(x), math::acos(x), slope};
    return {0.5 * kPi, slope, math::log1p((x - 1) + root)};
  }
  if (gap == 0 && y < 1e-30) {
    const double root = math::sqrt(y);
    return {0.5 * kPi - root, root, root};
  }
  const double r = math::hypot(x + 1, y), s = math::hypot(x - 1, y);
  const double a = 0.5 * (r + s), b = x / a;
  ArcParts parts;
  if (b <= 0.6417) {
    parts.asin_re = math::asin(b);
    parts.acos_re = math::acos(b);
  } else {
    const double sum = a + x;
    const double leg = x <= 1 ? math::sqrt(0.5 * sum * (y * y / (r + (x + 1)) + (s + (1 - x))))
                              : y * math::sqrt(0.5 * (sum / (r + (x + 1)) + sum / (s + (x - 1))));
    parts.asin_re = math::atan2(x, leg);
    parts.acos_re = math::atan2(leg, x);
  }
  if (a <= 1.5) {
    const double first = y * y / (r + (x + 1));
    const double a1 = 0.5 * (first + (x < 1 ? y * y / (s + (1 - x)) : s + (x - 1)));
    parts.im = math::log1p(a1 + math::sqrt(a1 * (a + 1)));
  } else {
    parts.im = math::log(a + math::sqrt((a - 1) * (a + 1)));
  }
  return parts;
}

STRIDED_COMPLEX_BODY Z asin(const Z& z) {
  if (isnan(z.re) || isnan(z.im)) {
    if (isinf(z.re) || isinf(z.im)) return {quiet_nan<double>(), isinf(z.im) ? z.im : infinity<double>()};
    return {z.re == 0 ? z.re : quiet_nan<double>(), quiet_nan<double>()};
  }
  const ArcParts parts = arc_parts(abs(z.re), abs(z.im));
  return {copysign(parts.asin_re, z.re), copysign(parts.im, z.im)};
}

STRIDED_COMPLEX_BODY Z acos(const Z& z) {
  if (isnan(z.re) || isnan(z.im)) {
    if (isinf(z.re) || isinf(z.im)) return {quiet_nan<double>(), isinf(z.im) ? -z.im : -infinity<double>()};
    return {z.re == 0 ? 0.5 * kPi : quiet_nan<double>(), quiet_nan<double>()};
  }
  const ArcParts parts = arc_parts(abs(z.re), abs(z.im));
  return {signbit(z.re) ? kPi - parts.acos_re : parts.acos_re, -copysign(parts.im, z.im)};
}

STRIDED_HD Z acosh(const Z& z) {
  const Z w = acos(z);
  return {abs(w.im), copysign(w.re, z.im)};
}

STRIDED_COMPLEX_BODY Z atanh(const Z& z) {
  const double x = abs(z.re), y = abs(z.im);
  double re, im;
  if (isnan(x) || isnan(y)) {
    re = z.re == 0 || isinf(x) || isinf(y) ? 0 : quiet_nan<double>();
    im = isinf(y) ? 0.5 * kPi : z.im == 0 && !isnan(x) ? 0 : quiet_nan<double>();
  } else if (x > 1e17 || y > 1e17) {
    // The real part of 1 / z.
    const double large = x < y ? y : x;
    const double u = x / large, v = y / large;
    re = isinf(large) ? 0 : u / large / (u * u + v * v);
    im = 0.5 * kPi;
  } else if (x == 1) {
    re = y == 0 ? infinity<double>() : y < 1e-8 ? 0.5 * (kLn2 - math::log(y)) : 0.25 * math::log1p(4 / (y * y));
    im = y == 0 ? 0 : 0.5 * math::atan2(2.0, -y);
  } else {
    re = 0.25 * math::log1p(4 * x / ((1 - x) * (1 - x) + y * y));
    im = 0.5 * math::atan2(2 * y, (1 - x) * (1 + x) - y * y);
  }
  return {copysign(re, z.re), copysign(im, z.im)};
}

// Where |z|^2 neither overflows nor loses digits.
STRIDED_HD bool has_usual_reciprocal(const Z& z) {
  const double x = abs(z.re), y = abs(z.im);
  return (x < 0x1p500) & (y < 0x1p500) & ((x > 0x1p-450) | (y > 0x1p-450));
}
STRIDED_HD Z reciprocal_usual(const Z& z) {
  const double scale = 1 / (z.re * z.re + z.im * z.im);
  return {z.re * scale, -z.im * scale};
}
STRIDED_HD Z reciprocal(const Z& z) {
  if (has_usual_reciprocal(z)) return reciprocal_usual(z);
  if (isinf(z.re) || isinf(z.im)) return {copysign(0.0, z.re), copysign(0.0, -z.im)};
  return Z(1) / z;
}

// Integral powers by repeated squaring: exact where the products are, as (1+2j)**2; the rest as exp(w log z).
// 0**0 is 1; 0**w is 0 for Re w > 0.
STRIDED_COMPLEX_BODY Z pow(const Z& z, const Z& w) {
  if (w.im == 0 && abs(w.re) <= 64 && w.re == math::trunc(w.re)) {
    Z power(1), square = z;
    for (int n = static_cast<int>(abs(w.re)); n > 0; n >>= 1) {
      if (n & 1) power = power * square;
      if (n > 1) square = square * square;
    }
    if (isfinite(power.re) && isfinite(power.im) && (power.re != 0 || power.im != 0)) {
      return w.re < 0 ? reciprocal(power) : power;
    }
  }
  if (z.re == 0 && z.im == 0) {
    if (w.re > 0) return {0, 0};
    return {w.im == 0 ? infinity<double>() : quiet_nan<double>(), quiet_nan<double>()};
  }
  const Z l = log(z);
  return exp({w.re * l.re - w.im * l.im, w.re * l.im + w.im * l.re});
}

STRIDED_COMPLEX_BODY Z sigmoid(const Z& z) {
  if (z.re < 0) {
    const Z e = exp(z);
    return e / (Z(1) + e);
  }
  return Z(1) / (Z(1) + exp(-z));
}

}  // namespace cplx

template <class T>
STRIDED_HD bool isnan(const Complex<T>& z) {
  return isnan(z.re) | isnan(z.im);
}
template <class T>
STRIDED_HD bool isinf(const Complex<T>& z) {
  return isinf(z.re) | isinf(z.im);
}
template <class T>
STRIDED_HD bool isfinite(const Complex<T>& z) {
  return isfinite(z.re) & isfinite(z.im);
}
template <class T>
STRIDED_HD T abs(const Complex<T>& z) {
  return math::hypot(z.re, z.im);
}
template <class T>
STRIDED_HD T arg(const Complex<T>& z) {
  return math::atan2(z.im, z.re);
}
template <class T>
STRIDED_HD Complex<T> polar(T radius, T angle) {
  return {radius * math::cos(angle), radius * math::sin(angle)};
}
template <class T>
STRIDED_HD Complex<T> exp(const Complex<T>& z) {
  return Complex<T>(cplx::exp(cplx::Z(z)));
}
#if !STRIDED_DEVICE_CODE
// The same without branches, for vectors, where neither part needs care. The bits are those of the functions above.
namespace cplx {

STRIDED_HD bool has_usual_exp(const Z& z) { return math::has_usual_exp(z.re) & is_near_quadrant(z.im); }
STRIDED_HD Z exp_usual(const Z& z) {
  const double size = math::exp_usual(z.re);
  return {size * cos_near(z.im), size * sin_near(z.im)};
}
STRIDED_HD bool has_usual_expm1(const Z& z) { return (z.re < 40) & has_usual_exp(z); }
STRIDED_HD Z expm1_usual(const Z& z) {
  const double half = sin_near(0.5 * z.im);
  return {math::expm1(z.re) * cos_near(z.im) - 2 * half * half, math::exp_usual(z.re) * sin_near(z.im)};
}
STRIDED_HD bool has_usual_sinh(const Z& z) { return (abs(z.re) <= 700) & is_near_quadrant(z.im); }
STRIDED_HD Z sinh_usual(const Z& z) { return {math::sinh(z.re) * cos_near(z.im), math::cosh(z.re) * sin_near(z.im)}; }
STRIDED_HD Z cosh_usual(const Z& z) { return {math::cosh(z.re) * cos_near(z.im), math::sinh(z.re) * sin_near(z.im)}; }
STRIDED_HD bool has_usual_tanh(const Z& z) { return (abs(z.re) <= 22) & (z.im != 0) & is_near_quadrant(z.im); }
STRIDED_HD Z tanh_usual(const Z& z) {
  const double t = tan_near(z.im), s = math::sinh(z.re);
  const double beta = 1 + t * t, denominator = 1 + beta * s * s;
  return {beta * math::sqrt(1 + s * s) * s / denominator, t / denominator};
}
STRIDED_HD Z sigmoid_usual(const Z& z) {
  const bool negative = z.re < 0;
  const Z e = exp_usual(negative ? z : -z);
  const Z a = negative ? e : Z(1), b = Z(1) + e;  // a / b, as operator/ divides
  const bool turned = !(abs(b.re) >= abs(b.im));
  const double large = turned ? b.im : b.re, small = turned ? b.re : b.im, ratio = small / large;
  const double scale = 1 / (large + small * ratio);
  const double re = turned ? a.re * ratio + a.im : a.re + a.im * ratio;
  const double im = turned ? a.im * ratio - a.re : a.im - a.re * ratio;
  return {re * scale, im * scale};
}

}  // namespace cplx
template <class T>
STRIDED_HD bool has_usual_exp(const Complex<T>& z) {
  return cplx::has_usual_exp(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> exp_usual(const Complex<T>& z) {
  return Complex<T>(cplx::exp_usual(cplx::Z(z)));
}
template <class T>
STRIDED_HD bool has_usual_exp2(const Complex<T>& z) {
  return cplx::has_usual_exp(cplx::Z(z.re * cplx::kLn2, z.im * cplx::kLn2));
}
template <class T>
STRIDED_HD Complex<T> exp2_usual(const Complex<T>& z) {
  return Complex<T>(cplx::exp_usual(cplx::Z(z.re * cplx::kLn2, z.im * cplx::kLn2)));
}
template <class T>
STRIDED_HD bool has_usual_expm1(const Complex<T>& z) {
  return cplx::has_usual_expm1(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> expm1_usual(const Complex<T>& z) {
  return Complex<T>(cplx::expm1_usual(cplx::Z(z)));
}
template <class T>
STRIDED_HD bool has_usual_sinh(const Complex<T>& z) {
  return cplx::has_usual_sinh(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> sinh_usual(const Complex<T>& z) {
  return Complex<T>(cplx::sinh_usual(cplx::Z(z)));
}
template <class T>
STRIDED_HD bool has_usual_cosh(const Complex<T>& z) {
  return cplx::has_usual_sinh(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> cosh_usual(const Complex<T>& z) {
  return Complex<T>(cplx::cosh_usual(cplx::Z(z)));
}
template <class T>
STRIDED_HD bool has_usual_tanh(const Complex<T>& z) {
  return cplx::has_usual_tanh(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> tanh_usual(const Complex<T>& z) {
  return Complex<T>(cplx::tanh_usual(cplx::Z(z)));
}
template <class T>
STRIDED_HD bool has_usual_sin(const Complex<T>& z) {
  return cplx::has_usual_sinh(cplx::times_i(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> sin_usual(const Complex<T>& z) {
  return Complex<T>(cplx::times_minus_i(cplx::sinh_usual(cplx::times_i(cplx::Z(z)))));
}
template <class T>
STRIDED_HD bool has_usual_cos(const Complex<T>& z) {
  return cplx::has_usual_sinh(cplx::times_i(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> cos_usual(const Complex<T>& z) {
  return Complex<T>(cplx::cosh_usual(cplx::times_i(cplx::Z(z))));
}
template <class T>
STRIDED_HD bool has_usual_tan(const Complex<T>& z) {
  return cplx::has_usual_tanh(cplx::times_i(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> tan_usual(const Complex<T>& z) {
  return Complex<T>(cplx::times_minus_i(cplx::tanh_usual(cplx::times_i(cplx::Z(z)))));
}
template <class T>
STRIDED_HD bool has_usual_sigmoid(const Complex<T>& z) {
  return cplx::has_usual_exp(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> sigmoid_usual(const Complex<T>& z) {
  return Complex<T>(cplx::sigmoid_usual(cplx::Z(z)));
}
#endif
template <class T>
STRIDED_HD Complex<T> exp2(const Complex<T>& z) {
  return Complex<T>(cplx::exp({z.re * cplx::kLn2, z.im * cplx::kLn2}));
}
template <class T>
STRIDED_HD Complex<T> expm1(const Complex<T>& z) {
  return Complex<T>(cplx::expm1(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> log(const Complex<T>& z) {
  return Complex<T>(cplx::log(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> log2(const Complex<T>& z) {
  const cplx::Z w = cplx::log(cplx::Z(z));
  return Complex<T>(cplx::Z(w.re / cplx::kLn2, w.im / cplx::kLn2));
}
template <class T>
STRIDED_HD Complex<T> log10(const Complex<T>& z) {
  const cplx::Z w = cplx::log(cplx::Z(z));
  return Complex<T>(cplx::Z(w.re / 2.30258509299404568402, w.im / 2.30258509299404568402));
}
template <class T>
STRIDED_HD Complex<T> log1p(const Complex<T>& z) {
  return Complex<T>(cplx::log1p(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> sqrt(const Complex<T>& z) {
  return Complex<T>(cplx::sqrt(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> reciprocal(const Complex<T>& z) {
  return Complex<T>(cplx::reciprocal(cplx::Z(z)));
}
template <class T>
STRIDED_HD bool has_usual_reciprocal(const Complex<T>& z) {
  return cplx::has_usual_reciprocal(cplx::Z(z));
}
template <class T>
STRIDED_HD Complex<T> reciprocal_usual(const Complex<T>& z) {
  return Complex<T>(cplx::reciprocal_usual(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> rsqrt(const Complex<T>& z) {
  return Complex<T>(cplx::reciprocal(cplx::sqrt(cplx::Z(z))));
}
template <class T>
STRIDED_HD Complex<T> sinh(const Complex<T>& z) {
  return Complex<T>(cplx::sinh(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> cosh(const Complex<T>& z) {
  return Complex<T>(cplx::cosh(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> tanh(const Complex<T>& z) {
  return Complex<T>(cplx::tanh(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> sin(const Complex<T>& z) {
  return Complex<T>(cplx::times_minus_i(cplx::sinh(cplx::times_i(cplx::Z(z)))));
}
template <class T>
STRIDED_HD Complex<T> cos(const Complex<T>& z) {
  return Complex<T>(cplx::cosh(cplx::times_i(cplx::Z(z))));
}
template <class T>
STRIDED_HD Complex<T> tan(const Complex<T>& z) {
  return Complex<T>(cplx::times_minus_i(cplx::tanh(cplx::times_i(cplx::Z(z)))));
}
template <class T>
STRIDED_HD Complex<T> asin(const Complex<T>& z) {
  return Complex<T>(cplx::asin(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> acos(const Complex<T>& z) {
  return Complex<T>(cplx::acos(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> atan(const Complex<T>& z) {
  return Complex<T>(cplx::times_minus_i(cplx::atanh(cplx::times_i(cplx::Z(z)))));
}
template <class T>
STRIDED_HD Complex<T> asinh(const Complex<T>& z) {
  return Complex<T>(cplx::times_minus_i(cplx::asin(cplx::times_i(cplx::Z(z)))));
}
template <class T>
STRIDED_HD Complex<T> acosh(const Complex<T>& z) {
  return Complex<T>(cplx::acosh(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> atanh(const Complex<T>& z) {
  return Complex<T>(cplx::atanh(cplx::Z(z)));
}
template <class T>
STRIDED_HD Complex<T> pow(const Complex<T>& z, const Complex<T>& w) {
  return Complex<T>(cplx::pow(cplx::Z(z), cplx::Z(w)));
}
template <class T>
STRIDED_HD Complex<T> sigmoid(const Complex<T>& z) {
  return Complex<T>(cplx::sigmoid(cplx::Z(z)));
}

#undef STRIDED_COMPLEX_BODY

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
