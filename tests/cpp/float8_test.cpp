// The 8-bit floats against their definitions: all 256 codes, and every place where rounding to them turns.
#include "base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace strided {
namespace {

// The value of a code without sign, by the table of the OFP8 specification.
double define(int code, int exponent_bits, int fraction_bits, bool has_infinity) {
  const int top = (1 << exponent_bits) - 1, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = code >> fraction_bits, fraction = code & ((1 << fraction_bits) - 1);
  if (has_infinity && exponent == top) return fraction ? std::nan("") : INFINITY;
  if (!has_infinity && code == 0x7f) return std::nan("");
  const double significand = std::ldexp(fraction, -fraction_bits) + (exponent ? 1 : 0);
  return std::ldexp(significand, (exponent ? exponent : 1) - bias);
}

struct E4M3 {
  using Type = Float8_e4m3fn;
  static constexpr int kGreatest = 0x7e, kOverflow = 0x7e;
  static double value(int code) { return define(code, 4, 3, false); }
};
struct E5M2 {
  using Type = Float8_e5m2;
  static constexpr int kGreatest = 0x7b, kOverflow = 0x7c;
  static double value(int code) { return define(code, 5, 2, true); }
};

template <class Format>
class EightBits : public testing::Test {};
using Formats = testing::Types<E4M3, E5M2>;
TYPED_TEST_SUITE(EightBits, Formats);

TYPED_TEST(EightBits, EveryCodeConvertsExactlyAndBack) {
  using T = typename TypeParam::Type;
  for (int code = 0; code < 256; ++code) {
    T x;
    x.bits = static_cast<uint8_t>(code);
    const float got = x;
    const double want = TypeParam::value(code & 0x7f);
    EXPECT_EQ(std::signbit(got), code >= 128) << code;
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << code;
      EXPECT_EQ(T(got).bits, (code & 0x80) | 0x7f) << code;
    } else {
      EXPECT_EQ(std::fabs(static_cast<double>(got)), want) << code;
      if (std::isfinite(want)) {
        EXPECT_EQ(T(got).bits, code);
      }
    }
  }
}

TYPED_TEST(EightBits, RoundsToNearestEven) {
  using T = typename TypeParam::Type;
  constexpr int top = TypeParam::kGreatest;
  const double beyond = 2 * TypeParam::value(top) - TypeParam::value(top - 1);  // the next number there would be
  auto nearest = [&](double a) {
    int below = 0;
    while (below < top && TypeParam::value(below + 1) <= a) ++below;
    const double down = a - TypeParam::value(below), up = (below == top ? beyond : TypeParam::value(below + 1)) - a;
    const int code = down < up || (down == up && below % 2 == 0) ? below : below + 1;
    return code > top ? TypeParam::kOverflow : code;
  };
  auto check = [&](float f) {
    EXPECT_EQ(T(f).bits, nearest(static_cast<double>(f))) << std::hexfloat << f;
    EXPECT_EQ(T(-f).bits, 0x80 | nearest(static_cast<double>(f))) << std::hexfloat << f;
  };
  for (int code = 0; code <= top; ++code) {
    const double here = TypeParam::value(code), next = code == top ? beyond : TypeParam::value(code + 1);
    for (double point : {here, (here + next) / 2, next}) {
      const float f = static_cast<float>(point);
      for (float g : {f, std::nextafterf(f, 0), std::nextafterf(f, INFINITY)}) check(g);
    }
  }
  std::mt19937 bits(1);
  for (int i = 0; i < 20000; ++i) {
    const float f = std::fabs(bit_cast<float>(static_cast<uint32_t>(bits())));
    if (std::isfinite(f)) check(f);
  }
}

TYPED_TEST(EightBits, WhatIsTooLargeAndNan) {
  using T = typename TypeParam::Type;
  for (float f : {1e30f, std::numeric_limits<float>::max(), INFINITY}) {
    EXPECT_EQ(T(f).bits, TypeParam::kOverflow);
    EXPECT_EQ(T(-f).bits, 0x80 | TypeParam::kOverflow);
  }
  for (uint32_t nan : {0x7fc00000u, 0x7f800001u, 0x7fffffffu}) {
    EXPECT_EQ(T(bit_cast<float>(nan)).bits, 0x7f);
    EXPECT_EQ(T(bit_cast<float>(nan | 0x80000000u)).bits, 0xff);
  }
}

}  // namespace
}  // namespace strided
