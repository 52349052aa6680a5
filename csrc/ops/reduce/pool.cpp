#include "ops/reduce/pool.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "ops/shape/windows.h"
#include "ops/steady.h"

namespace strided {
namespace {

constexpr int64_t kSmallImage =
    1 << 14;  // elements, whose maxima are found in one pass, as calls take most of the time

// ---------------------------------------------------------------- arguments

template <int axes>
struct Names;
template <>
struct Names<1> {
  static constexpr const char *max = "max_pool1d", *avg = "avg_pool1d", *max_node = "MaxPool1DWithIndicesBackward0",
                              *avg_node = "AvgPool1DBackward0";
};
template <>
struct Names<2> {
  static constexpr const char *max = "max_pool2d", *avg = "avg_pool2d", *max_node = "MaxPool2DWithIndicesBackward0",
                              *avg_node = "AvgPool2DBackward0";
};
template <>
struct Names<3> {
  static constexpr const char *max = "max_pool3d", *avg = "avg_pool3d", *max_node = "MaxPool3DWithIndicesBackward0",
                              *avg_node = "AvgPool3DBackward0";
};

Dims for_axes(const char* name, const char* what, const Dims& given, size_t axes) {
  STRIDED_CHECK(given.size() == 1 || given.size() == axes, RuntimeError, name, ": ", what,
                " must either be a single int, or a tuple of ", axes, " ints");
  return given.size() == axes ? given : Dims(axes, given[0]);
}

// Only the batch may be empty.
void check_planes(const char* name, const Tensor& x, int axes) {
  const int low = axes + 1, n = x.ndim();
  int empty = -1;
  for (int i = std::max(0, n - low); i < n && empty < 0; ++i)
    if (x.size(i) == 0) empty = i - (n - low);
  if ((n == low || n == low + 1) && empty < 0) return;
  STRIDED_CHECK(axes != 3 || empty < 0, RuntimeError, name,
                "(): Expected input's non-batch dimensions to have positive length, but input has a shape of ",
                x.shape(), " and non-batch dimension ", x.size(n - low + std::max(empty, 0)), " has length zero!");
  STRIDED_THROW(RuntimeError, axes == 1 ? name : "", axes == 1 ? ": " : "", "Expected ", low, "D or ", low + 1,
                "D (batch mode) tensor with optional 0 dim batch size for input, but got:", x.shape());
}

// The input with a batch.
Tensor with_batch(const char* name, const Tensor& x, int axes) {
  if (axes == 1) check_planes(name, x, axes);
  STRIDED_CHECK(x.ndim() == axes + 1 || x.ndim() == axes + 2, RuntimeError, "non-empty ", axes + 1, "D or ", axes + 2,
                "D (batch mode) tensor expected for input");
  return x.ndim() == axes + 2 ? x : unsqueeze(x, 0);
}

void check_windows(const char* name, const Windows& w, bool line_of_maxima) {
  if (line_of_maxima) {
    const std::pair<const char*, int64_t> given[] = {
        {"kernel_size", w.kernel[0]}, {"stride", w.stride[0]}, {"dilation", w.dilation[0]}};
    for (const auto& [word, value] : given)
      STRIDED_CHECK(value > 0, RuntimeError, name, "() ", word, " must be greater than zero, but got ", value);
  }
  STRIDED_CHECK(least_of(w.stride) > 0, RuntimeError,
                std::count(w.stride.begin(), w.stride.end(), 0) ? "stride should not be zero"
                                                                : "stride must be greater than zero");
  if (least_of(w.dilation) <= 0) {
    std::string sizes;
    for (size_t i = 0; i < w.axes(); ++i)
      sizes += std::string(i ? " " : "") + "dilation" + "THW"[3 - w.axes() + i] + ": " + std::to_string(w.dilation[i]);
    STRIDED_THROW(RuntimeError, "dilation should be greater than zero, but got ", sizes);
  }
  STRIDED_CHECK(least_of(w.kernel) > 0, RuntimeError, name, ": kernel_size must be greater than zero, but got ",
                w.kernel);
  STRIDED_CHECK(least_of(w.padding) >= 0, RuntimeError, "pad must be non-negative, but got pad: ", least_of(w.padding));
  for (size_t i = 0; i < w.axes(); ++i)
    STRIDED_CHECK(w.padding[i] <= w.span(i) / 2, RuntimeError,
                  "pad should be at most half of effective kernel size, but got pad=", w.padding[i],
                  ", kernel_size=", w.kernel[i], " and dilation=", w.dilation[i]);
}

// How many windows there are along each axis; with ceil_mode the last one may hang over the end. x has a batch.
Windows windows_over(const char* name, const Tensor& x, int axes, const Dims& kernel, const std::optional<Dims>& stride,
                     const Dims& padding, const Dims& dilation, bool ceil_mode, bool maxima) {
  const size_t n = static_cast<size_t>(axes);
  Windows w;
  w.kernel = for_axes(name, "kernel_size", kernel, n);
  w.stride = !stride || stride->empty() ? w.kernel : for_axes(name, "stride", *stride, n);
  w.padding = for_axes(name, "padding", padding, n);
  w.dilation = for_axes(name, "dilation", dilation, n);
  check_windows(name, w, maxima && axes == 1);
  check_planes(name, x, axes);
  for (size_t i = 0; i < n; ++i)
    if (w.kernel[i] == 1) w.dilation[i] = 1;  // any number means the same
  w.size = w.out = sizes_of(x);
  const Dims padded = w.padded();
  for (size_t i = 0; i < n; ++i) {
    const int64_t left = padded[i] - w.span(i), step = w.stride[i];
    int64_t count = left / step - (left % step < 0) + (ceil_mode && left % step != 0) + 1;  // left may be negative
    if (ceil_mode && (count - 1) > (w.size[i] + w.padding[i] - 1) / step) --count;
    w.out[i] = count;
  }
  if (least_of(w.out) < 1) {
    STRIDED_CHECK(!(maxima && axes == 1), RuntimeError, name, "() Invalid computed output size: ", w.out[0]);
    const auto listed = [&](const Dims& sizes) {
      std::string text = std::to_string(x.size(1));
      for (int64_t v : sizes) text += "x" + std::to_string(v);
      return text;
    };
    STRIDED_THROW(RuntimeError, "Given input size: (", listed(w.size), "). Calculated output size: (", listed(w.out),
                  "). Output size is too small");
  }
  return w;
}

// The same numbers, with the channels last in memory where those of x, or of what it is a slice of, are.
Tensor in_order_of(const Tensor& made, const Tensor& x) {
  return lies_channels_last(x) || has_channels_last(x) ? with_channels_last(made) : made;
}

// ---------------------------------------------------------------- windows and taps

// Maxima and sums are taken over windows where those are long rows, or few; else element by element of the kernel (a
// tap), each over the whole image: loops are long, and windows that overlap are not copied.
bool are_long(const Windows& w) {
  bool apart = w.axes() == 1;
  if (!apart) {
    apart = true;
    for (size_t i = 0; i < w.axes(); ++i) apart = apart && w.stride[i] >= w.kernel[i];
  }
  return product_of(w.kernel) > 16 && apart;
}
bool has_long_windows(const Tensor& x, const Windows& w) {
  return are_long(w) || x.numel() <= 4096 || product_of(w.kernel) == 1;  // one tap would be the image itself
}

// A view of the padded image, (batch, channels, out..., kernel...).
Tensor windows_of(const Tensor& x, const Windows& w, const Scalar& fill) {
  const Tensor image = padded_image(x, w, fill);
  const Dims& steps = image.strides();
  Dims strides{steps[0], steps[1]};
  for (size_t i = 0; i < w.axes(); ++i) strides.push_back(w.step(i, steps[2 + i]));
  for (size_t i = 0; i < w.axes(); ++i) strides.push_back(steps[2 + i] * w.dilation[i]);
  return as_strided(image, joined(joined({x.size(0), x.size(1)}, w.out), w.kernel), strides, image.offset());
}

Scalar lowest(const Tensor& x) {
  if (is_floating(x.dtype())) return -HUGE_VAL;
  return is_signed(x.dtype()) ? Scalar(INT64_MIN >> (64 - 8 * static_cast<int>(x.itemsize()))) : Scalar(0);
}

// The windows along one axis alone.
Windows along(const Windows& w, size_t axis, const Tensor& x) {
  Windows part = w;
  part.size = part.out = sizes_of(x);
  part.out[axis] = w.out[axis];
  for (size_t i = 0; i < w.axes(); ++i)
    if (i != axis) part.kernel[i] = part.stride[i] = part.dilation[i] = 1, part.padding[i] = 0;
  return part;
}

// The combination of the elements of each window, taps along one axis after the other.
template <class Op>
Tensor over_windows(Tensor x, const Windows& w, const Scalar& fill) {
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const Windows part = along(w, axis, x);
    const Tensor image = padded_image(x, part, fill);
    Dims at(w.axes());
    Tensor made = tap_of(image, part, at);
    for (int64_t k = 1; k < w.kernel[axis]; ++k) {
      at[axis] = k;
      made = elementwise<Op>(made, tap_of(image, part, at));
    }
    x = made;
  }
  return contiguous(x);
}

// Maxima, and where asked for their places, in one pass, where the device has it; else undefined tensors.
std::tuple<Tensor, Tensor> maxima_in_one_pass(const Tensor& x, const Windows& w, bool with_places) {
  const auto operation = network_functions(x.device()).pool_maxima;
  if (operation == nullptr || !is_floating(x.dtype()) || product_of(w.padded()) >= int64_t(1) << 31) return {};
  const Tensor image = contiguous(to_compute_dtype(x));
  const Dims shape = joined({x.size(0), x.size(1)}, w.out);
  const Tensor best = empty(shape, image.dtype(), x.device());
  const Tensor places = with_places ? empty(shape, DType::Int64, x.device()) : Tensor();
  if (best.numel() == 0) return {to_dtype(best, x.dtype()), places};
  PoolPlan plan;
  plan.dtype = image.dtype();
  plan.planes = x.size(0) * x.size(1);
  for (size_t i = 0, to = 3 - w.axes(); i < w.axes(); ++i, ++to) {
    plan.size[to] = w.size[i], plan.kernel[to] = w.kernel[i], plan.stride[to] = w.stride[i];
    plan.padding[to] = w.padding[i], plan.dilation[to] = w.dilation[i], plan.to[to] = w.out[i];
  }
  plan.in = image.data();
  plan.out = best.data();
  if (with_places) plan.places = places.data_as<int64_t>();
  operation(plan);
  return {to_dtype(best, x.dtype()), places};
}

Dims window_axes(const Windows& w) { return range_of(-static_cast<int64_t>(w.axes()), 0); }

Tensor maxima(const Tensor& x, const Windows& w) {
  // Short loops of few operations gain by vectors of outputs, others by reading what is next to each other.
  const bool few = w.kernel.back() > 2 && (w.stride.back() > 1 || w.axes() == 1) && !are_long(w);
  if (x.numel() <= kSmallImage || few)
    if (const auto [best, _] = maxima_in_one_pass(x, w, false); best.defined()) return best;
  if (has_long_windows(x, w)) return amax(windows_of(x, w, lowest(x)), window_axes(w));
  return over_windows<Maximum>(x, w, lowest(x));
}

// A number for each window along one axis, beside (batch, channels, out...).
Tensor along_axis(const Tensor& numbers, size_t axis, const Windows& w) {
  Dims shape(w.axes(), 1);
  shape[axis] = -1;
  return view(numbers, shape);
}
Tensor starts(const Windows& w, size_t axis, Device device) {
  return along_axis(arange(0, w.out[axis], 1, DType::Int64, device) * w.stride[axis] - w.padding[axis], axis, w);
}

// From the position of an element in its window, its position in the input's plane.
Tensor flat_places(const Tensor& position, const Windows& w) {
  Tensor total;
  for (size_t i = 0; i < w.axes(); ++i) {
    int64_t inner = 1;
    for (size_t j = i + 1; j < w.axes(); ++j) inner *= w.kernel[j];
    Tensor at = inner == 1 ? position : elementwise<FloorDivide>(position, Scalar(inner));
    if (i > 0) at = elementwise<Remainder>(at, Scalar(w.kernel[i]));
    at = at * w.dilation[i] + starts(w, i, position.device());
    if (w.padding[i] > 0)  // no padding is the maximum, even of -inf
      at = where(elementwise<Lt>(at, Scalar(0)), elementwise<Remainder>(at, Scalar(w.dilation[i])), at);
    total = total.defined() ? total * w.size[i] + at : at;
  }
  return total;
}

std::tuple<Tensor, Tensor> maxima_and_places(const Tensor& x, const Windows& w) {
  const Device device = x.device();
  if (!are_long(w))
    if (const auto made = maxima_in_one_pass(x, w, true); std::get<0>(made).defined()) return made;
  if (has_long_windows(x, w)) {
    const Tensor all = windows_of(x, w, lowest(x));
    const auto [best, position] =
        max(reshape(all, joined(joined({x.size(0), x.size(1)}, w.out), {product_of(w.kernel)})), -1);
    return {best, flat_places(position, w)};
  }
  // base: the place of a window's first element. first: from there to the first one that is no padding.
  Tensor base, first;
  Dims steps = Layout::contiguous_strides(w.size);
  for (size_t i = 0; i < w.axes(); ++i) {
    const Tensor start = starts(w, i, device), missing = elementwise<ClampMin>(-start, Scalar(0));
    const Tensor skipped =
        elementwise<FloorDivide>(missing + (w.dilation[i] - 1), Scalar(w.dilation[i])) * (w.dilation[i] * steps[i]);
    base = base.defined() ? base + start * steps[i] : start * steps[i];
    first = first.defined() ? first + skipped : skipped;
  }
  const DType places = product_of(w.size) < (int64_t(1) << 31) ? DType::Int32 : DType::Int64;
  const Tensor image = padded_image(x, w, lowest(x));
  Dims at(w.axes());
  Tensor best = contiguous(tap_of(image, w, at));
  const Tensor offset = contiguous(expand(to_dtype(first, places), best.shape()));
  while (next(&at, w.kernel)) {
    const Tensor r = contiguous(tap_of(image, w, at));
    Tensor better = elementwise<Gt>(r, best);
    if (is_floating(x.dtype())) better = elementwise<LogicalOr>(better, elementwise<Ne>(r, r));
    int64_t place = 0;
    for (size_t i = 0; i < w.axes(); ++i) place += at[i] * w.dilation[i] * steps[i];
    masked_fill_(offset, better, Scalar(place));
    best = elementwise<Maximum>(best, r);
  }
  return {best, base + to_dtype(offset, DType::Int64)};
}

// A window's gradient goes to the element that is its maximum.
void record_maxima(const char* node, const Tensor& best, const Tensor& x, const Tensor& places) {
  auto formula = [](const Tensor& g, const Dims& shape, const SavedTensor& places) {
    const int64_t n = shape[0], c = shape[1];
    const Tensor flat = zeros({n, c, product_of({shape.data() + 2, shape.size() - 2})}, g.dtype(), g.device());
    const Dims rows{n, c, product_of({g.shape().data() + 2, g.shape().size() - 2})};
    return steady(reshape(scatter_add(flat, 2, reshape(places.get(), rows), reshape(g, rows)), shape));
  };
  record(node, best, x, NamedFormula{std::tuple{x.shape(), SavedTensor(places)}, std::move(formula), "- result1"});
}

template <int axes>
std::tuple<Tensor, Tensor> max_pool_any(const Tensor& input, const Dims& kernel, const std::optional<Dims>& stride,
                                        const Dims& padding, const Dims& dilation, bool ceil_mode, bool with_places) {
  constexpr const char* name = Names<axes>::max;
  const Tensor x = with_batch(name, input, axes);
  const Windows w = windows_over(name, x, axes, kernel, stride, padding, dilation, ceil_mode, true);
  const bool recorded = needs_grad(x);
  Tensor best, places;
  {
    NoGradGuard guard;
    if (with_places || recorded) std::tie(best, places) = maxima_and_places(x, w);
    else best = maxima(x, w);
    best = make_view(best, best.layout());  // a result of its own: no view of what was made here
  }
  if (recorded) record_maxima(Names<axes>::max_node, best, x, places);
  if (axes == 3) {  // also without a batch
    best = in_order_of(best, x);
    if (with_places) places = in_order_of(places, x);
  }
  if (input.ndim() == axes + 1) {
    best = squeeze(best, {0});
    if (places.defined()) places = squeeze(places, {0});
  }
  // As PyTorch: in the order of planes and volumes, and of lines where their places are found.
  if (axes == 2 ? input.ndim() > 3 : axes == 1 && places.defined() && input.ndim() == 3) {
    best = in_order_of(best, input);
    if (with_places) places = in_order_of(places, input);
  }
  return {best, places};
}

// ---------------------------------------------------------------- sums

// Sums of 16-bit floats are rounded once.
Tensor sums(const Tensor& x, const Windows& w) {
  int64_t taps = 0;
  for (int64_t k : w.kernel) taps += k - 1;
  // Two additions for each axis of small images take less time than one sum over many axes.
  const bool few = taps > 0 && taps <= 2 * static_cast<int64_t>(w.axes()) && !are_long(w);
  if (!few && has_long_windows(x, w)) return sum(windows_of(x, w, Scalar(0)), window_axes(w));
  return to_dtype(over_windows<Add>(to_compute_dtype(x), w, Scalar(0)), x.dtype());
}

// The transpose of it: each element added to all elements of its window.
Tensor spread(const Tensor& g, const Windows& w) {
  const Dims shape = joined({g.size(0), g.size(1)}, w.size);
  bool tiles = w.stride == w.kernel && !w.is_padded();
  for (size_t i = 0; i < w.axes(); ++i) tiles = tiles && w.out[i] * w.kernel[i] == w.size[i];
  if (tiles) {
    Dims ones{g.size(0), g.size(1)}, split = ones;
    for (size_t i = 0; i < w.axes(); ++i) {
      ones.push_back(w.out[i]), ones.push_back(1);
      split.push_back(w.out[i]), split.push_back(w.kernel[i]);
    }
    return reshape(expand(reshape(g, ones), split), shape);
  }
  const Tensor wide = to_compute_dtype(g), image = padded_image(zeros(shape, wide.dtype(), g.device()), w, Scalar(0));
  Dims at(w.axes());
  do elementwise_<Add>(tap_of(image, w, at), wide);
  while (next(&at, w.kernel));
  return contiguous(to_dtype(inside_of(image, w), g.dtype()));
}

Tensor recorded_spread(const Tensor& g, const Windows& w, const char* node);
Tensor recorded_sums(const Tensor& x, const Windows& w, const char* node) {
  Tensor out;
  {
    NoGradGuard guard;
    out = sums(x, w);
    out = make_view(out, out.layout());
  }
  return record(node, out, x, [w, node](const Tensor& g) { return steady(recorded_spread(g, w, node)); });
}
Tensor recorded_spread(const Tensor& g, const Windows& w, const char* node) {
  Tensor out;
  {
    NoGradGuard guard;
    out = spread(g, w);
    out = make_view(out, out.layout());
  }
  return record(node, out, g, [w, node](const Tensor& x) { return recorded_sums(x, w, node); });
}

// The number of elements of each window of a plane, in row-major order; with `include` padding counts.
std::vector<int64_t> counts(const Windows& w, bool include) {
  std::vector<int64_t> made{1};
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const int64_t p = w.padding[axis], begin = include ? -p : 0, end = w.size[axis] + (include ? p : 0);
    const std::vector<int64_t> before = std::move(made);
    made.clear();
    for (const int64_t n : before)
      for (int64_t i = 0; i < w.out[axis]; ++i) {
        const int64_t start = i * w.stride[axis] - p;
        made.push_back(n * (std::min(start + w.kernel[axis], end) - std::max(start, begin)));
      }
  }
  return made;
}

}  // namespace

