// Scans: running reductions along an axis, and the normalisations made of them. PyTorch's functions of that name.
// Axes out of range are an IndexError. Rows are computed independently, so results do not depend on the number of
// threads.
#pragma once

#include <optional>
#include <tuple>

#include "tensor/tensor.h"

namespace strided {

// dtype: the input is cast to it first; bool and integers give int64 (uint64 gives uint64).
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor cumsum_(const Tensor& self, int64_t dim, std::optional<DType> dtype = {});
Tensor cumprod_(const Tensor& self, int64_t dim, std::optional<DType> dtype = {});
Tensor logcumsumexp(const Tensor& x, int64_t dim);  // floating or complex
// Running extreme and its position (int64), the last one among equals; NaN wins. Real dtypes.
std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);
// The n-th forward difference along dim, of the input with `prepend` before and `append` after it. bool: exclusive or.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const std::optional<Tensor>& prepend = {},
            const std::optional<Tensor>& append = {});

// exp(x - logsumexp(x)) and x - logsumexp(x) along dim, in one pass over each row. Floating; dtype: the input is cast
// first.
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

}  // namespace strided
