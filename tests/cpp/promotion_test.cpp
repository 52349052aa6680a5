// The lattice of dtypes and the three priorities of operands. tests/python/support/promotion_table.txt has the whole
// table.
#include "core/promotion.h"

#include <gtest/gtest.h>

#include <vector>

namespace strided {
namespace {

// Those that promote.
std::vector<DType> all_dtypes() {
  std::vector<DType> list;
  for (int i = 0; i < kNumDTypes; ++i)
    if (has_loops(static_cast<DType>(i))) list.push_back(static_cast<DType>(i));
  return list;
}

TEST(Promotion, Float8PromotesWithNoOther) {
  for (DType a : {DType::Float8_e4m3fn, DType::Float8_e5m2})
    for (int i = 0; i < kNumDTypes; ++i) {
      const DType b = static_cast<DType>(i);
      if (a == b) {
        EXPECT_EQ(promote_types(a, b), a);
        continue;
      }
      EXPECT_THROW(promote_types(a, b), RuntimeError) << b;
      EXPECT_THROW(promote_types(b, a), RuntimeError) << b;
    }
}

TEST(Promotion, IsACommutativeIdempotentLatticeWithBoolBelowAll) {
  for (DType a : all_dtypes()) {
    EXPECT_EQ(promote_types(a, a), a);
    EXPECT_EQ(promote_types(a, DType::Bool), a);
    EXPECT_EQ(promote_types(a, DType::Complex128), DType::Complex128);
    for (DType b : all_dtypes()) {
      const DType c = promote_types(a, b);
      EXPECT_EQ(c, promote_types(b, a)) << a << b;
      EXPECT_EQ(promote_types(a, c), c) << a << b;  // c is above both
      EXPECT_TRUE(can_cast(a, c)) << a << b;
    }
  }
}

// Every value of an integer pair fits their common integer dtype; uint64 with a signed one has none.
TEST(Promotion, IntegersKeepTheirValues) {
  for (DType a : all_dtypes()) {
    for (DType b : all_dtypes()) {
      if (!is_integer(a) || !is_integer(b)) continue;
      const DType c = promote_types(a, b);
      if (is_integer(c)) {
        for (DType x : {a, b})
          EXPECT_TRUE(is_signed(x) == is_signed(c) ? size_of(x) <= size_of(c) : is_signed(c) && size_of(x) < size_of(c))
              << a << b;
      } else {
        EXPECT_EQ(c, DType::Float64);
        EXPECT_TRUE((a == DType::UInt64) != (b == DType::UInt64));
      }
    }
  }
}

TEST(Promotion, FloatingAndComplex) {
  EXPECT_EQ(promote_types(DType::Float16, DType::BFloat16), DType::Float32);
  EXPECT_EQ(promote_types(DType::Int64, DType::Float16), DType::Float16);
  EXPECT_EQ(promote_types(DType::UInt64, DType::BFloat16), DType::BFloat16);
  EXPECT_EQ(promote_types(DType::Complex64, DType::Float64), DType::Complex128);
  EXPECT_EQ(promote_types(DType::Complex64, DType::Int64), DType::Complex64);
  EXPECT_EQ(promote_types(DType::Complex64, DType::Float16), DType::Complex64);
}

TEST(Promotion, CanCastNeverLowersTheKind) {
  EXPECT_TRUE(can_cast(DType::Int64, DType::UInt8));
  EXPECT_TRUE(can_cast(DType::Bool, DType::Int8));
  EXPECT_TRUE(can_cast(DType::Float64, DType::Float16));
  EXPECT_FALSE(can_cast(DType::Float16, DType::Int64));
  EXPECT_FALSE(can_cast(DType::Complex64, DType::Float64));
  EXPECT_FALSE(can_cast(DType::Int8, DType::Bool));
}

DType result(std::initializer_list<DType> dimensioned, std::initializer_list<DType> zero_dim,
             std::initializer_list<Scalar> numbers) {
  ResultType type;
  for (DType t : dimensioned) type.add_tensor(t, false);
  for (DType t : zero_dim) type.add_tensor(t, true);
  for (const Scalar& s : numbers) type.add_scalar(s);
  return type.get();
}

TEST(ResultType, LowerPrioritiesOnlyRaiseTheKind) {
  EXPECT_EQ(result({DType::Int8}, {DType::Int64}, {}), DType::Int8);
  EXPECT_EQ(result({DType::Int8}, {DType::Float64}, {}), DType::Float64);
  EXPECT_EQ(result({DType::Float32}, {DType::Float64}, {}), DType::Float32);
  EXPECT_EQ(result({DType::Float16}, {DType::Complex128}, {}), DType::Complex64);
  EXPECT_EQ(result({DType::Float32}, {DType::Complex128}, {}), DType::Complex64);
  EXPECT_EQ(result({DType::Float64}, {DType::Complex64}, {}), DType::Complex128);
  EXPECT_EQ(result({DType::UInt8}, {}, {Scalar(1000)}), DType::UInt8);
  EXPECT_EQ(result({DType::UInt8}, {}, {Scalar(1.5)}), DType::Float32);
  EXPECT_EQ(result({DType::Float64}, {}, {Scalar(0.0, 1.0)}), DType::Complex128);
  EXPECT_EQ(result({DType::Bool}, {}, {Scalar(true)}), DType::Bool);
  EXPECT_EQ(result({DType::Bool}, {}, {Scalar(2)}), DType::Int64);
  EXPECT_EQ(result({}, {DType::Int32}, {Scalar(2.5)}), DType::Float32);
  EXPECT_EQ(result({}, {DType::Float64}, {Scalar(2.5)}), DType::Float64);
  EXPECT_EQ(result({}, {DType::Int8, DType::Int16}, {}), DType::Int16);
  EXPECT_EQ(result({}, {}, {Scalar(1), Scalar(2.5)}), DType::Float32);
}

TEST(ResultType, DefaultDTypeIsUsedForPythonFloats) {
  set_default_dtype(DType::Float64);
  EXPECT_EQ(result({DType::Int32}, {}, {Scalar(1.5)}), DType::Float64);
  EXPECT_EQ(result({DType::Int32}, {}, {Scalar(0.0, 1.0)}), DType::Complex128);
  set_default_dtype(DType::Float32);
  EXPECT_EQ(default_dtype(), DType::Float32);
}

}  // namespace
}  // namespace strided
