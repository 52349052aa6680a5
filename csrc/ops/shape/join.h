// Tensors joined, repeated and rearranged: PyTorch's functions of that name. The results are copies, except where a
// function says otherwise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace strided {

// Along an existing axis. Other sizes must agree; 1-d tensors without elements are skipped; the dtype is the promoted
// one.
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
// Along a new axis; all sizes must agree.
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
Tensor hstack(const std::vector<Tensor>& tensors);
Tensor vstack(const std::vector<Tensor>& tensors);
Tensor dstack(const std::vector<Tensor>& tensors);
Tensor column_stack(const std::vector<Tensor>& tensors);
Tensor block_diag(const std::vector<Tensor>& tensors);
// Views: every tensor expanded along the axes of the others. indexing: "ij" or "xy".
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing);
Tensor cartesian_prod(const std::vector<Tensor>& tensors);
Tensor combinations(const Tensor& x, int64_t r, bool with_replacement);

Tensor repeat(const Tensor& x, const Dims& repeats);
Tensor tile(const Tensor& x, const Dims& dims);
Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size);
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size);
Tensor repeat_interleave(const Tensor& repeats,
                         std::optional<int64_t> output_size);  // 0 repeats[0] times, 1 repeats[1] times, ...

// rearrange.cpp
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims);
Tensor flip(const Tensor& x, const Dims& dims);
Tensor fliplr(const Tensor& x);
Tensor flipud(const Tensor& x);
Tensor rot90(const Tensor& x, int64_t k, const Dims& dims);
Tensor tril(const Tensor& x, int64_t diagonal);
Tensor triu(const Tensor& x, int64_t diagonal);
Tensor tril_(const Tensor& self, int64_t diagonal);
Tensor triu_(const Tensor& self, int64_t diagonal);
Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2);
Tensor diag(const Tensor& x, int64_t diagonal);
Tensor diagflat(const Tensor& x, int64_t offset);
// x with the part that the view of that name shows replaced by src, whose shape must be the view's.
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step);
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2);

}  // namespace strided
