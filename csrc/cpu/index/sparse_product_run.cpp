// Drivers of the products with sparse matrices. Threads share the rows of the result, so that each row has one order of
// summation; every thread reads the numbers of all rows.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread

const SparseProductKernels& kernels_of(DType dtype) {
  return kernel_table().sparse_product[dtype == DType::Float64 ? 1 : 0];
}

void check_places(const int64_t* places, int64_t entries, int64_t size) {
  int64_t most = -1;
  for (int64_t e = 0; e < entries; ++e) most = places[e] > most ? places[e] : most;
  STRIDED_CHECK(most < size, IndexError, "index out of range in self: index ", most, " is out of bounds for size ",
                size);
}
void check(const SparseProductPlan& plan) {
  check_places(plan.row, plan.entries, plan.rows);
  check_places(plan.column, plan.entries, plan.columns);
}

}  // namespace

void sparse_product(const SparseProductPlan& plan, const void* dense, void* out) {
  check(plan);
  const int64_t work = plan.entries * plan.width;
  if (plan.rows == 0 || plan.width == 0) return;  // there may be any number of rows without elements
  std::memset(out, 0, static_cast<size_t>(plan.rows * plan.width * size_of(plan.dtype)));
  if (work == 0) return;
  const auto run = kernels_of(plan.dtype).product;
  const int64_t grain = std::max<int64_t>(1, plan.rows * kGrain / work);
  parallel_for(0, plan.rows, std::max(grain, (plan.rows + num_threads() - 1) / num_threads()),
               [&](int64_t begin, int64_t end) { run(plan, dense, out, begin, end); });
}

void sampled_product(const SparseProductPlan& plan, const void* a, const void* b, void* out) {
  check(plan);
  const auto run = kernels_of(plan.dtype).sampled;
  parallel_for(0, plan.entries, std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.width, 1)),
               [&](int64_t begin, int64_t end) { run(plan, a, b, out, begin, end); });
}

}  // namespace cpu
}  // namespace strided
