// The scalar mathematics against the C library in long double: largest error in units in the last place over random
// arguments, and exact agreement of special values. The loops below are plain, so that compiled for a wider instruction
// set (flags in Note [Vectorisable mathematics], base/math.h) this file tests the vector code.
#include "base/math.h"
#include "base/math_bessel.h"
#include "base/math_complex.h"
#include "base/math_special.h"
#include "cpu/pointwise/table_rows.inc"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

using namespace strided;
using std::vector;
using Real = long double;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The error of `got` in units in the last place of the correctly rounded result. 1e9 for another class or sign of
// special.
template <class T>
double ulp_error(T got, Real want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) && std::isnan(rounded) ? 0 : 1e9;
  if (got == rounded) return got == 0 && std::signbit(got) != std::signbit(rounded) && want == 0 ? 1e9 : 0.5;
  const T largest = std::numeric_limits<T>::max();
  if (std::isinf(got) || std::isinf(rounded)) {
    // One step across the end of the range is an error of one.
    const bool beside = std::abs(got) >= largest && std::abs(rounded) >= largest;
    return beside && std::signbit(got) == std::signbit(rounded) ? 1 : 1e9;
  }
  int exponent;
  std::frexp(want, &exponent);
  const int least = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  const Real unit = std::ldexp(Real(1), std::max(exponent - std::numeric_limits<T>::digits, least));
  return static_cast<double>(std::abs((static_cast<Real>(got) - want) / unit));
}

// Random numbers: a third uniform in [low, high], a third with uniform exponents in it, and the rest near its middle.
template <class T>
vector<T> sample(double low, double high, size_t n, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  vector<T> x(n);
  const double size = std::max(std::abs(low), std::abs(high));
  const double smallest = sizeof(T) == 4 ? -148 : -1070;
  for (size_t i = 0; i < n; ++i) {
    const double u = unit(engine), v = unit(engine);
    double value = low + (high - low) * u;
    if (i % 3 == 1) {
      value = std::exp2(smallest + (std::log2(size) - smallest) * u) * (1 + v) / 2;
      if (low < 0 && (high <= 0 || (engine() & 1))) value = -value;
      if (!(value >= low && value <= high)) value = high <= 0 ? low * v : low + (high - low) * v * v * v;
    } else if (i % 3 == 2) {
      value = low + (high - low) * (0.5 + 0.05 * (u - 0.5));
      if (low < 0 && high > 0) value = (low + (high - low) * u) * 0.01;
      if (!(value >= low && value <= high)) value = low;
    }
    x[i] = static_cast<T>(value);
    if (!(x[i] >= static_cast<T>(low))) x[i] = static_cast<T>(low);
    if (!(x[i] <= static_cast<T>(high))) x[i] = static_cast<T>(high);
  }
  return x;
}

template <class T>
vector<T> specials() {
  using L = std::numeric_limits<T>;
  vector<T> x{T(0),
              L::denorm_min(),
              L::min() / 2,
              L::min(),
              L::epsilon(),
              T(0.25),
              T(0.5),
              T(0.75),
              T(1),
              T(1) + L::epsilon(),
              T(1) - L::epsilon(),
              T(1.5),
              T(2),
              T(2.5),
              T(3),
              T(4),
              T(7.5),
              T(10),
              T(88),
              T(89.5),
              T(104),
              T(128),
              T(150),
              T(700),
              T(709.5),
              T(710.5),
              T(745),
              T(746),
              T(1000),
              T(1023),
              T(1024),
              T(1075),
              T(1e5),
              T(1e10),
              T(1e22),
              T(1e30),
              T(3e38),
              L::max(),
              L::infinity(),
              L::quiet_NaN()};
  const size_t n = x.size();
  for (size_t i = 0; i < n; ++i) x.push_back(-x[i]);
  return x;
}

template <class T, class F, class G>
void check(const char* name, F f, G reference, const vector<T>& x, double bound) {
  const size_t n = x.size();
  vector<T> y(n);
  const T* in = x.data();
  T* out = y.data();
  for (size_t i = 0; i < n; ++i) out[i] = f(in[i]);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    const double e = ulp_error<T>(y[i], reference(static_cast<Real>(x[i])));
    if (e > worst) worst = e, at = i;
  }
  std::printf("  %-8s %-6s %10.3f ulp at %.17g\n", name, sizeof(T) == 4 ? "float" : "double", worst, double(x[at]));
  EXPECT_LE(worst, bound) << name << (sizeof(T) == 4 ? "f(" : "(") << double(x[at]) << ") = " << double(y[at])
                          << ", expected " << double(reference(static_cast<Real>(x[at])));
}

template <class T, class F, class G>
void check2(const char* name, F f, G reference, const vector<T>& x, const vector<T>& y, double bound) {
  const size_t n = x.size();
  vector<T> z(n);
  const T *in1 = x.data(), *in2 = y.data();
  T* out = z.data();
  for (size_t i = 0; i < n; ++i) out[i] = f(in1[i], in2[i]);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    const double e = ulp_error<T>(z[i], reference(static_cast<Real>(x[i]), static_cast<Real>(y[i])));
    if (e > worst) worst = e, at = i;
  }
  std::printf("  %-8s %-6s %10.3f ulp at %.17g, %.17g\n", name, sizeof(T) == 4 ? "float" : "double", worst,
              double(x[at]), double(y[at]));
  EXPECT_LE(worst, bound) << name << "(" << double(x[at]) << ", " << double(y[at]) << ") = " << double(z[at])
                          << ", expected " << double(reference(static_cast<Real>(x[at]), static_cast<Real>(y[at])));
}

template <class T>
void pairs_of_specials(vector<T>& a, vector<T>& b) {
  for (T x : specials<T>()) {
    for (T y : specials<T>()) a.push_back(x), b.push_back(y);
  }
}

constexpr size_t kCount = 200000;

