// The CPU's matrix products: a plan's batch becomes calls of the loops in gemm.inc, which divide work among threads.
#include <memory>
#include <optional>
#include <vector>

#include "base/small_vector.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
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

// Where each index of the folded axes leads, in row-major order.
void write_offsets(const FoldedAxis& axis, int64_t* at) {
  int64_t n = 1;
  at[0] = 0;
  for (int i = 0; i < axis.ndim; ++i) {
    // From the last one on, so that what is read is not yet overwritten.
    const int64_t size = axis.shape[i], step = axis.strides[i];
    for (int64_t j = n; j-- > 0;)
      for (int64_t s = size; s-- > 0;) at[j * size + s] = at[j] + s * step;
    n *= size;
  }
}

// The step from each index to the next, if there is one step.
std::optional<int64_t> single_step(const FoldedAxis& axis) {
  std::optional<int64_t> step;
  int64_t next = 0;
  for (int i = axis.ndim; i-- > 0;) {
    if (axis.shape[i] == 1) continue;
    if (step && axis.strides[i] != next) return std::nullopt;
    if (!step) step = axis.strides[i];
    next = axis.shape[i] * axis.strides[i];
  }
  return step.value_or(1);
}

Matrix moved(Matrix m, int64_t bytes) { return {static_cast<char*>(m.data) + bytes, m.row_stride, m.col_stride}; }

// size_of_c: of an element of C, in bytes.
void multiply(const GemmPlan& plan, int64_t size_of_c, GemmKernel single, BatchedGemmKernel batched) {
  const int ndim = plan.batch_ndim;
  STRIDED_CHECK(single, NotImplementedError, plan.name, ": not implemented for ", plan.dtype, " on device 'cpu'");
  if (ndim == 0) return single(plan.m, plan.n, plan.k, plan.a, plan.b, plan.c, plan.alpha, plan.beta);
  // The last axes that are regular are one call, for each index of the axes before them.
  int64_t step[3];
  int outer = 0;
  while (!regular_batch(plan, outer, step)) ++outer;
  int64_t batch = 1, calls = 1;
  for (int i = 0; i < ndim; ++i) (i < outer ? calls : batch) *= plan.batch_shape[i];
  const int64_t size = size_of(plan.dtype), sizes[3] = {size, size, size_of_c};
  SmallVector<int64_t, 6> index(static_cast<size_t>(outer));
  for (int64_t call = 0; call < calls; ++call) {
    int64_t at[3] = {};
    for (int i = 0; i < outer; ++i)
      for (int operand = 0; operand < 3; ++operand)
        at[operand] += index[i] * plan.batch_strides[operand][i] * sizes[operand];
    batched(batch, step, plan.m, plan.n, plan.k, moved(plan.a, at[0]), moved(plan.b, at[1]), moved(plan.c, at[2]),
            plan.alpha, plan.beta);
    for (int i = outer - 1; i >= 0 && ++index[i] == plan.batch_shape[i]; --i) index[i] = 0;
  }
}

}  // namespace

void gemm(const GemmPlan& plan) {
  const KernelTable& table = kernel_table();
  const int row = index_of(plan.dtype);
  multiply(plan, size_of(plan.dtype), table.gemm[row], table.batched_gemm[row]);
}

void widened_gemm(const GemmPlan& plan) {
  const WidenedGemmKernels& products = kernel_table().widened_gemm[plan.dtype == DType::BFloat16];
  multiply(plan, sizeof(float), products.single, products.batched);
}

bool folded_gemm(const FoldedGemmPlan& plan) {
  const FoldedGemmKernel kernel = kernel_table().folded_gemm[index_of(plan.dtype)];
  if (kernel == nullptr || plan.k == 0) return false;
  int64_t batch = 1;
  for (int i = 0; i < plan.batch_ndim; ++i) batch *= plan.batch_shape[i];
  if (batch == 0 || plan.m == 0 || plan.n == 0) return true;
  const auto row_step = single_step(plan.b_rows), column_step = single_step(plan.b_columns);
  if (row_step && column_step) {  // not folded in fact: a convolution whose kernel has one element, or one output
    GemmPlan plain = plan;
    plain.b = {plan.b.data, *row_step, *column_step};
    gemm(plain);
    return true;
  }
  std::vector<int64_t> rows(static_cast<size_t>(plan.k)), columns(static_cast<size_t>(plan.n));
  write_offsets(plan.b_rows, rows.data());
  write_offsets(plan.b_columns, columns.data());
  std::vector<int64_t> operand(static_cast<size_t>(batch));
  const auto at = std::make_unique<int64_t[][3]>(static_cast<size_t>(batch));
  for (int o = 0; o < 3; ++o) {
    write_offsets({plan.batch_ndim, plan.batch_shape, plan.batch_strides[o]}, operand.data());
    for (size_t i = 0; i < operand.size(); ++i) at[i][o] = operand[i];
  }
  kernel({batch, plan.m, plan.n, plan.k, plan.a, plan.c, plan.b.data, rows.data(), columns.data(), plan.b_reach,
          at.get(), plan.alpha, plan.beta});
  return true;
}

}  // namespace cpu
}  // namespace strided
