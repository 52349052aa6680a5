// Fourier transforms along one or several axes: the functions of torch.fft. A `scale` is a factor of the result; the
// public functions find it from `norm` and the lengths.
//
// Real numbers go through float32 or float64: integers and bools become the default dtype, 16-bit floats float32.
// RuntimeError for other dtypes, lengths below 1, axes named twice; IndexError for axes out of range.
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace strided {

// Complex numbers, along all of `axes`.
Tensor fft_complex(const Tensor& x, const Dims& axes, double scale, bool inverse);
// Real numbers to complex ones: of the last of `axes` only the elements 0 ... n / 2 are there, the others are
// conjugates.
Tensor fft_real(const Tensor& x, const Dims& axes, double scale, bool inverse);
// The reverse: the last of `axes` has n / 2 + 1 elements and becomes n real ones.
Tensor fft_hermitian(const Tensor& x, const Dims& axes, int64_t n, double scale, bool inverse);

struct FftArguments {
  std::optional<Dims> sizes;  // -1: as long as the axis is
  std::optional<Dims> axes;   // all, or as many of the last as there are sizes
  std::optional<std::string> norm;
};
// torch.fft.fftn and its family. `inverse` is the sign of the exponent, and decides what "backward" divides.
Tensor fftn(const Tensor& x, const FftArguments& arguments, bool inverse);
Tensor rfftn(const Tensor& x, const FftArguments& arguments, bool inverse, const char* op);
Tensor irfftn(const Tensor& x, const FftArguments& arguments, bool inverse, const char* op);

// The zero frequency to the middle of the axes (all if none are given), and back.
Tensor fftshift(const Tensor& x, const std::optional<Dims>& axes);
Tensor ifftshift(const Tensor& x, const std::optional<Dims>& axes);

}  // namespace strided
