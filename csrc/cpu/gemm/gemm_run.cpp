// The CPU's matrix products: a plan's batch becomes calls of the loops in gemm.inc, which divide work among threads.
#include "base/small_vector.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

// The axes of a batch from `begin` on are regular where one step leads from each matrix to the next, for each operand.
// step: that step, in elements; 0 repeats one matrix.
bool regular_batch(const GemmPlan& plan, int begin, int64_t (&step)[3]) {
  for (int operand = 0; operand < 3; ++operand) {
    const int64_t* strides = plan.batch_strides[operand];
    step[operand] = 0;
    bool first = true;
    int64_t expected = 0;
    for (int i = plan.batch_ndim - 1; i >= begin; --i) {
      if (plan.batch_shape[i] == 1) continue;
      if (first) step[operand] = strides[i];
      else if (strides[i] != expected) return false;
      first = false;
      expected = strides[i] * plan.batch_shape[i];
    }
  }
  return true;
}

Matrix moved(Matrix m, int64_t bytes) { return {static_cast<char*>(m.data) + bytes, m.row_stride, m.col_stride}; }

}  // namespace

void gemm(const GemmPlan& plan) {
  const KernelTable& table = kernel_table();
  const int row = index_of(plan.dtype), ndim = plan.batch_ndim;
  STRIDED_CHECK(table.gemm[row], NotImplementedError, plan.name, ": not implemented for ", plan.dtype,
                " on device 'cpu'");
  if (ndim == 0) return table.gemm[row](plan.m, plan.n, plan.k, plan.a, plan.b, plan.c, plan.alpha, plan.beta);
  // The last axes that are regular are one call, for each index of the axes before them.
  int64_t step[3];
  int outer = 0;
  while (!regular_batch(plan, outer, step)) ++outer;
  int64_t batch = 1, calls = 1;
  for (int i = 0; i < ndim; ++i) (i < outer ? calls : batch) *= plan.batch_shape[i];
  const int64_t size = size_of(plan.dtype);
  SmallVector<int64_t, 6> index(static_cast<size_t>(outer));
  for (int64_t call = 0; call < calls; ++call) {
    int64_t at[3] = {};
    for (int i = 0; i < outer; ++i)
      for (int operand = 0; operand < 3; ++operand) at[operand] += index[i] * plan.batch_strides[operand][i] * size;
    table.batched_gemm[row](batch, step, plan.m, plan.n, plan.k, moved(plan.a, at[0]), moved(plan.b, at[1]),
                            moved(plan.c, at[2]), plan.alpha, plan.beta);
    for (int i = outer - 1; i >= 0 && ++index[i] == plan.batch_shape[i]; --i) index[i] = 0;
  }
}

}  // namespace cpu
}  // namespace strided
