// Batch normalisation.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace strided {

// Each channel (axis 1) of x with mean 0 and variance 1, times weight, plus bias (each of as many elements as there are
// channels). In training by the statistics of the batch, which running_mean and running_var follow in steps of
// `momentum`; else by these two. 16-bit floats are computed in float32.
Tensor normalise_channels(const Tensor& x, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, bool training, double momentum, double eps);
// The same; in training ValueError for one element a channel, and for eps <= 0.
Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, bool training,
                  double momentum, double eps);

}  // namespace strided
