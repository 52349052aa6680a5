// The CPU's slots of linear algebra besides arithmetic: exchanges of rows, signs, and the words of errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include "cpu/operations.h"

namespace strided {
namespace {

const OpContext kOn{"test", 0};

TEST(LinalgRun, RowsAreExchangedOneAfterTheOther) {
  std::mt19937 rng(1);
  for (const auto& [batch, rows, columns, count] :
       {std::array<int64_t, 4>{1, 5, 3, 5}, {4, 9, 1, 4}, {3, 1, 2, 1}, {0, 3, 3, 3}, {2, 600, 70, 600}})
    for (bool backwards : {false, true}) {
      std::vector<int16_t> a(static_cast<size_t>(batch * rows * columns));
      std::iota(a.begin(), a.end(), int16_t{0});
      std::vector<int16_t> expected = a;
      std::vector<int32_t> pivots;
      for (int64_t i = 0; i < batch * count; ++i)
        pivots.push_back(1 + static_cast<int32_t>(rng() % static_cast<uint64_t>(rows)));
      for (int64_t q = 0; q < batch; ++q)
        for (int64_t step = 0; step < count; ++step) {
          const int64_t i = backwards ? count - 1 - step : step, with = pivots[q * count + i] - 1;
          for (int64_t c = 0; c < columns; ++c)
            std::swap(expected[(q * rows + i) * columns + c], expected[(q * rows + with) * columns + c]);
        }
      cpu::exchange_rows(kOn, DType::Int16, batch, rows, columns, a.data(), pivots.data(), count, backwards);
      EXPECT_EQ(a, expected);
    }
}

TEST(LinalgRun, PivotsThatNameNoRowAreErrors) {
  for (int32_t bad : {0, 4, -1, INT32_MIN, INT32_MAX}) {
    const int32_t pivots[] = {1, 2, bad};
    int64_t numbers[] = {0, 1, 2};
    EXPECT_THROW(cpu::exchange_rows(kOn, DType::Int64, 1, 3, 1, numbers, pivots, 3, true), RuntimeError);
    EXPECT_EQ(numbers[2], 2);
    float lu[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[3] = {1, 2, 3};
    EXPECT_THROW(cpu::lu_solve(kOn, DType::Float32, 1, 3, 1, lu, 9, pivots, 3, b, 0), RuntimeError);
    EXPECT_EQ(b[2], 3);
  }
}

TEST(LinalgRun, SignsOfPermutations) {
  const int32_t pivots[] = {1, 2, 3, 2, 2, 3, 3, 3, 3, 2, 3, 3};
  double sign[4] = {};
  cpu::permutation_sign(kOn, 4, 3, pivots, sign);
  EXPECT_EQ(std::vector<double>(sign, sign + 4), (std::vector<double>{1, -1, 1, 1}));
}

TEST(LinalgRun, TheFirstFailureIsRaisedAtOnce) {
  const int32_t info[] = {0, 0, 3, 2};
  try {
    cpu::check_info(kOn, LinalgFailure::NotInvertible, info, 4, true, false);
    FAIL() << "no error";
  } catch (const LinAlgError& e) {
    EXPECT_NE(std::string(e.what()).find("test: (Batch element 2): The diagonal element 3 is zero"), std::string::npos)
        << e.what();
  }
  EXPECT_NO_THROW(cpu::check_info(kOn, LinalgFailure::NotInvertible, info, 2, true, true));
}

TEST(LinalgRun, IntegersHaveNoFactorisation) {
  int32_t a = 1, pivot = 0, info = 0;
  EXPECT_THROW(cpu::lu_factor(kOn, DType::Int32, 1, 1, 1, &a, &pivot, &info), NotImplementedError);
  EXPECT_THROW(cpu::cholesky(kOn, DType::Bool, 1, 1, &a, false, &info), NotImplementedError);
}

}  // namespace
}  // namespace strided
