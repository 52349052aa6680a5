// Gathers, scatters and masks.
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
  for (int i = 0; i < v.v->shape.ndim(); ++i) all.push_back(i);
  // 0 is never bad. As unsigned numbers all others are greater.
  const Value none = constant_int(kGood, DType::Int64, v.v->shape), found = select(bad.v, v.v, none);
  const Value worst = bitcast(
      fold("stablehlo.maximum", bitcast(found, DType::UInt64), constant_int(kGood, DType::UInt64), all), DType::Int64);
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

// Whole rows: the index varies along some axes, the rest of the place along the others, as in index_select, embeddings
// and their gradients. The indexed operand is then a table, whose rows are windows of a gather or scatter.
struct Rows {
  Dims of_index, of_row;  // axes of the shape
  Dims index_shape, index_strides, table_shape, table_strides;
  bool found = false;
};
Rows find_rows(const IndexPlan& plan) {
  Rows r;
  const IndexPlan::Index& index = plan.index[0];
  if (plan.n_indices != 1 || index.stride <= 0) return r;
  r.table_shape.push_back(index.size);
  r.table_strides.push_back(index.stride);
  for (int i = 0; i < plan.ndim; ++i) {
    if (plan.indexed_strides[i] != 0) {
      if (index.strides[i] != 0 || plan.indexed_strides[i] < 0) return r;
      r.of_row.push_back(i);
      r.table_shape.push_back(plan.shape[i]);
      r.table_strides.push_back(plan.indexed_strides[i]);
    } else {
      r.of_index.push_back(i);
      r.index_shape.push_back(plan.shape[i]);
      r.index_strides.push_back(index.strides[i]);
    }
  }
  // A table in one piece, whose rows do not overlap.
  int64_t row = size_of(plan.dtype);
  for (size_t k = 1; k < r.table_shape.size(); ++k) row += (r.table_shape[k] - 1) * r.table_strides[k];
  r.found = !r.of_row.empty() && row <= index.stride;
  return r;
}
Value table_of(const IndexPlan& plan, const Rows& r) {
  return read(plan.indexed, plan.dtype, r.table_shape.ndim(), r.table_shape.data(), r.table_strides.data());
}
Value row_index(const IndexPlan& plan, const Rows& r) {
  const Num v(
      read(plan.index[0].data, DType::Int64, r.index_shape.ndim(), r.index_shape.data(), r.index_strides.data()));
  return checked(plan, plan.index[0], v).v;
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
  if (const Rows r = find_rows(plan); r.found) {
    const Value values = read(plan.dense, plan.dtype, plan.ndim, plan.shape, plan.dense_strides);
    const Value table = put_rows(table_of(plan, r), row_index(plan, r), values, op, r.of_row);
    return write(plan.indexed, plan.dtype, r.table_shape.ndim(), r.table_shape.data(), r.table_strides.data(), table);
  }
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
  if (const Rows r = find_rows(plan); r.found)
    return write(plan.dense, plan.dtype, plan.ndim, plan.shape, plan.dense_strides,
                 take_rows(table_of(plan, r), row_index(plan, r), shape_of(plan), r.of_row));
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
