// Layer normalisation of rows in one operation, where the device has it.
#pragma once

#include <optional>
#include <tuple>

#include "tensor/tensor.h"

namespace strided {

// RuntimeError for a weight, bias or running statistic of another dtype than x has; where x has 16 bits it may be
// float32.
void check_parameter_dtype(const Tensor& x, const std::optional<Tensor>& parameter);

// (x - mean) / sqrt(var + eps) of rows of n elements, times weight, plus bias; the mean and 1 / sqrt(var + eps) of each
// row, without gradients. `share` elements of a row have one weight and one bias, which begin anew every `period` rows
// (1 and 1: one for each element of a row, the same for all rows). 16-bit floats are computed, and have statistics, in
// float32.
std::tuple<Tensor, Tensor, Tensor> normalise_rows(const Tensor& x, const std::optional<Tensor>& weight,
                                                  const std::optional<Tensor>& bias, int64_t n, int64_t share,
                                                  int64_t period, double eps);
// The same of the last axes of x, which have this shape, as weight and bias have; the statistics have axes of size 1.
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, const Dims& normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, double eps);
Tensor layer_norm(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps);

}  // namespace strided
