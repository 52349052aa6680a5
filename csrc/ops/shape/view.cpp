#include "ops/shape/view.h"

#include <algorithm>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"

namespace strided {

Tensor scatter_to_zeros(const Tensor& g, const Dims& shape, const ViewFn& look, const char* node) {
  Tensor out = zeros(shape, g.dtype(), g.device());
  {
    NoGradGuard no_grad;
    copy_into(look(out), g);
  }
  return record(node, out, g, [look](const Tensor& gg) { return look(gg); });
}

namespace {

// A view of all elements, whose gradient is only reshaped. The node shows `values` by `names` (Note [Values with
// names]).
template <class F, class... V>
Tensor record_reshape(const char* name, const Tensor& x, F layout, const char* names, V... values) {
  Tensor out = view_of(x, layout);
  if (!needs_grad(x)) return out;
  return record(name, std::move(out), x,
                NamedFormula{std::tuple<V...>(std::move(values)...),
                             [shape = x.shape()](const Tensor& g, const V&...) { return reshape(g, shape); }, names});
}
template <class F>
Tensor record_view(const Tensor& x, F layout) {
  return record_reshape("ViewBackward0", x, layout, "self_sym_sizes", InputShape());
}

// A view of some elements. `look` makes it from x and the values in recorded ops.
template <class F, class... V>
Tensor record_partial_view(const char* name, const Tensor& x, Tensor out, F look, const char* names, V... values) {
  if (!needs_grad(x)) return out;
  auto formula = [shape = x.shape(), look](const Tensor& g, const V&... v) {
    return scatter_to_zeros(g, shape, [look, v...](const Tensor& z) { return look(z, v...); });
  };
  return record(name, std::move(out), x,
                NamedFormula{std::tuple<V...>(std::move(values)...), std::move(formula), names});
}

// x of two or more axes (or none), as x.mT and its like want it.
void check_matrix(const char* what, const Tensor& x) {
  STRIDED_CHECK(x.ndim() != 1, RuntimeError, what,
                " is only supported on matrices or batches of matrices. Got 1-D tensor.");
}

}  // namespace

// ---------------------------------------------------------------- shape

Tensor view(const Tensor& x, const Dims& shape) {
  const Dims sizes = infer_size("view", shape, x.numel());
  Dims strides;
  STRIDED_CHECK(view_strides(x.layout(), sizes, &strides), RuntimeError,
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                "two contiguous "
                "subspaces). Use .reshape(...) instead.");
  return record_view(x, [&] { return x.layout().of(sizes, strides); });
}

Tensor view_dtype(const Tensor& x, DType dtype) {
  return make_view(
      x, view_as_itemsize(x.layout(), x.itemsize(), size_of(dtype), cpp_name_of(x.dtype()), cpp_name_of(dtype)), dtype);
}

Tensor view_as(const Tensor& x, const Tensor& other) { return view(x, other.shape()); }

Tensor reshape(const Tensor& x, const Dims& shape) {
  const Dims sizes = infer_size("reshape", shape, x.numel());
  Dims strides;
  if (view_strides(x.layout(), sizes, &strides)) return record_view(x, [&] { return x.layout().of(sizes, strides); });
  // A copy, of which nobody else will hold another view.
  const Tensor copy = contiguous(x);
  return record(
      "UnsafeViewBackward0", make_view(copy, Layout(sizes)), copy,
      NamedFormula{std::tuple{InputShape()},
                   [shape = x.shape()](const Tensor& g, InputShape) { return reshape(g, shape); }, "self_sym_sizes"});
}

Tensor reshape_as(const Tensor& x, const Tensor& other) { return reshape(x, other.shape()); }

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const int start = wrap_axis("flatten", start_dim, x.ndim()), end = wrap_axis("flatten", end_dim, x.ndim());
  STRIDED_CHECK(start <= end, RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (x.ndim() == 0) return reshape(x, {1});
  if (start == end) return x;
  Dims shape;
  int64_t joined = 1;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i < start || i > end) shape.push_back(x.size(i));
    else joined *= x.size(i);
    if (i == end) shape.push_back(joined);
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes) {
  STRIDED_CHECK(!sizes.empty(), RuntimeError, "unflatten: sizes must be non-empty");
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "unflatten got an unexpected error: Dimension specified as ", dim,
                " but tensor has no dimensions");
  const int axis = wrap_axis("unflatten", dim, x.ndim());
  int64_t known = 1;
  int unknown = -1;
  bool fits = true;
  for (int i = 0; i < sizes.ndim(); ++i) {
    if (sizes[i] == -1) {
      STRIDED_CHECK(unknown < 0, RuntimeError, "unflatten: only one dimension can be inferred, got sizes ", sizes);
      unknown = i;
    } else {
      fits = fits && sizes[i] >= 0 && multiply(known, sizes[i], &known);
    }
  }
  const int64_t size = x.size(axis);
  fits = fits && (unknown >= 0 ? known > 0 && size % known == 0 : known == size);
  STRIDED_CHECK(fits, RuntimeError, "unflatten: Provided sizes ", sizes, " don't multiply up to the size of dim ", axis,
                " (", size, ") in the input tensor");
  Dims shape(x.shape().data(), static_cast<size_t>(axis));
  for (int i = 0; i < sizes.ndim(); ++i) shape.push_back(i == unknown ? size / known : sizes[i]);
  for (int i = axis + 1; i < x.ndim(); ++i) shape.push_back(x.size(i));
  return reshape(x, shape);
}

