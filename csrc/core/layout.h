// Shape, strides and offset: pure arithmetic on integers, no data. Strides and offsets count elements.
#pragma once

#include <utility>

#include "base/dims.h"

namespace strided {

struct Layout {
  Dims shape;
  Dims strides;
  int64_t offset = 0;

  Layout() = default;
  explicit Layout(const Dims& sizes) : shape(sizes), strides(contiguous_strides(shape)) {}
  explicit Layout(Dims&& sizes) : shape(std::move(sizes)), strides(contiguous_strides(shape)) {}
  Layout(Dims sizes, Dims steps, int64_t start) : shape(std::move(sizes)), strides(std::move(steps)), offset(start) {}
  Layout(const int64_t* sizes, const int64_t* steps, size_t n, int64_t start)
      : shape(sizes, n), strides(steps, n), offset(start) {}

  int ndim() const { return shape.ndim(); }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
  bool is_contiguous() const;
  // The strides are those of Layout(shape), those of axes of size 1 too.
  bool has_contiguous_strides() const {
    int64_t step = 1;
    for (int i = ndim() - 1; i >= 0; --i) {
      if (strides[i] != step) return false;
      step *= shape[i] > 1 ? shape[i] : 1;
    }
    return true;
  }
  // Other sizes and strides from the same first element on.
  Layout of(const Dims& sizes, const Dims& steps) const {
    return Layout(sizes.data(), steps.data(), sizes.size(), offset);
  }
  // Every element has its own place, and the places fill a range without gaps, in some order of the axes.
  bool is_dense() const;
  // Some axis of size > 1 has stride 0: elements share memory.
  bool has_zero_stride() const;
  // First and last element reachable, as offsets; false when there is none.
  bool extent(int64_t* first, int64_t* last) const;

  static Dims contiguous_strides(const Dims& shape);
};

// `op` opens the error texts of these functions.
int64_t checked_numel(const char* op, const Dims& shape);                       // negative sizes, overflow, rank > 64
int wrap_axis(const char* op, int64_t axis, int ndim);                          // IndexError; 0-d counts as 1-d
Dims wrap_axes(const char* op, const Dims& axes, int ndim, bool empty_is_all);  // unique
Dims broadcast_shapes(const Dims& a, const Dims& b);                            // RuntimeError with PyTorch's words
Dims broadcast_strides(const Layout& from, const Dims& to);                     // stride 0 where stretched; must fit
Dims infer_size(const char* op, const Dims& shape, int64_t numel);              // fills in one -1

// View arithmetic. Each returns a layout of the same storage.
Layout expand(const Layout& from, const Dims& sizes);
Layout permute(const Layout& from, const Dims& axes);
Layout transpose(const Layout& from, int64_t axis0, int64_t axis1);
Layout select(const Layout& from, int64_t axis, int64_t index);
// The stride of an axis of which every step-th element is taken: stride * step, or the stride itself where as many
// bytes (of the largest items) do not fit 64 bits; then at most one element is taken, and its stride says nothing.
int64_t widened(int64_t stride, int64_t step);
Layout slice(const Layout& from, int axis, int64_t start, int64_t stop, int64_t step);  // Python's rules, step != 0
Layout narrow(const Layout& from, int64_t axis, int64_t start, int64_t length);
Layout unsqueeze(const Layout& from, int64_t axis);
Layout squeeze(const Layout& from);
Layout squeeze(const Layout& from, const Dims& axes);
Layout diagonal(const Layout& from, int64_t offset, int64_t axis0, int64_t axis1);
Layout unfold(const Layout& from, int64_t axis, int64_t size, int64_t step);
// False when the strides do not allow the shape without a copy.
bool view(const Layout& from, const Dims& shape, Layout* out);
bool view_strides(const Layout& from, const Dims& shape, Dims* out);  // the offset stays
// Same bytes seen as items of another size; RuntimeError with PyTorch's words, which name the two dtypes, when sizes,
// strides or the offset do not divide.
Layout view_as_itemsize(const Layout& from, int64_t old_size, int64_t new_size, const char* old_name,
                        const char* new_name);
// Strides of a dense tensor with the order of axes that `like` has: like's own where it is dense (PyTorch's
// preserve_format). Contiguous where `like` has a negative stride.
Dims strides_like(const Layout& like);
// Do the bytes of two layouts of one storage meet? No, exactly the same elements, or some.
enum class Overlap { None, Same, Some };
Overlap overlap(const Layout& a, int64_t a_itemsize, const Layout& b, int64_t b_itemsize);

}  // namespace strided
