// Reading and writing elements by index and by mask. PyTorch's functions; every out-of-range index is an IndexError,
// found before anything is written. Where one place is written several times, the last index wins (for sums: they are
// added in the order of the index), whatever the number of threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/call.h"

namespace strided {

// One entry for each axis from the first on; nullopt takes the whole axis. Entries are int64, int32 tensors, or bool
// (uint8) masks, which stand for as many axes as they have.
using Indices = std::vector<std::optional<Tensor>>;

// Advanced indexing: index tensors broadcast together to shape B; the axes they stand for are replaced by B, in their
// place when they are neighbours, else in front. A copy.
Tensor index(const Tensor& self, const Indices& indices);
// The index on self's device: one on the CPU serves a tensor of any device, as a list of numbers would.
Tensor index_for(const Tensor& self, const Tensor& index);
Tensor index_put(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate);
Tensor index_put_(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate);

// Basic indexing: steps applied one after the other, from the first axis on.
struct BasicStep {
  enum Kind : uint8_t { Select, Slice, NewAxis, Skip };
  Kind kind = Slice;
  int64_t start = 0, stop = 0, step = 1;  // Select: the index in start; Skip: the number of axes in start
};
using BasicIndex = std::vector<BasicStep>;
// IndexError for an index out of range or too many of them; never allocates.
Layout apply_basic(const Layout& from, const BasicStep* steps, size_t n);
// A view, recorded as one node.
Tensor basic_index(const Tensor& self, const BasicIndex& steps);
// self[steps] = value, which broadcasts (leading axes of size 1 beyond the view's are dropped) and is cast.
Tensor basic_put_(const Tensor& self, const BasicIndex& steps, const Tensor& value);

// Along one axis, with a vector (or 0-d) index.
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
// nn.functional.embedding with its parameters, its usual calls; an undefined tensor for all others.
Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx,
                 std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq, bool sparse);
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha);
Tensor index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha);
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, Operand value);
Tensor index_fill_(const Tensor& self, int64_t dim, const Tensor& index, Operand value);
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self);
Tensor index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                     const std::string& reduce, bool include_self);

// Along one axis, with an index of as many axes as self: out[i][j][k] = self[i][index[i][j][k]][k] for dim 1.
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad);
// The inverse; `reduce` is absent (the last one stays), "add" or "multiply".
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, Operand src,
               const std::optional<std::string>& reduce);
Tensor scatter_(const Tensor& self, int64_t dim, const Tensor& index, Operand src,
                const std::optional<std::string>& reduce);
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
// "sum", "prod", "mean", "amax", "amin"
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self);
Tensor scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                       const std::string& reduce, bool include_self);
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim);

// self as if it were flat.
Tensor take(const Tensor& self, const Tensor& index);
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate);
Tensor put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate);

// By mask.
Tensor where(const Tensor& condition, Operand input, Operand other);
std::vector<Tensor> where(const Tensor& condition);       // nonzero_tuple
Tensor masked(const Tensor& x, const Tensor& condition);  // where(condition, x, 0)
Tensor masked_fill(const Tensor& self, const Tensor& mask, Operand value);
Tensor masked_fill_(const Tensor& self, const Tensor& mask, Operand value);
Tensor masked_select(const Tensor& self, const Tensor& mask);
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
Tensor masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source);

// Coordinates of the elements that are not zero, in row-major order: shape (count, ndim), int64.
Tensor nonzero(const Tensor& self);
std::vector<Tensor> nonzero_tuple(const Tensor& self);  // one vector for each axis; a 0-d tensor counts as 1-d
std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape);
Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap);

}  // namespace strided