template <int axes>
Tensor max_pool(const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride, const Dims& padding,
                const Dims& dilation, bool ceil_mode) {
  return std::get<0>(max_pool_any<axes>(x, kernel, stride, padding, dilation, ceil_mode, false));
}

template <int axes>
std::tuple<Tensor, Tensor> max_pool_with_indices(const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride,
                                                 const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool_any<axes>(x, kernel, stride, padding, dilation, ceil_mode, true);
}

std::tuple<Tensor, Tensor> max_pool_between(const char* node, const Tensor& input, const Dims& out,
                                            const std::vector<int64_t>& edges, bool shared) {
  const auto operation = network_functions(input.device()).pool_maxima;
  const size_t axes = out.size();
  if (operation == nullptr || !is_floating(input.dtype()) || input.numel() == 0) return {};
  const bool batch = input.ndim() == static_cast<int>(axes) + 2, recorded = needs_grad(input);
  const Tensor x = batch ? input : unsqueeze(input, 0);
  const Dims shape = joined({x.size(0), x.size(1)}, out);
  Tensor best, places;
  {
    NoGradGuard guard;
    const Tensor image = contiguous(to_compute_dtype(x));
    best = empty(shape, image.dtype(), x.device());
    places = empty(shape, DType::Int64, x.device());
    PoolPlan plan;
    plan.dtype = image.dtype();
    plan.planes = x.size(0) * x.size(1);
    for (size_t i = 0, to = 3 - axes; i < axes; ++i, ++to) plan.size[to] = x.shape()[2 + i], plan.to[to] = out[i];
    plan.edges = edges.data();
    plan.edges_step = shared ? 0 : static_cast<int64_t>(edges.size()) / plan.planes;
    plan.in = image.data();
    plan.out = best.data();
    plan.places = places.data_as<int64_t>();
    operation(plan);
    best = to_dtype(best, x.dtype());
  }
  if (recorded) record_maxima(node, best, x, places);
  return batch ? std::tuple(best, places) : std::tuple(squeeze(best, {0}), squeeze(places, {0}));
}

