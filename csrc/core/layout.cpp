#include "core/layout.h"

#include <algorithm>
#include <numeric>

namespace strided {

Dims Layout::contiguous_strides(const Dims& shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool Layout::is_contiguous() const {
  int64_t step = 1;
  for (int i = ndim() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) {
      for (int64_t s : shape)
        if (s == 0) return true;
      return false;
    }
    step *= shape[i];
  }
  return true;
}

bool Layout::is_dense() const {
  if (has_contiguous_strides()) return true;
  int order[kMaxDims];
  int n = 0;
  for (int i = 0; i < ndim(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) order[n++] = i;
  }
  std::sort(order, order + n, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (int i = 0; i < n; ++i) {
    if (strides[order[i]] != step) return false;
    step *= shape[order[i]];
  }
  return true;
}

bool Layout::has_zero_stride() const {
  bool found = false;
  for (int i = 0; i < ndim(); ++i) {
    if (shape[i] == 0) return false;
    found = found || (strides[i] == 0 && shape[i] > 1);
  }
  return found;
}

bool Layout::extent(int64_t* first, int64_t* last) const {
  *first = *last = offset;
  for (int i = 0; i < ndim(); ++i) {
    if (shape[i] == 0) return false;
    const int64_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? *first : *last) += reach;
  }
  return true;
}

int64_t checked_numel(const char* op, const Dims& shape) {
  STRIDED_CHECK(shape.ndim() <= kMaxDims, RuntimeError, op, ": a tensor has at most ", kMaxDims, " dimensions, got ",
                shape.ndim());
  int64_t n = 1;
  bool empty = false, fits = true;
  for (int64_t s : shape) {
    STRIDED_CHECK(s >= 0, RuntimeError, "Trying to create tensor with negative dimension ", s, ": ", shape);
    if (s == 0) empty = true;
    else fits = fits && multiply(n, s, &n);
  }
  // Sizes multiplied without the zeros must fit too: strides are such products.
  STRIDED_CHECK(fits && n < (int64_t(1) << 59), RuntimeError, op, ": the number of elements of a tensor of size ",
                shape, " does not fit 64 bits");
  return empty ? 0 : n;
}

int wrap_axis(const char*, int64_t axis, int ndim) {
  const int64_t n = std::max(ndim, 1);
  STRIDED_CHECK(axis >= -n && axis < n, IndexError, "Dimension out of range (expected to be in range of [", -n, ", ",
                n - 1, "], but got ", axis, ")");
  return static_cast<int>(axis < 0 ? axis + n : axis);
}

Dims wrap_axes(const char* op, const Dims& axes, int ndim, bool empty_is_all) {
  Dims out;
  if (axes.empty() && empty_is_all) {
    for (int i = 0; i < ndim; ++i) out.push_back(i);
    return out;
  }
  uint64_t seen = 0;
  for (int64_t axis : axes) {
    const int i = wrap_axis(op, axis, ndim);
    STRIDED_CHECK(!(seen >> i & 1), RuntimeError, "dim ", i, " appears multiple times in the list of dims");
    seen |= uint64_t(1) << i;
    if (ndim > 0) out.push_back(i);
  }
  return out;
}

Dims broadcast_shapes(const Dims& a, const Dims& b) {
  const int na = a.ndim(), nb = b.ndim(), n = std::max(na, nb);
  Dims out(n);
  for (int i = n - 1; i >= 0; --i) {
    const int64_t sa = i - (n - na) >= 0 ? a[i - (n - na)] : 1;
    const int64_t sb = i - (n - nb) >= 0 ? b[i - (n - nb)] : 1;
    STRIDED_CHECK(sa == sb || sa == 1 || sb == 1, RuntimeError, "The size of tensor a (", sa,
                  ") must match the size of tensor b (", sb, ") at non-singleton dimension ", i);
    out[i] = sa == 1 ? sb : sa;
  }
  return out;
}

Dims broadcast_strides(const Layout& from, const Dims& to) {
  const int skip = to.ndim() - from.ndim();
  Dims strides(to.size());
  for (int i = 0; i < from.ndim(); ++i)
    strides[i + skip] = from.shape[i] == 1 && to[i + skip] != 1 ? 0 : from.strides[i];
  return strides;
}

Dims infer_size(const char* op, const Dims& shape, int64_t numel) {
  Dims out = shape;
  int unknown = -1;
  int64_t known = 1;
  bool fits = shape.ndim() <= kMaxDims;
  STRIDED_CHECK(fits, RuntimeError, op, ": a tensor has at most ", kMaxDims, " dimensions, got ", shape.ndim());
  for (int i = 0; i < shape.ndim(); ++i) {
    if (shape[i] == -1) {
      STRIDED_CHECK(unknown < 0, RuntimeError, "only one dimension can be inferred");
      unknown = i;
    } else {
      STRIDED_CHECK(shape[i] >= 0, RuntimeError, "invalid shape dimension ", shape[i], " at index ", i, " of shape ",
                    shape);
      fits = fits && multiply(known, shape[i], &known);
    }
  }
  if (fits && unknown >= 0 && known != 0 && numel % known == 0) {
    out[unknown] = numel / known;
    checked_numel(op, out);
    return out;
  }
  STRIDED_CHECK(!(unknown >= 0 && fits && known == 0 && numel == 0), RuntimeError,
                "cannot reshape tensor of 0 elements into shape ", shape,
                " because the unspecified dimension size -1 can be any value and is ambiguous");
  STRIDED_CHECK(fits && unknown < 0 && known == numel, RuntimeError, "shape '", shape,
                "' is invalid for input of size ", numel);
  if (numel == 0) checked_numel(op, out);  // sizes beside a zero; others are those of a tensor that is there
  return out;
}

Layout expand(const Layout& from, const Dims& sizes) {
  const int skip = sizes.ndim() - from.ndim();
  STRIDED_CHECK(skip >= 0, RuntimeError, "expand(torch.Tensor{", from.shape, "}, size=", sizes,
                "): the number of sizes provided (", sizes.ndim(),
                ") must be greater or equal to the number of dimensions in the tensor (", from.ndim(), ")");
  Layout out(sizes, Dims(sizes.size()), from.offset);
  for (int i = sizes.ndim() - 1; i >= 0; --i) {  // errors name the last axis, as PyTorch's
    if (i < skip) {
      STRIDED_CHECK(sizes[i] >= 0, RuntimeError, "The expanded size of the tensor (", sizes[i],
                    ") isn't allowed in a leading, non-existing dimension ", i);
      continue;
    }
    const int64_t have = from.shape[i - skip];
    if (sizes[i] == -1) out.shape[i] = have;
    STRIDED_CHECK(out.shape[i] >= 0 && (have == 1 || out.shape[i] == have), RuntimeError,
                  "The expanded size of the tensor (", out.shape[i], ") must match the existing size (", have,
                  ") at non-singleton dimension ", i, ".  Target sizes: ", sizes, ".  Tensor sizes: ", from.shape);
    out.strides[i] = have == out.shape[i] ? from.strides[i - skip] : 0;
  }
  checked_numel("expand", out.shape);
  // PyTorch's strides: a leading new axis of size 1 gets the one it would have if the axes after it were contiguous;
  // the axes of an expanded single number all get 0.
  if (from.ndim() == 0) return out;
  for (int i = skip - 1; i >= 0; --i)
    if (out.shape[i] == 1) out.strides[i] = out.shape[i + 1] * out.strides[i + 1];
  return out;
}

Layout permute(const Layout& from, const Dims& axes) {
  STRIDED_CHECK(
      axes.ndim() == from.ndim(), RuntimeError,
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
      "dimensions i.e. input.dim() = ",
      from.ndim(), " is not equal to len(dims) = ", axes.ndim());
  Layout out = from;
  uint64_t seen = 0;
  for (int i = 0; i < axes.ndim(); ++i) {
    const int axis = wrap_axis("permute", axes[i], from.ndim());
    STRIDED_CHECK(!(seen >> axis & 1), RuntimeError, "permute(): duplicate dims are not allowed.");
    seen |= uint64_t(1) << axis;
    out.shape[i] = from.shape[axis];
    out.strides[i] = from.strides[axis];
  }
  return out;
}

Layout transpose(const Layout& from, int64_t axis0, int64_t axis1) {
  Layout out = from;
  const int i = wrap_axis("transpose", axis0, from.ndim()), j = wrap_axis("transpose", axis1, from.ndim());
  if (from.ndim() == 0) return out;
  std::swap(out.shape[i], out.shape[j]);
  std::swap(out.strides[i], out.strides[j]);
  return out;
}

Layout select(const Layout& from, int64_t axis, int64_t index) {
  STRIDED_CHECK(from.ndim() > 0, IndexError, "select() cannot be applied to a 0-dim tensor.");
  const int i = wrap_axis("select", axis, from.ndim());
  const int64_t n = from.shape[i];
  STRIDED_CHECK(index >= -n && index < n, IndexError, "select(): index ", index, " out of range for tensor of size ",
                from.shape, " at dimension ", i);
  Layout out = from;
  out.offset += (index < 0 ? index + n : index) * from.strides[i];
  out.shape.erase(i);
  out.strides.erase(i);
  return out;
}

int64_t widened(int64_t stride, int64_t step) {
  int64_t wide, bytes;
  return multiply(stride, step, &wide) && multiply(wide, 16, &bytes) ? wide : stride;
}

Layout slice(const Layout& from, int axis, int64_t start, int64_t stop, int64_t step) {
  STRIDED_CHECK(step != 0, ValueError, "slice step cannot be zero");
  const int64_t n = from.shape[axis];
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  auto clip = [&](int64_t i) { return std::min(std::max(i < 0 ? i + n : i, low), high); };
  start = clip(start);
  stop = clip(stop);
  const int64_t span = step > 0 ? stop - start : start - stop;
  // |step| may be INT64_MIN: divide in unsigned arithmetic.
  const uint64_t pace = step > 0 ? static_cast<uint64_t>(step) : uint64_t(0) - static_cast<uint64_t>(step);
  const int64_t count = span > 0 ? static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / pace + 1) : 0;
  Layout out = from;
  out.shape[axis] = count;
  if (count > 0) out.offset += start * from.strides[axis];
  else out.offset += std::min(std::max<int64_t>(start, 0), n) * from.strides[axis];
  out.strides[axis] = widened(from.strides[axis], step);
  return out;
}

