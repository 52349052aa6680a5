// Indexing one axis by a tensor of the same rank: gather, scatter and their kin; take and put on the flat tensor.
#include <algorithm>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/few_elements.h"
#include "ops/index/index.h"
#include "ops/index/indexed_copy.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"
#include "ops/sort/sort.h"

namespace strided {
namespace {

int64_t size_at(const Tensor& t, int axis) { return t.ndim() == 0 ? 1 : t.size(axis); }

// int32 or int64. An empty tensor of any dtype is an index too, as in PyTorch.
bool is_index(const Tensor& t) { return t.dtype() == DType::Int64 || t.dtype() == DType::Int32 || t.numel() == 0; }

// What scatter and its kin ask of their operands; an empty index passes, as in PyTorch.
int check_scatter(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  const int axis = wrap_axis(op, dim, self.ndim());
  STRIDED_CHECK(is_index(index), RuntimeError, op, "(): Expected dtype int32/int64 for index");
  check_same_device(op, self, index);
  if (src) {
    STRIDED_CHECK(self.dtype() == src->dtype(), RuntimeError, op, "(): Expected self.dtype to be equal to src.dtype");
    check_same_device(op, self, *src);
  }
  if (index.numel() == 0) return axis;
  const int n = std::max(index.ndim(), 1);
  STRIDED_CHECK(n == std::max(self.ndim(), 1), RuntimeError,
                "Index tensor must have the same number of dimensions as self tensor");
  STRIDED_CHECK(!src || n == std::max(src->ndim(), 1), RuntimeError,
                "Index tensor must have the same number of dimensions as src tensor");
  bool fits = true;
  for (int i = 0; i < n; ++i) {
    fits = fits && (i == axis || size_at(index, i) <= size_at(self, i));
    fits = fits && (!src || size_at(index, i) <= size_at(*src, i));
  }
  if (src)
    STRIDED_CHECK(fits, RuntimeError, "Expected index ", index.shape(), " to be no larger than self ", self.shape(),
                  " apart from dimension ", axis, " and to be no larger size than src ", src->shape());
  STRIDED_CHECK(fits, RuntimeError, "Expected index ", index.shape(), " to be no larger than self ", self.shape(),
                " apart from dimension ", axis);
  return axis;
}

// The part of src that the index reaches.
Tensor cut_to(const Tensor& src, const Dims& shape) {
  if (src.ndim() != static_cast<int>(shape.size()))
    return make_view(src, Layout(shape, Dims(shape.size(), 1), src.offset()));  // 0-d and 1-d
  return make_view(src, Layout(shape, src.strides(), src.offset()));
}

// The same, recorded.
Tensor part_of(const Tensor& src, const Dims& shape) {
  if (src.shape() == shape) return src;
  if (src.ndim() == 0) return reshape(src, shape);
  if (shape.empty()) return select(src, 0, 0);
  BasicIndex steps;
  for (int64_t s : shape) steps.push_back({BasicStep::Slice, 0, s, 1});
  return basic_index(src, steps);
}

// The gradient of a src larger than the index: zeros outside.
Tensor back_to(const Tensor& g, const Dims& shape) {
  if (g.shape() == shape) return g;
  return scatter_to_zeros(g, shape, [part = g.shape()](const Tensor& t) { return part_of(t, part); });
}

// gather and scatter_add_; `wrap`: negative indices count from the end.
Tensor gather_along(const Tensor& self, int64_t dim, const Tensor& index, bool wrap);
Tensor scatter_add_along_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, bool wrap);

// The gradient of the elements of a src that went to the places `at`, each unchanged.
Tensor taken_back(const Tensor& g, int64_t dim, const Tensor& at, const Dims& shape, bool wrap = false) {
  return at.numel() == 0 ? zeros(shape, g.dtype(), g.device()) : back_to(gather_along(g, dim, at, wrap), shape);
}

Tensor cleared(const Tensor& g, int64_t dim, const Tensor& at) { return scatter(g, dim, at, Scalar(0), std::nullopt); }

Tensor scatter_number(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                      const std::optional<std::string>& reduce) {
  const int axis = check_scatter("scatter", self, dim, index, nullptr);
  const Tensor fill = number(value, self.dtype(), self.device());
  check_inplace("scatter_", self);
  const ScatterOp op = reduce && *reduce == "add" ? ScatterOp::Add : ScatterOp::Mul;
  if (index.numel() > 0)
    indexed_scatter(gather_copy("scatter_", self, axis, apart_from(self, as_int64(index))), self, fill,
                    reduce ? &op : nullptr);
  bump_version(self, "scatter_");
  if (!needs_grad(self)) return self;
  auto formula = [value, reduce](const Tensor& g, int64_t dim, const SavedTensor& at) {
    if (!reduce) return cleared(g, dim, at.get());
    return *reduce == "add" ? g
                            : g * conj(scatter(ones(g.shape(), g.dtype(), g.device()), dim, at.get(), value, reduce));
  };
  return record_inplace("ScatterBackward1", self, std::vector<Tensor>{self},
                        NamedFormula{std::tuple{dim, SavedTensor(index)}, std::move(formula), "dim index"});
}

// Gradients of reductions by index.
// Elements of src fall into groups: those that go to one place. The formulas add over a group by scatter_add, and bring
// a number to all elements of a group by gather.
struct GroupReduction {
  std::string reduce;
  int axis = 0;
  bool include_self = true, wants_self = false, wants_src = false, src_has_zero = false;
  Dims src_shape;
  SavedTensor index, self, src, out;  // unset where no formula reads them
};

// For every element the product of the others of its group; `places` is the shape of the tensor that the index points
// into. As a number: the product of what is not zero, where no other is. For a derivative: with groups side by side it
// is what stands before times what stands after, found by doubling the distance of the elements multiplied (W. D.
// Hillis, G. L. Steele, "Data parallel algorithms", Comm. ACM 29, 1986). Nothing is divided, so zeros need no care in
// any order.
Tensor others_of_group(const Tensor& x, int axis, const Tensor& index, const Dims& places) {
  const Tensor one = ones(x.shape(), x.dtype(), x.device());
  if (x.ndim() == 0 || x.numel() == 0) return one;
  if (!grad_enabled()) {
    const Tensor zero = elementwise<Eq>(x, Scalar(0)), own = to_dtype(zero, DType::Int64),
                 regular = masked_fill(x, zero, Scalar(1));
    const Tensor count = scatter_add(zeros(places, DType::Int64, x.device()), axis, index, own);
    const Tensor product = scatter_reduce(ones(places, x.dtype(), x.device()), axis, index, regular, "prod", true);
    return masked(gather(product, axis, index, false) / regular,
                  elementwise<Eq>(gather(count, axis, index, false), own));
  }
  const int64_t n = x.size(axis);
  const Tensor order = argsort(index, axis), group = gather(index, axis, order, false),
               sorted = gather(x, axis, order, false);
  const Tensor no_group = full(group.shape(), Scalar(-1), group.dtype(), group.device());
  auto moved = [&](const Tensor& t, int64_t by, const Tensor& fill) {  // element i becomes element i - by
    const Tensor rest = narrow(fill, axis, 0, std::abs(by));
    return by > 0 ? cat({rest, narrow(t, axis, 0, n - by)}, axis) : cat({narrow(t, axis, -by, n + by), rest}, axis);
  };
  auto products = [&](int64_t direction) {
    Tensor p = sorted;
    for (int64_t distance = 1; distance < n; distance *= 2) {
      const int64_t by = direction * distance;
      const Tensor same = elementwise<Eq>(moved(group, by, no_group), group);
      if (distance == 1)
        p = where(same, moved(sorted, by, one), Scalar(1));  // the neighbour, then the products of 2, 4, ...
      if (!truth(any(same), false)) break;
      p = p * where(same, moved(p, by, one), Scalar(1));
    }
    return n == 1 ? one : p;
  };
  return gather(products(1) * products(-1), axis, argsort(order, axis), false);
}

Tensor equal_or_nan(const Tensor& a, const Tensor& b) {
  return elementwise<LogicalOr>(elementwise<Eq>(a, b),
                                elementwise<LogicalAnd>(elementwise<Isnan>(a), elementwise<Isnan>(b)));
}

std::vector<Tensor> group_gradients(const Tensor& g, const GroupReduction& r) {
  const Tensor at = r.index.get();
  const int axis = r.axis;
  if (at.numel() == 0) return {g, zeros(r.src_shape, g.dtype(), g.device())};
  Tensor to_self, to_src;
  if (r.reduce == "prod") {
    const Tensor src = r.src.get();
    if (r.wants_self) {
      const Tensor one = ones(g.shape(), g.dtype(), g.device());
      to_self = r.include_self ? g * conj(scatter_reduce(one, axis, at, src, "prod", true)) : cleared(g, axis, at);
    }
    if (r.wants_src) {
      const Tensor part = part_of(src, at.shape());
      if (r.src_has_zero)
        to_src = gather(r.include_self ? g * conj(r.self.get()) : g, axis, at, false) *
                 conj(others_of_group(part, axis, at, g.shape()));
      else to_src = gather(g * conj(r.out.get()), axis, at, false) / conj(part);
      to_src = back_to(to_src, r.src_shape);
    }
    return {to_self, to_src};
  }
  // The others share a gradient among those that take part in a result: all, or those that are equal to it.
  const bool mean = r.reduce == "mean", extreme = !mean && r.reduce != "sum";
  Tensor share = g, self_is_result, src_is_result;
  if (mean || extreme) {
    Tensor count;
    {
      NoGradGuard guard;
      const DType real = real_of(g.dtype());
      count = full(g.shape(), Scalar(r.include_self ? 1 : 0), real, g.device());
      Tensor parts = ones(at.shape(), real, g.device());
      if (extreme) {
        const Tensor out = r.out.get();
        src_is_result = equal_or_nan(part_of(r.src.get(), at.shape()), gather(out, axis, at, false));
        parts = to_dtype(src_is_result, real);
        if (r.include_self) {
          self_is_result = equal_or_nan(r.self.get(), out);
          count = to_dtype(self_is_result, real);
        }
      }
      count = elementwise<ClampMin>(scatter_add(count, axis, at, parts), Scalar(1));
    }
    share = g / count;
  }
  if (r.wants_self)
    to_self = !r.include_self ? cleared(share, axis, at) : extreme ? masked(share, self_is_result) : share;
  if (r.wants_src) {
    to_src = gather(share, axis, at, false);
    to_src = back_to(extreme ? masked(to_src, src_is_result) : to_src, r.src_shape);
  }
  return {to_self, to_src};
}

}  // namespace