Tensor ravel(const Tensor& x) {
  if (!x.layout().has_contiguous_strides()) return reshape(contiguous(x), {-1});
  const int64_t n = x.numel(), step = 1;
  return record_view(x, [&] { return Layout(&n, &step, 1, x.layout().offset); });
}

// ---------------------------------------------------------------- order of axes

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  Tensor out = view_of(x, [&] { return transpose(x.layout(), dim0, dim1); });
  if (!needs_grad(x)) return out;
  return record(
      "TransposeBackward0", std::move(out), x,
      NamedFormula{std::tuple{dim0, dim1},
                   [](const Tensor& g, int64_t dim0, int64_t dim1) { return transpose(g, dim0, dim1); }, "dim0 dim1"});
}

Tensor t(const Tensor& x) {
  STRIDED_CHECK(x.ndim() <= 2, RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is ", x.ndim(), "D");
  Tensor out = view_of(x, [&] { return x.ndim() < 2 ? x.layout() : transpose(x.layout(), 0, 1); });
  if (!needs_grad(x)) return out;
  return record("TBackward0", std::move(out), x, [](const Tensor& g) { return t(g); });
}

Tensor permute(const Tensor& x, const Dims& dims) {
  Tensor out = view_of(x, [&] { return permute(x.layout(), dims); });
  if (!needs_grad(x)) return out;
  const auto formula = [](const Tensor& g, const Dims& dims) {
    Dims inverse(dims.size());
    for (int i = 0; i < dims.ndim(); ++i) inverse[dims[i] < 0 ? dims[i] + g.ndim() : dims[i]] = i;
    return permute(g, inverse);
  };
  return record("PermuteBackward0", std::move(out), x, NamedFormula{std::tuple{dims}, formula, "dims"});
}

Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination) {
  STRIDED_CHECK(source.size() == destination.size(), RuntimeError,
                "movedim: Invalid source or destination dims: source (", source,
                " dims) should contain the same number of dims as destination (", destination, " dims)");
  const int n = x.ndim();
  Dims order(static_cast<size_t>(n), -1);
  uint64_t taken = 0;
  for (int i = 0; i < source.ndim(); ++i) {
    const int from = wrap_axis("movedim", source[i], n), to = wrap_axis("movedim", destination[i], n);
    STRIDED_CHECK(!(taken >> from & 1), RuntimeError, "movedim: repeated dim in `source` (", source, ")");
    taken |= uint64_t(1) << from;
    if (n == 0) continue;
    STRIDED_CHECK(order[to] < 0, RuntimeError, "movedim: repeated dim in `destination` (", destination, ")");
    order[to] = from;
  }
  int next = 0;
  for (int i = 0; i < n; ++i) {
    if (order[i] >= 0) continue;
    while (taken >> next & 1) ++next;
    order[i] = next++;
  }
  return permute(x, order);
}