Layout narrow(const Layout& from, int64_t axis, int64_t start, int64_t length) {
  STRIDED_CHECK(from.ndim() > 0, RuntimeError, "narrow() cannot be applied to a 0-dim tensor.");
  STRIDED_CHECK(length >= 0, RuntimeError, "narrow(): length must be non-negative.");
  const int i = wrap_axis("narrow", axis, from.ndim());
  const int64_t n = from.shape[i];
  STRIDED_CHECK(start >= -n && start <= n, IndexError, "start out of range (expected to be in range of [", -n, ", ", n,
                "], but got ", start, ")");
  if (start < 0) start += n;
  STRIDED_CHECK(length <= n - start, RuntimeError, "start (", start, ") + length (", length,
                ") exceeds dimension size (", n, ").");
  Layout out = from;
  out.shape[i] = length;
  out.offset += start * from.strides[i];
  return out;
}

Layout unsqueeze(const Layout& from, int64_t axis) {
  const int i = wrap_axis("unsqueeze", axis, from.ndim() + 1);
  STRIDED_CHECK(from.ndim() < kMaxDims, RuntimeError, "unsqueeze: a tensor has at most ", kMaxDims, " dimensions");
  Layout out;
  out.offset = from.offset;
  for (int k = 0; k <= from.ndim(); ++k) {
    if (k == i) {
      out.shape.push_back(1);
      out.strides.push_back(i < from.ndim() ? from.shape[i] * from.strides[i] : 1);
    }
    if (k == from.ndim()) break;
    out.shape.push_back(from.shape[k]);
    out.strides.push_back(from.strides[k]);
  }
  return out;
}

