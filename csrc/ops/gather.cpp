// Indexing one axis by a tensor of the same rank: gather, scatter and their kin; take and put on the flat tensor.
#include <algorithm>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index.h"
#include "ops/index_move.h"
#include "ops/record.h"
#include "ops/view.h"

namespace strided {
namespace {

int64_t size_at(const Tensor& t, int axis) { return t.ndim() == 0 ? 1 : t.size(axis); }

// What scatter and its kin ask of their operands; an empty index passes, as in PyTorch.
int check_scatter(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  const int axis = wrap_axis(op, dim, self.ndim());
  STRIDED_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, RuntimeError, op, "(): Expected dtype int32/int64 for index");
  check_same_device(op, self, index);
  if (src) {
    STRIDED_CHECK(self.dtype() == src->dtype(), RuntimeError, op, "(): Expected self.dtype to be equal to src.dtype");
    check_same_device(op, self, *src);
  }
  if (index.numel() == 0) return axis;
  const int n = std::max(index.ndim(), 1);
  STRIDED_CHECK(n == std::max(self.ndim(), 1), RuntimeError, "Index tensor must have the same number of dimensions as self tensor");
  STRIDED_CHECK(!src || n == std::max(src->ndim(), 1), RuntimeError, "Index tensor must have the same number of dimensions as src tensor");
  bool fits = true;
  for (int i = 0; i < n; ++i) {
    fits = fits && (i == axis || size_at(index, i) <= size_at(self, i));
    fits = fits && (!src || size_at(index, i) <= size_at(*src, i));
  }
  if (src)
    STRIDED_CHECK(fits, RuntimeError, "Expected index ", index.shape(), " to be no larger than self ", self.shape(), " apart from dimension ", axis,
                  " and to be no larger size than src ", src->shape());
  STRIDED_CHECK(fits, RuntimeError, "Expected index ", index.shape(), " to be no larger than self ", self.shape(), " apart from dimension ", axis);
  return axis;
}

// The part of src that the index reaches.
Tensor cut_to(const Tensor& src, const Dims& shape) {
  if (src.ndim() != static_cast<int>(shape.size())) return make_view(src, Layout(shape, Dims(shape.size(), 1), src.offset()));  // 0-d and 1-d
  return make_view(src, Layout(shape, src.strides(), src.offset()));
}

// The gradient of a src larger than the index: zeros outside.
Tensor back_to(const Tensor& g, const Dims& shape) {
  if (g.shape() == shape) return g;
  BasicIndex steps;
  for (int64_t s : g.shape()) steps.push_back({BasicStep::Slice, 0, s, 1});
  if (shape.empty()) return basic_index(g, BasicIndex(static_cast<size_t>(g.ndim()), {BasicStep::Select, 0, 0, 1}));
  return basic_put_(zeros(shape, g.dtype(), g.device()), steps, g);
}

Tensor scatter_number(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, const std::optional<std::string>& reduce) {
  const int axis = check_scatter("scatter", self, dim, index, nullptr);
  const Tensor fill = number(value, self.dtype(), self.device());
  if (reduce) no_gradient("scatter with reduce", {self});
  check_inplace("scatter_", self);
  const Combine op = reduce && *reduce == "add" ? Combine::Add : Combine::Mul;
  if (index.numel() > 0)
    put_move(gather_move(self, axis, apart_from(self, as_int64(index)), IndexParams::NonNegative), self, fill, reduce ? &op : nullptr);
  bump_version(self, "scatter_");
  if (!needs_grad(self)) return self;
  return record_inplace("ScatterBackward1", self, std::vector<Tensor>{self},
                [axis, saved = SavedTensor(index)](const Tensor& g) { return scatter(g, axis, saved.get(), Scalar(0), std::nullopt); });
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  const int axis = wrap_axis("gather", dim, self.ndim());
  STRIDED_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, RuntimeError, "gather(): Expected dtype int32/int64 for index");
  check_same_device("gather", self, index);
  if (index.numel() > 0) {
    STRIDED_CHECK(std::max(index.ndim(), 1) == std::max(self.ndim(), 1), RuntimeError,
                  "Index tensor must have the same number of dimensions as input tensor");
    for (int i = 0; i < index.ndim(); ++i)
      STRIDED_CHECK(i == axis || index.size(i) <= size_at(self, i), RuntimeError, "Size does not match at dimension ", i, " expected index ",
                    index.shape(), " to be no larger than self ", self.shape(), " apart from dimension ", axis);
  }
  Tensor out = empty(index.shape(), self.dtype(), self.device());
  if (index.numel() > 0) take_move(gather_move(self, axis, as_int64(index), IndexParams::NonNegative), self, out);
  if (!needs_grad(self)) return out;
  return record("GatherBackward0", out, self, [axis, shape = self.shape(), saved = SavedTensor(index)](const Tensor& g) {
    return scatter_add_(zeros(shape, g.dtype(), g.device()), axis, saved.get(), g);
  });
}

