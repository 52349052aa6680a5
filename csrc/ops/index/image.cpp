#include "ops/index/image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "backend/network_plans.h"
#include "base/math_basic.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/record.h"
#include "ops/reduce/pool.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "ops/shape/windows.h"
#include "ops/steady.h"

namespace strided {
namespace image {

bool is_short(const Dims& numbers) {
  constexpr int64_t kLongest = int64_t(1) << 24;
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n >= -kLongest && n <= kLongest; });
}

bool is_plain(const Tensor& x) {
  return x.is_contiguous() || x.ndim() < 4 || !(lies_channels_last(x) || has_channels_last(x));
}

bool has_loops(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

}  // namespace image

namespace {

// ---------------------------------------------------------------- other sizes

// Weighted sums along one axis.
struct Step {
  int axis = 0;
  int64_t from = 0, to = 0;
  int taps = 1;
  std::vector<int64_t> place;
  std::vector<float> floats;  // the weights, of the dtype of the image; none: ones
  std::vector<double> doubles;
  std::vector<int32_t> whole;  // of bytes: times 2^shift
  int shift = 0;
};
using Steps = std::shared_ptr<const std::vector<Step>>;

template <class T>
std::vector<T>& weights_of(Step& step) {
  if constexpr (std::is_same_v<T, float>) return step.floats;
  else return step.doubles;
}

double scale_of(int64_t n, int64_t out, double factor, bool align) {
  if (align) return out > 1 ? static_cast<double>(n - 1) / static_cast<double>(out - 1) : 0;
  return factor != 0 ? 1 / factor : static_cast<double>(n) / static_cast<double>(out);
}

void take_nearest(Step& step, double factor, bool exact) {
  const float scale = static_cast<float>(scale_of(step.from, step.to, factor, false));
  for (int64_t j = 0; j < step.to; ++j) {
    const float at = (exact ? static_cast<float>(j) + 0.5f : static_cast<float>(j)) * scale;
    step.place.push_back(std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, step.from - 1));
  }
}

template <class T>
void take_linear(Step& step, double factor, bool align) {
  const T scale = static_cast<T>(scale_of(step.from, step.to, factor, align));
  const int64_t last = step.from - 1;
  step.taps = 2;
  for (int64_t j = 0; j < step.to; ++j) {
    const T place = align ? static_cast<T>(j) * scale : (static_cast<T>(j) + T(0.5)) * scale - T(0.5);
    const T at = place > 0 ? place : T(0);
    const int64_t low = std::min(static_cast<int64_t>(at), last);
    const T part = std::clamp(at - static_cast<T>(low), T(0), T(1));
    step.place.insert(step.place.end(), {low, std::min(low + 1, last)});
    weights_of<T>(step).insert(weights_of<T>(step).end(), {1 - part, part});
  }
}

// R. Keys, "Cubic convolution interpolation for digital image processing" (1981).
template <class T>
void take_cubic(Step& step, double factor, bool align) {
  const T scale = static_cast<T>(scale_of(step.from, step.to, factor, align));
  constexpr T a = T(-0.75);
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  step.taps = 4;
  for (int64_t j = 0; j < step.to; ++j) {
    const T at = align ? static_cast<T>(j) * scale : (static_cast<T>(j) + T(0.5)) * scale - T(0.5);
    const T low = std::floor(at), t = at - low;
    for (int k = 0; k < 4; ++k)
      step.place.push_back(std::clamp<int64_t>(static_cast<int64_t>(low) + k - 1, 0, step.from - 1));
    weights_of<T>(step).insert(weights_of<T>(step).end(), {far(t + 1), near(t), near(1 - t), far(2 - t)});
  }
}

// What an element at a distance weighs, and from which distance on it weighs nothing.
struct Kernel {
  double reach;
  double (*weight)(double);
};
constexpr Kernel kHat = {1, [](double x) { return std::max(0.0, 1 - x); }};
constexpr Kernel kKeys = {2, [](double x) {  // R. Keys, as above
                            constexpr double a = -0.5;
                            if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
                            return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
                          }};
