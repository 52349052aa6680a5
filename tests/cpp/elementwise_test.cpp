// The elementwise structs as scalar functions: special values against literals, gradients against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "ops/operators.h"

namespace strided {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

// Equal, with the same sign of zero; NaN equals NaN.
::testing::AssertionResult same(double a, double b) {
  const bool equal = a == b && std::signbit(a) == std::signbit(b);
  if (equal || (std::isnan(a) && std::isnan(b))) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << a << " is not " << b;
}
#define EXPECT_SAME(a, b) EXPECT_TRUE(same(a, b))

template <class T>
struct Integers : ::testing::Test {};
using Signed = ::testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(Integers, Signed);

TYPED_TEST(Integers, WrapAround) {
  using T = TypeParam;
  constexpr T lowest = std::numeric_limits<T>::min(), largest = std::numeric_limits<T>::max();
  EXPECT_EQ(Abs::fwd(lowest), lowest);
  EXPECT_EQ(Neg::fwd(lowest), lowest);
  EXPECT_EQ(Add::fwd(largest, T(1)), lowest);
  EXPECT_EQ(Sub::fwd(lowest, T(1)), largest);
  EXPECT_EQ(Mul::fwd(largest, largest), T(1));
  EXPECT_EQ(Square::fwd(lowest), T(0));
  EXPECT_EQ(Addcmul::fwd(largest, T(1), T(1), T(1)), lowest);
}

TYPED_TEST(Integers, Division) {
  using T = TypeParam;
  constexpr T lowest = std::numeric_limits<T>::min();
  const int rows[][6] = {// a, b, floor, remainder, trunc, fmod
                         {7, 2, 3, 1, 3, 1},     {-7, 2, -4, 1, -3, -1}, {7, -2, -4, -1, -3, 1},
                         {-7, -2, 3, -1, 3, -1}, {6, 3, 2, 0, 2, 0},     {-6, 3, -2, 0, -2, 0}};
  for (const auto& r : rows) {
    const T a = static_cast<T>(r[0]), b = static_cast<T>(r[1]);
    EXPECT_EQ(FloorDivide::fwd(a, b), r[2]);
    EXPECT_EQ(Remainder::fwd(a, b), r[3]);
    EXPECT_EQ(DivTrunc::fwd(a, b), r[4]);
    EXPECT_EQ(Fmod::fwd(a, b), r[5]);
  }
  // Where the processor would trap.
  for (T a : {T(5), T(-5), T(0), lowest}) {
    EXPECT_EQ(FloorDivide::fwd(a, T(0)), T(0));
    EXPECT_EQ(DivTrunc::fwd(a, T(0)), T(0));
    EXPECT_EQ(Remainder::fwd(a, T(0)), T(0));
    EXPECT_EQ(Fmod::fwd(a, T(0)), T(0));
  }
  EXPECT_EQ(FloorDivide::fwd(lowest, T(-1)), lowest);
  EXPECT_EQ(DivTrunc::fwd(lowest, T(-1)), lowest);
  EXPECT_EQ(Remainder::fwd(lowest, T(-1)), T(0));
  EXPECT_EQ(Fmod::fwd(lowest, T(-1)), T(0));
}

TYPED_TEST(Integers, Shifts) {
  using T = TypeParam;
  constexpr T width = static_cast<T>(8 * sizeof(T));
  constexpr T lowest = std::numeric_limits<T>::min();
  EXPECT_EQ(BitwiseLeftShift::fwd(T(5), T(3)), T(40));
  EXPECT_EQ(BitwiseLeftShift::fwd(T(1), static_cast<T>(width - 1)), lowest);
  EXPECT_EQ(BitwiseRightShift::fwd(T(-5), T(1)), T(-3));
  for (T by : {T(-1), width, static_cast<T>(width + 1), lowest, std::numeric_limits<T>::max()}) {
    EXPECT_EQ(BitwiseLeftShift::fwd(T(-1), by), T(0));
    EXPECT_EQ(BitwiseRightShift::fwd(T(-5), by), T(-1));
    EXPECT_EQ(BitwiseRightShift::fwd(T(5), by), T(0));
  }
}

TYPED_TEST(Integers, Powers) {
  using T = TypeParam;
  EXPECT_EQ(Pow::fwd(T(3), T(4)), T(81));
  EXPECT_EQ(Pow::fwd(T(-2), T(3)), T(-8));
  EXPECT_EQ(Pow::fwd(T(0), T(0)), T(1));
  EXPECT_EQ(Pow::fwd(T(2), T(100)), T(0));
  EXPECT_EQ(Pow::fwd(T(2), T(-1)), T(0));
  EXPECT_EQ(Pow::fwd(T(0), T(-1)), T(0));
  EXPECT_EQ(Pow::fwd(T(1), T(-5)), T(1));
  EXPECT_EQ(Pow::fwd(T(-1), T(-3)), T(-1));
  EXPECT_EQ(Pow::fwd(T(-1), T(-2)), T(1));
}

TYPED_TEST(Integers, Divisors) {
  using T = TypeParam;
  EXPECT_EQ(Gcd::fwd(T(-12), T(18)), T(6));
  EXPECT_EQ(Gcd::fwd(T(0), T(0)), T(0));
  EXPECT_EQ(Lcm::fwd(T(-4), T(6)), T(12));
  EXPECT_EQ(Lcm::fwd(T(0), T(6)), T(0));
  EXPECT_EQ(Lcm::fwd(T(0), T(0)), T(0));
}

TEST(ElementwiseIntegers, Unsigned) {
  EXPECT_EQ(Pow::fwd(uint8_t(200), uint8_t(2)), 64);
  EXPECT_EQ(Neg::fwd(uint16_t(1)), 65535);
  EXPECT_EQ(Sub::fwd(uint64_t(0), uint64_t(1)), UINT64_MAX);
  EXPECT_EQ(FloorDivide::fwd(UINT64_MAX, uint64_t(2)), UINT64_MAX / 2);
  EXPECT_EQ(FloorDivide::fwd(uint32_t(7), uint32_t(0)), 0u);
  EXPECT_EQ(Remainder::fwd(UINT32_MAX, uint32_t(10)), 5u);
  EXPECT_EQ(BitwiseLeftShift::fwd(uint16_t(3), uint16_t(15)), 0x8000);
  EXPECT_EQ(BitwiseRightShift::fwd(uint32_t(8), uint32_t(32)), 0u);
  EXPECT_EQ(BitwiseNot::fwd(uint16_t(1)), 0xfffe);
  EXPECT_EQ(Sign::fwd(uint32_t(9)), 1u);
  EXPECT_EQ(Lcm::fwd(int8_t(2), int8_t(127)), -2);
  const double close[] = {0.01, 0.0, 0.0};
  EXPECT_TRUE(Isclose::fwd(INT64_MIN, INT64_MIN, close));
  EXPECT_FALSE(Isclose::fwd(INT64_MIN, INT64_MAX, close));
  EXPECT_TRUE(Isclose::fwd(int32_t(101), int32_t(100), close));
}

TEST(ElementwiseBool, Arithmetic) {
  EXPECT_TRUE(Add::fwd(true, true));
  EXPECT_FALSE(Mul::fwd(true, false));
  EXPECT_TRUE(Maximum::fwd(true, false));
  EXPECT_TRUE(Heaviside::fwd(false, true));
  EXPECT_FALSE(BitwiseNot::fwd(true));
  static_assert(std::is_same_v<op_result_t<Square, bool>, int64_t>);
  static_assert(std::is_same_v<op_result_t<BitwiseXor, bool>, bool>);
}

TEST(ElementwiseFloat, SignsAndRounding) {
  EXPECT_SAME(Sign::fwd(nan), 0.0);
  EXPECT_SAME(Sign::fwd(-0.0), 0.0);
  EXPECT_SAME(Relu::fwd(-0.0), -0.0);
  EXPECT_SAME(Relu::fwd(nan), nan);
  EXPECT_SAME(Relu::fwd(-inf), 0.0);
  EXPECT_SAME(Trunc::fwd(-0.5), -0.0);
  EXPECT_SAME(Frac::fwd(-2.25), -0.25);
  EXPECT_SAME(Frac::fwd(inf), nan);
  EXPECT_SAME(Angle::fwd(-2.0), 3.14159265358979323846);
  EXPECT_SAME(Angle::fwd(-0.0), 0.0);
  EXPECT_SAME(Angle::fwd(nan), nan);
  EXPECT_TRUE(Signbit::fwd(-0.0));
  EXPECT_TRUE(Signbit::fwd(-std::fabs(nan)));
  auto round = [](double x, double decimals) { return Round::fwd(x, &decimals); };
  EXPECT_SAME(round(0.5, 0), 0.0);
  EXPECT_SAME(round(1.5, 0), 2.0);
  EXPECT_SAME(round(-2.5, 0), -2.0);
  EXPECT_SAME(round(2.675, 2), 2.68);
  EXPECT_SAME(round(123456.0, -3), 123000.0);
  EXPECT_SAME(round(1e300, 400), nan);  // as PyTorch: the scale itself overflows
}

TEST(ElementwiseFloat, FloorDivision) {
  // a, b, floor_divide, remainder, fmod: as Python's // and %
  const double rows[][5] = {{5, 3, 1, 2, 2},           {-5, 3, -2, 1, -2},      {5, -3, -2, -1, 2},
                            {-5, -3, 1, -2, -2},       {0.0, 3, 0.0, 0.0, 0.0}, {-0.0, 3, -0.0, -0.0, -0.0},
                            {0.0, -3, -0.0, 0.0, 0.0}, {1, 0, inf, nan, nan},   {-1, 0, -inf, nan, nan},
                            {0, 0, nan, nan, nan},     {inf, 2, nan, nan, nan}, {1, inf, 0, 1, 1},
                            {-1, inf, -1, inf, -1},    {1, nan, nan, nan, nan}};
  for (const auto& r : rows) {
    EXPECT_SAME(FloorDivide::fwd(r[0], r[1]), r[2]) << r[0] << " // " << r[1];
    EXPECT_SAME(Remainder::fwd(r[0], r[1]), r[3]) << r[0] << " % " << r[1];
    EXPECT_SAME(Fmod::fwd(r[0], r[1]), r[4]) << r[0] << " fmod " << r[1];
  }
  EXPECT_SAME(FloorDivide::fwd(1.0, 0.1), 9.0);  // 0.1 is a little more than 1/10
  EXPECT_SAME(DivTrunc::fwd(-7.0, 2.0), -3.0);
}

TEST(ElementwiseFloat, SmallerAndLarger) {
  EXPECT_SAME(Maximum::fwd(1.0, nan), nan);
  EXPECT_SAME(Maximum::fwd(nan, 1.0), nan);
  EXPECT_SAME(Minimum::fwd(nan, 1.0), nan);
  EXPECT_SAME(Fmax::fwd(nan, 1.0), 1.0);
  EXPECT_SAME(Fmax::fwd(1.0, nan), 1.0);
  EXPECT_SAME(Fmin::fwd(nan, nan), nan);
  EXPECT_SAME(Clamp::fwd(1.0, 3.0, 2.0), 2.0);  // min > max gives max
  EXPECT_SAME(Clamp::fwd(1.0, nan, 2.0), nan);
  EXPECT_SAME(Clamp::fwd(1.0, 0.0, nan), nan);
  EXPECT_SAME(Clamp::fwd(nan, 0.0, 1.0), nan);
  EXPECT_SAME(Heaviside::fwd(nan, 5.0), 0.0);
  EXPECT_SAME(Heaviside::fwd(-0.0, 5.0), 5.0);
  EXPECT_SAME(Copysign::fwd(2.0, -0.0), -2.0);
  EXPECT_TRUE(LogicalNot::fwd(-0.0));
  EXPECT_TRUE(LogicalAnd::fwd(nan, 1.0));
  EXPECT_FALSE(Eq::fwd(nan, nan));
  EXPECT_TRUE(Ne::fwd(nan, nan));
}

TEST(ElementwiseFloat, ReplacesNonFinite) {
  const double none[] = {none_param(), none_param(), none_param()}, given[] = {1.0, 2.0, -3.0};
  const double nans[] = {nan, nan, none_param()};
  EXPECT_SAME(NanToNum::fwd(nan, none), 0.0);
  EXPECT_SAME(NanToNum::fwd(inf, none), std::numeric_limits<double>::max());
  EXPECT_SAME(NanToNum::fwd(-inf, none), std::numeric_limits<double>::lowest());
  EXPECT_SAME(NanToNum::fwd(nan, given), 1.0);
  EXPECT_SAME(NanToNum::fwd(inf, given), 2.0);
  EXPECT_SAME(NanToNum::fwd(-inf, given), -3.0);
  EXPECT_TRUE(std::isnan(NanToNum::fwd(nan, nans)));
  EXPECT_TRUE(std::isnan(NanToNum::fwd(inf, nans)));
  EXPECT_SAME(NanToNum::fwd(-inf, nans), std::numeric_limits<double>::lowest());
  // The 16-bit floats have other largest values.
  EXPECT_EQ(float(NanToNum::fwd(Half(HUGE_VALF), none)), 65504.0f);
  EXPECT_EQ(float(NanToNum::fwd(BFloat16(-HUGE_VALF), none)), -3.3895313892515355e38f);
  const Complex<double> z = NanToNum::fwd(Complex<double>(nan, inf), given);
  EXPECT_SAME(z.re, 1.0);
  EXPECT_SAME(z.im, 2.0);
}

TEST(ElementwiseFloat, NextAfterInEveryFormat) {
  EXPECT_SAME(Nextafter::fwd(0.0, -1.0), -std::numeric_limits<double>::denorm_min());
  EXPECT_SAME(Nextafter::fwd(0.0, -0.0), -0.0);
  EXPECT_SAME(Nextafter::fwd(inf, 0.0), std::numeric_limits<double>::max());
  EXPECT_EQ(float(Nextafter::fwd(Half(1.0f), Half(2.0f))), 1.0009765625f);
  EXPECT_EQ(float(Nextafter::fwd(Half(1.0f), Half(0.0f))), 0.99951171875f);
  EXPECT_EQ(float(Nextafter::fwd(BFloat16(-1.0f), BFloat16(-2.0f))), -1.0078125f);
  EXPECT_EQ(Nextafter::fwd(Half(0.0f), Half(-1.0f)).bits, 0x8001);
  EXPECT_TRUE(std::isnan(float(Nextafter::fwd(Half(1.0f), Half(NAN)))));
}

TEST(ElementwiseFloat, Closeness) {
  auto close = [](double a, double b, double equal_nan = 0) {
    const double p[] = {1e-5, 1e-8, equal_nan};
    return Isclose::fwd(a, b, p);
  };
  EXPECT_TRUE(close(1.0, 1.000001));
  EXPECT_FALSE(close(1.0, 1.001));
  EXPECT_TRUE(close(inf, inf));
  EXPECT_FALSE(close(inf, -inf));
  EXPECT_FALSE(close(1.0, inf));
  EXPECT_FALSE(close(nan, nan));
  EXPECT_TRUE(close(nan, nan, 1));
  EXPECT_FALSE(close(nan, 1.0, 1));
}

TEST(ElementwiseFloat, Special) {
  EXPECT_SAME(Xlogy::fwd(0.0, 0.0), 0.0);
  EXPECT_SAME(Xlogy::fwd(0.0, nan), nan);
  EXPECT_SAME(Xlog1py::fwd(0.0, -2.0), 0.0);
  EXPECT_SAME(Entr::fwd(0.0), 0.0);
  EXPECT_SAME(Entr::fwd(-1.0), -inf);
  EXPECT_SAME(Logaddexp::fwd(inf, inf), inf);
  EXPECT_SAME(Logaddexp::fwd(-inf, -inf), -inf);
  EXPECT_SAME(Sinc::fwd(0.0), 1.0);
  EXPECT_SAME(Erfinv::fwd(1.0), inf);
  EXPECT_SAME(Erfinv::fwd(2.0), nan);
  const double none = nan, tenth = 0.1;
  EXPECT_SAME(Logit::fwd(0.0, &none), -inf);
  EXPECT_SAME(Logit::fwd(2.0, &none), nan);
  EXPECT_DOUBLE_EQ(Logit::fwd(0.0, &tenth), std::log(0.1 / 0.9));
  EXPECT_DOUBLE_EQ(Logit::fwd(2.0, &tenth), std::log(0.9 / 0.1));
  EXPECT_SAME(Lerp::fwd(1.0, 3.3, 1.0), 3.3);
  EXPECT_SAME(Lerp::fwd(1.0, 3.3, 0.0), 1.0);
}

TEST(ElementwiseComplex, RealValued) {
  using Z = Complex<double>;
  EXPECT_SAME(Abs::fwd(Z(3, -4)), 5.0);
  EXPECT_SAME(Angle::fwd(Z(0, 2)), 1.57079632679489661923);
  static_assert(std::is_same_v<op_result_t<Abs, Complex<float>>, float>);
  static_assert(std::is_same_v<op_result_t<Abs, Half>, Half>);
  static_assert(std::is_same_v<op_result_t<Eq, Complex<float>>, bool>);
  const Z s = Sgn::fwd(Z(3, -4));
  EXPECT_DOUBLE_EQ(s.re, 0.6);
  EXPECT_DOUBLE_EQ(s.im, -0.8);
  EXPECT_TRUE(Sgn::fwd(Z(0, 0)) == Z(0, 0));
  EXPECT_TRUE(Sinc::fwd(Z(0, 0)) == Z(1, 0));
  EXPECT_TRUE(Isnan::fwd(Z(1, nan)));
  EXPECT_TRUE(Isinf::fwd(Z(inf, nan)));
  EXPECT_FALSE(Isfinite::fwd(Z(1, inf)));
  EXPECT_TRUE(Isreal::fwd(Z(nan, -0.0)));
  EXPECT_FALSE(Isreal::fwd(Z(1, nan)));
  EXPECT_TRUE(LogicalNot::fwd(Z(0, -0.0)));
}

// ---- gradients: every row of the table that has one -----------------------------------------------------------------

template <class Op, class = void>
struct HasVjp : std::false_type {};
template <class Op>
struct HasVjp<Op, std::void_t<decltype(&Op::template vjp<0, double>)>> : std::true_type {};

template <class Op, size_t... I>
double forward(const double* x, const double* p, std::index_sequence<I...>) {
  if constexpr (Op::info.params[0] != 0) return static_cast<double>(Op::fwd(x[I]..., p));
  else return static_cast<double>(Op::fwd(x[I]...));
}

// Params that mean something for the op at hand.
template <class Op>
std::vector<double> params_of() {
  if (std::is_same_v<Op, Polygamma>) return {2};
  if (std::is_same_v<Op, Logit>) return {0.2};
  if (std::is_same_v<Op, NanToNum>) return {none_param(), none_param(), none_param()};
  if (std::is_same_v<Op, TimesNumber> || std::is_same_v<Op, OverNumber>) return {2.5};
  if (std::is_same_v<Op, Softplus>) return {2, 20};
  return {0, 0, 0};
}

struct Tally {
  std::string name;
  int compared = 0, undefined = 0;
};

// Central differences at points that avoid the kinks; where the function is undefined nothing is compared.
template <class Op, int I>
void compare(const double* x, Tally& tally) {
  constexpr int N = op_arity<Op>;
  constexpr auto all = std::make_index_sequence<N>{};
  const std::vector<double> p = params_of<Op>();
  const double h = 1e-5;
  double up[4], down[4];
  for (int k = 0; k < N; ++k) up[k] = down[k] = x[k];
  up[I] += h;
  down[I] -= h;
  const double out = forward<Op>(x, p.data(), all);
  const double numeric = (forward<Op>(up, p.data(), all) - forward<Op>(down, p.data(), all)) / (2 * h);
  Saved<double> saved;
  // What the op does not save, it must not read.
  for (int k = 0; k < 4; ++k) saved.in[k] = k < N && saves_inputs(Op::info.saves) ? x[k] : nan;
  saved.out = saves_output(Op::info.saves) ? out : nan;
  saved.params = p.data();
  const double g = -1.7;
  const double gradient = Op::template vjp<I, double>(g, saved);
  if (!std::isfinite(out) || !std::isfinite(numeric)) return;
  if (std::isnan(gradient)) {
    ++tally.undefined;
    return;
  }
  ++tally.compared;
  EXPECT_NEAR(gradient, g * numeric, 1e-5 * (1 + std::fabs(numeric)))
      << Op::info.name << ", operand " << I << " at " << x[0] << ' ' << x[1] << ' ' << x[2] << ' ' << x[3];
}

template <class Op, int I>
Tally gradient_of() {
  Tally tally;
  tally.name = std::string(Op::info.name) + ":" + std::to_string(I);
  const double grid[4][7] = {{-2.3, -0.62, -0.31, 0.37, 0.81, 1.43, 3.6},
                             {-1.9, -0.77, -0.137, 0.29, 0.93, 1.61, 2.7},
                             {-1.2, -0.41, 0.23, 0.69, 1.37, 2.1, 3.3},
                             {-1.1, 0.53, 2.2, -0.7, 1.3, 0.9, 1.7}};
  constexpr int N = op_arity<Op>;
  int count = 1;
  for (int k = 0; k < N; ++k) count *= 7;
  for (int i = 0; i < count; ++i) {
    double x[4] = {};
    for (int k = 0, rest = i; k < N; ++k, rest /= 7) x[k] = grid[k][rest % 7];
    compare<Op, I>(x, tally);
  }
  return tally;
}

template <class Op, size_t... I>
void gradients_of(std::vector<Tally>& tallies, std::index_sequence<I...>) {
  (tallies.push_back(gradient_of<Op, static_cast<int>(I)>()), ...);
}

TEST(ElementwiseGradients, EqualFiniteDifferences) {
  std::vector<Tally> tallies;
  for_each(ElementwiseOps{}, [&](auto tag, int) {
    using Op = typename decltype(tag)::type;
    if constexpr (HasVjp<Op>::value) gradients_of<Op>(tallies, std::make_index_sequence<op_arity<Op>>{});
  });
  std::set<std::string> not_differentiable = {"nextafter:0", "nextafter:1", "special.zeta:0",
                                              "igamma:0",    "igammac:0",   "special.airy_ai:0"};
  for (const char* name : {"chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
                           "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
                           "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
                           "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"}) {
    const std::string full = std::string("special.") + name;
    not_differentiable.insert(full + ":1");  // the degree
    const bool known = full.find("polynomial_t") != full.npos || full.find("hermite") != full.npos;
    if (!known) not_differentiable.insert(full + ":0");
  }
  for (const Tally& t : tallies) {
    if (not_differentiable.count(t.name)) {
      EXPECT_EQ(t.compared, 0) << t.name;
    } else {
      EXPECT_GE(t.compared, 2) << t.name;
      EXPECT_EQ(t.undefined, 0) << t.name;
    }
  }
  EXPECT_GT(tallies.size(), 100u);
}

TEST(ElementwiseGradients, AtPointsThatNeedCare) {
  Saved<double> s;
  auto at = [&](double a, double b, double out) { s = {{a, b, nan, nan}, out, nullptr}; };
  at(0, 2, 0);
  EXPECT_SAME((Pow::vjp<1, double>(1.0, s)), 0.0);  // 0^b is 0 around b = 2
  EXPECT_SAME((Pow::vjp<0, double>(1.0, s)), 0.0);
  at(0, 0, 1);
  EXPECT_SAME((Pow::vjp<0, double>(1.0, s)), 0.0);  // x^0 is constant
  at(0, 0, nan);
  EXPECT_SAME((Xlogy::vjp<0, double>(1.0, s)), 0.0);
  at(2, 2, nan);
  EXPECT_SAME((Maximum::vjp<0, double>(1.0, s)), 0.5);
  EXPECT_SAME((Maximum::vjp<1, double>(1.0, s)), 0.5);
  EXPECT_SAME((ClampMin::vjp<0, double>(1.0, s)), 1.0);
  EXPECT_SAME((ClampMin::vjp<1, double>(1.0, s)), 0.0);
  at(0, nan, 1);
  EXPECT_SAME((Sinc::vjp<0, double>(1.0, s)), 0.0);
  at(0, nan, 0);
  EXPECT_SAME((I1::vjp<0, double>(1.0, s)), 0.5);
  EXPECT_SAME((I1e::vjp<0, double>(1.0, s)), 0.5);
  EXPECT_SAME((Abs::vjp<0, double>(1.0, s)), 0.0);
  EXPECT_SAME((Relu::vjp<0, double>(inf, s)), 0.0);  // not 0 * inf
  at(0, 0, 0);
  EXPECT_SAME((Atan2::vjp<0, double>(1.0, s)), 0.0);
  // deep in the lower tail, where density and distribution both vanish
  at(-50, nan, nan);
  EXPECT_NEAR((LogNdtr::vjp<0, double>(1.0, s)), 50.0199840, 1e-6);
  at(nan, nan, nan);
  EXPECT_SAME((NanToNum::vjp<0, double>(1.0, s)), 0.0);
}

// The names of the table are unique, aliases included.
TEST(ElementwiseTable, NamesAreUnique) {
  std::set<std::string> seen;
  for_each(ElementwiseOps{}, [&](auto tag, int) {
    using Op = typename decltype(tag)::type;
    EXPECT_TRUE(seen.insert(Op::info.name).second) << Op::info.name;
    std::string word;
    for (char c : std::string(Op::info.aliases) + " ") {
      if (c != ' ') word += c;
      else if (!word.empty()) {
        EXPECT_TRUE(seen.insert(word).second) << word;
        word.clear();
      }
    }
    EXPECT_NE(std::strlen(Op::info.doc), 0u) << Op::info.name;
  });
}

}  // namespace
}  // namespace strided
