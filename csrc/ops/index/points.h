// Images, or volumes, at given points, in one step where the device has it. Nothing is recorded here.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace strided {

// nn.functional.grid_sample. Undefined for all calls that the device's kernels do not serve, wrong ones among them.
Tensor grid_sample(const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                   bool align);
// The gradient of x, or of the grid, where grid_sample serves the call. That of points on the border, of points that
// are reflected there, is zero, as in PyTorch.
Tensor grid_sample_gradient(const Tensor& gradient, const Tensor& x, const Tensor& grid, const std::string& mode,
                            const std::string& padding, bool align, bool of_grid);

}  // namespace strided