// sinc(x) sinc(x / 3): C. E. Duchon, "Lanczos filtering in one and two dimensions" (1979).
constexpr Kernel kLanczos = {3, [](double x) {
                               const double t = math::kPi * x;
                               if (t == 0) return 1.0;
                               return x < 3 ? 3 * std::sin(t) * std::sin(t / 3) / (t * t) : 0.0;
                             }};

// The kernel is as wide as the image gets smaller. Rows of weights are as long as the longest one; in shorter ones the
// last element stands more than once, with parts of its weight (which are exact).
template <class T>
void take_antialiased(Step& step, double factor, bool align, const Kernel& kernel) {
  const double scale = scale_of(step.from, step.to, factor, align), wide = std::max(scale, 1.0);
  const double half = kernel.reach * wide;
  const auto first = [=](double centre) { return std::max<int64_t>(static_cast<int64_t>(centre - half + 0.5), 0); };
  const auto last = [=, n = step.from](double centre) {
    return std::min(static_cast<int64_t>(centre + half + 0.5), n);
  };
  const auto centre_of = [=](int64_t j) { return scale * (static_cast<double>(j) + 0.5); };
  for (int64_t j = 0; j < step.to; ++j)
    step.taps = std::max(step.taps, static_cast<int>(last(centre_of(j)) - first(centre_of(j))));
  for (int64_t j = 0; j < step.to; ++j) {
    const double centre = centre_of(j);
    const int64_t low = std::min(first(centre), step.from - 1), count = last(centre) - low;
    std::vector<double> weights(static_cast<size_t>(step.taps));
    double total = 0;
    for (int64_t k = 0; k < count; ++k)
      total += weights[static_cast<size_t>(k)] =
          kernel.weight(std::abs(static_cast<double>(low + k) - centre + 0.5) / wide);
    T rest = 0;
    for (int64_t k = 0; k < step.taps; ++k) {
      if (k < count) rest = static_cast<T>(total != 0 ? weights[static_cast<size_t>(k)] / total : 0);
      const bool ends = k >= count - 1 && k + 1 < step.taps;
      step.place.push_back(low + std::max<int64_t>(std::min(k, count - 1), 0));
      weights_of<T>(step).push_back(ends ? rest / 2 : rest);
      if (ends) rest /= 2;
    }
  }
}

