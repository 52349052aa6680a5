#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {

void elementwise(const LoopPlan& plan, int op, DType compute, const double* params) {
  const KernelTable& table = kernel_table();
  const int t = index_of(compute);
  const Loop2d loop = table.elementwise[op][t];
  STRIDED_CHECK(loop, NotImplementedError, plan.name, ": not implemented for ", compute, " on device 'cpu'");
  DType dtypes[LoopPlan::kMaxOperands];
  dtypes[0] = table.elementwise_result[op][t];
  for (int k = 1; k < plan.n_operands; ++k) dtypes[k] = compute;
  run_loop(plan, loop, params, 1, dtypes);
}

}  // namespace cpu
}  // namespace strided
