// Views side by side along an axis.

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/record.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

// Neighbouring parts of x along an axis, recorded as one node: the gradients of the parts side by side again. The node
// shows the axis as the user gave it, and `split` by the last of the names (Note [Values with names]).
template <class T>
std::vector<Tensor> parts(const char* name, const Tensor& x, int64_t dim, const Dims& sizes, const char* names,
                          const T& split) {
  const int axis = wrap_axis("split", dim, x.ndim());
  std::vector<Tensor> out;
  out.reserve(sizes.size());
  int64_t start = 0;
  for (int64_t size : sizes) {
    out.push_back(view_of(x, [&] { return narrow(x.layout(), axis, start, size); }, ViewKind::Multi));
    start += size;
  }
  if (!needs_grad(x) || out.empty()) return out;
  auto formula = [sizes, dtype = x.dtype(), device = x.device()](const std::vector<Tensor>& grads, int64_t dim,
                                                                 const Dims& shape, const T&) {
    std::vector<Tensor> all = grads;
    Dims part = shape;
    const int axis = wrap_axis("split", dim, part.ndim());
    for (size_t i = 0; i < all.size(); ++i) {
      part[axis] = sizes[i];
      if (!all[i].defined()) all[i] = zeros(part, dtype, device);
    }
    return std::vector<Tensor>{cat(all, axis)};
  };
  record_all(name, out, {x}, NamedFormula{std::tuple{dim, x.shape(), split}, std::move(formula), names});
  return out;
}

// Parts that know nothing of each other: views where nothing is recorded, copies with records of their own elsewhere.
std::vector<Tensor> own_parts(std::vector<Tensor> parts) {
  for (Tensor& part : parts)
    if (needs_grad(part)) part = clone(part);
  return parts;
}

// An index tensor as numbers.
Dims to_dims(const Tensor& t) {
  const Tensor flat = contiguous(to_device(to_dtype(t, DType::Int64), Device()));
  return Dims(flat.data_as<int64_t>(), static_cast<size_t>(flat.numel()));
}

// Parts of an axis that has no elements cost memory all the same: their number has a limit.
void check_parts(const char* op, int64_t n) {
  STRIDED_CHECK(n <= (int64_t(1) << 24), RuntimeError, op, ": at most ", int64_t(1) << 24, " parts can be made, got ",
                n);
}
// hsplit, vsplit, dsplit: the axis, after the checks they share.
int64_t named_axis(const char* op, const Tensor& x, int least, int64_t axis) {
  STRIDED_CHECK(x.ndim() >= least, RuntimeError, "torch.", op, " requires a tensor with at least ", least,
                " dimension, but got a tensor with ", x.ndim(), " dimensions!");
  return axis;
}
std::vector<Tensor> split_evenly(const char* op, const Tensor& x, int64_t sections, int64_t axis) {
  const int64_t size = x.size(static_cast<int>(axis));
  check_parts(op, sections);
  STRIDED_CHECK(sections > 0 && size % sections == 0, RuntimeError, "torch.", op,
                " attempted to split along dimension ", axis, ", but the size of the dimension ", size,
                " is not divisible by the split_size ", sections, "!");
  return tensor_split(x, sections, axis);
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim) {
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "split expects at least a 1-dimensional tensor");
  STRIDED_CHECK(split_size >= 0, RuntimeError,
                "split expects split_size be non-negative, but got split_size=", split_size);
  const int axis = wrap_axis("split", dim, x.ndim());
  const int64_t size = x.size(axis);
  STRIDED_CHECK(split_size > 0 || size == 0, RuntimeError,
                "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  check_parts("split", split_size > 0 ? size / split_size : 1);
  Dims sizes;
  int64_t rest = size;
  for (; split_size > 0 && rest > split_size; rest -= split_size) sizes.push_back(split_size);
  sizes.push_back(rest);
  return parts("SplitBackward0", x, dim, sizes, "dim self_sym_sizes split_size", split_size);
}

