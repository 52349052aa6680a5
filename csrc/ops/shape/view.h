// Other views of a tensor's memory: PyTorch's functions of that name, with its strides. Every one is recorded for
// autograd. A function returns a view where PyTorch's does; only reshape, flatten, ravel, unflatten and reshape_as copy
// when the strides leave no choice, and narrow_copy always. Axes out of range are an IndexError, shapes that do not fit
// a RuntimeError.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tensor/tensor.h"

namespace strided {

// Zeros of `shape` with g written where `look` looks: the gradient of a view that leaves elements out. `look` is
// written in recorded ops, and is itself the gradient of this function.
using ViewFn = std::function<Tensor(const Tensor&)>;
Tensor scatter_to_zeros(const Tensor& g, const Dims& shape, const ViewFn& look, const char* node = "EmbedBackward0");

Tensor view(const Tensor& x, const Dims& shape);  // one size may be -1
Tensor view_dtype(const Tensor& x, DType dtype);  // the same bytes as another dtype; no gradient
Tensor view_as(const Tensor& x, const Tensor& other);
Tensor reshape(const Tensor& x, const Dims& shape);
Tensor reshape_as(const Tensor& x, const Tensor& other);
Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim);
Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes);
Tensor ravel(const Tensor& x);

Tensor t(const Tensor& x);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor permute(const Tensor& x, const Dims& dims);
Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
// Properties: x.T, x.mT, x.H, x.mH. The last two and adjoint conjugate complex tensors, which copies.
Tensor numpy_T(const Tensor& x);
Tensor mT(const Tensor& x);
Tensor matrix_H(const Tensor& x);
Tensor mH(const Tensor& x);
Tensor adjoint(const Tensor& x);

Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, const Dims& dims);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor expand(const Tensor& x, const Dims& size);
Tensor expand_as(const Tensor& x, const Tensor& other);
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);

Tensor select(const Tensor& x, int64_t dim, int64_t index);
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop,
             int64_t step);  // Python's rules; step may be negative
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2);
Tensor unfold(const Tensor& x, int64_t dimension, int64_t size, int64_t step);
// Any layout inside the storage. Unlike PyTorch's it may have negative strides.
Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset);

Tensor view_as_real(const Tensor& x);     // complex -> a last axis of real and imaginary part
Tensor view_as_complex(const Tensor& x);  // the inverse, float32 and float64
Tensor real(const Tensor& x);             // x itself when it is real
Tensor imag(const Tensor& x);

// The tensor itself gets another layout.
Tensor t_(const Tensor& self);
Tensor transpose_(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor squeeze_(const Tensor& self);
Tensor squeeze_(const Tensor& self, const Dims& dims);
Tensor unsqueeze_(const Tensor& self, int64_t dim);
Tensor as_strided_(const Tensor& self, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset);
// Contiguous, keeping the storage and the offset; the storage grows (new elements are uninitialised) when it is too
// small. RuntimeError for borrowed memory and for tensors that require a gradient.
Tensor resize_(const Tensor& self, const Dims& size);

// split.cpp: views side by side along an axis.
std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim);
std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& split_sizes, int64_t dim);
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim);
// Parts that may be written to where a gradient is recorded, which those above may not: copies there.
std::vector<Tensor> unsafe_split(const Tensor& x, int64_t split_size, int64_t dim);
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, const Dims& split_sizes, int64_t dim);
std::vector<Tensor> unsafe_chunk(const Tensor& x, int64_t chunks, int64_t dim);
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim);
std::vector<Tensor> tensor_split(const Tensor& x, const Dims& indices, int64_t dim);
std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& indices_or_sections, int64_t dim);
std::vector<Tensor> hsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& x, const Dims& indices);
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& x, const Dims& indices);
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& x, const Dims& indices);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim);

}  // namespace strided