// One function in both precisions: random arguments between the limits, and the special values.
#define CHECK(name, reference, low_f, high_f, bound_f, low_d, high_d, bound_d) \
  { \
    const auto f32 = [](float x) { return math::name(x); }; \
    const auto f64 = [](double x) { return math::name(x); }; \
    const auto ref = [](Real x) -> Real { return reference; }; \
    check<float>(#name, f32, ref, sample<float>(low_f, high_f, kCount), bound_f); \
    check<float>(#name, f32, ref, specials<float>(), bound_f); \
    check<double>(#name, f64, ref, sample<double>(low_d, high_d, kCount), bound_d); \
    check<double>(#name, f64, ref, specials<double>(), bound_d); \
  }

}  // namespace

TEST(Math, Exponentials) {
  CHECK(exp, std::exp(x), -104, 89, 1, -746, 710, 1);
  CHECK(exp, std::exp(x), -2, 2, 1, -2, 2, 1);
  CHECK(exp2, std::exp2(x), -151, 129, 1, -1076, 1025, 1);
  CHECK(expm1, std::expm1(x), -20, 89, 1, -40, 710, 1.25);
  CHECK(expm1, std::expm1(x), -1, 1, 1, -1, 1, 1.1);
}

TEST(Math, Logarithms) {
  CHECK(log, std::log(x), 0, 3e38, 1, 0, 1e308, 1);
  CHECK(log, std::log(x), 0.5, 2, 1, 0.5, 2, 1);
  CHECK(log2, std::log2(x), 0, 3e38, 1.15, 0, 1e308, 1);
  CHECK(log2, std::log2(x), 0.5, 2, 1.15, 0.5, 2, 1);
  CHECK(log10, std::log10(x), 0, 3e38, 1.15, 0, 1e308, 1);
  CHECK(log10, std::log10(x), 0.5, 2, 1.15, 0.5, 2, 1);
  CHECK(log1p, std::log1p(x), -1, 1e3, 1, -1, 1e3, 1);
  CHECK(log1p, std::log1p(x), -0.5, 1, 1, -0.5, 1, 1);
  for (int k = -10; k <= 22; ++k) {
    EXPECT_EQ(math::log10(std::pow(10.0, k < 0 ? 0 : k)), k < 0 ? 0 : k);
    EXPECT_EQ(math::log2(std::ldexp(1.0, k)), k);
    EXPECT_EQ(math::log2(std::ldexp(1.0f, k)), k);
    if (k <= 10) {
      EXPECT_EQ(math::log10(static_cast<float>(std::pow(10.0, k < 0 ? 0 : k))), k < 0 ? 0 : k);
    }
  }
}

TEST(Math, Trigonometric) {
  constexpr double tan_bound = STRIDED_HAS_FMA ? 1 : 1.15;
  CHECK(sin, std::sin(x), -10, 10, 1.21, -10, 10, 1);
  CHECK(sin, std::sin(x), -1e5, 1e5, 1.21, -1e5, 1e5, 1);
  CHECK(sin, std::sin(x), -3e38, 3e38, 1.21, -1e18, 1e18, 1);
  CHECK(cos, std::cos(x), -10, 10, 1.21, -10, 10, 1);
  CHECK(cos, std::cos(x), -1e5, 1e5, 1.21, -1e5, 1e5, 1);
  CHECK(cos, std::cos(x), -3e38, 3e38, 1.21, -1e18, 1e18, 1);
  CHECK(tan, std::tan(x), -10, 10, 1.21, -10, 10, tan_bound);
  CHECK(tan, std::tan(x), -3e38, 3e38, 1.21, -1e18, 1e18, tan_bound);
  // The doubles nearest to a multiple of pi/2, relative to their size (V. Lefevre and J.-M. Muller's hard cases), and
  // the floats that are.
  const double hard = 6381956970095103.0 * 0x1p797;
  EXPECT_LE(ulp_error<double>(math::cos(hard), std::cos(Real(hard))), 1);
  EXPECT_LE(ulp_error<double>(math::sin(hard), std::sin(Real(hard))), 1);
  vector<float> near_f;
  vector<double> near_d;
  for (int k = 1; k < 20000; ++k) {
    near_f.push_back(static_cast<float>(k * 1.57079632679489661923));
    near_d.push_back(k * 1.57079632679489661923);
    near_d.push_back(k * 1.57079632679489661923 * 0x1p200);
  }
  check<float>("sin", [](float x) { return math::sin(x); }, [](Real x) { return std::sin(x); }, near_f, 1);
  check<float>("cos", [](float x) { return math::cos(x); }, [](Real x) { return std::cos(x); }, near_f, 1);
  check<double>("sin", [](double x) { return math::sin(x); }, [](Real x) { return std::sin(x); }, near_d, 1);
  check<double>("cos", [](double x) { return math::cos(x); }, [](Real x) { return std::cos(x); }, near_d, 1);
  check<double>("tan", [](double x) { return math::tan(x); }, [](Real x) { return std::tan(x); }, near_d, tan_bound);
}

TEST(Math, InverseTrigonometric) {
  CHECK(asin, std::asin(x), -1, 1, 1, -1, 1, 1);
  CHECK(acos, std::acos(x), -1, 1, 1, -1, 1, 1);
  CHECK(atan, std::atan(x), -20, 20, 1.05, -20, 20, 1);
  CHECK(atan, std::atan(x), -2, 2, 1.05, -2, 2, 1);
  vector<float> a = sample<float>(-10, 10, kCount, 2), b = sample<float>(-10, 10, kCount, 3);
  vector<double> c = sample<double>(-10, 10, kCount, 2), d = sample<double>(-10, 10, kCount, 3);
  std::shuffle(a.begin(), a.end(), std::mt19937(4));
  std::shuffle(c.begin(), c.end(), std::mt19937(4));
  pairs_of_specials(a, b);
  pairs_of_specials(c, d);
  const auto ref = [](Real y, Real x) { return std::atan2(y, x); };
  check2<float>("atan2", [](float y, float x) { return math::atan2(y, x); }, ref, a, b, 1.15);
  check2<double>("atan2", [](double y, double x) { return math::atan2(y, x); }, ref, c, d, 1.25);
}

TEST(Math, Hyperbolic) {
  constexpr double bound = STRIDED_HAS_FMA ? 1 : 1.15;
  CHECK(sinh, std::sinh(x), -90, 90, bound, -711, 711, bound);
  CHECK(sinh, std::sinh(x), -2, 2, bound, -2, 2, bound);
  CHECK(sinh, std::sinh(x), -10, 10, bound, -40, 40, bound);
  CHECK(cosh, std::cosh(x), -90, 90, bound, -711, 711, bound);
  CHECK(cosh, std::cosh(x), -2, 2, bound, -2, 2, bound);
  CHECK(cosh, std::cosh(x), -10, 10, bound, -40, 40, bound);
  CHECK(tanh, std::tanh(x), -10, 10, 1.15, -22, 22, 1);
  CHECK(tanh, std::tanh(x), -1, 1, 1.15, -1, 1, 1);
  CHECK(asinh, std::asinh(x), -10, 10, 1, -10, 10, 1);
  CHECK(asinh, std::asinh(x), -1e-3, 1e-3, 1, -1e-7, 1e-7, 1);
  CHECK(asinh, std::asinh(x), -3e38, 3e38, 1, -1e308, 1e308, 1);
  CHECK(acosh, std::acosh(x), 1, 10, 1, 1, 10, 1);
  CHECK(acosh, std::acosh(x), 1, 1.5, 1, 1, 1.5, 1);
  CHECK(acosh, std::acosh(x), 1, 3e38, 1, 1, 1e308, 1);
  CHECK(atanh, std::atanh(x), -1, 1, 1, -1, 1, 1);
  CHECK(atanh, std::atanh(x), -0.3, 0.3, 1, -0.3, 0.3, 1);
  CHECK(sigmoid, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)), -104, 104, 1, -746, 746, 1);
  CHECK(sigmoid, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)), -5, 5, 1, -5, 5, 1);
}