Tensor numpy_T(const Tensor& x) {
  Dims order(x.shape().size());
  for (int i = 0; i < x.ndim(); ++i) order[i] = x.ndim() - 1 - i;
  return permute(x, order);
}

Tensor mT(const Tensor& x) {
  check_matrix("tensor.mT", x);
  return x.ndim() == 0 ? permute(x, {}) : transpose(x, -2, -1);
}

Tensor matrix_H(const Tensor& x) {
  STRIDED_CHECK(x.ndim() == 2 || x.ndim() == 0, RuntimeError,
                "tensor.H is only supported on matrices (2-D tensors). Got ", x.ndim(), "-D tensor.",
                x.ndim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  return adjoint(x);
}

Tensor mH(const Tensor& x) {
  check_matrix("tensor.mH", x);
  return adjoint(x);
}

Tensor adjoint(const Tensor& x) {
  check_matrix("tensor.adjoint()", x);
  return conj(mT(x));
}

// ---------------------------------------------------------------- number of axes

Tensor squeeze(const Tensor& x) {
  return record_reshape("SqueezeBackward0", x, [&] { return squeeze(x.layout()); }, "self_sym_sizes", InputShape());
}

Tensor squeeze(const Tensor& x, const Dims& dims) {
  const auto layout = [&] { return squeeze(x.layout(), dims); };
  if (dims.size() == 1)
    return record_reshape("SqueezeBackward1", x, layout, "dim self_sym_sizes", dims[0], InputShape());
  return record_reshape("SqueezeBackward2", x, layout, "dim self_sym_sizes", dims, InputShape());
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  return record_reshape("UnsqueezeBackward0", x, [&] { return unsqueeze(x.layout(), dim); }, "dim", dim);
}

Tensor expand(const Tensor& x, const Dims& size) {
  STRIDED_CHECK(size.ndim() >= x.ndim(), RuntimeError, "expand(torch.", cpp_name_of(x.dtype()), "Tensor{", x.shape(),
                "}, size=", size, "): the number of sizes provided (", size.ndim(),
                ") must be greater or equal to the number of dimensions in the tensor (", x.ndim(), ")");
  Tensor out = view_of(x, [&] { return expand(x.layout(), size); });
  if (!needs_grad(x)) return out;
  // The engine sums a gradient to the shape of what it is the gradient of.
  return record(
      "ExpandBackward0", std::move(out), x,
      NamedFormula{std::tuple{InputShape()}, [](const Tensor& g, InputShape) { return g; }, "self_sym_sizes"});
}

Tensor expand_as(const Tensor& x, const Tensor& other) { return expand(x, other.shape()); }

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  Dims shape;
  for (const Tensor& x : tensors) shape = broadcast_shapes(shape, x.shape());
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(x.shape() == shape ? x : expand(x, shape));
  return out;
}

Tensor atleast_1d(const Tensor& x) { return x.ndim() == 0 ? reshape(x, {1}) : x; }
Tensor atleast_2d(const Tensor& x) { return x.ndim() == 0 ? reshape(x, {1, 1}) : x.ndim() == 1 ? unsqueeze(x, 0) : x; }
Tensor atleast_3d(const Tensor& x) {
  if (x.ndim() == 0) return reshape(x, {1, 1, 1});
  if (x.ndim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.ndim() == 2 ? unsqueeze(x, -1) : x;
}

// ---------------------------------------------------------------- parts

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  return record_partial_view(
      "SelectBackward0", x, view_of(x, [&] { return select(x.layout(), dim, index); }),
      [](const Tensor& z, int64_t dim, int64_t index, InputShape) { return select(z, dim, index); },
      "dim index self_sym_sizes", dim, index, InputShape());
}

