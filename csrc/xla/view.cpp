#include "xla/view.h"

#include <algorithm>
#include <numeric>

#include "xla/ops.h"

namespace strided::xla {
namespace {

// Note [Boxes]
// Most views are boxes: with axes in order of their strides s0 >= s1 >= ..., where each stride divides the one before,
// the storage reads as an array of axes ceil(n / s0), s0 / s1, ..., and the view is a block of it. So a slice with a
// step is a block of an array with one axis more, of which it has one place. What is no box (a diagonal of a batch,
// windows that overlap) is gathered.
struct Box {
  std::vector<int> order;    // of the axes that are longer than 1 and do not repeat, by stride
  Dims reversed;             // axes of the block with a negative stride
  Dims sizes, start, limit;  // of the array; of the block
  int64_t n = 0;             // elements of the array: the storage is cut or padded to it
};

bool find_box(View view, Box* box) {
  for (int i = 0; i < view.shape.ndim(); ++i)
    if (view.shape[i] != 1 && view.strides[i] != 0) box->order.push_back(i);
  for (const int i : box->order)
    if (view.strides[i] < 0) {
      view.offset += (view.shape[i] - 1) * view.strides[i];
      view.strides[i] = -view.strides[i];
      box->reversed.push_back(i);
    }
  std::stable_sort(box->order.begin(), box->order.end(),
                   [&](int a, int b) { return view.strides[a] > view.strides[b]; });
  for (int64_t& axis : box->reversed) axis = std::find(box->order.begin(), box->order.end(), axis) - box->order.begin();
  std::sort(box->reversed.begin(), box->reversed.end());
  int64_t before = 0, left = view.offset;
  for (const int i : box->order) {
    const int64_t stride = view.strides[i], at = left / stride;
    left %= stride;
    if (before) {
      if (before % stride || at + view.shape[i] > before / stride) return false;
      box->sizes.push_back(before / stride);
    } else {
      box->sizes.push_back(at + view.shape[i]);
    }
    box->start.push_back(at);
    box->limit.push_back(at + view.shape[i]);
    before = stride;
  }
  if (before == 0) before = left + 1;  // one element
  if (before > 1) {
    box->sizes.push_back(before);
    box->start.push_back(left);
    box->limit.push_back(left + 1);
  }
  box->n = numel_of(box->sizes);
  return true;
}

// The first and the last element, and the same view from the first on.
View from_first(const View& view, int64_t* first, int64_t* last) {
  *first = *last = view.offset;
  for (int i = 0; i < view.shape.ndim(); ++i)
    (view.strides[i] < 0 ? *first : *last) += (view.shape[i] - 1) * view.strides[i];
  View moved = view;
  moved.offset -= *first;
  return moved;
}

Value resized(const Value& flat, int64_t n) {
  const int64_t have = flat->shape[0];
  if (n <= have) return slice(flat, {0}, {n});
  return pad(flat, {0}, {n - have}, constant_int(0, flat->dtype));
}

// From the block, axes by stride, to the axes of the view, and back.
Value from_block(const Value& block, const Box& box, const View& view) {
  Dims sizes;
  for (const int i : box.order) sizes.push_back(view.shape[i]);
  Value v = reverse(reshape(block, sizes), box.reversed);
  std::vector<int> axes(box.order.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return box.order[a] < box.order[b]; });
  v = transpose(v, axes);
  Dims kept;
  for (const int a : axes) kept.push_back(box.order[a]);
  if (numel_of(v->shape) == numel_of(view.shape)) return reshape(v, view.shape);
  return broadcast(v, view.shape, kept);
}
Value to_block(const Value& value, const Box& box, const View& view) {
  Dims sizes;
  std::vector<int> axes(box.order.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return box.order[a] < box.order[b]; });
  for (const int a : axes) sizes.push_back(view.shape[box.order[a]]);
  std::vector<int> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int>(i);
  const Value v = reverse(transpose(reshape(value, sizes), back), box.reversed);
  Dims block = v->shape;
  while (block.ndim() < box.sizes.ndim()) block.push_back(1);
  return reshape(v, block);
}