Layout squeeze(const Layout& from) {
  Layout out = from;
  for (int i = from.ndim() - 1; i >= 0; --i)
    if (out.shape[i] == 1) {
      out.shape.erase(i);
      out.strides.erase(i);
    }
  return out;
}

Layout squeeze(const Layout& from, const Dims& axes) {
  Dims wrapped = wrap_axes("squeeze", axes, from.ndim(), false);
  Layout out(Dims(), Dims(), from.offset);
  for (int i = 0; i < from.ndim(); ++i) {
    const bool listed = std::find(wrapped.begin(), wrapped.end(), i) != wrapped.end();
    if (listed && from.shape[i] == 1) continue;
    out.shape.push_back(from.shape[i]);
    out.strides.push_back(from.strides[i]);
  }
  return out;
}

Layout diagonal(const Layout& from, int64_t offset, int64_t axis0, int64_t axis1) {
  const int i = wrap_axis("diagonal", axis0, from.ndim()), j = wrap_axis("diagonal", axis1, from.ndim());
  STRIDED_CHECK(i != j, RuntimeError, "diagonal dimensions cannot be identical ", axis0, ", ", axis1);
  const int64_t rows = from.shape[i], columns = from.shape[j];
  // An offset beyond the matrix gives an empty diagonal; clamp it before any arithmetic can overflow.
  offset = std::min(std::max(offset, -rows), columns);
  const int64_t n =
      std::max<int64_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  Layout out = from;
  if (n > 0) out.offset += offset >= 0 ? offset * from.strides[j] : -offset * from.strides[i];
  const int64_t stride = from.strides[i] + from.strides[j];
  out.shape.erase(std::max(i, j));
  out.shape.erase(std::min(i, j));
  out.strides.erase(std::max(i, j));
  out.strides.erase(std::min(i, j));
  out.shape.push_back(n);
  out.strides.push_back(stride);
  return out;
}