namespace {

Tensor record_slice(const Tensor& x, Tensor out, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  return record_partial_view(
      "SliceBackward0", x, std::move(out),
      [](const Tensor& z, int64_t dim, int64_t start, int64_t stop, int64_t step, InputShape) {
        return slice(z, dim, start, stop, step);
      },
      "dim start end step self_sym_sizes", dim, start, stop, step, InputShape());
}

}  // namespace

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "slice() cannot be applied to a 0-dim tensor.");
  Tensor out = view_of(x, [&] { return slice(x.layout(), wrap_axis("slice", dim, x.ndim()), start, stop, step); });
  return record_slice(x, std::move(out), dim, start, stop, step);
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  Tensor out = view_of(x, [&] { return narrow(x.layout(), dim, start, length); });
  if (start < 0) start += x.size(wrap_axis("narrow", dim, x.ndim()));
  return record_slice(x, std::move(out), dim, start, start + length, 1);
}

Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  const Tensor part = make_view(x, narrow(x.layout(), dim, start, length));
  const Tensor out = empty(part.shape(), x.dtype(), x.device());
  copy_into(out, part);
  return record_partial_view(
      "NarrowCopyBackward0", x, out,
      [](const Tensor& z, int64_t dim, int64_t start, int64_t length, InputShape) {
        return narrow(z, dim, start, length);
      },
      "dim start length self_sym_sizes", dim, start, length, InputShape());
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  return record_partial_view(
      "DiagonalBackward0", x, view_of(x, diagonal(x.layout(), offset, dim1, dim2)),
      [](const Tensor& z, int64_t offset, int64_t dim1, int64_t dim2, InputShape) {
        return diagonal(z, offset, dim1, dim2);
      },
      "offset dim1 dim2 self_sym_sizes", offset, dim1, dim2, InputShape());
}

namespace {

// Windows overlap, so their gradients add up. One strided sum for each window, or for each place in a window, whichever
// are fewer.
Tensor unfold_backward(const Tensor& g, const Dims& shape, int64_t dimension, int64_t size, int64_t step) {
  Tensor out = zeros(shape, g.dtype(), g.device());
  {
    NoGradGuard no_grad;
    const Tensor over = shape.empty() ? make_view(out, unsqueeze(out.layout(), 0)) : out;
    const Tensor from = shape.empty() ? make_view(g, unsqueeze(g.layout(), 0)) : g;  // (windows, size)
    const int axis = wrap_axis("unfold", dimension, shape.ndim());
    const int64_t windows = from.size(axis);
    if (windows < size) {
      for (int64_t w = 0; w < windows; ++w)
        elementwise_<Add>(narrow(over, axis, w * step, size), movedim(select(from, axis, w), {-1}, {axis}));
    } else {
      for (int64_t k = 0; k < size; ++k)
        elementwise_<Add>(slice(over, axis, k, k + (windows - 1) * step + 1, step), select(from, -1, k));
    }
  }
  return record("UnfoldBackwardBackward0", out, g,
                [dimension, size, step](const Tensor& gg) { return unfold(gg, dimension, size, step); });
}

}  // namespace

Tensor unfold(const Tensor& x, int64_t dimension, int64_t size, int64_t step) {
  Tensor out = view_of(x, unfold(x.layout(), dimension, size, step));
  if (!needs_grad(x)) return out;
  const auto formula = [](const Tensor& g, const Dims& shape, int64_t dimension, int64_t size, int64_t step) {
    return unfold_backward(g, shape, dimension, size, step);
  };
  return record(
      "UnfoldBackward0", std::move(out), x,
      NamedFormula{std::tuple{x.shape(), dimension, size, step}, formula, "self_sym_sizes dimension size step"});
}

// ---------------------------------------------------------------- any layout

namespace {

// The layout lies inside the storage, and no sum of its strides can overflow later.
Layout checked_layout(const Tensor& x, const Dims& size, const Dims& stride, int64_t offset) {
  STRIDED_CHECK(size.size() == stride.size(), RuntimeError, "mismatch in length of strides and shape");
  STRIDED_CHECK(offset >= 0, RuntimeError, "Tensor: invalid storage offset ", offset);
  const int64_t numel = checked_numel("as_strided", size);
  constexpr int64_t kFar = int64_t(1) << 58;
  int64_t first = offset, last = offset;
  bool fits = offset < kFar;
  for (int i = 0; i < size.ndim() && fits; ++i) {
    int64_t reach;
    fits = stride[i] > -kFar && stride[i] < kFar && multiply(std::max<int64_t>(size[i] - 1, 0), stride[i], &reach) &&
           !__builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last) && last < kFar &&
           first > -kFar;
  }
  STRIDED_CHECK(fits, RuntimeError, "Storage size calculation overflowed with sizes=", size, " and strides=", stride);
  if (numel > 0) {
    STRIDED_CHECK(first >= 0, RuntimeError, "as_strided: sizes ", size, ", strides ", stride, " and storage offset ",
                  offset, " reach before the start of the storage");
    const int64_t nbytes = static_cast<int64_t>(x.storage().nbytes());
    STRIDED_CHECK(last < nbytes / x.itemsize(), RuntimeError, "setStorage: sizes ", size, ", strides ", stride,
                  ", storage offset ", offset, ", and itemsize ", x.itemsize(), " requiring a storage size of ",
                  (last + 1) * x.itemsize(), " are out of bounds for storage of size ", nbytes);
  }
  return Layout(size, stride, offset);
}