Value positions(const View& view) {
  Value sum = constant_int(view.offset, DType::Int64, view.shape);
  for (int i = 0; i < view.shape.ndim(); ++i) {
    if (view.shape[i] == 1 || view.strides[i] == 0) continue;
    const Value step = constant_int(view.strides[i], DType::Int64, view.shape);
    sum = binary("stablehlo.add", sum, binary("stablehlo.multiply", iota(DType::Int64, view.shape, i), step));
  }
  return sum;
}

}  // namespace

Value read_view(const Value& flat, const View& view) {
  Box box;
  if (find_box(view, &box))
    return from_block(slice(reshape(resized(flat, box.n), box.sizes), box.start, box.limit), box, view);
  int64_t first, last;
  const View moved = from_first(view, &first, &last);
  Box near;
  if (first > 0 && find_box(moved, &near)) return read_view(slice(flat, {first}, {last + 1}), moved);
  return take(flat, positions(view));
}

Value write_view(const Value& flat, const View& view, const Value& value) {
  const int64_t n = flat->shape[0];
  Box box;
  if (find_box(view, &box)) {
    const Value block = to_block(value, box, view);
    const Value all = reshape(update(reshape(resized(flat, box.n), box.sizes), block, box.start), {box.n});
    return box.n >= n ? slice(all, {0}, {n}) : update(flat, all, {0});
  }
  int64_t first, last;
  const View moved = from_first(view, &first, &last);
  Box near;
  if (first > 0 && find_box(moved, &near))
    return update(flat, write_view(slice(flat, {first}, {last + 1}), moved, value), {first});
  return put(flat, positions(view), value, "", true);
}

Value write_whole(const View& view, const Value& value, int64_t n) {
  Box box;
  if (numel_of(view.shape) != n || !find_box(view, &box) || box.n != n) return {};
  for (int i = 0; i < box.sizes.ndim(); ++i)
    if (box.limit[i] - box.start[i] != box.sizes[i]) return {};
  return reshape(to_block(value, box, view), {n});
}

Value retype(const Value& flat, DType dtype, int64_t n) {
  const DType from = flat->dtype;
  if (from == dtype) return flat;
  if (dtype == DType::Bool) return compare("NE", retype(flat, DType::UInt8, n), constant_int(0, DType::UInt8, {n}));
  if (from == DType::Bool) return retype(convert(flat, DType::UInt8), dtype, n);
  const int64_t have = flat->shape[0];
  if (is_complex(from)) {
    const DType real = real_of(from);
    const Value re = add("stablehlo.real", {flat}, real, flat->shape),
                im = add("stablehlo.imag", {flat}, real, flat->shape);
    const Value both = concatenate({reshape(re, {have, 1}), reshape(im, {have, 1})}, 1);
    return retype(reshape(both, {2 * have}), dtype, n);
  }
  if (is_complex(dtype)) {
    const Value parts = reshape(retype(flat, real_of(dtype), 2 * n), {n, 2});
    const Value re = reshape(slice(parts, {0, 0}, {n, 1}), {n}), im = reshape(slice(parts, {0, 1}, {n, 2}), {n});
    return add("stablehlo.complex", {re, im}, dtype, {n});
  }
  const int64_t a = size_of(from), b = size_of(dtype);
  if (a == b) return bitcast(flat, dtype);
  if (a > b) return reshape(add("stablehlo.bitcast_convert", {flat}, dtype, {have, a / b}), {have * (a / b)});
  const Value grouped = reshape(slice(flat, {0}, {n * (b / a)}), {n, b / a});
  return add("stablehlo.bitcast_convert", {grouped}, dtype, {n});
}

}  // namespace strided::xla