template <int axes>
Tensor avg_pool(const Tensor& input, const Dims& kernel, const std::optional<Dims>& stride, const Dims& padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  constexpr const char* name = Names<axes>::avg;
  const bool whole = input.dtype() == DType::Int64;
  STRIDED_CHECK(is_floating(input.dtype()) || whole, RuntimeError, "\"", name, "\" not implemented for '",
                cpp_name_of(input.dtype()), "'");
  const Tensor x = with_batch(name, input, axes);
  STRIDED_CHECK(divisor_override != 0, RuntimeError, "divisor must be not zero");
  const Windows w = windows_over(name, x, axes, kernel, stride, padding, {1}, ceil_mode, false);
  const Tensor total = recorded_sums(x, w, Names<axes>::avg_node);
  std::vector<int64_t> count;
  if (divisor_override) count = {*divisor_override};
  else if (!ceil_mode && (count_include_pad || !w.is_padded())) count = {product_of(w.kernel)};
  else count = x.device().is_meta() ? std::vector<int64_t>{1} : counts(w, count_include_pad);
  Tensor made;
  if (std::all_of(count.begin(), count.end(), [&](int64_t n) { return n == count[0]; })) {
    made = whole ? elementwise<DivTrunc>(total, Scalar(count[0])) : total / Scalar(count[0]);
  } else {
    Tensor divisor = empty(w.out, DType::Int64);
    std::copy(count.begin(), count.end(), divisor.data_as<int64_t>());
    divisor = to_device(to_dtype(divisor, x.dtype()), x.device());
    made = whole ? elementwise<DivTrunc>(total, divisor) : total / divisor;
  }
  // as PyTorch
  made = input.ndim() < axes + 2 ? squeeze(made, {0}) : axes < 3 ? in_order_of(made, input) : made;
  return shown_as(axes == 1 ? "SqueezeBackward1" : Names<axes>::avg_node, made);
}

#define STRIDED_AXES(n) \
  template Tensor max_pool<n>(const Tensor&, const Dims&, const std::optional<Dims>&, const Dims&, const Dims&, bool); \
  template std::tuple<Tensor, Tensor> max_pool_with_indices<n>(const Tensor&, const Dims&, const std::optional<Dims>&, \
                                                               const Dims&, const Dims&, bool); \
  template Tensor avg_pool<n>(const Tensor&, const Dims&, const std::optional<Dims>&, const Dims&, bool, bool, \
                              std::optional<int64_t>);
STRIDED_AXES(1)
STRIDED_AXES(2)
STRIDED_AXES(3)
#undef STRIDED_AXES

}  // namespace strided
