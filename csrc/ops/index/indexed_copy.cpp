#include "ops/index/indexed_copy.h"
#include "tensor/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/index/index.h"

namespace strided {
namespace {

constexpr int64_t kSequential = std::numeric_limits<int64_t>::max();
constexpr int64_t kGrain = 32768;

const IndexKernels& table(const Tensor& t) { return kernels(t.device()).index; }

char* base_of(const Tensor& t, const Layout& layout) {
  return static_cast<char*>(t.storage().data()) + layout.offset * t.itemsize();
}

void run(const IndexedCopy& move, Loop2d loop, const Tensor& to, const Layout& to_layout, const Tensor& from,
         const Layout& from_layout, const IndexParams& params, int64_t grain) {
  STRIDED_CHECK(loop, NotImplementedError, "indexing of '", to.dtype(), "' on device '", to.device(), "'");
  TensorIterator iter(move.shape);
  iter.add(base_of(to, to_layout), to_layout, to.itemsize());
  iter.add(base_of(from, from_layout), from_layout, from.itemsize());
  iter.add(base_of(move.index, move.index_over), move.index_over, move.index.itemsize());
  iter.plan();
  iter.run(loop, &params, 1, grain);
}

// Calls f(plan) with the move as an accelerator takes it.
template <class F>
void with_plan(const IndexedCopy& move, const Tensor& named, const Tensor& dense, const Layout& dense_layout, F&& f) {
  auto bytes = [](const Layout& layout, int64_t itemsize) {
    Dims strides = layout.strides;
    for (int64_t& s : strides) s *= itemsize;
    return strides;
  };
  const Dims dense_strides = bytes(dense_layout, dense.itemsize()), named_strides = bytes(move.named, named.itemsize());
  IndexPlan plan;
  plan.name = "index";
  plan.device = named.device().index;
  plan.dtype = named.dtype();
  plan.wrap = move.params.check != IndexParams::NonNegative;
  plan.ndim = move.shape.ndim();
  plan.shape = move.shape.data();
  plan.dense = base_of(dense, dense_layout);
  plan.dense_strides = dense_strides.data();
  plan.named = base_of(named, move.named);
  plan.named_strides = named_strides.data();
  std::vector<Dims> strides;
  auto add = [&](const Tensor& index, const Layout& over, int64_t size, int64_t stride, int axis) {
    const int k = plan.n_indices++;
    STRIDED_CHECK(k < IndexPlan::kMaxIndices, NotImplementedError, "index: more than ", IndexPlan::kMaxIndices,
                  " index tensors on device '", named.device(), "'");
    strides.push_back(bytes(over, index.itemsize()));
    plan.index[k] = {reinterpret_cast<const int64_t*>(base_of(index, over)), nullptr, size, stride, axis};
  };
  plan.n_indices = 0;
  if (move.parts.empty()) add(move.index, move.index_over, move.params.size, move.params.stride, move.axis);
  for (const IndexedCopy::Part& part : move.parts) add(part.index, part.over, part.size, part.stride, part.axis);
  for (int k = 0; k < plan.n_indices; ++k) plan.index[k].strides = strides[static_cast<size_t>(k)].data();
  f(plan);
}

const Backend* device_kernels(const Tensor& t) { return kernels(t.device()).device; }

}  // namespace

void check_index(const IndexedCopy& move) {
  if (!move.index.defined() || device_kernels(move.index)) return;  // the device looks itself
  if (move.params.check == IndexParams::Trusted || move.index.numel() == 0) return;
  const Tensor flat = move.index.is_contiguous() ? move.index : contiguous(move.index);
  const int64_t* index = flat.data_as<int64_t>();
  const int64_t at = table(flat).first_bad(index, flat.numel(), move.params);
  if (at < 0) return;
  STRIDED_CHECK(move.axis >= 0, IndexError, "out of range: tried to access index ", index[at], " on a tensor of ",
                move.params.size, " elements.");
  STRIDED_CHECK(move.params.size > 0, IndexError, move.error_prefix,
                "index is out of bounds for dimension with size 0");
  STRIDED_THROW(IndexError, move.error_prefix, "index ", index[at], " is out of bounds for dimension ", move.axis,
                " with size ", move.params.size);
}

void indexed_gather(const IndexedCopy& move, const Tensor& named, const Tensor& out) {
  if (out.numel() == 0) return check_index(move);  // no element is read, yet the indices must be good
  if (const Backend* device = device_kernels(named))
    return with_plan(move, named, out, out.layout(), [&](const IndexPlan& plan) { device->take(plan); });
  int bad = 0;
  IndexParams params = move.params;
  params.bad = &bad;
  run(move, table(named).take[item_row(named.itemsize())], out, out.layout(), named, move.named, params, kGrain);
  if (bad) check_index(move);
}

void indexed_scatter(const IndexedCopy& move, const Tensor& named, const Tensor& from, const ScatterOp* op) {
  if (op) check_has_loops("index_add", named.dtype());
  check_index(move);
  int64_t numel = 1;
  for (int64_t s : move.shape) numel *= s;
  if (numel == 0) return;
  if (const Backend* device = device_kernels(named))
    return with_plan(move, named, from, expand(from.layout(), move.shape), [&](const IndexPlan& plan) {
      if (op) device->combine(plan, *op);
      else device->put(plan);
    });
  const Loop2d loop = op ? table(named).combine[static_cast<int>(*op)][index_of(named.dtype())]
                         : table(named).put[item_row(named.itemsize())];
  STRIDED_CHECK(loop, NotImplementedError, "amax and amin of an index move: not implemented for '", named.dtype(), "'");
  int bad = 0;
  IndexParams params = move.params;
  params.bad = &bad;
  // The last one wins: the plan may take axes in any order that suits memory. Where two axes lead to no other
  // place (a matrix of indices, say), only values in row-major order keep it row-major.
  Tensor source = from;
  int shared = 0;
  for (int i = 0; i < move.shape.ndim(); ++i) shared += move.shape[i] > 1 && move.named.strides[i] == 0;
  if (shared > 1 && from.numel() > 1 && !(from.shape() == move.shape && from.is_contiguous())) {
    source = empty(move.shape, from.dtype(), from.device());
    copy_into(source, from);
  }
  const Layout from_layout = expand(source.layout(), move.shape);
  if (move.safe_axis < 0 || numel < 2 * kGrain)
    return run(move, loop, named, move.named, source, from_layout, params, kSequential);
  // Writing by index with threads: two indices may name one place, and the later one wins (or their sum has an
  // order). So threads share out an axis along which places are always different; each keeps the order of the index.
  const int64_t size = move.shape[move.safe_axis];
  parallel_for(0, size, std::max<int64_t>(1, kGrain * size / numel), [&](int64_t begin, int64_t end) {
    IndexedCopy part = move;
    part.shape[move.safe_axis] = end - begin;
    part.named = narrow(move.named, move.safe_axis, begin, end - begin);
    part.index_over = narrow(move.index_over, move.safe_axis, begin, end - begin);
    run(part, loop, named, part.named, source, narrow(from_layout, move.safe_axis, begin, end - begin), params,
        kSequential);
  });
}

IndexedCopy axis_move(const Tensor& named, int axis, const Tensor& index, IndexParams::Check check) {
  IndexedCopy move;
  move.index = index;
  move.axis = axis;
  move.named = named.layout();
  move.params.check = check;
  const int64_t step = index.ndim() == 0 ? 1 : index.strides()[0];
  if (named.ndim() == 0) {  // counts as one axis of size 1; the result keeps no axis
    move.params.size = 1;
    move.params.stride = named.itemsize();
    move.index_over = Layout(Dims(), Dims(), index.offset());
    return move;
  }
  move.params.size = named.size(axis);
  move.params.stride = named.strides()[axis] * named.itemsize();
  move.named.shape[axis] = index.numel();
  move.named.strides[axis] = 0;
  move.shape = move.named.shape;
  move.index_over = Layout(move.shape, Dims(move.shape.size()), index.offset());
  move.index_over.strides[axis] = step;
  for (int i = 0; i < named.ndim(); ++i)
    if (i != axis && (move.safe_axis < 0 || move.shape[i] > move.shape[move.safe_axis])) move.safe_axis = i;
  return move;
}

IndexedCopy gather_move(const Tensor& named, int axis, const Tensor& index, IndexParams::Check check) {
  IndexedCopy move;
  move.index = index;
  move.axis = axis;
  move.params.check = check;
  move.params.size = named.ndim() == 0 ? 1 : named.size(axis);
  move.params.stride = named.ndim() == 0 ? named.itemsize() : named.strides()[axis] * named.itemsize();
  move.shape = index.shape();
  move.index_over = index.layout();
  move.named = Layout(move.shape, Dims(move.shape.size()), named.offset());
  // A 0-d operand stands for a vector of one element, and so does a 0-d index.
  for (int i = 0; i < std::min(named.ndim(), index.ndim()); ++i) {
    if (i == axis) continue;
    move.named.strides[i] = named.strides()[i];
    if (move.safe_axis < 0 || move.shape[i] > move.shape[move.safe_axis]) move.safe_axis = i;
  }
  return move;
}

void reduce_move(const IndexedCopy& move, const Tensor& self, const Tensor& from, const std::string& reduce,
                 bool include_self) {
  const ScatterOp op = reduce == "prod"   ? ScatterOp::Mul
                       : reduce == "amax" ? ScatterOp::Max
                       : reduce == "amin" ? ScatterOp::Min
                                          : ScatterOp::Add;
  STRIDED_CHECK(device_kernels(self) || table(self).combine[static_cast<int>(op)][index_of(self.dtype())],
                NotImplementedError, "reduction by '", reduce, "' not implemented for '", self.dtype(), "'");
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
    indexed_scatter(move, self, neutral);
  }
  indexed_scatter(move, self, from, &op);
  if (reduce != "mean") return;
  const Tensor counts = empty(self.shape(), DType::Int64, self.device());
  fill_into(counts, Scalar(include_self ? 1 : 0));
  IndexedCopy counting = move;
  counting.named.offset = 0;
  for (int i = 0; i < std::min(counts.ndim(), move.shape.ndim()); ++i)
    counting.named.strides[i] = i == move.axis ? 0 : counts.strides()[i];
  counting.params.stride = counts.ndim() == 0 ? counts.itemsize() : counts.strides()[move.axis] * counts.itemsize();
  indexed_scatter(counting, counts, number(Scalar(1), DType::Int64, self.device()), &op);
  TensorIterator iter(self.shape());
  iter.add(self);
  iter.add(counts);
  iter.plan();
  if (const Backend* device = device_kernels(self))
    return device->divide_by_counts(iter.loop_plan("mean", self.device()));
  iter.run(table(self).divide[index_of(self.dtype())], nullptr, 1);
}

