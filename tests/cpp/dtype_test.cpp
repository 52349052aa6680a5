// What the traits blocks say, against what the C++ types themselves say.
#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

namespace strided {
namespace {

template <class T>
double number(T x) {
  return static_cast<double>(static_cast<compute_t<T>>(x));
}

TEST(DType, NamesAreDistinct) {
  std::set<std::string> names;
  for (const DTypeInfo& t : kDTypeInfo)
    for (const char* name : {t.name, t.cpp_name}) EXPECT_TRUE(names.insert(name).second) << name;
}

TEST(DType, EveryDtypeIsOfOneKind) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    EXPECT_EQ(is_bool(t) + is_integer(t) + is_floating(t) + is_complex(t), 1) << t;
    EXPECT_EQ(is_integral(t), is_bool(t) || is_integer(t)) << t;
    EXPECT_EQ(real_of(complex_of(t)) == t, is_complex(complex_of(t)) && (t == DType::Float32 || t == DType::Float64))
        << t;
    EXPECT_TRUE(has_loops(loop_dtype_of(t))) << t;
    EXPECT_EQ(compute_dtype_of(compute_dtype_of(t)), compute_dtype_of(t)) << t;
  }
}

TEST(DType, SizeAndSignAreThoseOfTheType) {
  for_each(DTypes{}, [](auto tag, int i) {
    using T = typename decltype(tag)::type;
    const DType t = static_cast<DType>(i);
    EXPECT_EQ(dtype_of<T>, t);
    EXPECT_EQ(size_of(t), static_cast<int64_t>(sizeof(T)));
    EXPECT_EQ(is_signed(t), !std::is_integral_v<T> || std::is_signed_v<T>) << t;
  });
}

// digits, greatest, smallest_normal and infinity of floats, by what their arithmetic does.
TEST(DType, LimitsOfFloats) {
  for_each(DTypes{}, [](auto tag, int i) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    if constexpr (std::is_floating_point_v<C>) {
      const DTypeInfo& info = kDTypeInfo[i];
      const double eps = std::ldexp(1.0, 1 - info.digits);
      EXPECT_EQ(number(T(static_cast<C>(1 + eps))), 1 + eps) << info.name;
      EXPECT_EQ(number(T(static_cast<C>(1 + eps / 2))), 1) << info.name;
      EXPECT_EQ(number(T(static_cast<C>(info.greatest))), info.greatest) << info.name;
      // The code of the least normal number is one bit, the lowest of the exponent.
      const T least = T(static_cast<C>(info.smallest_normal));
      uint64_t bits = 0;
      std::memcpy(&bits, &least, sizeof(T));
      EXPECT_EQ(number(least), info.smallest_normal) << info.name;
      EXPECT_EQ(bits, uint64_t(1) << (info.digits - 1)) << info.name;
      // From `infinity` upward there is no larger number: the next code is NaN.
      T at;
      std::memcpy(&at, &info.infinity, sizeof(T));
      EXPECT_GE(number(at), info.greatest) << info.name;
      const uint64_t next = info.infinity + 1;
      std::memcpy(&at, &next, sizeof(T));
      EXPECT_TRUE(std::isnan(number(at))) << info.name;
    }
  });
}

TEST(DType, ListsAndSetsAgree) {
  int of_kind[9] = {};
  for_each(LoopDTypes{}, [&](auto tag, int) { ++of_kind[kind_of(dtype_of<typename decltype(tag)::type>)]; });
  EXPECT_EQ(of_kind[kinds::Float], DTypesOf<kinds::Float>::size);
  EXPECT_EQ(of_kind[kinds::Complex], DTypesOf<kinds::Complex>::size);
  EXPECT_EQ(SignedIntegers::size + BoolAndUnsigned::size, DTypesOf<kinds::Bool | kinds::Int>::size);
  for_each(ReducedFloats{}, [](auto tag, int) {
    constexpr DType t = dtype_of<typename decltype(tag)::type>;
    EXPECT_TRUE(is_floating(t) && has_loops(t) && compute_dtype_of(t) != t);
  });
}

}  // namespace
}  // namespace strided
