#include "ops/index/indexed_copy.h"
#include "tensor/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/operators.h"

namespace strided {
namespace {

// Calls f(plan) with what a backend does.
template <class F>
void with_plan(const IndexedCopy& copy, const Tensor& indexed, const Tensor& dense, const Layout& dense_layout, F&& f) {
  // In integers, as Tensor::data().
  auto base_of = [](const Tensor& t, const Layout& layout) {
    return reinterpret_cast<char*>(reinterpret_cast<intptr_t>(t.bytes()) + layout.offset * t.itemsize());
  };
  const size_t ndim = copy.shape.size();
  SmallVector<int64_t, 24> strides((2 + copy.indices.size()) * ndim);
  int64_t* free = strides.data();
  auto bytes = [&](const Layout& layout, int64_t itemsize) {
    for (size_t i = 0; i < ndim; ++i) free[i] = layout.strides[i] * itemsize;
    return std::exchange(free, free + ndim);
  };
  IndexPlan plan;
  plan.name = copy.name;
  plan.device = indexed.device().index;
  plan.error_prefix = copy.error_prefix;
  plan.dtype = indexed.dtype();
  plan.wrap = copy.wrap;
  plan.ndim = copy.shape.ndim();
  plan.shape = copy.shape.data();
  plan.dense = base_of(dense, dense_layout);
  plan.dense_strides = bytes(dense_layout, dense.itemsize());
  plan.indexed = base_of(indexed, copy.indexed);
  plan.indexed_strides = bytes(copy.indexed, indexed.itemsize());
  plan.n_indices = static_cast<int>(copy.indices.size());
  for (int k = 0; k < plan.n_indices; ++k) {
    const IndexedCopy::Index& index = copy.indices[static_cast<size_t>(k)];
    plan.index[k] = {reinterpret_cast<const int64_t*>(base_of(index.tensor, index.over)),
                     bytes(index.over, index.tensor.itemsize()), index.size, index.stride, index.axis};
  }
  f(plan);
}

// Nothing to do and nothing to check.
bool names_nothing(const IndexedCopy& copy) {
  for (const IndexedCopy::Index& index : copy.indices)
    if (index.tensor.numel() == 0) return true;
  return false;
}

}  // namespace

void indexed_gather(const IndexedCopy& copy, const Tensor& indexed, const Tensor& out) {
  if (names_nothing(copy)) return;
  with_plan(copy, indexed, out, out.layout(), [&](const IndexPlan& plan) { backend(indexed.device()).gather(plan); });
}

void indexed_scatter(const IndexedCopy& copy, const Tensor& indexed, const Tensor& from, const ScatterOp* op) {
  if (op) check_has_loops("index_add", indexed.dtype());
  if (names_nothing(copy)) return;
  with_plan(copy, indexed, from, expand(from.layout(), copy.shape), [&](const IndexPlan& plan) {
    if (op) backend(indexed.device()).scatter_reduce(plan, *op);
    else backend(indexed.device()).scatter(plan);
  });
}

IndexedCopy axis_copy(const char* name, const Tensor& indexed, int axis, const Tensor& index, bool wrap) {
  IndexedCopy copy;
  copy.name = name;
  copy.indexed = indexed.layout();
  copy.wrap = wrap;
  if (indexed.ndim() == 0) {  // counts as one axis of size 1; the result keeps no axis
    copy.indices.push_back({index, Layout(Dims(), Dims(), index.offset()), 1, indexed.itemsize(), axis});
    return copy;
  }
  copy.indexed.shape[axis] = index.numel();
  copy.indexed.strides[axis] = 0;
  copy.shape = copy.indexed.shape;
  copy.indices.resize(1);
  IndexedCopy::Index& at = copy.indices[0];
  at.tensor = index;
  at.over.offset = index.offset();
  at.over.shape = copy.shape;
  at.over.strides.resize(copy.shape.size());
  at.over.strides[axis] = index.ndim() == 0 ? 1 : index.strides()[0];
  at.size = indexed.size(axis);
  at.stride = indexed.strides()[axis] * indexed.itemsize();
  at.axis = axis;
  return copy;
}

IndexedCopy gather_copy(const char* name, const Tensor& indexed, int axis, const Tensor& index, bool wrap) {
  IndexedCopy copy;
  copy.name = name;
  copy.wrap = wrap;
  copy.shape = index.shape();
  copy.indices.push_back({index, index.layout(), indexed.ndim() == 0 ? 1 : indexed.size(axis),
                          (indexed.ndim() == 0 ? 1 : indexed.strides()[axis]) * indexed.itemsize(), axis});
  copy.indexed = Layout(copy.shape, Dims(copy.shape.size()), indexed.offset());
  // A 0-d operand stands for a vector of one element, and so does a 0-d index.
  for (int i = 0; i < std::min(indexed.ndim(), index.ndim()); ++i)
    if (i != axis) copy.indexed.strides[i] = indexed.strides()[i];
  return copy;
}

void fold_indices(IndexedCopy* copy, const Tensor& indexed) {
  constexpr size_t kept = IndexPlan::kMaxIndices - 1;
  if (copy->indices.size() <= kept + 1) return;
  // The last ones become offsets, in elements from the lowest place. Their sum is taken over tables of the offsets
  // along each axis: to gather from a table checks and wraps the index.
  const Device device = indexed.device();
  const int64_t itemsize = indexed.itemsize();
  Dims shape(copy->shape.size(), 1);  // without the axes along which no index moves
  for (int i = 0; i < shape.ndim(); ++i)
    for (const IndexedCopy::Index& index : copy->indices)
      if (index.over.strides[i] != 0) shape[i] = copy->shape[i];
  Tensor offsets = zeros(shape, DType::Int64, device);
  int64_t low = 0, high = 0;
  for (size_t k = kept; k < copy->indices.size(); ++k) {
    const IndexedCopy::Index& index = copy->indices[k];
    const int64_t stride = index.stride / itemsize, reach = stride * std::max<int64_t>(index.size - 1, 0);
    (reach < 0 ? low : high) += reach;
    const Tensor table = elementwise<Mul>(
        arange(Scalar(int64_t(0)), Scalar(index.size), Scalar(int64_t(1)), DType::Int64, device), Scalar(stride));
    IndexedCopy look_up;
    look_up.shape = shape;
    look_up.indexed = Layout(shape, Dims(shape.size()), 0);
    look_up.indices.push_back(
        {index.tensor, Layout(shape, index.over.strides, index.over.offset), index.size, table.itemsize(), index.axis});
    const Tensor part = zeros(shape, DType::Int64, device);
    indexed_gather(look_up, table, part);
    offsets = elementwise<Add>(offsets, part);
  }
  offsets = elementwise<Add>(offsets, Scalar(-low));
  const int axis = copy->indices[kept].axis;
  copy->indices.resize(kept);
  copy->indices.push_back({offsets, expand(offsets.layout(), copy->shape), high - low + 1, itemsize, axis});
  copy->indexed.offset += low;
}

void reduce_indexed(const IndexedCopy& copy, const Tensor& self, const Tensor& from, const std::string& reduce,
                    bool include_self) {
  const ScatterOp op = reduce == "prod"   ? ScatterOp::Mul
                       : reduce == "amax" ? ScatterOp::Max
                       : reduce == "amin" ? ScatterOp::Min
                                          : ScatterOp::Add;
  STRIDED_CHECK(!is_complex(self.dtype()) || (op != ScatterOp::Max && op != ScatterOp::Min), NotImplementedError,
                "reduction by '", reduce, "' not implemented for '", self.dtype(), "'");
  if (!include_self) {
    // The places written start from the neutral element.
    const Tensor neutral = empty(Dims(), self.dtype(), self.device());
    if (op == ScatterOp::Add || op == ScatterOp::Mul) {
      fill_into(neutral, Scalar(op == ScatterOp::Mul ? 1 : 0));
    } else {
      fill_into(neutral, dispatch(self.dtype(), [&](auto tag) {
                  using T = typename decltype(tag)::type;
                  const bool lowest = op == ScatterOp::Max;
                  if constexpr (std::is_same_v<T, bool>) return Scalar(!lowest);
                  else if constexpr (std::is_same_v<T, uint64_t>) return Scalar(lowest ? uint64_t(0) : ~uint64_t(0));
                  else if constexpr (std::is_integral_v<T>)
                    return Scalar(static_cast<int64_t>(lowest ? std::numeric_limits<T>::lowest()
                                                              : std::numeric_limits<T>::max()));
                  else
                    return Scalar(lowest ? -std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::infinity());
                }));
    }
    indexed_scatter(copy, self, neutral);
  }
  indexed_scatter(copy, self, from, &op);
  if (reduce != "mean") return;
  const Tensor counts = empty(self.shape(), DType::Int64, self.device());
  fill_into(counts, Scalar(include_self ? 1 : 0));
  IndexedCopy counting = copy;
  IndexedCopy::Index& index = counting.indices[0];
  counting.indexed.offset = 0;
  for (int i = 0; i < std::min(counts.ndim(), counting.shape.ndim()); ++i)
    counting.indexed.strides[i] = i == index.axis ? 0 : counts.strides()[i];
  index.stride = (counts.ndim() == 0 ? 1 : counts.strides()[index.axis]) * counts.itemsize();
  indexed_scatter(counting, counts, number(Scalar(1), DType::Int64, self.device()), &op);
  TensorIterator iter(self.shape());
  iter.add(self);
  iter.add(counts);
  iter.plan();
  backend(self.device()).divide_by_counts(iter.loop_plan("mean", self.device()));
}

Tensor flat(const Tensor& t) {
  const Dims shape{t.numel()};
  Layout layout;
  if (view(t.layout(), shape, &layout)) return make_view(t, layout);
  NoGradGuard guard;
  return make_view(contiguous(t), Layout(shape));
}

Tensor as_int64(const Tensor& index) {
  if (index.dtype() == DType::Int64) return index;
  const Tensor wide = empty(index.shape(), DType::Int64, index.device());
  copy_into(wide, index);
  return wide;
}

Tensor apart_from(const Tensor& self, const Tensor& t) {
  if (&t.storage() != &self.storage() ||
      overlap(self.layout(), self.itemsize(), t.layout(), t.itemsize()) == Overlap::None)
    return t;
  const Tensor copy = empty(t.shape(), t.dtype(), t.device());
  copy_into(copy, t);
  return copy;
}

Tensor number(const Scalar& value, DType dtype, Device device) {
  check_fits(value, dtype);
  const Tensor out = empty(Dims(), dtype, device);
  fill_into(out, value);
  return out;
}

Scalar assigned_number(const Scalar& value, DType dtype) {
  if (!is_floating(dtype) || size_of(dtype) > 2 || value.is_complex()) {
    check_fits(value, dtype);
    return value;
  }
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return Scalar(convert<double>(value.to<T>()));
  });
}