Tensor reduce_by_index(const char* op, const char* node, const Tensor& self, bool in_place, int axis,
                       const Tensor& index, const Tensor& src, const std::string& reduce, bool include_self,
                       const std::function<void(const Tensor&)>& write) {
  if (in_place) check_inplace(op, self, src.requires_grad());
  const bool recorded = needs_grad(self, src), product = reduce == "prod",
             extreme = reduce == "amax" || reduce == "amin";
  GroupReduction r;
  if (recorded) {
    r.reduce = reduce;
    r.axis = axis;
    r.include_self = include_self;
    r.wants_self = self.requires_grad();
    r.wants_src = src.requires_grad();
    r.src_shape = src.shape();
    r.index = SavedTensor(index);
    if (product && r.wants_src && index.numel() > 0) r.src_has_zero = !truth(all(cut_to(src, index.shape())), true);
    if (extreme || product) r.src = SavedTensor(src);
    if (include_self && (extreme || r.src_has_zero)) r.self = SavedTensor(in_place ? clone(self) : self);
  }
  Tensor out = self;
  if (!in_place) {
    NoGradGuard guard;
    out = clone(self);
  }
  write(out);
  if (in_place) bump_version(self, op);
  if (!recorded) return out;
  if (extreme || (product && r.wants_src && !r.src_has_zero)) r.out = SavedTensor::output(out);
  auto formula = [r = std::move(r)](const Tensor& g) { return group_gradients(g, r); };
  return in_place ? record_inplace(node, self, {self, src}, std::move(formula))
                  : record(node, out, {self, src}, std::move(formula));
}