TEST(Math, ErrorFunction) {
  CHECK(erf, std::erf(x), -5, 5, 1, -7, 7, 1.5);
  CHECK(erf, std::erf(x), -1.2, 1.2, 1, -1.2, 1.2, 1.5);
  CHECK(erfc, std::erfc(x), -5, 11, 1, -7, 28, 5);
  CHECK(erfc, std::erfc(x), -1, 1, 1, -1, 1, 4);
}

// What loops take in place of a function where the instruction set has it: the same bound at every place of a row.
template <class Op, class T>
void check_row(const char* name, Real (*reference)(Real), double end, double bound) {
  if constexpr (has_table<Op, T>) {
    vector<T> x = specials<T>(), got;
    for (double width : {2 * end, end, end / 4}) {
      const vector<T> more = sample<T>(-width, width, 5 * kCount);
      x.insert(x.end(), more.begin(), more.end());
    }
    got.resize(x.size());
    table_row<Op>(got.data(), x.data(), static_cast<int64_t>(x.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = ulp_error<T>(got[i], reference(static_cast<Real>(x[i])));
      worst = std::max(worst, e);
      ASSERT_LE(e, bound) << name << "(" << double(x[i]) << ") = " << double(got[i]);
    }
    for (int64_t n = 1; n < 20; ++n) {
      T rest[20];
      table_row<Op>(rest, x.data() + 100, n);
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(rest[i], got[static_cast<size_t>(100 + i)]);
    }
    std::printf("  %-8s %-6s %10.3f ulp in rows\n", name, sizeof(T) == 4 ? "float" : "double", worst);
  }
}
template <class T>
void check_power_row(const vector<T>& a, const vector<T>& b, double bound) {
  if constexpr (has_power_row<Pow, T>) {
    vector<T> got(a.size());
    power_row(got.data(), a.data(), b.data(), static_cast<int64_t>(a.size()));
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double e = ulp_error<T>(got[i], std::pow(static_cast<Real>(a[i]), static_cast<Real>(b[i])));
      worst = std::max(worst, e);
      ASSERT_LE(e, bound) << "pow(" << double(a[i]) << ", " << double(b[i]) << ") = " << double(got[i]);
    }
    // An element has one value wherever it stands, also over its own operands.
    for (int64_t n = 1; n < 200; n += n < 20 ? 1 : 37) {
      vector<T> base(a.end() - n, a.end()), rest(b.end() - n, b.end());
      power_row(n % 2 ? base.data() : rest.data(), base.data(), rest.data(), n);
      const vector<T>& found = n % 2 ? base : rest;
      for (int64_t i = 0; i < n; ++i) {
        const T one = found[static_cast<size_t>(i)], other = got[got.size() - static_cast<size_t>(n - i)];
        EXPECT_TRUE(one == other || (std::isnan(one) && std::isnan(other)));
      }
    }
    std::printf("  %-8s %-6s %10.3f ulp in rows\n", "pow", sizeof(T) == 4 ? "float" : "double", worst);
  }
}
TEST(Math, RowsByTables) {
  check_row<Erf, float>("erf", [](Real x) { return std::erf(x); }, 4, 1);
  check_row<Tanh, float>("tanh", [](Real x) { return std::tanh(x); }, 10, 1);
  check_row<Tanh, double>("tanh", [](Real x) { return std::tanh(x); }, 20, 1);
}