Tensor flat(const Tensor& t) {
  const Dims shape{t.numel()};
  Layout layout;
  if (view(t.layout(), shape, &layout)) return make_view(t, layout);
  NoGradGuard guard;
  return make_view(contiguous(t), Layout(shape));
}

void check_flat_index(const Tensor& index, int64_t numel) {
  IndexedCopy move;
  move.index = index;
  move.axis = -1;
  move.params.size = numel;
  check_index(move);
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

void check_fits(const Scalar& value, DType dtype) {
  bool fits = is_complex(dtype) || !value.is_complex() || value.imag() == 0;
  if (fits && is_integer(dtype)) {
    const int bits = static_cast<int>(8 * size_of(dtype)) - is_signed(dtype);
    if (value.is_integral()) {
      const int64_t v = value.to_int();
      if (value.kind() == Scalar::Kind::UInt) fits = bits == 64;
      else if (bits < 63) fits = v < (int64_t(1) << bits) && v >= -(int64_t(1) << bits);
    } else {
      const double v = std::trunc(value.real()), limit = std::ldexp(1.0, bits);
      fits = v < limit && v >= -limit;  // false for NaN
    }
  } else if (fits && is_floating(dtype)) {
    fits = !(std::abs(value.real()) > info_of(dtype).greatest) || std::isinf(value.real());
  }
  STRIDED_CHECK(fits, RuntimeError, "value cannot be converted to type ", info_of(dtype).written, " without overflow");
}

Tensor number(const Scalar& value, DType dtype, Device device) {
  check_fits(value, dtype);
  const Tensor out = empty(Dims(), dtype, device);
  fill_into(out, value);
  return out;
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
