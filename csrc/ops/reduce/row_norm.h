// Layer normalisation of rows in one operation, where the device has it.
#pragma once

#include <optional>
#include <tuple>

#include "tensor/tensor.h"

namespace strided {

// Whether the two functions below take tensors like x: contiguous, float32 or float64, of a device that has them.
bool has_row_norm(const Tensor& x);
// (x - mean) / sqrt(var + eps) of rows of n elements, times weight, plus bias; the mean and 1 / sqrt(var + eps) of each
// row. Nothing is recorded. x is not empty; weight and bias are contiguous, of its dtype. share, period: which weight
// an element has, see RowNormPlan.
std::tuple<Tensor, Tensor, Tensor> normalise_rows(const Tensor& x, const std::optional<Tensor>& weight,
                                                  const std::optional<Tensor>& bias, int64_t n, int64_t share,
                                                  int64_t period, double eps);
// The gradients of x, weight and bias; undefined where they are not wanted.
std::tuple<Tensor, Tensor, Tensor> normalise_rows_gradient(const Tensor& grad, const Tensor& x, const Tensor& mean,
                                                           const Tensor& scale, const std::optional<Tensor>& weight,
                                                           int64_t n, int64_t share, int64_t period, bool to_x,
                                                           bool to_weight, bool to_bias);

}  // namespace strided
