// The driver of evenly spaced numbers.
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {

void range(const OpContext&, RangeKind kind, DType dtype, void* to, int64_t n, const RangeSpec& range) {
  const RangeKernels& kernels = kernel_table().range;
  const RangeKernel kernel = (kind == RangeKind::Arange     ? kernels.arange
                              : kind == RangeKind::Linspace ? kernels.linspace
                                                            : kernels.logspace)[index_of(dtype)];
  parallel_for(0, n, kLoopGrain, [&](int64_t begin, int64_t end) { kernel(to, begin, end, range); });
}

}  // namespace cpu
}  // namespace strided
