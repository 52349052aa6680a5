#include "tensor/tensor.h"

namespace strided {

Tensor empty(const Dims& shape, DType dtype, Device device) {
  const int64_t n = checked_numel("empty", shape);
  return Tensor(make_ref<TensorImpl>(
      make_ref<Storage>(static_cast<size_t>(n * size_of(dtype)), device), [&] { return Layout(shape); }, dtype));
}

Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, Device device) {
  STRIDED_CHECK(shape.size() == strides.size(), RuntimeError, "mismatch in length of strides and shape: ", strides,
                " and ", shape);
  checked_numel("empty_strided", shape);
  int64_t last = 1;
  for (int i = 0; i < shape.ndim(); ++i) {
    STRIDED_CHECK(strides[i] >= 0, RuntimeError, "empty_strided: strides must not be negative, got ", strides);
    int64_t reach;
    if (shape[i] == 0) {
      last = 0;
      break;
    }
    STRIDED_CHECK(multiply(shape[i] - 1, strides[i], &reach) && !__builtin_add_overflow(last, reach, &last) &&
                      last < (int64_t(1) << 59),
                  RuntimeError, "empty_strided: size ", shape, " with strides ", strides,
                  " needs more memory than there can be");
  }
  return Tensor(make_ref<TensorImpl>(make_ref<Storage>(static_cast<size_t>(last * size_of(dtype)), device),
                                     Layout(shape, strides, 0), dtype));
}

void Tensor::check_memory() const {
  STRIDED_CHECK(numel() == 0 || device().is_meta() || storage().nbytes() > 0, RuntimeError, "the tensor of shape ",
                shape(), " has elements, but its storage was resized to 0 bytes");
}

void check_writable(const char* op, const Tensor& t, bool one_value) {
  STRIDED_CHECK(!t.storage().read_only(), RuntimeError, op, ": the tensor to write to is read-only");
  STRIDED_CHECK(
      !t.impl()->of_inference() || inference_mode(), RuntimeError,
      "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
      "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
  STRIDED_CHECK(
      one_value || !t.layout().has_zero_stride(), RuntimeError,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
      "clone() the tensor before performing the operation. (",
      op, ")");
}

}  // namespace strided