// Of bytes PyTorch, and Pillow before it, takes whole numbers: the weights times the power of two with which the
// largest still fits 16 bits. Weights of places outside the image are added to those of its edge before.
void make_whole(Step& step) {
  std::vector<double>& weights = step.doubles;
  const int64_t last = step.from - 1;
  for (int64_t j = 0; j < step.to; ++j) {
    double* const w = weights.data() + j * step.taps;
    const int64_t* const at = step.place.data() + j * step.taps;
    const auto join = [&](int from, int to, bool wanted) {
      if (!wanted || at[from] != at[to]) return;
      w[to] += w[from];
      w[from] = 0;
    };
    for (int k = 0; k + 1 < step.taps; ++k) join(k, k + 1, at[k] == 0);
    for (int k = step.taps - 1; k > 0; --k) join(k, k - 1, at[k] == last);
    for (int k = step.taps - 1; k > 0; --k) join(k, k - 1, true);  // parts of one weight
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  while (step.shift < 22 && static_cast<int64_t>(0.5 + largest * std::ldexp(1.0, step.shift + 1)) < 1 << 15)
    ++step.shift;
  const double unit = std::ldexp(1.0, step.shift);
  for (const double w : weights) {
    const double scaled = w * unit;
    step.whole.push_back(static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  weights.clear();
}

Tensor by_step(const Tensor& x, const Step& step, bool transposed) {
  TapsPlan plan;
  plan.dtype = x.dtype();
  plan.transposed = transposed;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i < step.axis) plan.outer *= x.size(i);
    if (i > step.axis) plan.inner *= x.size(i);
  }
  plan.from = step.from;
  plan.to = step.to;
  plan.taps = step.taps;
  plan.place = step.place.data();
  if (!step.floats.empty()) plan.weight = step.floats.data();
  if (!step.doubles.empty()) plan.weight = step.doubles.data();
  if (!step.whole.empty()) plan.weight = step.whole.data();
  plan.shift = step.shift;
  Dims shape = x.shape();
  shape[static_cast<size_t>(step.axis)] = transposed ? step.from : step.to;
  const Tensor in = contiguous(x), out = empty(shape, x.dtype(), x.device());
  plan.in = in.data();
  plan.out = out.data();
  if (out.numel() > 0) network_functions(x.device()).mix_taps(plan);
  return out;
}

// The steps one after the other, or their transposes from the last one on: each is the other's gradient.
// PyTorch's gradient of a pool is a function of its input too (ops/steady.h).
Tensor by_steps(const Tensor& x, const Steps& steps, bool transposed, bool channels_last, const char* node,
                bool is_pool = false) {
  Tensor out = x;
  {
    const NoGradGuard guard;
    for (size_t i = 0; i < steps->size(); ++i)
      out = by_step(out, (*steps)[transposed ? steps->size() - 1 - i : i], transposed);
    if (out.impl() == x.impl()) out = clone(x);
    if (transposed) out = contiguous(out);
    if (channels_last) out = with_channels_last(out);
  }
  if (!needs_grad(x)) return out;
  return record(node, out, x, [steps, transposed, node, is_pool](const Tensor& g) {
    const Tensor made = by_steps(g, steps, !transposed, false, node, is_pool);
    return is_pool && !transposed ? steady(made) : made;
  });
}

struct Mode {
  enum Kind { Nearest, Exact, Linear, Cubic, Lanczos } kind;
  const char* node;
};
std::optional<Mode> mode_of(const std::string& word, int axes, bool antialias) {
  const auto numbered = [axes](const char* one, const char* two, const char* three) {
    return axes == 1 ? one : axes == 2 ? two : three;
  };
  if (antialias) {
    if (axes != 2) return std::nullopt;
    if (word == "bilinear") return Mode{Mode::Linear, "UpsampleBilinear2DAaBackward0"};
    if (word == "bicubic") return Mode{Mode::Cubic, "UpsampleBicubic2DAaBackward0"};
    if (word == "lanczos") return Mode{Mode::Lanczos, "UpsampleLanczos2DAaBackward0"};
    return std::nullopt;
  }
  if (word == "nearest")
    return Mode{Mode::Nearest,
                numbered("UpsampleNearest1DBackward0", "UpsampleNearest2DBackward0", "UpsampleNearest3DBackward0")};
  if (word == "nearest-exact")
    return Mode{Mode::Exact, numbered("UpsampleNearestExact1DBackward0", "UpsampleNearestExact2DBackward0",
                                      "UpsampleNearestExact3DBackward0")};
  if (word == "linear" && axes == 1) return Mode{Mode::Linear, "UpsampleLinear1DBackward0"};
  if (word == "bilinear" && axes == 2) return Mode{Mode::Linear, "UpsampleBilinear2DBackward0"};
  if (word == "trilinear" && axes == 3) return Mode{Mode::Linear, "UpsampleTrilinear3DBackward0"};
  if (word == "bicubic" && axes == 2) return Mode{Mode::Cubic, "UpsampleBicubic2DBackward0"};
  return std::nullopt;
}

template <class T>
void take(Step& step, Mode::Kind kind, double factor, bool align, bool antialias) {
  if (antialias)
    take_antialiased<T>(step, factor, align, kind == Mode::Lanczos ? kLanczos : kind == Mode::Cubic ? kKeys : kHat);
  else if (kind == Mode::Linear) take_linear<T>(step, factor, align);
  else take_cubic<T>(step, factor, align);
}

}  // namespace

