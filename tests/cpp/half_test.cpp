// The 16-bit floats against their definitions: all 65536 values, and every place where rounding to them turns.
#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <random>
#include <vector>

namespace strided {
namespace {

// A value from its fields, as IEEE 754 defines it.
double define(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = bits & ((1 << fraction_bits) - 1), sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(std::ldexp(fraction, -fraction_bits) + 1, exponent - bias);
}

struct HalfFormat {
  using Type = Half;
  static double define(uint16_t bits) { return strided::define(bits, 5, 10); }
};
struct BFloat16Format {
  using Type = BFloat16;
  static double define(uint16_t bits) { return strided::define(bits, 8, 7); }
};

template <class Format>
class SixteenBits : public testing::Test {};
using Formats = testing::Types<HalfFormat, BFloat16Format>;
TYPED_TEST_SUITE(SixteenBits, Formats);

TYPED_TEST(SixteenBits, EveryValueConvertsExactlyAndBack) {
  using T = typename TypeParam::Type;
  for (int i = 0; i < 65536; ++i) {
    T x;
    x.bits = static_cast<uint16_t>(i);
    const double want = TypeParam::define(x.bits);
    const float got = x;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(got)))) << i;
    } else {
      ASSERT_EQ(static_cast<double>(got), want) << i;
      ASSERT_EQ(T(got).bits, x.bits) << i;
    }
  }
}

// Nearest value, the even one of two equally near: by search among all values.
template <class Format>
uint16_t nearest(float f) {
  static const std::vector<double> magnitudes =
      [] {  // 0, ..., largest, and the next one there would be: infinity from there
        std::vector<double> list;
        for (int bits = 0; std::isfinite(Format::define(static_cast<uint16_t>(bits))); ++bits)
          list.push_back(Format::define(static_cast<uint16_t>(bits)));
        list.push_back(2 * list.back() - list[list.size() - 2]);
        return list;
      }();
  const uint16_t sign = std::signbit(f) ? 0x8000 : 0;
  const double a = std::fabs(static_cast<double>(f));
  if (a >= magnitudes.back()) return sign | static_cast<uint16_t>(magnitudes.size() - 1);
  const size_t above = std::upper_bound(magnitudes.begin(), magnitudes.end(), a) - magnitudes.begin(),
               below = above - 1;
  const double down = a - magnitudes[below], up = magnitudes[above] - a;
  const size_t chosen = down < up || (down == up && below % 2 == 0) ? below : above;
  return sign | static_cast<uint16_t>(chosen);
}

TYPED_TEST(SixteenBits, RoundsToNearestEven) {
  using T = typename TypeParam::Type;
  auto check = [](float f) {
    if (!std::isnan(f)) {
      ASSERT_EQ(T(f).bits, nearest<TypeParam>(f)) << std::hexfloat << f;
    }
  };
  // Around each value and each midpoint between two.
  for (int bits = 0; bits < 0x7fff; ++bits) {
    const double here = TypeParam::define(static_cast<uint16_t>(bits)),
                 next = TypeParam::define(static_cast<uint16_t>(bits + 1));
    if (!std::isfinite(here)) break;
    const double step = std::isfinite(next) ? next - here : here - TypeParam::define(static_cast<uint16_t>(bits - 1));
    for (double point : {here, here + step / 2, here + step}) {
      const float f = static_cast<float>(point);
      for (float g : {f, std::nextafterf(f, 0), std::nextafterf(f, INFINITY)}) check(g), check(-g);
    }
  }
  std::mt19937 rng(1);
  for (int i = 0; i < 300000; ++i) check(bit_cast<float>(static_cast<uint32_t>(rng())));
  check(INFINITY), check(-INFINITY), check(0.f), check(-0.f), check(3.4e38f), check(1e-45f);
}

TYPED_TEST(SixteenBits, NanKeepsItsSign) {
  using T = typename TypeParam::Type;
  for (uint32_t nan : {0x7fc00000u, 0x7f800001u, 0x7fffffffu})
    for (uint32_t sign : {0u, 0x80000000u}) {
      const T x = bit_cast<float>(nan | sign);
      EXPECT_TRUE(std::isnan(static_cast<float>(x))) << std::hex << nan;
      EXPECT_EQ(x.bits >> 15, sign >> 31) << std::hex << nan;
    }
}

}  // namespace
}  // namespace strided
