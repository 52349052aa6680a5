#include "backend/elementwise.h"
#include "cpu/kernels.h"
#include "cpu/loop_run.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

// Ops that take less time than memory does. Others compute while ordinary stores are on their way, and nothing was
// gained by streaming them.
using LightOps = List<Add, Sub, Mul, TimesNumber, Maximum, Minimum, Abs, Neg, Square, Relu, Clamp, Ceil, Floor, Trunc,
                      ConjPhysical, Eq, Ne, Lt, Le, Gt, Ge, LogicalNot, LogicalAnd, LogicalOr, LogicalXor, BitwiseNot,
                      BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseLeftShift, BitwiseRightShift>;
template <class... Ops>
bool is_among(int op, List<Ops...>) {
  return ((op == elementwise_id<Ops>) || ...);
}

}  // namespace

void elementwise(const LoopPlan& plan, int op, DType compute, const double* params) {
  const KernelTable& table = kernel_table();
  const int t = index_of(compute);
  const Loop2d loop = table.elementwise[op][t];
  STRIDED_CHECK(loop, NotImplementedError, plan.name, ": not implemented for ", compute, " on device 'cpu'");
  DType dtypes[LoopPlan::kMaxOperands];
  dtypes[0] = table.elementwise_result[op][t];
  for (int k = 1; k < plan.n_operands; ++k) dtypes[k] = compute;
  run_loop(plan, loop, params, 1, dtypes, kLoopGrain, is_among(op, LightOps{}));
}

}  // namespace cpu
}  // namespace strided