double resizing_factor(const std::string& mode, double factor, bool antialias_or_bytes, int64_t from, int64_t to) {
  const bool moves = mode == "nearest" || mode == "nearest-exact" || (mode == "bicubic" && !antialias_or_bytes);
  return from == to && !moves ? 0 : factor;
}

Tensor resize(const Tensor& x, const Dims& sizes, const std::vector<double>& factors, const std::string& mode,
              bool align, bool antialias) {
  const int axes = x.ndim() - 2;
  const bool bytes = x.dtype() == DType::UInt8;
  if (axes < 1 || axes > 3 || network_functions(x.device()).mix_taps == nullptr) return {};
  if (!bytes && !image::has_loops(x.dtype())) return {};
  const std::optional<Mode> how = mode_of(mode, axes, antialias);
  if (!how || x.numel() == 0 || static_cast<int>(sizes.size()) != axes || !image::is_short(sizes)) return {};
  if (how->kind == Mode::Lanczos && align) return {};
  if (antialias && !image::is_short(x.shape()))
    return {};  // as many weights as elements may belong to one of the result
  const bool nearest = how->kind == Mode::Nearest || how->kind == Mode::Exact;
  auto steps = std::make_shared<std::vector<Step>>();
  for (int i = axes - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    Step step;
    step.axis = i + 2;
    step.from = x.size(i + 2);
    step.to = sizes[at];
    if (step.to < 1) return {};
    const double factor = resizing_factor(mode, factors[at], antialias || bytes, step.from, step.to);
    if (step.to == step.from && (factor == 0 || factor == 1)) continue;
    if (nearest) {
      take_nearest(step, factor, how->kind == Mode::Exact);
    } else {
      const bool doubles = x.dtype() == DType::Float64 || bytes;
      if (doubles) take<double>(step, how->kind, factor, align, antialias);
      else take<float>(step, how->kind, factor, align, antialias);
      if (bytes) make_whole(step);
    }
    steps->push_back(std::move(step));
  }
  return by_steps(x, steps, false, !image::is_plain(x), how->node);
}

// ---------------------------------------------------------------- windows that cover an axis

namespace {

// Sizes of the windows if they are all equal, of results of `sizes` elements; else nothing.
std::optional<Dims> equal_windows(const Tensor& x, const Dims& sizes) {
  Dims kernel;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t n = x.shape()[x.shape().size() - sizes.size() + i];
    if (n % sizes[i] != 0) return std::nullopt;
    kernel.push_back(n / sizes[i]);
  }
  return kernel;
}
bool can_pool(const Tensor& x, const Dims& sizes) {
  const int axes = static_cast<int>(sizes.size());
  if ((x.ndim() != axes + 1 && x.ndim() != axes + 2) || !image::has_loops(x.dtype()) || x.numel() == 0) return false;
  return image::is_short(sizes) && image::is_short(x.shape()) &&
         std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 1; }) &&
         network_functions(x.device()).mix_taps != nullptr;
}

// The mean of window j, which begins at floor(j from / to) and ends before ceil((j + 1) from / to). In shorter windows
// the last element stands more than once, with parts of its weight (which are exact).
template <class T>
void take_mean(Step& step) {
  const int64_t n = step.from, out = step.to;
  const auto start = [=](int64_t j) { return j * n / out; };
  const auto end = [=](int64_t j) { return ((j + 1) * n + out - 1) / out; };
  for (int64_t j = 0; j < out; ++j) step.taps = std::max(step.taps, static_cast<int>(end(j) - start(j)));
  for (int64_t j = 0; j < out; ++j) {
    T rest = 1 / static_cast<T>(end(j) - start(j));
    for (int64_t k = 0; k < step.taps; ++k) {
      const bool last = start(j) + k >= end(j) - 1;
      step.place.push_back(last ? end(j) - 1 : start(j) + k);
      if (last && k + 1 < step.taps) rest /= 2;
      weights_of<T>(step).push_back(rest);
    }
  }
}

}  // namespace

