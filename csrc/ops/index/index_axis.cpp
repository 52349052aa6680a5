// Indexing one axis by a vector: index_select, index_add, index_copy, index_fill, index_reduce.

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/index/indexed_copy.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "ops/sort/sort.h"

namespace strided {
namespace {

// The rules index_add and index_reduce share: a vector index as long as source's axis, all other axes alike.
int check_source(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const int axis = wrap_axis(op, dim, self.ndim());
  STRIDED_CHECK(index.ndim() <= 1, IndexError, op, "(): Index is supposed to be a vector, but got dim: ", index.ndim(),
                " with type: ", index.dtype(), " and size: ", index.shape());
  STRIDED_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, RuntimeError, op,
                "(): Expected dtype int32/int64 for index but got: ", index.dtype());
  STRIDED_CHECK(self.dtype() == source.dtype(), RuntimeError, op, "(): self (", self.dtype(), ") and source (",
                source.dtype(), ") must have the same scalar type");
  check_same_device(op, self, index);
  check_same_device(op, self, source);
  bool same = self.ndim() == source.ndim();
  for (int i = 0; same && i < self.ndim(); ++i) same = i == axis || self.size(i) == source.size(i);
  const int64_t length = source.ndim() == 0 ? 1 : axis < source.ndim() ? source.size(axis) : 1;
  STRIDED_CHECK(index.numel() == length, RuntimeError, op, "(): Number of indices (", index.numel(),
                ") should be equal to source.size(dim): (", length, "), for dim: ", axis);
  STRIDED_CHECK(
      same, RuntimeError,
      "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
      self.shape(), " source.shape = ", source.shape());
  return axis;
}

// A source of self's rank: for a 0-d self, its one element.
Tensor like_self(const Tensor& self, const Tensor& source) {
  return self.ndim() == 0 && source.ndim() > 0 ? make_view(source, Layout(Dims(), Dims(), source.offset())) : source;
}

}  // namespace

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const int axis = wrap_axis("index_select", dim, self.ndim());
  STRIDED_CHECK(index.ndim() <= 1, IndexError, "index_select(): Index is supposed to be a vector");
  STRIDED_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, RuntimeError,
                "index_select(): Expected dtype int32 or int64 for index");
  STRIDED_CHECK(self.ndim() > 0 || index.numel() == 1, RuntimeError,
                "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  check_same_device("index_select", self, index);
  IndexedCopy copy = axis_copy("index_select", self, axis, as_int64(index), false);
  copy.error_prefix = "index out of range in self: ";
  Tensor out = empty_result(copy.shape, self.dtype(), self.device());
  indexed_gather(copy, self, out);
  if (!needs_grad(self)) return out;
  const auto formula = [](const Tensor& g, const Dims& shape, int64_t dim, const SavedTensor& index) {
    return index_add_(zeros(shape, g.dtype(), g.device()), dim, index.get(), g, 1);
  };
  return record("IndexSelectBackward0", out, self,
                NamedFormula{std::tuple{self.shape(), dim, SavedTensor(index)}, formula, "self_sym_sizes dim index"});
}

Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx,
                 std::optional<double> max_norm, double /*norm_type*/, bool scale_grad_by_freq, bool sparse) {
  const DType of_index = input.dtype();
  if (weight.ndim() != 2 || (of_index != DType::Int64 && of_index != DType::Int32) || max_norm || scale_grad_by_freq ||
      sparse || input.device() != weight.device())
    return Tensor();
  const int64_t n = weight.size(0);
  if (padding_idx && (*padding_idx < -n || *padding_idx >= n)) return Tensor();
  // A tangent is of all rows: what is padding has no gradient in the backward pass alone.
  if (const Ref<Node>& node = grad_fn(weight); padding_idx && node && node->forward_only) return Tensor();
  const Tensor rows = flat(input);
  IndexedCopy copy = axis_copy("embedding", weight, 0, as_int64(rows), false);
  copy.error_prefix = "index out of range in self: ";
  Dims shape = input.shape();
  shape.push_back(weight.size(1));
  const Tensor out = empty(shape, weight.dtype(), weight.device());
  indexed_gather(copy, weight, input.ndim() == 1 ? out : make_view(out, Layout(copy.shape)));
  if (!needs_grad(weight)) return out;
  const std::optional<int64_t> unused =
      padding_idx && *padding_idx < 0 ? std::optional<int64_t>(*padding_idx + n) : padding_idx;
  return record("EmbeddingBackward0", out, weight,
                [shape = weight.shape(), by_row = copy.shape, unused, saved = SavedTensor(rows)](const Tensor& g) {
                  Tensor made = zeros(shape, g.dtype(), g.device());
                  index_add_(made, 0, saved.get(), reshape(g, by_row), 1);
                  if (unused) index_fill_(made, 0, number(*unused, DType::Int64, g.device()), Scalar(0));
                  return made;
                });
}