TEST(Math, Power) {
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  vector<float> a, b;
  vector<double> c, d;
  for (size_t i = 0; i < 2 * kCount; ++i) {
    // Exponents such that the result is in range, or just out of it.
    const double u = unit(engine), v = unit(engine);
    const bool narrow = i % 2 == 0;
    const double lf = narrow ? u : 88 * u, ld = narrow ? u : 709 * u;
    a.push_back(static_cast<float>(std::exp(lf))), b.push_back(static_cast<float>(104 * v / std::log(a.back())));
    c.push_back(std::exp(ld)), d.push_back(746 * v / std::log(c.back()));
  }
  for (int x = -12; x <= 12; ++x) {
    for (int y = -12; y <= 12; ++y) a.push_back(x), b.push_back(y), c.push_back(x), d.push_back(y);
  }
  pairs_of_specials(a, b);
  pairs_of_specials(c, d);
  const auto ref = [](Real x, Real y) { return std::pow(x, y); };
  check2<float>("pow", [](float x, float y) { return math::pow(x, y); }, ref, a, b, 1);
  check2<double>("pow", [](double x, double y) { return math::pow(x, y); }, ref, c, d, 1.1);
  check_power_row<float>(a, b, 1);
  check_power_row<double>(c, d, 1.1);
  for (int x = -12; x <= 12; ++x) {
    for (int y = 0; y <= 12; ++y) {
      EXPECT_EQ(math::pow(double(x), double(y)), std::round(std::pow(Real(x), y))) << x << " " << y;
    }
  }
}

TEST(Math, Basics) {
  CHECK(sqrt, std::sqrt(x), 0, 3e38, 0.501, 0, 1e308, 0.501);
  CHECK(rsqrt, 1 / std::sqrt(x), 1e-30, 3e38, 0.51, 1e-300, 1e308, 1.5);
  CHECK(floor, std::floor(x), -1e3, 1e3, 0.5, -1e3, 1e3, 0.5);
  CHECK(ceil, std::ceil(x), -1e3, 1e3, 0.5, -1e3, 1e3, 0.5);
  CHECK(trunc, std::trunc(x), -1e3, 1e3, 0.5, -1e3, 1e3, 0.5);
  CHECK(round, std::rint(x), -1e3, 1e3, 0.5, -1e3, 1e3, 0.5);
  CHECK(abs, std::abs(x), -1e3, 1e3, 0.5, -1e3, 1e3, 0.5);
  vector<float> a = sample<float>(-1e3, 1e3, kCount, 2), b = sample<float>(-1e3, 1e3, kCount, 3);
  vector<double> c = sample<double>(-1e3, 1e3, kCount, 2), d = sample<double>(-1e3, 1e3, kCount, 3);
  pairs_of_specials(a, b);
  pairs_of_specials(c, d);
  const auto hypot_ref = [](Real x, Real y) { return std::hypot(x, y); };
  check2<float>("hypot", [](float x, float y) { return math::hypot(x, y); }, hypot_ref, a, b, 1.21);
  check2<double>("hypot", [](double x, double y) { return math::hypot(x, y); }, hypot_ref, c, d, 1.1);
  const auto fmod_ref = [](Real x, Real y) { return std::fmod(x, y); };
  check2<float>("fmod", [](float x, float y) { return math::fmod(x, y); }, fmod_ref, a, b, 0.5);
  check2<double>("fmod", [](double x, double y) { return math::fmod(x, y); }, fmod_ref, c, d, 0.5);
  for (size_t i = 0; i < a.size(); ++i) {
    const auto same = [](auto x, auto y) {
      return std::isnan(x) ? std::isnan(y) : math::to_bits(x) == math::to_bits(y);
    };
    ASSERT_TRUE(same(math::nextafter(a[i], b[i]), std::nextafter(a[i], b[i]))) << a[i] << " " << b[i];
    ASSERT_TRUE(same(math::nextafter(c[i], d[i]), std::nextafter(c[i], d[i]))) << c[i] << " " << d[i];
    ASSERT_TRUE(same(math::copysign(c[i], d[i]), std::copysign(c[i], d[i]))) << c[i] << " " << d[i];
    ASSERT_EQ(math::isnan(a[i]), std::isnan(a[i]));
    ASSERT_EQ(math::isinf(a[i]), std::isinf(a[i]));
    ASSERT_EQ(math::isfinite(a[i]), std::isfinite(a[i]));
    ASSERT_EQ(math::signbit(a[i]), std::signbit(a[i]));
  }
}

// Special functions: values computed with 50 digits by mpmath; double to `bound`, float to one rounding.
template <class F>
void check_table(const char* name, F f, std::initializer_list<std::array<double, 2>> rows, double bound) {
  for (const auto& [x, want] : rows) {
    EXPECT_LE(std::abs(f(x) - want), bound * std::abs(want)) << name << "(" << x << ") = " << f(x) << ", not " << want;
    const float narrow = f(static_cast<float>(x));
    if (static_cast<double>(static_cast<float>(x)) != x || std::isinf(static_cast<float>(want))) continue;
    EXPECT_LE(std::abs(narrow - want), 1.3e-7 * std::abs(want) + 1e-45) << name << "f(" << x << ") = " << narrow;
  }
}
template <class F>
void check_table2(const char* name, F f, std::initializer_list<std::array<double, 3>> rows, double bound) {
  for (const auto& [x, y, want] : rows) {
    EXPECT_LE(std::abs(f(x, y) - want), bound * std::abs(want))
        << name << "(" << x << ", " << y << ") = " << f(x, y) << ", not " << want;
  }
}