namespace {

Tensor scatter_reduced(const Tensor& self, bool in_place, int64_t dim, const Tensor& index, const Tensor& src,
                       const std::string& named, bool include_self) {
  const std::string reduce = named == "max" ? "amax" : named == "min" ? "amin" : named;  // names of segment_reduce
  STRIDED_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
                RuntimeError, "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  const int axis = check_scatter("scatter", self, dim, index, &src);
  return reduce_by_index("scatter_reduce_", "ScatterReduceBackward0", self, in_place, axis, index, src, reduce,
                         include_self, [&](const Tensor& out) {
                           if (index.numel() > 0)
                             reduce_indexed(gather_copy("scatter_reduce_", out, axis, apart_from(out, as_int64(index))),
                                            out, cut_to(apart_from(out, src), index.shape()), reduce, include_self);
                         });
}

}  // namespace

namespace {

Tensor gather_along(const Tensor& self, int64_t dim, const Tensor& index, bool wrap) {
  const int axis = wrap_axis("gather", dim, self.ndim());
  Tensor out = empty_result(index.shape(), self.dtype(), self.device());
  if (index.numel() > 0) indexed_gather(gather_copy("gather", self, axis, as_int64(index), wrap), self, out);
  if (!needs_grad(self)) return out;
  auto formula = [wrap, shape = self.shape()](const Tensor& g, int64_t dim, const SavedTensor& at) {
    return scatter_add_along_(zeros(shape, g.dtype(), g.device()), dim, at.get(), g, wrap);
  };
  return record("GatherBackward0", out, self,
                NamedFormula{std::tuple{dim, SavedTensor(index)}, std::move(formula), "dim index"});
}

Tensor scatter_add_along_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, bool wrap) {
  const int axis = wrap_axis("scatter_add_", dim, self.ndim());
  check_inplace("scatter_add_", self, src.requires_grad());
  const ScatterOp add = ScatterOp::Add;
  if (index.numel() > 0)
    indexed_scatter(gather_copy("scatter_add_", self, axis, apart_from(self, as_int64(index)), wrap), self,
                    cut_to(apart_from(self, src), index.shape()), &add);
  bump_version(self, "scatter_add_");
  if (!needs_grad(self, src)) return self;
  auto formula = [wrap, shape = src.shape()](const Tensor& g, int64_t dim, const SavedTensor& at) {
    return std::vector<Tensor>{g, at.was_saved() ? taken_back(g, dim, at.get(), shape, wrap) : Tensor()};
  };
  return record_inplace(
      "ScatterAddBackward0", self, std::vector<Tensor>{self, src},
      NamedFormula{std::tuple{dim, saved_if(src.requires_grad(), index)}, std::move(formula), "dim index"});
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  const int axis = wrap_axis("gather", dim, self.ndim());
  STRIDED_CHECK(is_index(index), RuntimeError, "gather(): Expected dtype int32/int64 for index");
  check_same_device("gather", self, index);
  if (index.numel() > 0) {
    STRIDED_CHECK(std::max(index.ndim(), 1) == std::max(self.ndim(), 1), RuntimeError,
                  "Index tensor must have the same number of dimensions as input tensor");
    for (int i = 0; i < index.ndim(); ++i)
      STRIDED_CHECK(i == axis || index.size(i) <= size_at(self, i), RuntimeError, "Size does not match at dimension ",
                    i, " expected index ", index.shape(), " to be no larger than self ", self.shape(),
                    " apart from dimension ", axis);
  }
  return gather_along(self, dim, index, false);
}