template <int axes>
Tensor adaptive_avg_pool(const Tensor& x, const Dims& sizes) {
  if (!can_pool(x, sizes)) return {};
  constexpr const char* node = axes == 1   ? "SqueezeBackward1"
                               : axes == 2 ? "AdaptiveAvgPool2DBackward0"
                                           : "AdaptiveAvgPool3DBackward0";
  const int first = x.ndim() - axes;
  if (std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n == 1; })) {
    Dims all;
    for (int i = first; i < x.ndim(); ++i) all.push_back(i);
    const Tensor made = mean(x, all, true);
    if (axes == 1) return shown_as(node, made);
    return has_channels_last(x) ? shown_as("AsStridedBackward1", with_channels_last(made)) : made;
  }
  const std::optional<Dims> kernel = equal_windows(x, sizes);
  if (kernel && !x.is_contiguous()) return {};
  if (kernel) return shown_as(node, avg_pool<axes>(x, *kernel, std::nullopt, Dims(1, 0), false, true, std::nullopt));
  const Tensor planes = axes == 1 ? unsqueeze(x, -2) : x;
  const bool last = axes < 3 && x.ndim() == axes + 2 && !image::is_plain(planes);
  auto steps = std::make_shared<std::vector<Step>>();
  for (int i = 0; i < axes; ++i) {
    Step step;
    step.axis = first + i;
    step.from = x.size(step.axis);
    step.to = sizes[static_cast<size_t>(i)];
    if (step.from == step.to) continue;
    if (step.to > step.from * 4) return {};  // few elements, many times
    if (x.dtype() == DType::Float64) take_mean<double>(step);
    else take_mean<float>(step);
    steps->push_back(std::move(step));
  }
  return by_steps(x, steps, false, last, node, true);
}

template <int axes>
std::tuple<Tensor, Tensor> adaptive_max_pool(const Tensor& x, const Dims& sizes, bool with_places) {
  if (!can_pool(x, sizes)) return {};
  const Tensor batch = axes == 3 && x.ndim() == 4 ? unsqueeze(x, 0) : x;  // a volume has not the order of images
  if (lies_channels_last(batch) || has_channels_last(batch)) return {};
  const std::optional<Dims> kernel = equal_windows(x, sizes);
  if (!with_places && std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n == 1; })) {
    Dims shape, rows;
    for (int i = 0; i < x.ndim(); ++i) shape.push_back(i < x.ndim() - axes ? x.size(i) : 1);
    for (int i = 0; i < x.ndim() - axes; ++i) rows.push_back(x.size(i));
    rows.push_back(product_of(*kernel));
    return {reshape(std::get<0>(max(reshape(x, rows), -1)), shape), Tensor()};
  }
  constexpr const char* node = axes == 1   ? "SqueezeBackward1"
                               : axes == 2 ? "AdaptiveMaxPool2DBackward0"
                                           : "AdaptiveMaxPool3DBackward0";
  if (kernel && with_places) {
    const auto [best, places] = max_pool_with_indices<axes>(x, *kernel, std::nullopt, Dims(1, 0), Dims(1, 1), false);
    return {shown_as(node, best), places};
  }
  constexpr int64_t kMost = 64;  // elements of a window; their maxima are taken one element after the other
  if (kernel && product_of(*kernel) <= kMost)
    return {max_pool<axes>(x, *kernel, std::nullopt, Dims(1, 0), Dims(1, 1), false), Tensor()};
  std::vector<int64_t> edges;
  for (int i = axes; i < 3; ++i) edges.push_back(0), edges.push_back(1);
  for (int i = 0; i < axes; ++i) {
    const int64_t n = x.size(x.ndim() - axes + i), out = sizes[static_cast<size_t>(i)];
    for (int64_t j = 0; j < out; ++j) edges.push_back(j * n / out), edges.push_back(((j + 1) * n + out - 1) / out);
  }
  return max_pool_between(node, x, sizes, edges, true);
}

