// Activations of neural networks that check their arguments, or are one elementwise op with other parameters.
#pragma once

#include "tensor/tensor.h"

namespace strided {

Tensor celu(const Tensor& x, double alpha);
Tensor celu_(const Tensor& self, double alpha);
Tensor selu(const Tensor& x);
Tensor selu_(const Tensor& self);
// approximate: "none" or "tanh"
Tensor gelu(const Tensor& x, const std::string& approximate);
Tensor softshrink(const Tensor& x, double lambd);
Tensor relu6(const Tensor& x);
Tensor relu6_(const Tensor& self);
// weight: one number, or one for each channel (axis 1; the only axis of one dimension counts as a single channel)
Tensor prelu(const Tensor& x, const Tensor& weight);
Tensor softsign(const Tensor& x);

}  // namespace strided
