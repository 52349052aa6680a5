// Windows that move over the last axes of an image: sizes, padding and views. Convolution and pooling stand on it.
#pragma once

#include <string>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

int64_t product_of(const Dims& d);  // the largest int64 if it does not fit
// Two shapes, one behind the other.
Dims joined(Dims a, const Dims& b);
Dims range_of(int64_t begin, int64_t end);
// 3 x 4
std::string by_x(const Dims& d);
int64_t least_of(const Dims& d);

// A number for each axis. Images are (batch, channels, sizes...).
struct Windows {
  Dims kernel, stride, padding, dilation;
  Dims size;  // of the image
  Dims out;   // the number of windows

  size_t axes() const { return kernel.size(); }
  // Elements from the first of a window to its last.
  int64_t span(size_t i) const;
  Dims spans() const;
  // Sizes with padding on both sides.
  Dims padded() const;
  // All windows that fit.
  void set_out();
  // The sizes of an image that has `out` windows, and `more` elements besides.
  void set_size(const Dims& more);
  // The step in memory from a window to the next, where elements are that far apart. A single window may have any
  // stride.
  int64_t step(size_t i, int64_t between_elements) const { return out[i] > 1 ? between_elements * stride[i] : 1; }
  bool is_padded() const;
  bool has_steps_of_one() const;
};

Dims sizes_of(const Tensor& x);  // all axes but the first two
// The next element of the kernel in row-major order; false behind the last.
bool next(Dims* at, const Dims& kernel);

// Whether the axes lie in memory as (batch, sizes..., channels), and not as they are counted.
bool lies_channels_last(const Tensor& x);
// Whether channels are the last axis in memory: of images (batch, channels, height, width), and of volumes. Their
// slices count too: each stride, from channels to batch, is at least what the axes before it span.
bool has_channels_last(const Tensor& x);
// The same numbers, with the axes in memory as (batch, sizes..., channels).
Tensor with_channels_last(const Tensor& x);

// The image in memory, between `fill` where it is padded: on both sides, and behind it as far as its windows reach.
Tensor padded_image(const Tensor& x, const Windows& w, const Scalar& fill);
// The part of a padded image that is the image; its sizes begin at axis `first`.
Tensor inside_of(Tensor x, const Windows& w, int first = 2);
// The part of a padded image that one element of the kernel meets.
Tensor tap_of(const Tensor& x, const Windows& w, const Dims& at, int first = 2);

}  // namespace strided
