#include "tensor/iter.h"

#include <algorithm>

namespace strided {
void TensorIterator::add(char* data, const Layout& layout, int64_t itemsize) {
  Operand& op = op_[n_++];
  op.data = data;
  op.itemsize = itemsize;
  op.strides = broadcast_strides(layout, shape_);
  for (int64_t& s : op.strides) s *= itemsize;
}

void TensorIterator::add_scalar(const void* value, DType dtype) {
  Operand& op = op_[n_++];
  op.data = static_cast<char*>(const_cast<void*>(value));
  op.itemsize = size_of(dtype);
  op.dtype = dtype;
  op.typed = true;
  op.number = true;
  op.strides = Dims(shape_.size(), 0);
}

void TensorIterator::operand_strides(const int64_t** strides) const {
  for (int k = 0; k < n_; ++k) strides[k] = op_[k].strides.data();
}

Dims TensorIterator::output_strides() const {
  int axes[kMaxDims];
  const int64_t* operands[kMaxOperands];
  operand_strides(operands);
  order_axes(shape_.ndim(), shape_.data(), n_, operands, axes);
  Dims strides(shape_.size());
  int64_t step = 1;
  for (int i = 0; i < shape_.ndim(); ++i) {
    strides[axes[i]] = step;
    step *= std::max<int64_t>(shape_[axes[i]], 1);
  }
  return strides;
}

void TensorIterator::plan() {
  int axes[kMaxDims];
  int64_t merged[kMaxDims];
  const int64_t* operands[kMaxOperands];
  operand_strides(operands);
  const int m = merge_axes(shape_.ndim(), shape_.data(), n_, operands, merged, axes);
  for (int k = 0; k < n_; ++k) {
    Dims strides;
    for (int i = 0; i < m; ++i) strides.push_back(op_[k].strides[axes[i]]);
    while (strides.size() < 2) strides.push_back(strides.empty() ? op_[k].itemsize : 0);
    op_[k].strides = std::move(strides);
  }
  shape_ = Dims(merged, static_cast<size_t>(m));
  while (shape_.size() < 2) shape_.push_back(1);
}

LoopPlan TensorIterator::loop_plan(const char* name, Device device) const {
  LoopPlan plan;
  plan.name = name;
  plan.device = device.index;
  plan.ndim = shape_.ndim();
  while (plan.ndim > 0 && shape_[plan.ndim - 1] == 1) --plan.ndim;
  plan.shape = shape_.data();
  plan.n_operands = n_;
  for (int k = 0; k < n_; ++k)
    STRIDED_CHECK(op_[k].typed, RuntimeError, name, ": the dtype of operand ", k, " is not known");
  for (int k = 0; k < n_; ++k)
    plan.operand[k] = {op_[k].data, op_[k].strides.data(), op_[k].dtype,
                       op_[k].number || (op_[k].on_host && !device.is_cpu())};
  return plan;
}

}  // namespace strided
