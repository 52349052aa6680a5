// Products with the entries of a sparse matrix, which stand in `row` and `column` (int64 vectors of one length, in any
// order): entry e is value[e], or 1. Entries with a negative row count for nothing. Recorded.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace strided {

// The sparse matrix of `rows` rows times dense: out[row[e]] += value[e] * dense[column[e]].
Tensor sparse_product(int64_t rows, const Tensor& row, const Tensor& column, const std::optional<Tensor>& value,
                      const Tensor& dense);
// The elements of a b^T at the entries: out[e] = the sum of a[row[e]] * b[column[e]].
Tensor sampled_product(const Tensor& row, const Tensor& column, const Tensor& a, const Tensor& b);

}  // namespace strided
