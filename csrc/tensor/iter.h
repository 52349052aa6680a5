// Iteration over strided operands, planned once: broadcast, axes ordered by stride, axes merged where memory allows.
// The result is a LoopPlan, which a backend runs.
// The idea is NumPy's NpyIter and PyTorch's TensorIterator.
#pragma once

#include "backend/loop_plan.h"
#include "tensor/tensor.h"

namespace strided {

class TensorIterator {
 public:
  static constexpr int kMaxOperands = 8;

  explicit TensorIterator(const Dims& shape) : shape_(shape) {}

  // Operands are added outputs first. Their layouts must broadcast to the shape; `data` is the first element.
  void add(char* data, const Layout& layout, int64_t itemsize);
  void add(char* data, const Layout& layout, DType dtype) {
    add(data, layout, size_of(dtype));
    op_[n_ - 1].dtype = dtype;
    op_[n_ - 1].typed = true;
  }
  void add(const Tensor& t) {
    add(t.data(), t.layout(), t.dtype());
    op_[n_ - 1].on_host = t.device().is_cpu();
  }
  void add_scalar(const void* value, DType dtype);  // one value in host memory, stride 0
  // Order in which a fresh output should lay out its axes so that memory is walked in order: strides in elements for
  // `shape`, following the inputs given so far. Contiguous when they are.
  Dims output_strides() const;

  void plan();  // after all operands are there
  // What a backend is given. All operands must be tensors or numbers, whose dtypes are known. Points into this object.
  // Numbers are immediate operands; so are 0-d tensors of the CPU among those of another device.
  LoopPlan loop_plan(const char* name, Device device) const;

 private:
  struct Operand {
    char* data = nullptr;
    Dims strides;  // bytes, for shape_'s axes; after plan(): for the merged axes, innermost first
    int64_t itemsize = 0;
    DType dtype = DType::Float32;  // as stored; known for tensors and numbers
    bool number = false, on_host = false, typed = false;
  };
  void operand_strides(const int64_t** strides) const;

  Dims shape_;
  int n_ = 0;
  Operand op_[kMaxOperands];
};

}  // namespace strided