Tensor index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  const int axis = check_source("index_add_", self, dim, index, source);
  check_inplace("index_add_", self, source.requires_grad());
  STRIDED_CHECK(
      !is_integral(self.dtype()) || alpha.is_integral() || alpha.real() == static_cast<double>(alpha.to_int()),
      RuntimeError, "For integral input tensors, argument alpha must not be a floating point number.");
  check_fits(alpha, self.dtype());
  const bool scaled = alpha.is_complex() || alpha.real() != 1;
  {
    NoGradGuard guard;
    Tensor from = apart_from(self, source);
    if (scaled) from = to_dtype(elementwise<Mul>(from, alpha), self.dtype());
    const ScatterOp add = ScatterOp::Add;
    indexed_scatter(axis_copy("index_add_", self, axis, apart_from(self, as_int64(index)), false), self,
                    like_self(self, from), &add);
  }
  bump_version(self, "index_add_");
  if (!needs_grad(self, source)) return self;
  auto formula = [alpha, scaled](const Tensor& g, int64_t dim, const SavedTensor& index) {
    Tensor to_source;
    if (index.was_saved()) to_source = index_select(g, dim, index.get());
    if (index.was_saved() && scaled)
      to_source = elementwise<Mul>(to_source, alpha.is_complex() ? Scalar(alpha.real(), -alpha.imag()) : alpha);
    return std::vector<Tensor>{g, to_source};
  };
  return record_inplace(
      "IndexAddBackward0", self, std::vector<Tensor>{self, source},
      NamedFormula{std::tuple{dim, saved_if(source.requires_grad(), index)}, std::move(formula), "dim index"});
}

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  return index_add_(clone(self), dim, index, source, alpha);
}

Tensor index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const int axis = wrap_axis("index_copy_", dim, self.ndim());
  STRIDED_CHECK(index.ndim() <= 1, IndexError, "index_copy_(): Index should have dimension 1 or 0 (got ", index.ndim(),
                ")");
  STRIDED_CHECK(source.ndim() == self.ndim() || source.ndim() == 0 || self.ndim() == 0, IndexError,
                "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                "dimensionality (",
                source.ndim(), "), destination dimensionality (", self.ndim(), ")");
  STRIDED_CHECK(index.dtype() == DType::Int64, RuntimeError,
                "index_copy_(): Expected a long tensor for index, but got ", index.dtype());
  STRIDED_CHECK(self.dtype() == source.dtype(), RuntimeError,
                "index_copy_(): self and source expected to have the same dtype, but got (self) ", self.dtype(),
                " and (source) ", source.dtype());
  check_same_device("index_copy_", self, index);
  check_same_device("index_copy_", self, source);
  STRIDED_CHECK(source.ndim() > 0 || index.numel() == 1, IndexError,
                "index_copy_(): When source is scalar, index should have one element (got ", index.numel(), ")");
  const int64_t length = source.ndim() == 0 ? 1 : source.size(axis);
  STRIDED_CHECK(index.numel() == length, IndexError, "index_copy_(): Number of indices (", index.numel(),
                ") should be equal to source.size(dim) (", length, ")");
  Dims to = self.shape(), from = source.shape();
  if (!to.empty()) to.erase(axis);
  if (!from.empty()) from.erase(axis);
  STRIDED_CHECK(to == from, RuntimeError,
                "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ", to,
                " at dimension ", axis, " and source slice shape: ", from, " at dimension 0.");
  check_inplace("index_copy_", self, source.requires_grad());
  IndexedCopy copy = axis_copy("index_copy_", self, axis, apart_from(self, index), false);
  copy.error_prefix = "index_copy_(): ";
  indexed_scatter(copy, self, like_self(self, apart_from(self, source)));
  bump_version(self, "index_copy_");
  if (!needs_grad(self, source)) return self;
  auto formula = [wants_self = self.requires_grad(), wants_source = source.requires_grad()](
                     const Tensor& g, int64_t dim, const SavedTensor& index) {
    Tensor to_self, to_source;
    if (wants_self) to_self = index_fill(g, dim, index.get(), Scalar(0));
    if (wants_source) to_source = index_select(g, dim, index.get());
    return std::vector<Tensor>{to_self, to_source};
  };
  return record_inplace("IndexCopyBackward0", self, std::vector<Tensor>{self, source},
                        NamedFormula{std::tuple{dim, SavedTensor(index)}, std::move(formula), "dim index"});
}

Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return index_copy_(clone(self), dim, index, source);
}

