// Sorting, selecting and searching. PyTorch's functions of that name.
// NaN is the greatest value, both zeros are equal, and every sort is stable, whatever `stable` says. Positions are
// int64. Real dtypes; axes out of range are an IndexError. Results do not depend on the number of threads.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ops/call.h"

namespace strided {

using ValuesAndIndices = std::tuple<Tensor, Tensor>;

ValuesAndIndices sort(const Tensor& x, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
Tensor msort(const Tensor& x);  // along the first axis
// The k largest (smallest) elements along dim, in descending (ascending) order.
ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true);

// One element of each row, and its position, the first one among equals. k counts from 1.
ValuesAndIndices kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);
// The lower of the two middle values; NaN if there is one (nanmedian leaves NaN out).
ValuesAndIndices median(const Tensor& x, int64_t dim, bool keepdim = false);
ValuesAndIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor median(const Tensor& x);
Tensor nanmedian(const Tensor& x);
// The most frequent value, the smallest one among equally frequent, at its last position.
ValuesAndIndices mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);

// q in [0, 1], a number or a tensor of at most one axis, which comes first in the result. interpolation: linear, lower,
// higher, nearest, midpoint. float32 and float64.
Tensor quantile(const Tensor& x, Operand q, std::optional<int64_t> dim = {}, bool keepdim = false,
                const std::string& interpolation = "linear");
Tensor nanquantile(const Tensor& x, Operand q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   const std::string& interpolation = "linear");

// unique.cpp
// Distinct elements (or slices along dim) in ascending order; for every element the position of its like in them, in
// x's shape (in one axis with dim); how often each occurs. The last two are undefined tensors when not asked for. NaN
// equals nothing.
struct Distinct {
  Tensor values, inverse, counts;
};
Distinct unique(const Tensor& x, bool return_inverse, bool return_counts, std::optional<int64_t> dim = {});
Distinct unique_consecutive(const Tensor& x, bool return_inverse, bool return_counts, std::optional<int64_t> dim = {});

// Where values would be inserted into sorted rows: one row for all values, or a row for each row of values.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32 = false, bool right = false,
                    const std::optional<std::string>& side = {}, const std::optional<Tensor>& sorter = {});
Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32 = false, bool right = false);
Tensor isin(Operand elements, Operand test_elements, bool invert = false);

// Counts of values in bins. histc: `bins` equal ones from min to max (both 0: from the smallest to the largest
// element); the result has x's dtype. histogram: also by given edges, weighted, as density. Elements outside are left
// out.
Tensor histc(const Tensor& x, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);
std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins,
                                     const std::optional<std::vector<double>>& range = {},
                                     const std::optional<Tensor>& weight = {}, bool density = false);
std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges, const std::optional<Tensor>& weight = {},
                                     bool density = false);
// out[v] = number (or sum of weights) of the elements equal to v. 1-d, non-negative integers.
Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights = {}, int64_t minlength = 0);

}  // namespace strided
