// The rules at the head of core/convert.h, one by one.
#include "core/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace strided {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
constexpr int64_t kMin32 = std::numeric_limits<int32_t>::min(), kMin64 = std::numeric_limits<int64_t>::min();

TEST(Convert, FloatingToIntegerTruncatesTowardZero) {
  EXPECT_EQ((convert<int32_t>(2.9f)), 2);
  EXPECT_EQ((convert<int32_t>(-2.9f)), -2);
  EXPECT_EQ((convert<int64_t>(-0.5)), 0);
  EXPECT_EQ((convert<uint8_t>(255.99)), 255);
  EXPECT_EQ((convert<int64_t>(9007199254740993.0)), 9007199254740992);
  EXPECT_EQ((convert<uint64_t>(18446744073709549568.0)), 18446744073709549568u);
  EXPECT_EQ((convert<uint32_t>(4294967295.0)), 4294967295u);
  EXPECT_EQ((convert<int16_t>(Half(1.5f))), 1);
  EXPECT_EQ((convert<int32_t>(BFloat16(-3.f))), -3);
}

TEST(Convert, OutOfRangeAndNanAreTheMinimumOfTheIntermediateType) {
  for (float bad : {kNan, kInf, -kInf, 3e9f, -3e9f}) {
    EXPECT_EQ((convert<int32_t>(bad)), kMin32) << bad;
    EXPECT_EQ((convert<int16_t>(bad)), 0) << bad;  // the low bits of the minimum
    EXPECT_EQ((convert<int8_t>(bad)), 0) << bad;
    EXPECT_EQ((convert<uint8_t>(bad)), 0) << bad;
    EXPECT_EQ((convert<uint16_t>(bad)), 0) << bad;
  }
  for (double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e19, -1e19}) EXPECT_EQ((convert<int64_t>(bad)), kMin64) << bad;
  EXPECT_EQ((convert<int32_t>(2147483648.0)), kMin32);
  EXPECT_EQ((convert<int32_t>(2147483647.0)), 2147483647);
  EXPECT_EQ((convert<int32_t>(-2147483648.0)), kMin32);
  EXPECT_EQ((convert<int64_t>(9223372036854775808.0)), kMin64);
  EXPECT_EQ((convert<uint64_t>(18446744073709551616.0)), uint64_t(1) << 63);
  EXPECT_EQ((convert<uint32_t>(kNan)), 0u);
}

TEST(Convert, NarrowTargetsKeepTheLowBits) {
  EXPECT_EQ((convert<uint8_t>(300.0f)), 44);
  EXPECT_EQ((convert<uint8_t>(-1.0f)), 255);
  EXPECT_EQ((convert<int8_t>(200.0)), -56);
  EXPECT_EQ((convert<uint32_t>(-1.0)), 4294967295u);
  EXPECT_EQ((convert<uint64_t>(-1.0)), 18446744073709551615u);
  EXPECT_EQ((convert<int8_t>(int64_t(-129))), 127);
  EXPECT_EQ((convert<uint16_t>(int32_t(-1))), 65535);
  EXPECT_EQ((convert<int64_t>(uint64_t(18446744073709551615u))), -1);
}

TEST(Convert, ToBoolIsNotZero) {
  EXPECT_FALSE((convert<bool>(0.0f)));
  EXPECT_FALSE((convert<bool>(-0.0)));
  EXPECT_TRUE((convert<bool>(1e-45f)));
  EXPECT_TRUE((convert<bool>(kNan)));
  EXPECT_TRUE((convert<bool>(int64_t(1) << 40)));
  EXPECT_TRUE((convert<bool>(Complex<float>(0, 1))));
  EXPECT_FALSE((convert<bool>(Complex<double>(0, 0))));
  EXPECT_FALSE((convert<bool>(Half(0.f))));
}

TEST(Convert, ComplexDropsAndGainsAnImaginaryPart) {
  EXPECT_EQ((convert<float>(Complex<double>(1.5, 9))), 1.5f);
  EXPECT_EQ((convert<int32_t>(Complex<float>(-1.5f, 9))), -1);
  EXPECT_EQ((convert<Complex<double>>(2)), (Complex<double>(2, 0)));
  EXPECT_EQ((convert<Complex<float>>(Complex<double>(1, 2))), (Complex<float>(1, 2)));
  EXPECT_EQ((convert<Half>(Complex<float>(0.5f, 9))).bits, Half(0.5f).bits);
}

// With a target that holds the value, every path gives the value.
TEST(Convert, AgreesWithArithmeticInRange) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(rng())), -static_cast<int>(rng() % 70));
    const double t = std::trunc(x);
    if (std::fabs(t) <= 2147483647) {
      ASSERT_EQ((convert<int32_t>(x)), static_cast<int32_t>(t));
      ASSERT_EQ((convert<uint8_t>(x)), static_cast<uint8_t>(static_cast<int64_t>(t)));
    }
    if (std::fabs(t) < 9e18) {
      ASSERT_EQ((convert<int64_t>(x)), static_cast<int64_t>(t));
      ASSERT_EQ((convert<uint32_t>(x)), static_cast<uint32_t>(static_cast<int64_t>(t)));
    }
    ASSERT_EQ((convert<float>(x)), static_cast<float>(x));
  }
}

}  // namespace
}  // namespace strided