NonzeroElements::NonzeroElements(const char* name, const Tensor& mask) : mask_(mask), on_{name, mask.device().index} {
  backend(mask_.device()).nonzero_begin(on_, mask_.data(), mask_.numel(), &handle_, &count_);
}

NonzeroElements::~NonzeroElements() { backend(mask_.device()).nonzero_end(on_, handle_); }

Tensor NonzeroElements::positions() const {
  const Tensor out = empty(Dims{count_}, DType::Int64, mask_.device());
  if (count_ > 0) backend(mask_.device()).nonzero_write(on_, handle_, out.data(), nullptr, 8);
  return out;
}

Tensor NonzeroElements::elements(const Tensor& from) const {
  const Tensor out = empty(Dims{count_}, from.dtype(), from.device());
  if (count_ > 0) backend(mask_.device()).nonzero_write(on_, handle_, out.data(), from.data(), from.itemsize());
  return out;
}

void unravel_into(int64_t* to, const Tensor& positions, int64_t inner, int64_t size) {
  if (positions.numel() == 0) return;
  const Device device = positions.device();
  backend(device).unravel({"unravel_index", device.index}, to, positions.data_as<int64_t>(), positions.numel(), inner,
                          size);
}

Tensor unravel(const Tensor& positions, int64_t inner, int64_t size) {
  const Tensor out = empty(positions.shape(), DType::Int64, positions.device());
  unravel_into(out.data_as<int64_t>(), positions, inner, size);
  return out;
}

}  // namespace strided