Tensor scatter_(const Tensor& self, int64_t dim, const Tensor& index, Operand src,
                const std::optional<std::string>& reduce) {
  STRIDED_CHECK(!reduce || *reduce == "add" || *reduce == "multiply", RuntimeError,
                "reduce argument must be either add or multiply.");
  if (!src.tensor) return scatter_number(self, dim, index, src.scalar, reduce);
  const Tensor& source = *src.tensor;
  const int axis = check_scatter("scatter", self, dim, index, &source);
  if (reduce)
    return *reduce == "add" ? scatter_add_(self, dim, index, source)
                            : scatter_reduce_(self, dim, index, source, "prod", true);
  check_inplace("scatter_", self, source.requires_grad());
  if (index.numel() > 0)
    indexed_scatter(gather_copy("scatter_", self, axis, apart_from(self, as_int64(index))), self,
                    cut_to(apart_from(self, source), index.shape()));
  bump_version(self, "scatter_");
  if (!needs_grad(self, source)) return self;
  auto formula = [shape = source.shape(), wants_self = self.requires_grad(), wants_src = source.requires_grad()](
                     const Tensor& g, int64_t dim, const SavedTensor& saved) {
    const Tensor at = saved.get();
    return std::vector<Tensor>{wants_self ? cleared(g, dim, at) : Tensor(),
                               wants_src ? taken_back(g, dim, at, shape) : Tensor()};
  };
  return record_inplace("ScatterBackward0", self, std::vector<Tensor>{self, source},
                        NamedFormula{std::tuple{dim, SavedTensor(index)}, std::move(formula), "dim index"});
}

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, Operand src,
               const std::optional<std::string>& reduce) {
  return scatter_(clone(self), dim, index, src, reduce);
}