Layout unfold(const Layout& from, int64_t axis, int64_t size, int64_t step) {
  const int i = wrap_axis("unfold", axis, from.ndim());
  const int64_t n = from.ndim() == 0 ? 1 : from.shape[i];
  STRIDED_CHECK(size >= 0, RuntimeError, "size is ", size, " but must be >= 0");
  STRIDED_CHECK(size <= n, RuntimeError, "maximum size for tensor at dimension ", i, " is ", n, " but size is ", size);
  STRIDED_CHECK(step > 0, RuntimeError, "step is ", step, " but must be > 0");
  Layout out = from;
  const int64_t stride = from.ndim() == 0 ? 1 : from.strides[i];
  if (from.ndim() > 0) {
    out.shape[i] = (n - size) / step + 1;
    out.strides[i] = widened(stride, step);
  }
  out.shape.push_back(size);
  out.strides.push_back(stride);
  checked_numel("unfold", out.shape);  // windows overlap: there may be many more elements than before
  return out;
}

// Splits the old axes into runs that are contiguous among themselves; each run must be covered by whole new axes.
// The method is NumPy's `_attempt_nocopy_reshape`.
bool view_strides(const Layout& from, const Dims& shape, Dims* out) {
  const int64_t numel = from.numel();
  if (numel == 0) {
    *out = from.shape == shape ? from.strides : Layout::contiguous_strides(shape);
    return true;
  }
  Dims& strides = *out;
  strides.resize(shape.size());
  if (from.has_contiguous_strides()) {
    int64_t step = 1;
    for (int i = shape.ndim() - 1; i >= 0; --i) {
      strides[i] = step;
      step *= shape[i];
    }
    return step == numel;
  }
  int axis = shape.ndim() - 1;
  int64_t base = from.ndim() ? from.strides.back() : 1;
  int64_t run = 1, covered = 1;
  for (int i = from.ndim() - 1; i >= 0; --i) {
    run *= from.shape[i];
    const bool ends = i == 0 || (from.shape[i - 1] != 1 && from.strides[i - 1] != run * base);
    if (!ends) continue;
    while (axis >= 0 && (covered < run || shape[axis] == 1)) {
      strides[axis] = covered * base;
      covered *= shape[axis];
      --axis;
    }
    if (covered != run) return false;
    if (i > 0) {
      base = from.strides[i - 1];
      run = covered = 1;
    }
  }
  for (; axis >= 0; --axis) {  // a 0-d source, or leading axes of size 1
    if (shape[axis] != 1) return false;
    strides[axis] = covered * base;
  }
  return true;
}

bool view(const Layout& from, const Dims& shape, Layout* out) {
  if (!view_strides(from, shape, &out->strides)) return false;
  out->shape = shape;
  out->offset = from.offset;
  return true;
}

