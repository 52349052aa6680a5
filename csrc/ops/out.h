// out=: tensors that a caller gives for the results of a function.
// Note [out= is a destination]
// The binding opens an OutScope around a call with out= for its one result. The function takes the memory of its result
// from empty_result, which is that of `out` if dtype, device and shape are those of the result, and nothing the
// function reads lies in it; else new memory. write_out is the last step of every call with out=: it copies what is not
// there yet. An empty `out` is not copied to, but takes over the memory of the result.
// Functions that use others for a part of their work need not know: memory is given once, and who gets it for something
// else than the final result only loses the advantage.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace strided {

class OutScope {
 public:
  // `inputs`: what the function reads. `out` must be one that check_destinations passed.
  OutScope(const Tensor& out, const std::vector<Tensor>& inputs);
  ~OutScope();
  OutScope(const OutScope&) = delete;

 private:
  friend Tensor empty_result(const Dims& shape, DType dtype, Device device);
  const Tensor* out_;  // null: cannot be written to directly, or was given away
  OutScope* outer_;
};

// Uninitialised contiguous memory for the result of the running function.
Tensor empty_result(const Dims& shape, DType dtype, Device device = {});

// Before anything is computed: each may be written, wants no gradient, and shares no memory with another.
void check_destinations(const char* op, const std::vector<Tensor>& outs);
// Raises unless a result of this dtype, shape and device can go to `out`; changes nothing.
void check_out(const char* op, const Tensor& out, const Dims& shape, DType result, Device device);
// What is warned of before `out`, which has elements, is resized to a shape. Null: PyTorch resizes without a warning.
using ResizeText = std::string (*)(const Tensor& out, const Dims& shape);
std::string resize_text(const Tensor& out, const Dims& shape);  // of most functions

// As check_out, and then resizes `out` where nobody else looks at its memory.
void prepare_out(const char* op, const Tensor& out, const Dims& shape, DType result, Device device,
                 ResizeText text = resize_text);
// Results that are in their place, or are brought there, after all checks of all of them.
void write_out(const char* op, const std::vector<Tensor>& outs, const std::vector<Tensor>& results,
               ResizeText text = resize_text);
void write_out(const char* op, const Tensor& out, const Tensor& result, ResizeText text = resize_text);

// PyTorch's RuntimeError for an argument that requires grad beside out=.
[[noreturn]] void refuse_gradient(const char* op);

}  // namespace strided