// Gradient of as_strided.
// The result reads the storage, not x, so the gradient is taken there: g is added up at the places of the storage its
// elements came from, and x's gradient is read from x's own places. A place that x shows several times (an expanded x)
// shares its gradient among them. As in PyTorch.
Tensor as_strided_backward(const Tensor& g, const Layout& x, const Layout& out) {
  int64_t first = 0, last = 0, out_first = 0, out_last = 0;
  const bool some = x.extent(&first, &last), out_some = out.extent(&out_first, &out_last);
  if (!some || !out_some) return zeros(x.shape, g.dtype(), g.device());
  first = std::min(first, out_first);
  last = std::max(last, out_last);
  const Tensor places =
      arange(Scalar(int64_t(0)), Scalar(last - first + 1), Scalar(int64_t(1)), DType::Int64, g.device());
  auto places_of = [&](const Layout& l) {
    return reshape(make_view(places, Layout(l.shape, l.strides, l.offset - first)), {-1});
  };
  const Tensor flat = zeros({last - first + 1}, g.dtype(), g.device());
  Tensor sums = index_add(flat, 0, places_of(out), reshape(g, {-1}), Scalar(int64_t(1)));
  Tensor result = as_strided(sums, x.shape, x.strides, x.offset - first);
  const Tensor at = places_of(x);
  const Tensor shown = index_add(flat, 0, at, ones({at.numel()}, g.dtype(), g.device()), Scalar(int64_t(1)));
  return result / as_strided(shown, x.shape, x.strides, x.offset - first);
}

}  // namespace

Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) {
  Tensor out = view_of(x, checked_layout(x, size, stride, storage_offset.value_or(x.offset())));
  if (!needs_grad(x)) return out;
  auto formula = [from = x.layout()](const Tensor& g, const Dims& size, const Dims& stride,
                                     std::optional<int64_t> offset) {
    return as_strided_backward(g, from, Layout(size, stride, offset.value_or(from.offset)));
  };
  return record(
      "AsStridedBackward0", out, x,
      NamedFormula{std::tuple{size, stride, storage_offset}, std::move(formula), "size stride storage_offset"});
}

// ---------------------------------------------------------------- complex numbers

Tensor view_as_real(const Tensor& x) {
  STRIDED_CHECK(is_complex(x.dtype()), RuntimeError, "view_as_real is only supported for complex tensors");
  STRIDED_CHECK(x.ndim() < kMaxDims, RuntimeError, "view_as_real: a tensor has at most ", kMaxDims, " dimensions");
  Layout layout = x.layout();
  for (int64_t& s : layout.strides) s *= 2;
  layout.offset *= 2;
  layout.shape.push_back(2);
  layout.strides.push_back(1);
  Tensor out = view_of(x, std::move(layout), real_of(x.dtype()));
  if (!needs_grad(x)) return out;
  return record("ViewAsRealBackward0", std::move(out), x,
                [](const Tensor& g) { return view_as_complex(contiguous(g)); });
}