Layout view_as_itemsize(const Layout& from, int64_t old_size, int64_t new_size, const char* old_name,
                        const char* new_name) {
  Layout out = from;
  if (old_size == new_size) return out;
  const int n = from.ndim();
  auto kinds = [&] { return concat(" to view ", old_name, " as ", new_name, " (different element sizes)"); };
  STRIDED_CHECK(n > 0, RuntimeError, "self.dim() cannot be 0", kinds());
  STRIDED_CHECK(from.strides[n - 1] == 1, RuntimeError, "self.stride(-1) must be 1", kinds(), ", but got ",
                from.strides[n - 1]);
  if (old_size > new_size) {
    const int64_t ratio = old_size / new_size;
    for (int i = 0; i < n - 1; ++i) out.strides[i] *= ratio;
    out.shape[n - 1] *= ratio;
    out.offset *= ratio;
    checked_numel("view", out.shape);
    return out;
  }
  const int64_t ratio = new_size / old_size;
  STRIDED_CHECK(from.shape[n - 1] % ratio == 0, RuntimeError, "self.size(-1) must be divisible by ", ratio, kinds(),
                ", but got ", from.shape[n - 1]);
  STRIDED_CHECK(from.offset % ratio == 0, RuntimeError, "self.storage_offset() must be divisible by ", ratio, kinds(),
                ", but got ", from.offset);
  for (int i = 0; i < n - 1; ++i) {
    STRIDED_CHECK(from.strides[i] % ratio == 0, RuntimeError, "self.stride(", i, ") must be divisible by ", ratio,
                  kinds(), ", but got ", from.strides[i]);
    out.strides[i] /= ratio;
  }
  out.shape[n - 1] /= ratio;
  out.offset /= ratio;
  return out;
}

Dims strides_like(const Layout& like) {
  // An axis of size 1 may have any stride, a negative one too; fresh memory has none.
  for (int64_t stride : like.strides)
    if (stride < 0) return Layout::contiguous_strides(like.shape);
  if (like.is_dense()) return like.strides;
  // Axes by stride, the smallest first. An axis of stride 0 stays where it is, and ends no comparison; of equal strides
  // the shorter axis comes first. The results of elementwise operations are laid out so too.
  const int n = like.ndim();
  int axes[kMaxDims];
  for (int i = 0; i < n; ++i) axes[i] = n - 1 - i;
  for (int i = 1; i < n; ++i)
    for (int at = i, before = i - 1; before >= 0; --before) {
      const int64_t s = like.strides[axes[before]], t = like.strides[axes[at]];
      if (s == 0 || t == 0) continue;
      if (s < t) break;
      if (s == t && like.shape[axes[before]] <= like.shape[axes[at]]) continue;
      std::swap(axes[before], axes[at]);
      at = before;
    }
  Dims strides(static_cast<size_t>(n));
  int64_t step = 1;
  for (int i = 0; i < n; ++i) {
    strides[axes[i]] = step;
    step *= std::max<int64_t>(like.shape[axes[i]], 1);
  }
  return strides;
}

Overlap overlap(const Layout& a, int64_t a_itemsize, const Layout& b, int64_t b_itemsize) {
  int64_t a0, a1, b0, b1;
  if (!a.extent(&a0, &a1) || !b.extent(&b0, &b1)) return Overlap::None;
  if ((a1 + 1) * a_itemsize <= b0 * b_itemsize || (b1 + 1) * b_itemsize <= a0 * a_itemsize) return Overlap::None;
  if (a_itemsize == b_itemsize && a.offset == b.offset && a.shape == b.shape) {
    bool same = true;
    for (int i = 0; i < a.ndim(); ++i) same = same && (a.shape[i] == 1 || a.strides[i] == b.strides[i]);
    if (same) return Overlap::Same;
  }
  // Two interleaved combs with one common stride never meet when their phases differ: x[::2] and x[1::2], two columns.
  if (a_itemsize == b_itemsize) {
    int64_t gcd = 0;
    for (int i = 0; i < a.ndim(); ++i)
      if (a.shape[i] > 1) gcd = std::gcd(gcd, a.strides[i]);
    for (int i = 0; i < b.ndim(); ++i)
      if (b.shape[i] > 1) gcd = std::gcd(gcd, b.strides[i]);
    if (gcd > 1 && (a.offset - b.offset) % gcd != 0) return Overlap::None;
  }
  return Overlap::Some;
}

}  // namespace strided
