#include "ops/shape/windows.h"

#include <algorithm>

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

__extension__ typedef __int128 Wide;

// Sizes are found from numbers of the user, which may be as large as they like.
int64_t checked_size(Wide v) {
  STRIDED_CHECK(v > -(Wide(1) << 62) && v < Wide(1) << 62, RuntimeError,
                "windows: kernel, stride, padding and dilation give a size that does not fit 64 bits");
  return static_cast<int64_t>(v);
}

}  // namespace

int64_t product_of(const Dims& d) {
  int64_t n = 1;
  bool fits = true;
  for (int64_t v : d) {
    if (v == 0) return 0;
    fits = fits && !__builtin_mul_overflow(n, v, &n);
  }
  return fits ? n : INT64_MAX;
}
Dims joined(Dims a, const Dims& b) {
  for (int64_t v : b) a.push_back(v);
  return a;
}
Dims range_of(int64_t begin, int64_t end) {
  Dims out;
  for (int64_t i = begin; i < end; ++i) out.push_back(i);
  return out;
}
std::string by_x(const Dims& d) {
  std::string text;
  for (int64_t v : d) text += (text.empty() ? "" : " x ") + std::to_string(v);
  return text;
}
int64_t least_of(const Dims& d) { return *std::min_element(d.begin(), d.end()); }

int64_t Windows::span(size_t i) const { return checked_size(Wide(dilation[i]) * (kernel[i] - 1) + 1); }
Dims Windows::spans() const {
  Dims made = kernel;
  for (size_t i = 0; i < axes(); ++i) made[i] = span(i);
  return made;
}
Dims Windows::padded() const {
  Dims made = size;
  for (size_t i = 0; i < axes(); ++i) made[i] = checked_size(size[i] + 2 * Wide(padding[i]));
  return made;
}
void Windows::set_out() {
  out = padded();
  for (size_t i = 0; i < axes(); ++i) out[i] = (out[i] - span(i)) / stride[i] + 1;
}
void Windows::set_size(const Dims& more) {
  size = out;
  for (size_t i = 0; i < axes(); ++i)
    size[i] = checked_size(Wide(out[i] - 1) * stride[i] - 2 * Wide(padding[i]) + span(i) + more[i]);
}
bool Windows::is_padded() const {
  return std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p != 0; });
}
bool Windows::has_steps_of_one() const {
  return std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s == 1; });
}

Dims sizes_of(const Tensor& x) { return {x.shape().data() + 2, x.shape().size() - 2}; }

bool next(Dims* at, const Dims& kernel) {
  for (size_t i = kernel.size(); i-- > 0;) {
    if (++(*at)[i] < kernel[i]) return true;
    (*at)[i] = 0;
  }
  return false;
}

bool lies_channels_last(const Tensor& x) {
  if (x.ndim() < 3 || x.is_contiguous()) return false;
  int64_t step = 1;
  const auto fits = [&](int axis) {
    const bool right = x.size(axis) == 1 || x.strides()[static_cast<size_t>(axis)] == step;
    step *= x.size(axis);
    return right;
  };
  bool all = fits(1);
  for (int i = x.ndim(); i-- > 2;) all = fits(i) && all;
  return fits(0) && all;
}

bool has_channels_last(const Tensor& x) {
  if (x.ndim() != 4 && x.ndim() != 5) return false;
  const Dims& strides = x.strides();
  if (strides[1] <= 0) return false;
  int64_t span = 0;
  for (int i = 0; i < x.ndim(); ++i) {
    const int axis = i == 0 ? 1 : i == x.ndim() - 1 ? 0 : x.ndim() - i;  // channels, width, height, ..., batch
    const int64_t stride = strides[static_cast<size_t>(axis)];
    if (x.size(axis) == 0 || stride < span) return false;
    if (axis == 0 && span == strides[1]) return false;  // nothing but the batch has more than one element: either order
    span = stride * std::max<int64_t>(x.size(axis), 1);
  }
  return true;
}

Tensor with_channels_last(const Tensor& x) {
  Dims order = {0}, back = {0, x.ndim() - 1}, strides(x.shape().size(), 1);
  for (int i = 2; i < x.ndim(); ++i) {
    order.push_back(i);
    back.push_back(i - 1);
  }
  order.push_back(1);
  const Tensor moved = permute(contiguous(permute(x, order)), back);
  int64_t step = x.size(1);
  for (int i = x.ndim(); i-- > 2; step *= x.size(i)) strides[static_cast<size_t>(i)] = step;
  strides[0] = step;
  if (moved.strides() == strides) return moved;
  const Tensor out = make_view(moved, Layout(x.shape(), strides, moved.offset()));
  return needs_grad(moved) ? record("AliasBackward0", out, moved, [](const Tensor& g) { return g; }) : out;
}

Tensor padded_image(const Tensor& x, const Windows& w, const Scalar& fill) {
  Dims sizes = w.padded();
  for (size_t i = 0; i < w.axes(); ++i)
    sizes[i] = std::max(sizes[i], checked_size(Wide(w.out[i] - 1) * w.stride[i] + w.span(i)));
  if (sizes == w.size) return contiguous(x);
  const Dims shape = joined({x.size(0), x.size(1)}, sizes);
  if (const auto operation = network_functions(x.device()).pad;
      operation != nullptr && w.axes() <= PadPlan::kMost && x.is_contiguous() && x.numel() > 0) {
    PadPlan plan;
    plan.itemsize = x.itemsize();
    plan.outer = x.size(0) * x.size(1);
    plan.axes = static_cast<int>(w.axes());
    const Tensor made = empty(shape, x.dtype(), x.device());  // first: it raises where there is no such memory
    PadPlan::Run run[PadPlan::kMost][3];
    for (size_t i = 0; i < w.axes(); ++i) {
      const int64_t before = w.padding[i], end = before + w.size[i];
      plan.from[i] = w.size[i], plan.to[i] = sizes[i], plan.run[i] = run[i];
      for (const PadPlan::Run& r : {PadPlan::Run{0, -1, before}, {before, 0, w.size[i]}, {end, -1, sizes[i] - end}})
        if (r.length > 0) run[i][plan.runs[i]++] = r;
    }
    const Tensor between = fill.to_bool() ? full({}, fill, x.dtype(), x.device()) : Tensor();
    plan.fill = between.defined() ? static_cast<const char*>(between.data()) : nullptr;
    plan.in = static_cast<const char*>(x.data());
    plan.out = static_cast<char*>(made.data());
    operation(plan);
    return made;
  }
  const Tensor made = fill.to_bool() ? full(shape, fill, x.dtype(), x.device()) : zeros(shape, x.dtype(), x.device());
  copy_into(inside_of(made, w), x);
  return made;
}
Tensor inside_of(Tensor x, const Windows& w, int first) {
  for (size_t i = 0; i < w.axes(); ++i) {
    const int axis = first + static_cast<int>(i);
    if (x.size(axis) != w.size[i]) x = narrow(x, axis, w.padding[i], w.size[i]);
  }
  return x;
}
Tensor tap_of(const Tensor& x, const Windows& w, const Dims& at, int first) {
  Dims shape = x.shape(), strides = x.strides();
  int64_t offset = x.offset();
  for (size_t i = 0; i < w.axes(); ++i) {
    const size_t axis = static_cast<size_t>(first) + i;
    offset += at[i] * w.dilation[i] * strides[axis];
    shape[axis] = w.out[i];
    strides[axis] = w.step(i, strides[axis]);
  }
  return as_strided(x, shape, strides, offset);
}

}  // namespace strided
