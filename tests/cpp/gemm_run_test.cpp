// cpu::gemm: batches of every layout against one product at a time.
#include <gtest/gtest.h>

#include <vector>

#include "cpu/operations.h"

namespace strided {
namespace {

struct Axes {
  std::vector<int64_t> shape, strides[3];  // strides of a, b, c in matrices
};

TEST(GemmRun, BatchesOfEveryLayout) {
  constexpr int64_t m = 3, n = 5, k = 4, sizes[3] = {m * k, k * n, m * n};
  const Axes cases[] = {
      {{}, {{}, {}, {}}},
      {{7}, {{1}, {1}, {1}}},
      {{7}, {{0}, {-1}, {1}}},                           // one matrix for all, and backwards
      {{2, 3}, {{3, 1}, {3, 1}, {3, 1}}},                // regular
      {{2, 3}, {{1, 2}, {3, 1}, {3, 1}}},                // a transposed
      {{2, 3}, {{0, 1}, {1, 0}, {3, 1}}},                // broadcast
      {{2, 3, 4}, {{12, 1, 3}, {0, 4, 1}, {12, 4, 1}}},  // regular from the last axis on only
      {{2, 1, 3}, {{3, 77, 1}, {3, -5, 1}, {3, 9, 1}}},  // strides of axes of size 1 mean nothing
      {{2, 0}, {{1, 1}, {1, 1}, {1, 1}}},
  };
  for (const Axes& axes : cases) {
    const int ndim = static_cast<int>(axes.shape.size());
    int64_t batch = 1;
    for (int64_t s : axes.shape) batch *= s;
    SCOPED_TRACE(::testing::Message() << "axes " << ndim << ", batch " << batch);
    constexpr int64_t room = 64;  // matrices
    std::vector<double> memory[3];
    for (int x = 0; x < 3; ++x)
      for (int64_t i = 0; i < room * sizes[x]; ++i) memory[x].push_back(static_cast<double>((i * 7 + x) % 11) - 5);
    std::vector<double> expected = memory[2];
    const int64_t origin = room / 2;
    std::vector<int64_t> strides[3], index(static_cast<size_t>(ndim));
    for (int x = 0; x < 3; ++x)
      for (int64_t s : axes.strides[x]) strides[x].push_back(s * sizes[x]);
    for (int64_t q = 0; q < batch; ++q) {
      int64_t at[3] = {};
      for (int x = 0; x < 3; ++x) {
        at[x] = origin * sizes[x];
        for (int i = 0; i < ndim; ++i) at[x] += index[i] * strides[x][i];
      }
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < k; ++p) sum += memory[0][at[0] + i * k + p] * memory[1][at[1] + p * n + j];
          double& to = expected[at[2] + i * n + j];
          to = 2 * sum - to;
        }
      for (int i = ndim - 1; i >= 0 && ++index[i] == axes.shape[i]; --i) index[i] = 0;
    }
    const double alpha = 2, beta = -1;
    GemmPlan plan;
    plan.name = "test";
    plan.dtype = DType::Float64;
    plan.m = m, plan.n = n, plan.k = k;
    plan.a = {memory[0].data() + origin * sizes[0], k, 1};
    plan.b = {memory[1].data() + origin * sizes[1], n, 1};
    plan.c = {memory[2].data() + origin * sizes[2], n, 1};
    plan.batch_ndim = ndim;
    plan.batch_shape = axes.shape.data();
    for (int x = 0; x < 3; ++x) plan.batch_strides[x] = strides[x].data();
    plan.alpha = &alpha, plan.beta = &beta;
    cpu::gemm(plan);
    EXPECT_EQ(memory[2], expected);
  }
}

}  // namespace
}  // namespace strided