Tensor index_fill_(const Tensor& self, int64_t dim, const Tensor& index, Operand value) {
  const int axis = wrap_axis("index_fill_", dim, self.ndim());
  STRIDED_CHECK(index.dtype() == DType::Int64, IndexError, "index_fill_(): Expected dtype int64 for index.");
  STRIDED_CHECK(index.ndim() <= 1, RuntimeError, "Index has to be a vector/scalar");
  check_same_device("index_fill_", self, index);
  STRIDED_CHECK(
      is_complex(self.dtype()) || !(value.tensor ? is_complex(value.tensor->dtype()) : value.scalar.is_complex()),
      RuntimeError, "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  Tensor fill;
  if (value.tensor) {
    STRIDED_CHECK(value.tensor->ndim() == 0, RuntimeError,
                  "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.tensor->ndim(),
                  " dimension(s).");
    fill = empty(Dims(), self.dtype(), self.device());
    copy_into(fill, *value.tensor);
  } else {
    fill = number(value.scalar, self.dtype(), self.device());
  }
  check_inplace("index_fill_", self, value.tensor && value.tensor->requires_grad());
  indexed_scatter(axis_copy("index_fill_", self, axis, apart_from(self, index), true), self, fill);
  bump_version(self, "index_fill_");
  const Tensor source = value.tensor ? *value.tensor : Tensor();
  if (!needs_grad(std::vector<Tensor>{self, source})) return self;
  const bool wants_value = source.defined() && source.requires_grad();
  return record_inplace(
      value.tensor ? "IndexFillBackward1" : "IndexFillBackward0", self, std::vector<Tensor>{self, source},
      [axis, wants_self = self.requires_grad(), wants_value, saved = SavedTensor(index)](const Tensor& g) {
        Tensor to_self, to_value;
        if (wants_self) to_self = index_fill(g, axis, saved.get(), Scalar(0));
        if (wants_value) {  // the engine sums it; a position that is filled twice counts once
          Tensor at = saved.get();
          if (at.numel() > 0 && g.ndim() > 0)
            at = unique(elementwise<Remainder>(at, g.size(axis)), false, false).values;
          to_value = g.ndim() == 0 ? g : index_select(g, axis, at);
        }
        return std::vector<Tensor>{to_self, to_value};
      });
}

Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, Operand value) {
  return index_fill_(clone(self), dim, index, value);
}

namespace {

Tensor index_reduced(const Tensor& self, bool in_place, int64_t dim, const Tensor& index, const Tensor& source,
                     const std::string& reduce, bool include_self) {
  STRIDED_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin", RuntimeError,
                "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  const int axis = check_source("index_reduce", self, dim, index, source);
  // For its gradient it is a scatter_reduce, by an index that is repeated along the other axes.
  Layout repeated(source.shape(), Dims(source.shape().size(), 0), index.offset());
  if (source.ndim() > 0) repeated.strides[axis] = index.ndim() == 0 ? 0 : index.strides()[0];
  const Tensor at = make_view(index, repeated);
  return reduce_by_index("index_reduce_", "IndexReduceBackward0", self, in_place, axis, at, source, reduce,
                         include_self, [&](const Tensor& out) {
                           IndexedCopy copy =
                               axis_copy("index_reduce_", out, axis, apart_from(out, as_int64(index)), false);
                           copy.error_prefix = "index out of range in self: ";
                           reduce_indexed(copy, out, like_self(out, apart_from(out, source)), reduce, include_self);
                         });
}

}  // namespace

Tensor index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                     const std::string& reduce, bool include_self) {
  return index_reduced(self, true, dim, index, source, reduce, include_self);
}

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self) {
  return index_reduced(self, false, dim, index, source, reduce, include_self);
}

}  // namespace strided