TEST(MathSpecial, OneArgument) {
  check_table(
      "digamma", [](auto x) { return math::digamma(x); },
      {{9.765625e-4, -1024.5756104293406219},
       {0.5, -1.9635100260214234794},
       {1.25, -0.22745353337626540809},
       {1.4375, -0.023613544005297899142},
       {1.5, 0.036489973978576520559},
       {2.75, 0.81890102497543259228},
       {7.5, 1.9467574842460867881},
       {30.5, 3.4012436689616610844},
       {1000.0, 6.9072551956488120521},
       {-0.25, 2.9141391202135278304},
       {-2.625, -0.15766205280814323877},
       {-7.75, -1.0307688328309315122}},
      2e-15);
  check_table(
      "trigamma", [](auto x) { return math::trigamma(x); },
      {{9.765625e-4, 1.0485776425893921526e+6},
       {0.5, 4.9348022005446793094},
       {1.25, 1.1973291545071107393},
       {1.4375, 0.98950291789562720386},
       {1.5, 0.93480220054467930942},
       {2.75, 0.43757125764893076144},
       {7.5, 0.14261589669670379977},
       {30.5, 0.033330248112801608527},
       {1000.0, 0.0010005001666666333334},
       {-0.25, 18.541879647671606498},
       {-2.625, 11.245600574166866843},
       {-7.75, 19.618144334352289465}},
      2e-15);
  check_table(
      "lgamma", [](auto x) { return math::lgamma(x); },
      {{9.765625e-4, 6.9309089024194618895},
       {0.5, 0.57236494292470008707},
       {1.25, -0.098271836421813161464},
       {1.4375, -0.12120242719902265897},
       {1.5, -0.12078223763524522235},
       {2.75, 0.47521466691493713031},
       {7.5, 7.5343642367587329552},
       {30.5, 72.953471184169408324},
       {1000.0, 5905.2204232091812118},
       {-0.25, 1.5895753125511859903},
       {-2.625, -0.11751110030890485999},
       {-7.75, -8.5818477635518666694}},
      2e-15);
  check_table(
      "erfinv", [](auto x) { return math::erfinv(x); },
      {{9.5367431640625e-7, 8.4517185731217291722e-7},
       {0.25, 0.22531205501217810473},
       {0.4375, 0.40950827913413152004},
       {0.5, 0.47693627620446987338},
       {0.875, 1.0847870400692831413},
       {0.9375, 1.3171503349861307489},
       {0.9921875, 1.8809517454731394206},
       {0.99658203125, 2.0699921661610250405},
       {-0.984375, -1.7094723742995114785},
       {0.9999999999990905053, 5.0512540852493899671}},
      2e-15);
  check_table(
      "erfcx", [](auto x) { return math::erfcx(x); },
      {{0.0, 1.0},
       {0.25, 0.77034654773099674392},
       {1.0, 0.42758357615580700441},
       {3.5, 0.1552936556088942974},
       {26.5, 0.021275046685371105955},
       {1000.0, 5.641893014533876542e-4},
       {1.0e+10, 5.6418958354775628695e-11},
       {-1.5, 18.653886256262733939},
       {-20.25, 2.4485613000901128214e+178}},
      3e-15);
  check_table(
      "ndtr", [](auto x) { return math::ndtr(x); },
      {{-37.0, 5.7255712225245768227e-300},
       {-10.5, 4.3190063178092303465e-26},
       {-3.0, 0.0013498980316300945267},
       {-1.0, 0.15865525393145705141},
       {-0.25, 0.40129367431707627576},
       {0.0, 0.5},
       {0.5, 0.69146246127401310364},
       {2.0, 0.9772498680518207928},
       {8.0, 0.9999999999999993779}},
      1e-14);
  check_table(
      "log_ndtr", [](auto x) { return math::log_ndtr(x); },
      {{-1000.0, -500007.82669481218431},
       {-37.0, -689.0305855768905936},
       {-10.5, -58.404187061073243416},
       {-1.0, -1.8410216450092635058},
       {-0.25, -0.91306176481113505517},
       {0.0, -0.69314718055994530942},
       {0.5, -0.36894641528865639307},
       {2.0, -0.023012909328963488465},
       {8.0, -6.2209605742717860585e-16}},
      3e-15);
  check_table(
      "ndtri", [](auto x) { return math::ndtri(x); },
      {{4.9090934652977265531e-91, -20.199856642545821698},
       {9.0949470177292823792e-13, -7.0477002566644087254},
       {0.03125, -1.8627318674216514555},
       {0.0625, -1.5341205443525463117},
       {0.25, -0.6744897501960817432},
       {0.4375, -0.15731068461017069552},
       {0.75, 0.6744897501960817432},
       {0.96875, 1.8627318674216514555},
       {0.99999904632568359375, 4.763001034267813957}},
      2e-15);
  check_table(
      "i0", [](auto x) { return math::i0(x); },
      {{0.0, 1.0},
       {0.5, 1.0634833707413235193},
       {-3.0, 4.8807925858650240856},
       {7.75, 338.51375374727594515},
       {8.25, 540.32507907480697909},
       {30.0, 7.8167229782397748972e+11},
       {700.0, 1.5295933476718737363e+302},
       {-713.0, 6.7051282636709966729e+307}},
      2e-15);
  check_table(
      "i0e", [](auto x) { return math::i0e(x); },
      {{0.0, 1.0},
       {0.5, 0.64503527044915006811},
       {-3.0, 0.24300035416182539847},
       {7.75, 0.14581227430891430778},
       {8.25, 0.14116455063299349976},
       {30.0, 0.073145946482237293929},
       {700.0, 0.015081295651531357587},
       {1.0e+6, 3.9894233026924577878e-4}},
      2e-15);
  check_table(
      "i1", [](auto x) { return math::i1(x); },
      {{9.5367431640625e-7, 4.7683715820317921011e-7},
       {0.5, 0.25789430539089631636},
       {-3.0, -3.9533702174026093965},
       {7.75, 315.8524809240034021},
       {8.25, 506.43383830764546706},
       {30.0, 7.6853203893895699949e+11},
       {700.0, 1.5285003902339006881e+302},
       {-713.0, -6.7004245591864025018e+307}},
      3e-15);
  check_table(
      "i1e", [](auto x) { return math::i1e(x); },
      {{9.5367431640625e-7, 4.7683670345604516396e-7},
       {0.5, 0.15642080318487169714},
       {-3.0, -0.19682671329730085363},
       {7.75, 0.13605110008033910914},
       {8.25, 0.13231017396500142316},
       {30.0, 0.071916330598647554706},
       {700.0, 0.015070519444716846949},
       {1.0e+6, 3.9894213079803077631e-4}},
      3e-15);
  check_table(
      "sinc", [](auto x) { return math::sinc(x); },
      {{9.5367431640625e-7, 0.99999999999850394118},
       {0.25, 0.90031631615710606956},
       {0.5, 0.63661977236758134308},
       {-1.25, -0.18006326323142121391},
       {7.625, -0.038567867389010022394},
       {100.5, 0.0031672625490924444929}},
      1e-15);
  check_table(
      "logit", [](auto x) { return math::logit(x); },
      {{8.6736173798840354721e-19, -41.588830833596718564},
       {0.25, -1.0986122886681096914},
       {0.3020692765712738, -0.83746346404612628765},  // next to where another formula began
       {0.4375, -0.25131442828090607769},
       {0.5, 0.0},
       {0.515625, 0.062520356981333989528},
       {0.75, 1.0986122886681096914},
       {0.99999904632568359375, 13.862942657524135034}},
      3e-16);
  check_table(
      "entr", [](auto x) { return math::entr(x); },
      {{8.6736173798840354721e-19, 3.6072560592734155692e-17},
       {0.25, 0.34657359027997265471},
       {1.0, 0.0},
       {3.5, -4.3846703897337879849}},
      1e-15);
}