Tensor scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  check_scatter("scatter", self, dim, index, &src);
  return scatter_add_along_(self, dim, index, src, false);
}

Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_add_(clone(self), dim, index, src);
}

Tensor scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                       const std::string& reduce, bool include_self) {
  return scatter_reduced(self, true, dim, index, src, reduce, include_self);
}

Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self) {
  return scatter_reduced(self, false, dim, index, src, reduce, include_self);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  STRIDED_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32, RuntimeError,
                "torch.take_along_dim(): dtype of indices should be Long but got ", indices.dtype());
  check_same_device("take_along_dim", self, indices);
  if (!dim) return gather_along(reshape(self, Dims{self.numel()}), 0, flat(indices), true);
  STRIDED_CHECK(self.ndim() == indices.ndim(), RuntimeError,
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
                self.ndim(), " dimensions for input, and ", indices.ndim(), " dimensions for indices");
  const int axis = wrap_axis("take_along_dim", *dim, self.ndim());
  if (self.ndim() == 0) return gather_along(self, 0, indices, true);
  // All axes but `dim` broadcast against each other.
  Dims a = self.shape(), b = indices.shape();
  a[axis] = b[axis] = 1;
  Dims shape = broadcast_shapes(a, b);
  shape[axis] = self.size(axis);
  const Tensor from = expand(self, shape);
  shape[axis] = indices.size(axis);
  return gather_along(from, axis, make_view(indices, expand(indices.layout(), shape)), true);
}

Tensor take(const Tensor& self, const Tensor& index) {
  STRIDED_CHECK(index.dtype() == DType::Int64, RuntimeError, "take(): Expected a long tensor for index, but got ",
                index.dtype());
  STRIDED_CHECK(self.numel() > 0 || index.numel() == 0, IndexError, "take(): tried to take from an empty tensor");
  check_same_device("take", self, index);
  if (Tensor few; !needs_grad(self) && gather_few(self, index, &few)) return few;
  return index_as("TakeBackward0", reshape(self, Dims{self.numel()}), {index}, true);
}

Tensor put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  STRIDED_CHECK(index.dtype() == DType::Int64, RuntimeError, "put_(): Expected a long tensor for index, but got ",
                index.dtype());
  STRIDED_CHECK(self.dtype() == source.dtype(), RuntimeError,
                "put_(): self and source expected to have the same dtype, but got self.dtype = ", self.dtype(),
                " and source.dtype = ", source.dtype());
  STRIDED_CHECK(index.numel() == source.numel(), IndexError,
                "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
                source.numel(), ", index.numel() = ", index.numel());
  check_inplace("put_", self, source.requires_grad());
  check_same_device("put_", self, index);
  check_same_device("put_", self, source);
  if (index.numel() > 0) {
    // Strides that no single axis can follow: `flat` makes a copy, which is copied back.
    const Tensor target = flat(self);
    IndexedCopy copy = axis_copy("put_", target, 0, flat(apart_from(self, index)), true);
    copy.indices[0].axis = -1;
    const ScatterOp add = ScatterOp::Add;
    indexed_scatter(copy, target, flat(apart_from(self, source)), accumulate ? &add : nullptr);
    if (&target.storage() != &self.storage()) copy_into(self, make_view(target, Layout(self.shape())));
    bump_version(self, "put_");
  }
  if (!needs_grad(self, source)) return self;
  auto formula = [shape = source.shape(), wants_self = self.requires_grad(), wants_source = source.requires_grad()](
                     const Tensor& g, bool accumulate, const SavedTensor& at) {
    Tensor to_self, to_source;
    if (wants_self) to_self = accumulate ? g : put(g, at.get(), zeros(shape, g.dtype(), g.device()), false);
    if (wants_source) to_source = reshape(take(g, at.get()), shape);
    return std::vector<Tensor>{to_self, to_source};
  };
  return record_inplace(
      "PutBackward0", self, {self, source},
      NamedFormula{std::tuple{accumulate, SavedTensor(index)}, std::move(formula), "accumulate index"});
}

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  return put_(clone(self), index, source, accumulate);
}

}  // namespace strided
