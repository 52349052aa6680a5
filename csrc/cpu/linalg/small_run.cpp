// Decompositions of small matrices by the kernels of small_decompositions.cpp, the others by the library that had the
// slots before.
#include <algorithm>

#include "cpu/backend.h"
#include "cpu/kernels.h"

namespace strided {
namespace cpu {
namespace {

// Which decompositions are computed in lanes.
// All whose longest side fits the arrays on the stack (kMaxLanesSize), in batches that fill half of the lanes: with
// AVX-512 a QR in float32 then takes 0.16 us for 8 x 8 and 4 us for 32 x 32, where LAPACK takes 1.2 and 15. A smaller
// batch leaves most lanes idle, and is ahead up to a size still, most_of_few: one QR of 16 x 16 in float64 takes 5 us
// in lanes and 7 with LAPACK's two routines, their checks and workspaces; of 32 x 32 it takes 39 and 24.
const SmallDecompositionKernels* kernels_for(const DecompositionPlan& plan, int64_t most_of_few) {
  if (plan.dtype != DType::Float32 && plan.dtype != DType::Float64) return nullptr;
  const SmallDecompositionKernels& kernels = kernel_table().small_decompositions[plan.dtype == DType::Float64];
  const int64_t longest = std::max(plan.m, plan.n);
  const bool fits = longest <= kernels.most && plan.batch > 0 && std::min(plan.m, plan.n) > 0;
  return fits && (longest <= most_of_few || plan.batch >= kernels.lanes / 2) ? &kernels : nullptr;
}

bool small_qr(const DecompositionPlan& plan, bool by_columns, bool complete, void* q, void* r) {
  const SmallDecompositionKernels* kernels = kernels_for(plan, 16);
  if (kernels && r) kernels->qr(plan.batch, plan.m, plan.n, plan.a, by_columns, complete, q, r);
  return kernels != nullptr;
}

}  // namespace
}  // namespace cpu

void register_small_decompositions() {
  Backend& k = backend_table(DeviceType::CPU);
  k.small_qr = &cpu::small_qr;
}

}  // namespace strided