// ---------------------------------------------------------------- windows at places that are drawn

namespace {

// Where windows begin, in the arithmetic of the numbers that were drawn: one for each plane and axis.
template <class T>
std::vector<int64_t> drawn_edges(const Tensor& x, const Tensor& samples, const Dims& out, const Dims& kernel) {
  const size_t axes = out.size();
  const T* u = samples.data_as<T>();
  std::vector<int64_t> edges;
  for (int64_t plane = 0; plane < x.size(0) * x.size(1); ++plane, u += axes) {
    for (size_t i = axes; i < 3; ++i) edges.push_back(0), edges.push_back(1);
    for (size_t i = 0; i < axes; ++i) {
      // PyTorch's numbers: in two dimensions the first number is that of the last axis.
      const T shift = u[axes == 2 ? 1 - i : i];
      STRIDED_CHECK(shift >= 0 && shift <= 1, RuntimeError,
                    "fractional_max_pool: numbers that are drawn must lie between 0 and 1");
      const int64_t n = x.shape()[2 + i], last = n - kernel[i];
      const T step = out[i] > 1 ? static_cast<T>(static_cast<double>(last) / static_cast<double>(out[i] - 1)) : T(0);
      for (int64_t j = 0; j < out[i]; ++j) {
        int64_t start = static_cast<int64_t>((static_cast<T>(j) + shift) * step) - static_cast<int64_t>(shift * step);
        if (j == out[i] - 1) start = last;
        start = std::min(start, last);
        edges.push_back(start), edges.push_back(start + kernel[i]);
      }
    }
  }
  return edges;
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& x, const Tensor& samples, const Dims& out,
                                               const Dims& kernel) {
  const bool wide = x.dtype() == DType::Float64;
  if ((!wide && x.dtype() != DType::Float32) || samples.dtype() != x.dtype() || x.numel() == 0 ||
      network_functions(x.device()).pool_maxima == nullptr)
    return {};
  STRIDED_CHECK(samples.device() == x.device(), RuntimeError, "fractional_max_pool: _random_samples is on ",
                samples.device(), ", but the input is on ", x.device());
  const int axes = static_cast<int>(out.size());
  STRIDED_CHECK(x.ndim() == axes + 2 && kernel.size() == out.size() && samples.numel() == x.size(0) * x.size(1) * axes,
                RuntimeError, "fractional_max_pool: sizes ", out, ", kernel ", kernel, " and samples ", samples.shape(),
                " do not fit an input ", x.shape());
  for (int i = 0; i < axes; ++i)
    STRIDED_CHECK(out[static_cast<size_t>(i)] >= 0 && kernel[static_cast<size_t>(i)] >= 1 &&
                      kernel[static_cast<size_t>(i)] <= x.size(2 + i),
                  RuntimeError, "fractional_max_pool: windows ", kernel, " do not fit an input ", x.shape());
  const Tensor u = contiguous(samples);
  const std::vector<int64_t> edges =
      wide ? drawn_edges<double>(x, u, out, kernel) : drawn_edges<float>(x, u, out, kernel);
  const char* node = out.size() == 2 ? "FractionalMaxPool2DBackward0" : "FractionalMaxPool3DBackward0";
  return max_pool_between(node, x, out, edges, false);
}

#define STRIDED_AXES(n) \
  template Tensor adaptive_avg_pool<n>(const Tensor&, const Dims&); \
  template std::tuple<Tensor, Tensor> adaptive_max_pool<n>(const Tensor&, const Dims&, bool);
STRIDED_AXES(1)
STRIDED_AXES(2)
STRIDED_AXES(3)
#undef STRIDED_AXES

}  // namespace strided
