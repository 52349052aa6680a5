// Gathers, scatters and masks.
#include <memory>
#include <string>

#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

Dims shape_of(const IndexPlan& plan) { return Dims(plan.shape, static_cast<size_t>(plan.ndim)); }

// An index that is out of range raises when the program has run. Until then it is kept inside.
Num checked(const IndexPlan& plan, const IndexPlan::Index& index, const Num& v) {
  const Num size(constant_int(index.size, DType::Int64, v.v->shape));
  const Num wrapped = plan.wrap ? where(v < 0.0, v + size, v) : v;
  const Num bad = (wrapped < 0.0) | (wrapped >= size);
  Dims all;
  for (int i = 0; i < plan.ndim; ++i) all.push_back(i);
  const Value none = constant_int(kGood, DType::Int64, v.v->shape);
  const Value worst = fold("stablehlo.maximum", select(bad.v, v.v, none), constant_int(kGood, DType::Int64), all);
  raise_later(plan.device, worst,
              [prefix = std::string(plan.error_prefix), axis = index.axis, n = index.size](int64_t value) {
                STRIDED_THROW(IndexError, prefix, "index ", value, " is out of bounds for dimension ",
                              axis < 0 ? 0 : axis, " with size ", n);
              });
  return where(bad, 0.0, wrapped);
}

// Where the indexed elements are in their storage.
Value places(const IndexPlan& plan, int64_t offset) {
  const Dims shape = shape_of(plan);
  const int64_t size = size_of(plan.dtype);
  auto integer = [&](int64_t v) { return Num(constant_int(v, DType::Int64, shape)); };
  Num place = integer(offset);
  for (int i = 0; i < plan.ndim; ++i)
    if (plan.indexed_strides[i] != 0 && shape[i] > 1)
      place = place + Num(iota(DType::Int64, shape, i)) * integer(plan.indexed_strides[i] / size);
  for (int k = 0; k < plan.n_indices; ++k) {
    const IndexPlan::Index& index = plan.index[k];
    const Num v(read(index.data, DType::Int64, plan.ndim, plan.shape, index.strides));
    place = place + checked(plan, index, v) * integer(index.stride / size);
  }
  return place.v;
}

bool is_empty(const IndexPlan& plan) {
  for (int i = 0; i < plan.ndim; ++i)
    if (plan.shape[i] == 0) return true;
  return false;
}

void check_size(const IndexPlan& plan) {
  for (int k = 0; k < plan.n_indices; ++k)
    STRIDED_CHECK(plan.index[k].size > 0, IndexError, plan.error_prefix,
                  "index is out of bounds for dimension with size 0");
}

void scattered(const IndexPlan& plan, const char* op) {
  if (is_empty(plan)) return;
  check_size(plan);
  int64_t offset;
  const Value flat = storage_of(plan.indexed, plan.dtype, &offset);
  const Value values = read(plan.dense, plan.dtype, plan.ndim, plan.shape, plan.dense_strides);
  set_storage(plan.indexed, put(flat, places(plan, offset), values, op, false));
}

struct Mask {
  Value order;  // the positions of set elements first, in ascending order
  int64_t count;
};

}  // namespace

void gather(const IndexPlan& plan) {
  if (is_empty(plan)) return;
  check_size(plan);
  int64_t offset;
  const Value flat = storage_of(plan.indexed, plan.dtype, &offset);
  write(plan.dense, plan.dtype, plan.ndim, plan.shape, plan.dense_strides, take(flat, places(plan, offset)));
}

void scatter(const IndexPlan& plan) { scattered(plan, ""); }

void scatter_reduce(const IndexPlan& plan, ScatterOp op) {
  const char* const names[] = {"stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum"};
  scattered(plan, names[static_cast<int>(op)]);
}

void nonzero_begin(const OpContext& on, const char* mask, int64_t n, void** handle, int64_t* count) {
  *handle = nullptr;
  *count = 0;
  if (n == 0) return;
  const Value set = read(mask, DType::Bool, {n});
  const Value number = fold("stablehlo.add", convert(set, DType::Int64), constant_int(0, DType::Int64), {0});
  *count = value_now(number, on.device);
  const Value unset = convert(unary("stablehlo.not", set), DType::UInt8);
  *handle = new Mask{sorted_order(unset), *count};
}
void nonzero_write(const OpContext&, void* handle, char* to, const char* from, int64_t itemsize) {
  const Mask* mask = static_cast<const Mask*>(handle);
  if (!mask || mask->count == 0) return;
  const Value first = slice(mask->order, {0}, {mask->count});
  if (!from) return write(to, DType::Int64, {mask->count}, first);
  // Only the size of the elements is known: they move as words of it, or as several.
  const DType word = itemsize == 1   ? DType::UInt8
                     : itemsize == 2 ? DType::UInt16
                     : itemsize == 4 ? DType::UInt32
                                     : DType::UInt64;
  const int64_t words = itemsize / size_of(word), n = mask->order->shape[0];
  if (words == 1) return write(to, word, {mask->count}, take(read(from, word, {n}), first));
  const Value rows = read(from, word, {n, words});
  std::vector<Value> columns;
  for (int64_t k = 0; k < words; ++k)
    columns.push_back(reshape(take(reshape(slice(rows, {0, k}, {n, k + 1}), {n}), first), {mask->count, 1}));
  write(to, word, {mask->count, words}, concatenate(columns, 1));
}
void nonzero_end(const OpContext&, void* handle) { delete static_cast<Mask*>(handle); }

}  // namespace strided::xla
