// The driver of counting in bins: threads count for themselves, and their counts are added.
#include <algorithm>
#include <mutex>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/sort/bins.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kGrain = 1 << 16;  // elements that are worth a thread
constexpr int64_t kPiece = 1 << 20;  // elements that are counted without a look at signals

}  // namespace

void count_in_bins(const BinsPlan& plan) {
  const double width = plan.high - plan.low;
  const BinsKernels& kernels = kernel_table().bins;
  const BinsKernel kernel = plan.dtype == DType::Float64       ? kernels.of_double
                            : width > BinsPlan::kWidestInFloat ? kernels.of_float_in_double
                                                               : kernels.of_float;
  std::mutex mutex;
  std::fill(plan.counts, plan.counts + plan.bins, int64_t{0});
  parallel_for(0, plan.n, std::max(kGrain, 4 * plan.bins), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> counts(static_cast<size_t>(plan.bins) + 1);
    for (int64_t i = begin; i < end; i += kPiece) {
      kernel(plan, i, std::min(end, i + kPiece), counts.data());
      check_interrupt();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    for (int64_t b = 0; b < plan.bins; ++b) plan.counts[b] += counts[static_cast<size_t>(b)];
  });
}

}  // namespace cpu
}  // namespace strided
