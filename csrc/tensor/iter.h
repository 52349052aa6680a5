// Iteration over strided operands, planned once: broadcast, axes ordered by stride, axes merged where memory allows,
// split into ranges for threads. What is left for a kernel is a 2-d inner loop.
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
  // Operand k is held in another dtype than the loop's: it passes through a buffer of loop items, by `cast`
  // (operand -> buffer for an input, buffer -> operand for an output).
  void cast(int k, Loop2d cast, int64_t loop_itemsize);

  // Order in which a fresh output should lay out its axes so that memory is walked in order: strides in elements for
  // `shape`, following the inputs given so far. Contiguous when they are.
  Dims output_strides() const;
  void insert_output(int k, char* data, const Layout& layout, int64_t itemsize);

  void plan();  // after all operands are there
  int64_t numel() const { return numel_; }

  // Runs the loop over everything, on several threads when there are more than `grain` elements.
  // n_outputs tells which operands are written.
  void run(Loop2d loop, const void* params, int n_outputs, int64_t grain = 32768) const;
  // What a backend is given. All operands must be tensors or numbers, whose dtypes are known. Points into this object.
  // Numbers are immediate operands; so are 0-d tensors of the CPU among those of another device.
  LoopPlan loop_plan(const char* name, Device device) const;

 private:
  struct Operand {
    char* data = nullptr;
    Dims strides;  // bytes, for shape_'s axes; after plan(): for the merged axes, innermost first
    int64_t itemsize = 0;
    Loop2d cast = nullptr;
    int64_t loop_itemsize = 0;
    DType dtype = DType::Float32;  // as stored; known for tensors and numbers
    bool number = false, on_host = false, typed = false;
  };
  void operand_strides(const int64_t** strides) const;
  void run_range(Loop2d loop, const void* params, int n_outputs, int64_t begin, int64_t end) const;
  void run_tile(Loop2d loop, const void* params, int n_outputs, char** data, const int64_t* strides, int64_t n0,
                int64_t n1, char* buffers) const;

  Dims shape_;
  int64_t numel_ = 1;
  int n_ = 0;
  bool casts_ = false;
  Operand op_[kMaxOperands];
};

}  // namespace strided
