// Gradients that are constant in pieces: those of relu, of maxima over windows.
#pragma once

#include "tensor/tensor.h"

namespace strided {

// `grad`, the gradient that the running formula gives for an operand, where a graph is recorded: as a function of that
// operand too, whose derivative is zero. A second derivative is then zero, as in PyTorch, and not an error about a
// tensor that was not used.
Tensor steady(const Tensor& grad, size_t operand = 0);
// x, for a function made of others whose gradient is of that kind.
Tensor with_steady_gradient(const Tensor& x);

}  // namespace strided