Tensor scatter_(const Tensor& self, int64_t dim, const Tensor& index, Operand src, const std::optional<std::string>& reduce) {
  STRIDED_CHECK(!reduce || *reduce == "add" || *reduce == "multiply", RuntimeError, "reduce argument must be either add or multiply.");
  if (!src.tensor) return scatter_number(self, dim, index, src.scalar, reduce);
  const Tensor& source = *src.tensor;
  const int axis = check_scatter("scatter", self, dim, index, &source);
  if (reduce) no_gradient("scatter with reduce", {self, source});
  check_inplace("scatter_", self, source.requires_grad());
  const Combine op = reduce && *reduce == "add" ? Combine::Add : Combine::Mul;
  if (index.numel() > 0)
    put_move(gather_move(self, axis, apart_from(self, as_int64(index)), IndexParams::NonNegative), self,
             cut_to(apart_from(self, source), index.shape()), reduce ? &op : nullptr);
  bump_version(self, "scatter_");
  if (!needs_grad(self, source)) return self;
  return record_inplace("ScatterBackward0", self, std::vector<Tensor>{self, source},
                [axis, shape = source.shape(), wants_self = self.requires_grad(), wants_src = source.requires_grad(),
                 saved = SavedTensor(index)](const Tensor& g) {
                  const Tensor at = saved.get();
                  Tensor to_self, to_src;
                  if (wants_self) to_self = scatter(g, axis, at, Scalar(0), std::nullopt);
                  if (wants_src) to_src = at.numel() == 0 ? zeros(shape, g.dtype(), g.device()) : back_to(gather(g, axis, at, false), shape);
                  return std::vector<Tensor>{to_self, to_src};
                });
}

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, Operand src, const std::optional<std::string>& reduce) {
  return scatter_(clone(self), dim, index, src, reduce);
}

Tensor scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const int axis = check_scatter("scatter", self, dim, index, &src);
  check_inplace("scatter_add_", self, src.requires_grad());
  const Combine add = Combine::Add;
  if (index.numel() > 0)
    put_move(gather_move(self, axis, apart_from(self, as_int64(index)), IndexParams::NonNegative), self,
             cut_to(apart_from(self, src), index.shape()), &add);
  bump_version(self, "scatter_add_");
  if (!needs_grad(self, src)) return self;
  return record_inplace("ScatterAddBackward0", self, std::vector<Tensor>{self, src},
                [axis, shape = src.shape(), wants_src = src.requires_grad(), saved = SavedTensor(index)](const Tensor& g) {
                  Tensor to_src;
                  if (wants_src) {
                    const Tensor at = saved.get();
                    to_src = at.numel() == 0 ? zeros(shape, g.dtype(), g.device()) : back_to(gather(g, axis, at, false), shape);
                  }
                  return std::vector<Tensor>{g, to_src};
                });
}

Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { return scatter_add_(clone(self), dim, index, src); }

Tensor scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const std::string& reduce, bool include_self) {
  STRIDED_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin", RuntimeError,
                "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  if (reduce == "sum" && include_self) return scatter_add_(self, dim, index, src);
  const int axis = check_scatter("scatter", self, dim, index, &src);
  no_gradient("scatter_reduce", {self, src});
  check_inplace("scatter_reduce_", self);
  if (index.numel() > 0)
    reduce_move(gather_move(self, axis, apart_from(self, as_int64(index)), IndexParams::NonNegative), self,
                cut_to(apart_from(self, src), index.shape()), reduce, include_self);
  bump_version(self, "scatter_reduce_");
  return self;
}

Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const std::string& reduce, bool include_self) {
  return scatter_reduce_(clone(self), dim, index, src, reduce, include_self);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  STRIDED_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32, RuntimeError,
                "torch.take_along_dim(): dtype of indices should be Long but got ", indices.dtype());
  if (!dim) return gather(reshape(self, Dims{self.numel()}), 0, flat(indices), false);
  STRIDED_CHECK(self.ndim() == indices.ndim(), RuntimeError,
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ", self.ndim(),
                " dimensions for input, and ", indices.ndim(), " dimensions for indices");
  const int axis = wrap_axis("take_along_dim", *dim, self.ndim());
  if (self.ndim() == 0) return gather(self, 0, indices, false);
  // All axes but `dim` broadcast against each other.
  Dims a = self.shape(), b = indices.shape();
  a[axis] = b[axis] = 1;
  Dims shape = broadcast_shapes(a, b);
  shape[axis] = self.size(axis);
  const Tensor from = expand(self, shape);
  shape[axis] = indices.size(axis);
  return gather(from, axis, make_view(indices, expand(indices.layout(), shape)), false);
}

Tensor take(const Tensor& self, const Tensor& index) {
  STRIDED_CHECK(index.dtype() == DType::Int64, RuntimeError, "take(): Expected a long tensor for index, but got ", index.dtype());
  STRIDED_CHECK(self.numel() > 0 || index.numel() == 0, IndexError, "take(): tried to take from an empty tensor");
  check_same_device("take", self, index);
  check_flat_index(index, self.numel());
  return index_as("TakeBackward0", reshape(self, Dims{self.numel()}), {index});
}

Tensor put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  STRIDED_CHECK(index.dtype() == DType::Int64, RuntimeError, "put_(): Expected a long tensor for index, but got ", index.dtype());
  STRIDED_CHECK(self.dtype() == source.dtype(), RuntimeError, "put_(): self and source expected to have the same dtype, but got self.dtype = ",
                self.dtype(), " and source.dtype = ", source.dtype());
  STRIDED_CHECK(index.numel() == source.numel(), IndexError,
                "put_(): Expected source and index to have the same number of elements, but got source.numel() = ", source.numel(),
                ", index.numel() = ", index.numel());
  no_gradient("put_", {self, source});
  check_inplace("put_", self);
  check_same_device("put_", self, index);
  check_same_device("put_", self, source);
  if (index.numel() == 0) return self;
  check_flat_index(index, self.numel());
  // Strides that no single axis can follow: `flat` makes a copy, which is copied back.
  const Tensor target = flat(self);
  const Combine add = Combine::Add;
  put_move(axis_move(target, 0, flat(apart_from(self, index)), IndexParams::Wrapping), target, flat(apart_from(self, source)),
           accumulate ? &add : nullptr);
  if (&target.storage() != &self.storage()) copy_into(self, make_view(target, Layout(self.shape())));
  bump_version(self, "put_");
  return self;
}

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  no_gradient("put", {self, source});
  return put_(clone(self), index, source, accumulate);
}

}  // namespace strided
