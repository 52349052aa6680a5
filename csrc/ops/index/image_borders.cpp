// Borders, blocks and pixels of images: functions that move elements, or add them where they meet.
#include <algorithm>
#include <array>
#include <memory>

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/image.h"
#include "ops/index/index.h"
#include "ops/index/indexed_copy.h"
#include "ops/record.h"
#include "ops/shape/join.h"
#include "ops/shape/view.h"
#include "ops/steady.h"

namespace strided {
// ---------------------------------------------------------------- borders

namespace {

enum class Border { Constant, Reflect, Replicate, Circular };

std::optional<Border> border_of(const std::string& word) {
  if (word == "constant") return Border::Constant;
  if (word == "reflect") return Border::Reflect;
  if (word == "replicate") return Border::Replicate;
  if (word == "circular") return Border::Circular;
  return std::nullopt;
}

// Where the elements of a padded axis come from; false where there are none. Negative numbers take elements away, and
// what is left is padded; `replicate` repeats those at the ends of the whole axis.
bool find_runs(Border border, int64_t n, int64_t before, int64_t after, std::vector<PadPlan::Run>* runs) {
  if (!image::is_short({n, before, after})) return false;
  const int64_t cut = std::max<int64_t>(-before, 0), left = n - cut - std::max<int64_t>(-after, 0);
  before = std::max<int64_t>(before, 0), after = std::max<int64_t>(after, 0);
  if (left < 0) return false;
  if (border != Border::Constant && (n == 0 || before + left + after < 1)) return false;
  if (border == Border::Reflect && (before >= n || after >= n)) return false;
  if (border == Border::Circular && (before > left || after > left)) return false;
  const auto side = [&](int64_t to, int64_t count, int64_t from) {  // `from` of the first of the elements outside
    if (count == 0) return;
    if (border == Border::Constant) return runs->push_back({to, -1, count});
    if (border == Border::Circular) return runs->push_back({to, from, count});
    for (int64_t j = 0; j < count; ++j) runs->push_back({to + j, border == Border::Reflect ? from - j : from, 1});
  };
  const int64_t end = cut + left;
  side(0, before, border == Border::Reflect ? cut + before : border == Border::Circular ? end - before : 0);
  if (left > 0) runs->push_back({before, cut, left});
  side(before + left, after, border == Border::Reflect ? end - 2 : border == Border::Circular ? cut : n - 1);
  return true;
}

const char* border_node(Border border, int axes) {
  static constexpr const char* names[2][3] = {
      {"ReflectionPad1DBackward0", "ReflectionPad2DBackward0", "ReflectionPad3DBackward0"},
      {"ReplicationPad1DBackward0", "ReplicationPad2DBackward0", "ReplicationPad3DBackward0"}};
  if (border == Border::Constant) return "ConstantPadNdBackward0";
  if (border == Border::Circular) return "CopySlices";
  return names[border == Border::Replicate][axes - 1];
}

// The gradient of what one axis gave to its border and to itself: `n` elements, each the sum of its copies.
Tensor sum_of_copies(const Tensor& g, int axis, int64_t n, const std::vector<PadPlan::Run>& runs) {
  const Tensor place = empty({g.size(axis)}, DType::Int64);
  auto* const at = reinterpret_cast<int64_t*>(place.data());
  for (const PadPlan::Run& run : runs)
    for (int64_t j = 0; j < run.length; ++j) at[run.to + j] = run.from + j;
  Dims shape = g.shape();
  shape[static_cast<size_t>(axis)] = n;
  return index_add(zeros(shape, g.dtype(), g.device()), axis, to_device(place, g.device()), g, Scalar(1));
}

// The gradient of the n elements of an axis that was padded by a constant: none for those that were taken away.
Tensor without_sides(const Tensor& g, int axis, int64_t n, int64_t before, int64_t after) {
  const int64_t cut = std::max<int64_t>(-before, 0), end = std::max<int64_t>(-after, 0);
  const Tensor part = narrow(g, axis, std::max<int64_t>(before, 0), n - cut - end);
  if (cut == 0 && end == 0) return part;
  Dims first = g.shape(), last = first;
  first[static_cast<size_t>(axis)] = cut, last[static_cast<size_t>(axis)] = end;
  return cat({zeros(first, g.dtype(), g.device()), part, zeros(last, g.dtype(), g.device())}, axis);
}

}  // namespace

Tensor pad(const Tensor& x, const Dims& sides, const std::string& mode, const std::optional<Scalar>& value) {
  const std::optional<Border> border = border_of(mode);
  const int axes = static_cast<int>(sides.size() / 2);
  if (!border || sides.size() % 2 != 0 || axes < 1 || axes > PadPlan::kMost || axes > x.ndim()) return {};
  if (network_functions(x.device()).pad == nullptr || !image::is_plain(x)) return {};
  const bool constant = *border == Border::Constant;
  if (value && (!is_floating(x.dtype()) || value->is_complex())) return {};
  if (!constant && (value || x.ndim() - axes < 1 || x.ndim() - axes > 2)) return {};
  PadPlan plan;
  plan.itemsize = x.itemsize();
  plan.axes = axes;
  const auto found = std::make_shared<std::array<std::vector<PadPlan::Run>, PadPlan::kMost>>();
  std::array<std::vector<PadPlan::Run>, PadPlan::kMost>& runs = *found;
  Dims shape = x.shape();
  bool padded = false, grows = false;
  for (int i = 0; i < x.ndim() - axes; ++i) plan.outer *= x.size(i);
  for (int i = 0; i < axes; ++i) {
    const auto side = static_cast<size_t>(2 * (axes - 1 - i)), axis = static_cast<size_t>(x.ndim() - axes + i);
    auto& run = runs[static_cast<size_t>(i)];
    if (!find_runs(*border, x.shape()[axis], sides[side], sides[side + 1], &run)) return {};
    plan.from[i] = x.shape()[axis];
    plan.to[i] = shape[axis] = x.shape()[axis] + sides[side] + sides[side + 1];
    plan.run[i] = run.data();
    plan.runs[i] = static_cast<int64_t>(run.size());
    padded = padded || sides[side] != 0 || sides[side + 1] != 0;
    grows = grows || sides[side] > 0 || sides[side + 1] > 0;
  }
  if (constant ? !grows : !padded) return {};  // a copy of a part keeps the order of the dimensions
  Tensor fill;
  if (constant && value) {
    fill = number(*value, x.dtype(), x.device());
    plan.fill = fill.data();
  }
  const Tensor in = contiguous(x), out = empty(shape, x.dtype(), x.device());
  plan.in = in.data();
  plan.out = out.data();
  if (out.numel() > 0) network_functions(x.device()).pad(plan);
  return record(border_node(*border, axes), out, x,
                [sides, shape = x.shape(), border = *border, runs = found](const Tensor& g) {
                  Tensor part = g;
                  const size_t axes = sides.size() / 2;
                  for (size_t i = 0; i < axes; ++i) {
                    const int axis = g.ndim() - 1 - static_cast<int>(i);
                    const int64_t n = shape[static_cast<size_t>(axis)];
                    const int64_t before = sides[2 * i], after = sides[2 * i + 1];
                    if (border == Border::Constant) part = without_sides(part, axis, n, before, after);
                    else if (before != 0 || after != 0) part = sum_of_copies(part, axis, n, (*runs)[axes - 1 - i]);
                  }
                  if (border == Border::Constant) return contiguous(part);
                  return border == Border::Circular ? part : steady(part);
                });
}

// ---------------------------------------------------------------- blocks

namespace {

// The number of blocks along each axis; false where there are none, or the lists are wrong.
bool find_blocks(const Dims& size, const Dims& kernel, const Dims& dilation, const Dims& padding, const Dims& stride,
                 Dims* blocks) {
  for (const Dims* numbers : {&size, &kernel, &dilation, &padding, &stride})
    if (!image::is_short(*numbers)) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (kernel[i] < 1 || dilation[i] < 1 || padding[i] < 0 || stride[i] < 1 || size[i] < 0) return false;
    const int64_t extent = size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    if (extent < 0) return false;
    blocks->push_back(extent / stride[i] + 1);
  }
  return true;
}

}  // namespace