TEST(MathSpecial, TwoArguments) {
  check_table2(
      "igamma", [](auto x, auto y) { return math::igamma(x, y); },
      {{9.765625e-4, 0.5, 0.99945306660633099696},
       {0.5, 0.25, 0.52049987781304653768},
       {3.0, 2.5, 0.456186884116670482},
       {3.0, 10.0, 0.99723060428448842406},
       {30.0, 20.0, 0.021818217525557391559},
       {150.0, 160.0, 0.79562618823432246184},
       {250.0, 230.0, 0.10043419856707392306},
       {250.0, 120.0, 2.8273219487691165205e-25},
       {10000.0, 10100.0, 0.8413487504471796224},
       {1.0e+6, 999000.0, 0.15865521357430365246}},
      5e-14);
  check_table2(
      "igammac", [](auto x, auto y) { return math::igammac(x, y); },
      {{9.765625e-4, 0.5, 5.469333936690030355e-4},
       {0.5, 0.25, 0.47950012218695346232},
       {9.0949470177292823792e-13, 0.75, 3.0953816614008354544e-13},
       {3.0, 2.5, 0.543813115883329518},
       {3.0, 10.0, 0.0027693957155115759437},
       {30.0, 20.0, 0.97818178247444260844},
       {150.0, 160.0, 0.20437381176567753816},
       {250.0, 230.0, 0.89956580143292607694},
       {250.0, 420.0, 1.1492504306421805264e-19},
       {10000.0, 10100.0, 0.1586512495528203776},
       {1.0e+6, 999000.0, 0.84134478642569634754}},
      5e-14);
  check_table2(
      "zeta", [](auto x, auto y) { return math::zeta(x, y); },
      {{1.0009765625, 1.0, 1024.5772867695045941},
       {2.0, 1.0, 1.6449340668482264365},
       {2.0, 0.125, 65.388133444988034473},
       {3.5, 7.25, 0.0033524741021978822311},
       {12.0, 30.0, 6.1351954821582552389e-18},
       {60.0, 1.5, 2.7197216389365647494e-11},
       {2.0, -1.25, 19.181879647671606498},
       {3.0, -5.75, 62.025272630795194445}},
      3e-15);
  check_table2(
      "logaddexp", [](auto x, auto y) { return math::logaddexp(x, y); },
      {{0.0, 0.0, 0.69314718055994530942},
       {1.0, -3.0, 1.0181499279178097404},
       {100.0, 90.0, 100.00004539889921686},
       {-800.0, -801.0, -799.68673831248177717}},
      1e-15);
  check_table2(
      "logaddexp2", [](auto x, auto y) { return math::logaddexp2(x, y); },
      {{0.0, 0.0, 1.0},
       {1.0, -3.0, 1.0874628412503394083},
       {100.0, 90.0, 100.00140819439280839},
       {-1100.0, -1101.0, -1099.4150374992788438}},
      1e-15);
  check_table2(
      "xlogy", [](auto x, auto y) { return math::xlogy(x, y); },
      {{2.0, 3.0, 2.1972245773362193828}, {-0.5, 0.125, 1.0397207708399179641}}, 1e-15);
  check_table2(
      "polygamma", [](auto n, auto x) { return math::polygamma(static_cast<int64_t>(n), x); },
      {{0.0, 0.25, -4.2274535333762654081},      {0.0, 1.5, 0.036489973978576520559},
       {0.0, 12.0, 2.4426616799758120167},       {0.0, -1.25, 3.7141391202135278304},
       {1.0, 0.25, 17.197329154507110739},       {1.0, 1.5, 0.93480220054467930942},
       {1.0, 12.0, 0.08690187287176839075},      {1.0, -1.25, 19.181879647671606498},
       {2.0, 0.25, -129.32773993753692033},      {2.0, 1.5, -0.8287966442343199956},
       {2.0, 12.0, -0.0075472053689989119399},   {2.0, -1.25, 123.72136678366236037},
       {3.0, 0.25, 1538.782144009188396},        {3.0, 1.5, 1.4090910340024372364},
       {3.0, 12.0, 0.0013100932310708259704},    {3.0, -1.25, 1558.2209125348505998},
       {7.0, 0.25, 3.3030229370901344778e+8},    {7.0, 1.5, 200.21818559806496949},
       {7.0, 12.0, 2.6599144024323066307e-5},    {7.0, -1.25, 3.3035268771818605685e+8},
       {20.0, 0.25, -1.0700016188919209272e+31}, {20.0, 1.5, -4.8777294946260987364e+14},
       {20.0, 12.0, -6.5472119367160101655e-5},  {20.0, -1.25, 1.0700016187896297695e+31}},
      5e-15);
}

