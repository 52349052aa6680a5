// Convolutions, by products of a weight with the columns of what its kernel sees.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace strided {

// Cross-correlation of x (batch, channels, sizes...), or one sample without the first axis, with weight (out,
// channels / groups, kernel...), plus bias (out). There are 1 to 3 axes of sizes; stride, padding (zeros on both sides)
// and dilation have a number for each of them, or one for all.
template <int axes>
Tensor convolution(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
                   const Dims& padding, const Dims& dilation, int64_t groups);
// The transpose of it: x has the shape of its result, weight (channels of x, out / groups, kernel...); output_padding
// is added to one side of the result.
template <int axes>
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                              const Dims& stride, const Dims& padding, const Dims& output_padding, int64_t groups,
                              const Dims& dilation);

}  // namespace strided