Tensor unfold_blocks(const Tensor& x, const Dims& kernel, const Dims& dilation, const Dims& padding,
                     const Dims& stride) {
  if (x.ndim() != 3 && x.ndim() != 4) return {};
  if (!image::has_loops(x.dtype()) || network_functions(x.device()).fold == nullptr || x.numel() == 0) return {};
  const Dims size = {x.size(x.ndim() - 2), x.size(x.ndim() - 1)};
  Dims blocks;
  if (!find_blocks(size, kernel, dilation, padding, stride, &blocks)) return {};
  const int64_t channels = x.size(x.ndim() - 3), batch = x.ndim() == 4 ? x.size(0) : 1;
  Tensor out;
  {
    const NoGradGuard guard;
    Tensor in = contiguous(x);
    if (padding[0] > 0 || padding[1] > 0)
      in = pad(in, {padding[1], padding[1], padding[0], padding[0]}, "constant", std::nullopt);
    const int64_t width = in.size(in.ndim() - 1), plane = in.size(in.ndim() - 2) * width;
    const Tensor view =
        make_view(in, Layout({batch, channels, kernel[0], kernel[1], blocks[0], blocks[1]},
                             {channels * plane, plane, width * dilation[0], dilation[1], width * stride[0], stride[1]},
                             in.offset()));
    out = contiguous(view);
    if (out.impl() == view.impl()) out = clone(view);
    Dims shape = {channels * kernel[0] * kernel[1], blocks[0] * blocks[1]};
    if (x.ndim() == 4) shape.insert(0, batch);
    out = make_view(out, Layout(shape));
  }
  if (!needs_grad(x)) return out;
  return record("Im2ColBackward0", out, x,
                [=](const Tensor& g) { return fold(g, size, kernel, dilation, padding, stride); });
}

