// Losses of classes, of probabilities and of pairs of numbers in one step, where the device has it: an undefined tensor
// is returned for all other calls, those that are wrong among them, and python/strided/nn/functional does these.
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace strided {

// nn.functional.nll_loss and cross_entropy, with their parameters.
Tensor nll_loss(const Tensor& log_p, const Tensor& target, const std::optional<Tensor>& weight,
                std::optional<int64_t> size_average, int64_t ignore_index, std::optional<int64_t> reduce,
                const std::string& reduction);
Tensor cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                     std::optional<int64_t> size_average, int64_t ignore_index, std::optional<int64_t> reduce,
                     const std::string& reduction, double label_smoothing);

// -(y log(x) + (1 - y) log(1 - x)) of each element, logarithms not below -100. The divisor of the gradient, x (1 - x),
// is not below 1e-12. float32 or float64, one dtype and shape.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y);

// nn.functional.mse_loss ("mse"), huber_loss ("huber") and smooth_l1_loss ("smooth_l1"), summed or averaged: the loss
// of PairLossPlan, for smooth_l1 divided by delta. An undefined tensor for other calls.
Tensor pair_loss(const Tensor& x, const Tensor& y, const std::string& name, double delta, const std::string& reduction);

// nn.functional.multi_margin_loss (a label for each row of x, float32 or float64; p is 1 or 2), or with as many numbers
// in `target` as in x multilabel_margin_loss: the loss of each row. An undefined tensor for other calls.
Tensor margin_loss(const Tensor& x, const Tensor& target, int64_t p, double margin,
                   const std::optional<Tensor>& weight);

// The sums of LabelSumsPlan, not recorded; an undefined tensor where they are made of other operations.
Tensor label_sums(const Tensor& scores, const Tensor& skips, const Tensor& lengths, const Tensor& labels,
                  bool backward);

}  // namespace strided