TEST(MathSpecial, SpecialValues) {
  const auto same = [](double got, double want) {
    return std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
  };
#define SAME(expression, want) EXPECT_TRUE(same(expression, want)) << #expression << " = " << (expression)
  SAME(math::digamma(0.0), -kInf);
  SAME(math::digamma(-0.0), kInf);
  SAME(math::digamma(-1.0), kNan);
  SAME(math::digamma(kInf), kInf);
  SAME(math::digamma(-kInf), kNan);
  SAME(math::digamma(kNan), kNan);
  SAME(math::trigamma(0.0), kInf);
  SAME(math::trigamma(-2.0), kInf);
  SAME(math::trigamma(kInf), 0.0);
  SAME(math::polygamma(2, 0.0), -kInf);
  SAME(math::polygamma(3, -1.0), kInf);
  SAME(math::polygamma(2, kNan), kNan);
  SAME(math::lgamma(0.0), kInf);
  SAME(math::lgamma(-3.0), kInf);
  SAME(math::lgamma(1.0), 0.0);
  SAME(math::exp(-104.5f), 0.0f);
  SAME(math::exp(-103.9f), 0x1p-149f);  // the smallest number
  SAME(math::exp(-746.5), 0.0);
  SAME(math::exp(-745.1), 0x1p-1074);
  SAME(math::erfinv(1.0), kInf);
  SAME(math::erfinv(-1.0), -kInf);
  SAME(math::erfinv(1.5), kNan);
  SAME(math::erfinv(-0.0), -0.0);
  SAME(math::ndtri(0.0), -kInf);
  SAME(math::ndtri(1.0), kInf);
  SAME(math::ndtri(-0.5), kNan);
  SAME(math::ndtr(-kInf), 0.0);
  SAME(math::ndtr(kInf), 1.0);
  SAME(math::log_ndtr(-kInf), -kInf);
  SAME(math::erfcx(-kInf), kInf);
  SAME(math::erfcx(kInf), 0.0);
  SAME(math::i0(kInf), kInf);
  SAME(math::i1(-kInf), -kInf);
  SAME(math::i0e(kInf), 0.0);
  SAME(math::i0(kNan), kNan);
  SAME(math::igamma(0.0, 0.0), kNan);
  SAME(math::igamma(0.0, 1.0), 1.0);
  SAME(math::igamma(1.0, 0.0), 0.0);
  SAME(math::igamma(kInf, 1.0), 0.0);
  SAME(math::igamma(1.0, kInf), 1.0);
  SAME(math::igamma(-1.0, 1.0), kNan);
  SAME(math::igammac(0.0, 1.0), 0.0);
  SAME(math::igammac(1.0, 0.0), 1.0);
  SAME(math::igammac(kInf, 1.0), 1.0);
  SAME(math::igammac(kInf, kInf), kNan);
  EXPECT_NEAR(math::igamma(5e-324, 0.5), 1.0, 1e-15);
  SAME(math::zeta(1.0, 2.0), kInf);
  SAME(math::zeta(0.5, 2.0), kNan);
  SAME(math::zeta(2.0, -3.0), kInf);
  SAME(math::zeta(2.5, -0.5), kNan);
  SAME(math::zeta(kInf, 1.0), 1.0);
  SAME(math::zeta(2.0, kInf), 0.0);
  SAME(math::zeta(1e300, 4.5), 0.0);
  SAME(math::sinc(0.0), 1.0);
  SAME(math::sinc(kInf), kNan);
  SAME(math::entr(0.0), 0.0);
  SAME(math::entr(-1.0), -kInf);
  SAME(math::logit(0.0), -kInf);
  SAME(math::logit(1.0), kInf);
  SAME(math::logit(2.0), kNan);
  SAME(math::xlogy(0.0, 0.0), 0.0);
  SAME(math::xlogy(0.0, kNan), kNan);
  SAME(math::xlogy(1.0, 0.0), -kInf);
  SAME(math::logaddexp(kInf, kInf), kInf);
  SAME(math::logaddexp(-kInf, -kInf), -kInf);
  SAME(math::logaddexp(kInf, -kInf), kInf);
  SAME(math::logaddexp(kNan, kInf), kNan);
  SAME(math::logaddexp2(-kInf, 2.0), 2.0);
#undef SAME
}

TEST(MathSpecial, Integers) {
  EXPECT_EQ(math::gcd(12, -18), 6);
  EXPECT_EQ(math::gcd(0, 0), 0);
  EXPECT_EQ(math::lcm(4, -6), 12);
  EXPECT_EQ(math::lcm(0, 5), 0);
  EXPECT_EQ(math::gcd<int8_t>(-128, 3), 1);
  EXPECT_EQ(math::gcd<int8_t>(-128, 0), -128);  // 128 wraps, as in PyTorch
  EXPECT_EQ(math::lcm<int8_t>(-128, 3), -128);
  EXPECT_EQ(math::gcd<int64_t>(INT64_MIN, INT64_MIN), INT64_MIN);
  EXPECT_EQ(math::gcd<int64_t>(INT64_MIN, -6), 2);
  EXPECT_EQ(math::gcd<uint64_t>(UINT64_MAX, 15), 15u);
  EXPECT_EQ(math::lcm<uint8_t>(12, 18), 36);
  EXPECT_EQ(math::lcm<int64_t>(INT64_MIN, -1), INT64_MIN);
}

namespace {

template <class F, class G>
void check_complex(const char* name, F f, G reference) {
  std::mt19937_64 engine(6);
  std::uniform_real_distribution<double> unit(-1, 1);
  double worst = 0, worst_f = 0;
  Complex<double> at(0), at_f(0);
  for (int i = 0; i < 30000; ++i) {
    const double size = i % 3 == 0 ? 2 : std::pow(10.0, 6 * unit(engine));
    Complex<double> z(size * unit(engine), size * unit(engine) * (i % 5 == 0 ? 1e-5 : 1));
    if (i % 7 == 0) z = {std::cos(z.re) * (1 + 1e-7), std::sin(z.re)};  // near the unit circle
    // GCC 12 makes a vector of the two parts, and then drops their rounding to float on the way back to double.
    const volatile float re = static_cast<float>(z.re), im = static_cast<float>(z.im);
    for (const bool narrow : {false, true}) {
      const Complex<float> zf(re, im);
      const std::complex<Real> want =
          narrow ? reference(std::complex<Real>(zf.re, zf.im)) : reference(std::complex<Real>(z.re, z.im));
      const double largest = narrow ? 1e38 : 1e308, least = narrow ? 1e-37 : 1e-300;
      if (!(std::abs(want) < largest && std::abs(want) > least)) continue;
      const Complex<double> got = narrow ? Complex<double>(f(zf)) : f(z);
      const double error = static_cast<double>(std::hypot(got.re - want.real(), got.im - want.imag()) / std::abs(want));
      if (narrow && !(error <= worst_f)) worst_f = error, at_f = z;
      if (!narrow && !(error <= worst)) worst = error, at = z;
    }
  }
  std::printf("  %-10s %.2e, float %.2e\n", name, worst, worst_f);
  EXPECT_LE(worst, 1.5e-15) << name << " at " << at.re << ", " << at.im;
  EXPECT_LE(worst_f, 1.2e-7) << name << " at " << at_f.re << ", " << at_f.im;
}

}  // namespace