Tensor fold(const Tensor& x, const Dims& size, const Dims& kernel, const Dims& dilation, const Dims& padding,
            const Dims& stride) {
  if (x.ndim() != 2 && x.ndim() != 3) return {};
  if (!image::has_loops(x.dtype()) || network_functions(x.device()).fold == nullptr) return {};
  Dims blocks;
  if (!find_blocks(size, kernel, dilation, padding, stride, &blocks)) return {};
  const int64_t rows = x.size(x.ndim() - 2), taps = kernel[0] * kernel[1];
  if (rows % taps != 0 || x.size(x.ndim() - 1) != blocks[0] * blocks[1] || x.numel() == 0) return {};
  FoldPlan plan;
  plan.dtype = x.dtype();
  for (size_t i = 0; i < 2; ++i) {
    plan.size[i + 1] = size[i];
    plan.kernel[i + 1] = kernel[i];
    plan.blocks[i + 1] = blocks[i];
    plan.dilation[i + 1] = dilation[i];
    plan.padding[i + 1] = padding[i];
    plan.stride[i + 1] = stride[i];
  }
  const int64_t channels = rows / taps;
  plan.planes = x.ndim() == 3 ? x.size(0) * channels : channels;
  Dims shape = {channels, size[0], size[1]};
  if (x.ndim() == 3) shape.insert(0, x.size(0));
  const Tensor in = contiguous(x), out = empty(shape, x.dtype(), x.device());
  plan.columns = in.data();
  plan.out = out.data();
  if (out.numel() > 0) network_functions(x.device()).fold(plan);
  if (!needs_grad(x) || out.numel() == 0) return needs_grad(x) ? Tensor() : out;
  return record("Col2ImBackward0", out, x,
                [=](const Tensor& g) { return unfold_blocks(g, kernel, dilation, padding, stride); });
}

// ---------------------------------------------------------------- channels and pixels

namespace {

// x as `parts`, permuted, as `shape`.
Tensor moved(const Tensor& x, const Dims& parts, const Dims& order, const Dims& shape) {
  const NoGradGuard guard;
  const Tensor out = permute(reshape(x, parts), order);
  const Tensor made = contiguous(out);
  return reshape(made.storage().data() == x.storage().data() ? clone(made) : made, shape);
}
bool is_shuffled(const Tensor& x) { return x.ndim() >= 3 && x.is_contiguous() && x.numel() > 0; }

}  // namespace

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  const int n = x.ndim() - 3;
  if (!is_shuffled(x) || factor < 1 || factor > x.size(n) || x.size(n) % (factor * factor) != 0) return {};
  const int64_t channels = x.size(n) / (factor * factor), high = x.size(n + 1), wide = x.size(n + 2);
  Dims parts, order, shape;
  for (int i = 0; i < n; ++i) parts.push_back(x.size(i)), shape.push_back(x.size(i)), order.push_back(i);
  for (int64_t size : {channels, factor, factor, high, wide}) parts.push_back(size);
  for (int axis : {0, 3, 1, 4, 2}) order.push_back(n + axis);
  for (int64_t size : {channels, high * factor, wide * factor}) shape.push_back(size);
  return record("PixelShuffleBackward0", moved(x, parts, order, shape), x,
                [factor](const Tensor& g) { return pixel_unshuffle(contiguous(g), factor); });
}

Tensor pixel_unshuffle(const Tensor& x, int64_t factor) {
  const int n = x.ndim() - 3;
  if (!is_shuffled(x) || factor < 1 || x.size(n + 1) % factor != 0 || x.size(n + 2) % factor != 0) return {};
  const int64_t channels = x.size(n), high = x.size(n + 1) / factor, wide = x.size(n + 2) / factor;
  Dims parts, order, shape;
  for (int i = 0; i < n; ++i) parts.push_back(x.size(i)), shape.push_back(x.size(i)), order.push_back(i);
  for (int64_t size : {channels, high, factor, wide, factor}) parts.push_back(size);
  for (int axis : {0, 2, 4, 1, 3}) order.push_back(n + axis);
  for (int64_t size : {channels * factor * factor, high, wide}) shape.push_back(size);
  return record("PixelUnshuffleBackward0", moved(x, parts, order, shape), x,
                [factor](const Tensor& g) { return pixel_shuffle(contiguous(g), factor); });
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  if (!is_shuffled(x) || groups < 1 || x.size(1) % groups != 0) return {};
  const int64_t each = x.size(1) / groups, inner = x.numel() / (x.size(0) * x.size(1));
  return record("NativeChannelShuffleBackward0", moved(x, {x.size(0), groups, each, inner}, {0, 2, 1, 3}, x.shape()), x,
                [each](const Tensor& g) { return channel_shuffle(contiguous(g), each); });
}

}  // namespace strided
