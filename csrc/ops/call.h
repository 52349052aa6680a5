// How an op of a regular family is called: operands checked, result dtype found, plan made, kernel run, graph recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/elementwise.h"
#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// A tensor or a Python number.
struct Operand {
  const Tensor* tensor = nullptr;
  Scalar scalar;

  Operand(const Tensor& t) : tensor(&t) {}
  Operand(const Scalar& s) : scalar(s) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T v) : scalar(v) {}
};

// A row of the table made by folding ElementwiseOps.
struct OpDef {
  const Info* info;
  int id;
  int arity;
  // dtype of the result for each compute dtype; meaningless where !supported
  DType out_dtype[kNumDTypes];
  bool supported[kNumDTypes];
  // Gradient for operand i, in the public ops; null when there is none.
  Tensor (*vjp)(int i, const Tensor& grad, const Saved<Tensor>& saved);
  uint8_t reads[4];    // bit k of reads[i]: that gradient reads operand k (if the op saves operands at all)
  OutOfRange numbers;  // what a number becomes that the compute dtype cannot hold
  std::vector<std::string> node_names;  // "MulBackward0"; one for each of info->overloads
  std::string inplace_name;             // "mul_"
};

const OpDef& op_def(int elementwise_id);
constexpr int num_elementwise_ops() { return kNumElementwise; }

// The op on `arity` operands, and on params[4] where it has any. Errors with PyTorch's words for shapes, devices and
// dtypes.
Tensor call_elementwise(const OpDef& op, const Operand* in, const double* params = nullptr);
// The same into `out`, whose dtype the result must be castable to. out is resized when it has no elements and is no
// view; with in_place its shape is fixed, and it must not be smaller than the broadcast shape.
Tensor call_elementwise_out(const OpDef& op, const Operand* in, const double* params, const Tensor& out, bool in_place);

// Op by its struct: elementwise<Add>(a, 2.0).
template <class Op, class... Args>
Tensor elementwise(const Args&... args) {
  static_assert(Op::info.params[0] == 0, "an op with params is called through call_elementwise");
  const Operand in[] = {Operand(args)...};
  return call_elementwise(op_def(elementwise_id<Op>), in);
}
template <class Op, class... Args>
Tensor elementwise_(const Tensor& self, const Args&... args) {
  static_assert(Op::info.params[0] == 0, "an op with params is called through call_elementwise_out");
  const Operand in[] = {Operand(self), Operand(args)...};
  return call_elementwise_out(op_def(elementwise_id<Op>), in, nullptr, self, true);
}

// NotImplementedError for a dtype that is only stored (elementwise ops and reductions cast it; other functions do not).
void check_has_loops(const char* op, DType dtype);
void check_same_device(const char* op, const Tensor& a, const Tensor& b);

}  // namespace strided
