// Attention in one operation, where the device has it.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace strided {

// softmax(scale * query key^T + mask) value for floats; all but the last two axes broadcast. The mask of 16-bit floats
// is float32. causal: query i sees keys up to i. A query whose mask is -inf throughout gets zeros. Not recorded.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                 bool causal, double scale);

}  // namespace strided
