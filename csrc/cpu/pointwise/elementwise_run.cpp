// The driver of elementwise operations.
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

// Bytes of all operands from which on they are taken to lie beyond the second-level cache.
constexpr int64_t kFarBytes = 1 << 21;

}  // namespace

void elementwise(const LoopPlan& plan, int op, DType compute, const double* params) {
  const bool is_light = is_among(op, LightOps{});
  const int t = index_of(compute);
  const int64_t bytes = plan.n_operands * plan.numel() * size_of(compute);
  const KernelTable& near = kernel_table();
  const KernelTable& table = near.far && is_light && bytes >= kFarBytes ? *near.far : near;
  const Loop2d loop = table.elementwise[op][t];
  STRIDED_CHECK(loop, NotImplementedError, plan.name, ": not implemented for ", compute, " on device 'cpu'");
  DType dtypes[LoopPlan::kMaxOperands];
  dtypes[0] = table.elementwise_result[op][t];
  for (int k = 1; k < plan.n_operands; ++k) dtypes[k] = compute;
  run_loop(plan, loop, params, 1, dtypes, kLoopGrain, is_light);
}

}  // namespace cpu
}  // namespace strided
