// Attention in one operation, where the device has it.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace strided {

// softmax(scale * query key^T + mask) value for float32 or float64; all but the last two axes broadcast. causal: query
// i sees keys up to i. A query whose mask is -inf throughout gets zeros. Not recorded.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                 bool causal, double scale);

}  // namespace strided
