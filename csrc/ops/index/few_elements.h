// x[index] and x[index] = values for a vector and a vector of few indices in host memory, where planning takes longer
// than the work. Unrecorded. All of these return false for what is not such, and for an index out of range, before
// anything is written: the general way (ops/index/index.h) does these, or says what is wrong.
#pragma once

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

bool gather_few(const Tensor& self, const Tensor& index, Tensor* out);
// `values`: of self's dtype, as many as indices or of no dimensions.
bool scatter_few(const Tensor& self, const Tensor& index, const Tensor& values);
bool scatter_few(const Tensor& self, const Tensor& index, const Scalar& value);

}  // namespace strided
