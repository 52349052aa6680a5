// The scalar mathematics against the C library in long double: largest error in units in the last place over random
// arguments, and exact agreement of special values. The loops below are plain, so that compiled for a wider instruction
// set (flags in Note [Vectorisable mathematics], base/math.h) this file tests the vector code.
#include "base/math.h"
#include "base/math_complex.h"
#include "cpu/pointwise/table_rows.inc"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
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
