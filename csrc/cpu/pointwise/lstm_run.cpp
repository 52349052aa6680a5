// The drivers of an LSTM's steps: rows are spread over threads.
#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"

namespace strided {
namespace cpu {
namespace {

// Elements of a row that are worth a thread: a step takes five exponentials for each, its gradient none.
constexpr int64_t kStepGrain = 1 << 11, kGradientGrain = 1 << 13;

int64_t grain_of(const LstmPlan& plan, int64_t elements) {
  return std::max<int64_t>(1, elements / std::max<int64_t>(plan.width, 1));
}
const LstmKernels& kernels_of(const LstmPlan& plan) {
  return kernel_table().lstm[plan.dtype == DType::Float64 ? 1 : 0];
}

}  // namespace

void lstm_step(const LstmPlan& plan) {
  parallel_for(0, plan.rows, grain_of(plan, kStepGrain),
               [&](int64_t begin, int64_t end) { kernels_of(plan).step(plan, begin, end); });
}

void lstm_gradient(const LstmPlan& plan) {
  parallel_for(0, plan.rows, grain_of(plan, kGradientGrain),
               [&](int64_t begin, int64_t end) { kernels_of(plan).gradient(plan, begin, end); });
}

}  // namespace cpu
}  // namespace strided