std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& split_sizes, int64_t dim) {
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "split expects at least a 1-dimensional tensor");
  const int axis = wrap_axis("split", dim, x.ndim());
  int64_t rest = x.size(axis);
  for (int64_t size : split_sizes) {
    STRIDED_CHECK(
        size >= 0, RuntimeError,
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", split_sizes);
    rest = size <= rest ? rest - size : -1;
    if (rest < 0) break;
  }
  for (int64_t size : split_sizes)
    STRIDED_CHECK(
        size >= 0, RuntimeError,
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", split_sizes);
  STRIDED_CHECK(rest == 0, RuntimeError, "split_with_sizes expects split_sizes to sum exactly to ", x.size(axis),
                " (input tensor's size at dimension ", axis, "), but got split_sizes=", split_sizes);
  return parts("SplitWithSizesBackward0", x, dim, split_sizes, "dim self_sym_sizes split_sizes", split_sizes);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "chunk expects at least a 1-dimensional tensor");
  check_parts("chunk", chunks);
  STRIDED_CHECK(chunks > 0, RuntimeError, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = x.size(wrap_axis("chunk", dim, x.ndim()));
  // An axis of size 0 still gives as many parts as were asked for.
  if (size == 0) return split_with_sizes(x, Dims(static_cast<size_t>(chunks), 0), dim);
  return split(x, (size - 1) / chunks + 1, dim);
}

std::vector<Tensor> unsafe_split(const Tensor& x, int64_t split_size, int64_t dim) {
  return own_parts(split(x, split_size, dim));
}

std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, const Dims& split_sizes, int64_t dim) {
  return own_parts(split_with_sizes(x, split_sizes, dim));
}

std::vector<Tensor> unsafe_chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  return own_parts(chunk(x, chunks, dim));
}

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  STRIDED_CHECK(x.ndim() > 0, RuntimeError,
                "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.ndim(), " dims");
  const int axis = wrap_axis("tensor_split", dim, x.ndim());
  check_parts("tensor_split", sections);
  STRIDED_CHECK(sections > 0, RuntimeError, "number of sections must be larger than 0, got ", sections);
  const int64_t least = x.size(axis) / sections, longer = x.size(axis) % sections;
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t size = least + (i < longer ? 1 : 0);
    out.push_back(slice(x, axis, start, start + size, 1));
    start += size;
  }
  return out;
}

std::vector<Tensor> tensor_split(const Tensor& x, const Dims& indices, int64_t dim) {
  STRIDED_CHECK(x.ndim() > 0, RuntimeError,
                "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.ndim(), " dims");
  const int axis = wrap_axis("tensor_split", dim, x.ndim());
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t stop : indices) {
    out.push_back(slice(x, axis, start, stop, 1));
    start = stop;
  }
  out.push_back(slice(x, axis, start, x.size(axis), 1));
  return out;
}

std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& indices_or_sections, int64_t dim) {
  const Tensor& t = indices_or_sections;
  STRIDED_CHECK(x.ndim() > 0, RuntimeError,
                "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.ndim(), " dims");
  STRIDED_CHECK(t.dtype() == DType::Int64, RuntimeError,
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ", t.dtype());
  STRIDED_CHECK(t.ndim() <= 1, RuntimeError,
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                "but got a tensor with ",
                t.ndim(), " dims");
  const Dims values = to_dims(t);
  return t.ndim() == 0 ? tensor_split(x, values[0], dim) : tensor_split(x, values, dim);
}

std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) {
  return split_evenly("hsplit", x, sections, named_axis("hsplit", x, 1, x.ndim() == 1 ? 0 : 1));
}
std::vector<Tensor> hsplit(const Tensor& x, const Dims& indices) {
  return tensor_split(x, indices, named_axis("hsplit", x, 1, x.ndim() == 1 ? 0 : 1));
}
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) {
  return split_evenly("vsplit", x, sections, named_axis("vsplit", x, 2, 0));
}
std::vector<Tensor> vsplit(const Tensor& x, const Dims& indices) {
  return tensor_split(x, indices, named_axis("vsplit", x, 2, 0));
}
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) {
  return split_evenly("dsplit", x, sections, named_axis("dsplit", x, 3, 2));
}
std::vector<Tensor> dsplit(const Tensor& x, const Dims& indices) {
  return tensor_split(x, indices, named_axis("dsplit", x, 3, 2));
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  STRIDED_CHECK(x.ndim() > 0, IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  const int axis = wrap_axis("unbind", dim, x.ndim());
  check_parts("unbind", x.size(axis));
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(x.size(axis)));
  for (int64_t i = 0; i < x.size(axis); ++i)
    out.push_back(view_of(x, [&] { return select(x.layout(), axis, i); }, ViewKind::Multi));
  if (!needs_grad(x) || out.empty()) return out;
  auto formula = [part = out[0].shape(), dtype = x.dtype(), device = x.device()](const std::vector<Tensor>& grads,
                                                                                 int64_t dim) {
    std::vector<Tensor> all = grads;
    for (Tensor& g : all)
      if (!g.defined()) g = zeros(part, dtype, device);
    return std::vector<Tensor>{stack(all, dim)};
  };
  record_all("UnbindBackward0", out, {x}, NamedFormula{std::tuple{dim}, std::move(formula), "dim"});
  return out;
}

}  // namespace strided