#define CHECK_COMPLEX(name, reference) \
  check_complex( \
      #name, [](auto z) { return math::name(z); }, \
      [](std::complex<Real> z) -> std::complex<Real> { return reference; })

TEST(MathComplex, AgainstTheStandardLibrary) {
  CHECK_COMPLEX(exp, std::exp(z));
  CHECK_COMPLEX(log, std::log(z));
  CHECK_COMPLEX(log10, std::log10(z));
  CHECK_COMPLEX(log2, std::log(z) / std::log(Real(2)));
  CHECK_COMPLEX(sqrt, std::sqrt(z));
  CHECK_COMPLEX(rsqrt, Real(1) / std::sqrt(z));
  CHECK_COMPLEX(reciprocal, Real(1) / z);
  CHECK_COMPLEX(sin, std::sin(z));
  CHECK_COMPLEX(cos, std::cos(z));
  CHECK_COMPLEX(tan, std::tan(z));
  CHECK_COMPLEX(asin, std::asin(z));
  CHECK_COMPLEX(acos, std::acos(z));
  CHECK_COMPLEX(atan, std::atan(z));
  CHECK_COMPLEX(sinh, std::sinh(z));
  CHECK_COMPLEX(cosh, std::cosh(z));
  CHECK_COMPLEX(tanh, std::tanh(z));
  CHECK_COMPLEX(asinh, std::asinh(z));
  CHECK_COMPLEX(acosh, std::acosh(z));
  CHECK_COMPLEX(atanh, std::atanh(z));
  CHECK_COMPLEX(
      expm1, std::abs(z) < Real(1e-3)
                 ? z * (Real(1) +
                        z / Real(2) *
                            (Real(1) +
                             z / Real(3) * (Real(1) + z / Real(4) * (Real(1) + z / Real(5) * (Real(1) + z / Real(6))))))
                 : std::exp(z) - Real(1));
}

TEST(MathComplex, SpecialValues) {
  using Z = Complex<double>;
  const auto same = [](const Z& got, double re, double im) {
    const auto part = [](double a, double b) {
      return std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= 1e-15 * std::abs(b) || a == b;
    };
    return part(got.re, re) && part(got.im, im);
  };
  const double pi = 3.14159265358979323846;
  EXPECT_TRUE(same(math::exp(Z(-kInf, kInf)), 0, 0));
  EXPECT_TRUE(same(math::exp(Z(kInf, kNan)), kInf, kNan));
  EXPECT_TRUE(same(math::exp(Z(709.9, 1.5)), std::exp(709.0) * (std::exp(709.9 - 709) * std::cos(1.5)), kInf));
  EXPECT_TRUE(same(math::log(Z(0, 0)), -kInf, 0));
  EXPECT_TRUE(same(math::log(Z(-1, -0.0)), 0, -pi));
  EXPECT_TRUE(same(math::log(Z(1e308, 1e308)), std::log(1e308) + 0.5 * std::log(2.0), pi / 4));
  EXPECT_TRUE(same(math::sqrt(Z(-4, -0.0)), 0, -2));
  EXPECT_TRUE(same(math::sqrt(Z(kNan, kInf)), kInf, kInf));
  EXPECT_TRUE(same(math::sqrt(Z(-kInf, 1)), 0, kInf));
  EXPECT_TRUE(same(math::sqrt(Z(3e-320, 4e-320)), std::sqrt(4e-320), std::sqrt(1e-320)));
  EXPECT_TRUE(same(math::acos(Z(1, 0)), 0, -0.0));
  EXPECT_TRUE(same(math::acos(Z(-kInf, kInf)), 0.75 * pi, -kInf));
  EXPECT_TRUE(same(math::asin(Z(1e300, 1e300)), pi / 4, std::log(1e300) + 1.5 * std::log(2.0)));
  EXPECT_TRUE(same(math::tanh(Z(kInf, kInf)), 1, 0));
  EXPECT_TRUE(same(math::tanh(Z(800, kInf)), kNan, kNan));
  EXPECT_TRUE(same(math::atanh(Z(1, 0)), kInf, 0));
  EXPECT_TRUE(same(math::atan(Z(0, 2)), pi / 2, std::atanh(0.5)));
  EXPECT_TRUE(same(math::pow(Z(1, 2), Z(2, 0)), -3, 4));
  EXPECT_TRUE(same(math::pow(Z(0, 0), Z(0, 0)), 1, 0));
  EXPECT_TRUE(same(math::pow(Z(0, 0), Z(2, 1)), 0, 0));
  EXPECT_TRUE(same(math::reciprocal(Z(kInf, 1)), 0, 0));
  EXPECT_TRUE(same(math::sigmoid(Z(-800, 1)), 0, 0));
  EXPECT_TRUE(same(math::sigmoid(Z(0, 0)), 0.5, 0));
  EXPECT_TRUE(same(math::log1p(Z(1e-20, 1e-20)), 1e-20, 1e-20));
  EXPECT_TRUE(same(math::polar(2.0, 0.0), 2, 0));
  EXPECT_EQ(math::abs(Z(3e307, 4e307)), 5e307);
  EXPECT_EQ(math::arg(Z(-1, 0)), pi);
}
