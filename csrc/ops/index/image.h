// Images at other sizes, with borders, and of blocks, in one step where the device has it: an undefined tensor is
// returned for all other calls, those that are wrong among them, and the functions of python/strided/nn/functional do
// these. Images are (batch, channels, sizes...).
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// The factor by which an axis is resized in a mode of nn.functional.interpolate, 0 where the sizes say it. As in
// PyTorch, most modes leave an axis that keeps its length as it is: 5 elements times 1.13 are 5.
double resizing_factor(const std::string& mode, double factor, bool antialias_or_bytes, int64_t from, int64_t to);
// nn.functional.interpolate. factors: of the axes, 0 where the sizes say it.
Tensor resize(const Tensor& x, const Dims& sizes, const std::vector<double>& factors, const std::string& mode,
              bool align, bool antialias);
// nn.functional.pad: (before, after) of the last axis, then of the one before it, ...
Tensor pad(const Tensor& x, const Dims& sides, const std::string& mode, const std::optional<Scalar>& value);
// nn.functional.adaptive_avg_pool1d to adaptive_avg_pool3d, and adaptive_max_pool1d to adaptive_max_pool3d, without
// positions where these are not asked for; sizes: as many as there are axes.
template <int axes>
Tensor adaptive_avg_pool(const Tensor& x, const Dims& sizes);
template <int axes>
std::tuple<Tensor, Tensor> adaptive_max_pool(const Tensor& x, const Dims& sizes, bool with_places);
// nn.functional.fractional_max_pool2d and fractional_max_pool3d, with positions: `out` windows along each axis. x has a
// batch; samples: (batch, channels, axes), between 0 and 1.
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& x, const Tensor& samples, const Dims& out,
                                               const Dims& kernel);
// nn.functional.pixel_shuffle, pixel_unshuffle and channel_shuffle.
Tensor pixel_shuffle(const Tensor& x, int64_t factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t factor);
Tensor channel_shuffle(const Tensor& x, int64_t groups);
// nn.functional.unfold and fold; lists are of two numbers.
Tensor unfold_blocks(const Tensor& x, const Dims& kernel, const Dims& dilation, const Dims& padding,
                     const Dims& stride);
Tensor fold(const Tensor& x, const Dims& size, const Dims& kernel, const Dims& dilation, const Dims& padding,
            const Dims& stride);

// What is asked before one step is made of a call.
namespace image {

// Longer axes, steps and borders are left to the general functions: places are listed here before there is a result
// whose size could be refused, and products of two such numbers cannot overflow.
bool is_short(const Dims& numbers);
// Images whose results lie in memory as they are counted.
bool is_plain(const Tensor& x);
bool has_loops(DType dtype);

}  // namespace image

}  // namespace strided
