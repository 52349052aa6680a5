// The driver of where.
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {

void where(const LoopPlan& plan) {
  const DType to = plan.operand[0].dtype;
  const DType dtypes[] = {to, plan.operand[1].dtype, to, to};
  run_loop(plan, kernel_table().index.where[item_row(size_of(to))], nullptr, 1, dtypes, kLoopGrain, true);
}

}  // namespace cpu
}  // namespace strided
