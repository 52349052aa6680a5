// The elementary functions in device code: CUDA's own under the names of base/math_exp.h and base/math_trig.h.
#pragma once

#include "base/math_basic.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace math {

#define STRIDED_DEVICE_MATH_1(name) \
  STRIDED_HD float name(float x) { return ::name##f(x); } \
  STRIDED_HD double name(double x) { return ::name(x); }
#define STRIDED_DEVICE_MATH_2(name) \
  STRIDED_HD float name(float x, float y) { return ::name##f(x, y); } \
  STRIDED_HD double name(double x, double y) { return ::name(x, y); }

STRIDED_DEVICE_MATH_1(exp)
STRIDED_DEVICE_MATH_1(exp2)
STRIDED_DEVICE_MATH_1(expm1)
STRIDED_DEVICE_MATH_1(log)
STRIDED_DEVICE_MATH_1(log2)
STRIDED_DEVICE_MATH_1(log10)
STRIDED_DEVICE_MATH_1(log1p)
STRIDED_DEVICE_MATH_1(sin)
STRIDED_DEVICE_MATH_1(cos)
STRIDED_DEVICE_MATH_1(tan)
STRIDED_DEVICE_MATH_1(asin)
STRIDED_DEVICE_MATH_1(acos)
STRIDED_DEVICE_MATH_1(atan)
STRIDED_DEVICE_MATH_1(sinh)
STRIDED_DEVICE_MATH_1(cosh)
STRIDED_DEVICE_MATH_1(tanh)
STRIDED_DEVICE_MATH_1(asinh)
STRIDED_DEVICE_MATH_1(acosh)
STRIDED_DEVICE_MATH_1(atanh)
STRIDED_DEVICE_MATH_1(erf)
STRIDED_DEVICE_MATH_1(erfc)
STRIDED_DEVICE_MATH_2(pow)
STRIDED_DEVICE_MATH_2(atan2)

#undef STRIDED_DEVICE_MATH_1
#undef STRIDED_DEVICE_MATH_2

STRIDED_HD double log_usual(double x) { return ::log(x); }
// x 2^n for a whole n.
STRIDED_HD float scaled(float x, float n) {
  return ::ldexpf(x, static_cast<int>(n < -9999 ? -9999 : n > 9999 ? 9999 : n));
}
STRIDED_HD double scaled(double x, double n) {
  return ::ldexp(x, static_cast<int>(n < -9999 ? -9999 : n > 9999 ? 9999 : n));
}
STRIDED_HD float sigmoid(float x) { return 1.0f / (1.0f + ::expf(-x)); }
STRIDED_HD double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }
STRIDED_HD double erfcx_positive(double x) { return ::erfcx(x); }
STRIDED_HD double erfc_short(double x) { return ::erfc(x); }
STRIDED_HD Pair<float> normal_law(float x) { return {0.5f * ::erfcf(x * -0.707106781f), ::expf(-0.5f * x * x)}; }
STRIDED_HD Pair<double> normal_law(double x) {
  return {0.5 * ::erfc(x * -0.70710678118654752440), ::exp(-0.5 * x * x)};
}

}  // namespace math
}  // namespace STRIDED_ISA
}  // namespace strided