Tensor view_as_complex(const Tensor& x) {
  STRIDED_CHECK(
      x.dtype() == DType::Float32 || x.dtype() == DType::Float64, RuntimeError,
      "view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: ", x.dtype());
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "Input tensor must have one or more dimensions");
  STRIDED_CHECK(x.shape().back() == 2, RuntimeError, "Tensor must have a last dimension of size 2");
  STRIDED_CHECK(x.strides().back() == 1, RuntimeError, "Tensor must have a last dimension with stride 1");
  Layout layout = x.layout();
  layout.shape.pop_back();
  layout.strides.pop_back();
  for (int64_t& s : layout.strides) {
    STRIDED_CHECK(s % 2 == 0, RuntimeError, "Tensor must have a stride divisible by 2 for all but last dimension");
    s /= 2;
  }
  STRIDED_CHECK(layout.offset % 2 == 0, RuntimeError, "Tensor must have a storage_offset divisible by 2");
  layout.offset /= 2;
  Tensor out = view_of(x, std::move(layout), complex_of(x.dtype()));
  if (!needs_grad(x)) return out;
  return record("ViewAsComplexBackward0", std::move(out), x, [](const Tensor& g) { return view_as_real(g); });
}

namespace {

// One of the two numbers of each complex one.
Tensor part_of(const Tensor& x, int part) {
  if (needs_grad(x)) return select(view_as_real(x), -1, part);
  return view_of(
      x,
      [&] {
        Layout layout = x.layout();
        for (int64_t& s : layout.strides) s = widened(s, 2);
        layout.offset = 2 * layout.offset + part;
        return layout;
      },
      real_of(x.dtype()));
}

}  // namespace

Tensor real(const Tensor& x) { return is_complex(x.dtype()) ? part_of(x, 0) : x; }

Tensor imag(const Tensor& x) {
  STRIDED_CHECK(is_complex(x.dtype()), RuntimeError, "imag is not implemented for tensors with non-complex dtypes.");
  return part_of(x, 1);
}

// ---------------------------------------------------------------- in place

namespace {

// self becomes `view`, a view of it that was just made and recorded.
Tensor become(const char* op, const Tensor& self, const Tensor& view) {
  if (self.impl()->of_inference()) check_writable(op, self, true);
  check_recordable(op, self);
  const Edge edge = gradient_edge(view);
  bump_version(self, op);
  self.impl()->layout = view.layout();
  self.impl()->numel = view.numel();
  self.impl()->seen_version = self.storage().version();
  if (edge.node) set_history(self, edge.node, edge.input, true);
  return self;
}

}  // namespace

Tensor t_(const Tensor& self) {
  STRIDED_CHECK(self.ndim() <= 2, RuntimeError, "t_() expects a tensor with <= 2 dimensions, but self is ", self.ndim(),
                "D");
  return become("t_", self, t(self));
}
Tensor transpose_(const Tensor& self, int64_t dim0, int64_t dim1) {
  return become("transpose_", self, transpose(self, dim0, dim1));
}
Tensor squeeze_(const Tensor& self) { return become("squeeze_", self, squeeze(self)); }
Tensor squeeze_(const Tensor& self, const Dims& dims) { return become("squeeze_", self, squeeze(self, dims)); }
Tensor unsqueeze_(const Tensor& self, int64_t dim) { return become("unsqueeze_", self, unsqueeze(self, dim)); }
Tensor as_strided_(const Tensor& self, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) {
  return become("as_strided_", self, as_strided(self, size, stride, storage_offset));
}

Tensor resize_(const Tensor& self, const Dims& size) {
  if (self.impl()->of_inference()) check_writable("resize_", self, true);
  STRIDED_CHECK(!self.requires_grad(), RuntimeError, "cannot resize variables that require grad");
  const int64_t numel = checked_numel("resize_", size);
  if (size == self.shape()) return self;
  int64_t end;
  STRIDED_CHECK(!__builtin_add_overflow(self.offset(), numel, &end) && end < (int64_t(1) << 59), RuntimeError,
                "resize_: size ", size, " from storage offset ", self.offset(),
                " on needs more memory than there can be");
  const size_t nbytes = static_cast<size_t>(end * self.itemsize());
  if (numel > 0 && nbytes > self.storage().nbytes()) self.storage().resize(nbytes);
  bump_version(self, "resize_");
  self.impl()->layout = Layout(size, Layout::contiguous_strides(size), self.offset());
  self.impl()->numel = numel;
  return self;
}

}  // namespace strided
