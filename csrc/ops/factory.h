// Tensors from sizes and numbers.
#pragma once

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

Tensor zeros(const Dims& shape, DType dtype, Device device = {});
Tensor ones(const Dims& shape, DType dtype, Device device = {});
Tensor full(const Dims& shape, const Scalar& value, DType dtype, Device device = {});
Tensor scalar_tensor(const Scalar& value, DType dtype, Device device = {});
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
// start, start + step, ... ; n = ceil((end - start) / step); computed as start + i * step in double (or int64)
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype, Device device = {});
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, Device device = {});
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, DType dtype, Device device = {});
Tensor eye(int64_t n, int64_t m, DType dtype, Device device = {});
Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, DType dtype, Device device = {});
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, DType dtype, Device device = {});
// As arange, with the end included: n = floor((end - start) / step) + 1.
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype, Device device = {});
// A complex tensor from its parts, float32 or float64 tensors of one dtype, which broadcast.
Tensor complex(const Tensor& real, const Tensor& imag);
Tensor polar(const Tensor& abs, const Tensor& angle);

// int64 (uint64 if need be) when all the numbers are integers, else the default floating or complex dtype.
DType range_dtype(const Scalar& start, const Scalar& end, const Scalar& step);

}  // namespace strided
