// Pooling: maxima and means of windows that move over an image.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "tensor/tensor.h"

namespace strided {

// The maximum of each window of the last axes of x, (batch, channels, sizes...) or (channels, sizes...). There are 1 to
// 3 axes; each list has a number for each of them, or one for all. No stride: the kernel. Padding is by minus infinity;
// with ceil_mode a last window may hang over the end.
template <int axes>
Tensor max_pool(const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride, const Dims& padding,
                const Dims& dilation, bool ceil_mode);
// And its place in the plane: the first of equal ones.
template <int axes>
std::tuple<Tensor, Tensor> max_pool_with_indices(const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride,
                                                 const Dims& padding, const Dims& dilation, bool ceil_mode);
// The same of windows between given edges: (begin, end) for each of `out` windows along an axis, one axis of three
// after the other (those that are absent stand first, with one window), for each plane or `shared` by all. Undefined
// tensors where the device cannot do it, or x is empty. node: what the gradient is called.
std::tuple<Tensor, Tensor> max_pool_between(const char* node, const Tensor& x, const Dims& out,
                                            const std::vector<int64_t>& edges, bool shared);
// The mean of each window. Zeros of the padding count if count_include_pad; sums are divided by divisor_override if
// there is one.
template <int axes>
Tensor avg_pool(const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride, const Dims& padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override);

}  // namespace strided
