// Running pointwise kernels, and copies, over planned iterations.
#pragma once

#include "backend/backend.h"
#include "cuda/pointwise/pointwise.h"

namespace strided {
namespace cuda {

// Any number of elements. Operands in other dtypes than the kernel's are cast.
void run_pointwise(const PointwiseKernel& kernel, const LoopPlan& plan, const double* params);

// By the vector kernel alone; false, and nothing is done, when it is not for this plan.
bool run_vectors(const PointwiseKernel& kernel, const LoopPlan& plan, const double* params);

// operand 0 = operand 1, of any two dtypes; an immediate operand 1 fills.
void run_copy(const LoopPlan& plan);

// A value of one dtype as another, on the host.
void convert_value(DType to_dtype, void* to, DType from_dtype, const void* from);

// core/iter plans for two axes at least; outer axes of one element would only stand in the way of the vector kernels.
LoopPlan without_ones(const LoopPlan& plan);

// What one launch cannot take (see kMaxItems, kMaxAxes; strides fit 32 bits) is cut along an axis.
struct Cut {
  int axis = -1;     // -1: it can
  int64_t step = 0;  // elements of that axis for each part
};
Cut needs_cut(const LoopPlan& plan);
// Calls f(part) for each part. Where a part is one element thick, the axis is gone.
template <class F>
void for_parts(const LoopPlan& plan, Cut cut, F&& f) {
  constexpr int kAxes = 64;
  int64_t shape[kAxes], strides[LoopPlan::kMaxOperands][kAxes];
  const bool drop = cut.step == 1;
  LoopPlan part = plan;
  part.ndim = 0;
  part.shape = shape;
  for (int i = 0; i < plan.ndim; ++i) {
    if (drop && i == cut.axis) continue;
    for (int k = 0; k < plan.n_operands; ++k)
      if (!plan.operand[k].immediate) strides[k][part.ndim] = plan.operand[k].strides[i];
    shape[part.ndim++] = plan.shape[i];
  }
  for (int k = 0; k < plan.n_operands; ++k)
    if (!plan.operand[k].immediate) part.operand[k].strides = strides[k];
  for (int64_t begin = 0; begin < plan.shape[cut.axis]; begin += cut.step) {
    const int64_t left = plan.shape[cut.axis] - begin;
    if (!drop) shape[cut.axis] = left < cut.step ? left : cut.step;
    for (int k = 0; k < plan.n_operands; ++k)
      if (!plan.operand[k].immediate)
        part.operand[k].data = plan.operand[k].data + begin * plan.operand[k].strides[cut.axis];
    f(static_cast<const LoopPlan&>(part));
  }
}

}  // namespace cuda
}  // namespace strided
