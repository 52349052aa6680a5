// Layer normalisation of contiguous rows, and its gradient: a row is read from memory once, and again from the cache.
#include <cmath>

#include "base/integer.h"
#include "base/math.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/reduce/row_sums.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// Pieces of a row that share one weight: f(place of the weight, start, end).
template <class Plan, class F>
STRIDED_INLINE void for_pieces(const Plan& plan, int64_t row, F f) {
  const int64_t weights = plan.n / plan.share, first = row % plan.period * weights;
  for (int64_t k = 0; k < weights; ++k) f(first + k, k * plan.share, (k + 1) * plan.share);
}

// Rows of fewer than kShort elements that share the weights are taken as columns, so many at a time.
constexpr int64_t kShort = 32, kTogether = 64;

// Calls f(first row, rows, rows rounded up to whole vectors).
template <class T, class F>
STRIDED_INLINE void for_some_rows(int64_t begin, int64_t end, F f) {
  constexpr int64_t W = kLanes<T>;
  for (int64_t row = begin; row < end; row += kTogether) {
    const int64_t rows = min_of(kTogether, end - row);
    f(row, rows, ceil_div(rows, W) * W);
  }
}
// Rows of n elements as columns, with columns of zeros up to `width`.
template <class T>
STRIDED_INLINE void turn_rows(const T* from, int64_t rows, int64_t n, int64_t width, T* to) {
  transpose_copy(rows, n, from, n, to, width);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t r = rows; r < width; ++r) to[i * width + r] = T(0);
}

template <class T>
void forward_short(const RowNormPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.n;
  const T* const weights = static_cast<const T*>(plan.weight);
  const T* const biases = static_cast<const T*>(plan.bias);
  for_some_rows<T>(begin, end, [&](int64_t row, int64_t rows, int64_t width) {
    alignas(64) T x[kShort * kTogether], mean[kTogether] = {}, scale[kTogether] = {}, rest[kTogether] = {};
    turn_rows(static_cast<const T*>(plan.x) + row * n, rows, n, width, x);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < width; ++r) mean[r] += x[i * width + r];
    for (int64_t r = 0; r < width; ++r) mean[r] /= static_cast<T>(n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < width; ++r) {
        const T d = x[i * width + r] - mean[r];
        scale[r] += d * d;
        rest[r] += d;
      }
    for (int64_t r = 0; r < width; ++r) {
      const double lacks = static_cast<double>(rest[r]) / static_cast<double>(n);
      const double variance = static_cast<double>(scale[r]) / static_cast<double>(n) - lacks * lacks;
      mean[r] = static_cast<T>(static_cast<double>(mean[r]) + lacks);
      scale[r] =
          static_cast<T>(1 / std::sqrt(math::clamp_keep_nan(variance, 0.0, math::infinity<double>()) + plan.eps));
    }
    for (int64_t i = 0; i < n; ++i) {
      const T weight = weights ? weights[i] : T(1), bias = biases ? biases[i] : T(0);
      for (int64_t r = 0; r < width; ++r) x[i * width + r] = (x[i * width + r] - mean[r]) * scale[r] * weight + bias;
    }
    transpose_copy(n, rows, x, width, static_cast<T*>(plan.out) + row * n, n);
    for (int64_t r = 0; r < rows; ++r) {
      static_cast<T*>(plan.mean)[row + r] = mean[r];
      static_cast<T*>(plan.scale)[row + r] = scale[r];
    }
  });
}

template <class T>
void forward(const RowNormPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.n;
  if (n < kShort && plan.share == 1 && plan.period == 1) return forward_short<T>(plan, begin, end);
  const T* const weights = static_cast<const T*>(plan.weight);
  const T* const biases = static_cast<const T*>(plan.bias);
  for (int64_t row = begin; row < end; ++row) {
    const T* const x = static_cast<const T*>(plan.x) + row * n;
    T* const out = static_cast<T*>(plan.out) + row * n;
    double total = 0, squares = 0, none = 0, left = 0;
    sums<T>(n, &total, &none, [&](int64_t i, T& a, T&) { a += x[i]; });
    const T near = static_cast<T>(total / static_cast<double>(n));
    sums<T>(n, &squares, &left, [&](int64_t i, T& a, T& b) {
      const T d = x[i] - near;
      a += d * d;
      b += d;
    });
    // What the rounded mean lacks is large beside the deviations of a row whose elements are nearly equal.
    const double rest = left / static_cast<double>(n);
    const T mean = static_cast<T>(static_cast<double>(near) + rest);
    const double variance = squares / static_cast<double>(n) - rest * rest;
    const T scale =
        static_cast<T>(1 / std::sqrt(math::clamp_keep_nan(variance, 0.0, math::infinity<double>()) + plan.eps));
    static_cast<T*>(plan.mean)[row] = mean;
    static_cast<T*>(plan.scale)[row] = scale;
    if (plan.share > 1) {
      for_pieces(plan, row, [&](int64_t k, int64_t first, int64_t last) {
        const T weight = weights ? weights[k] : T(1), bias = biases ? biases[k] : T(0);
#pragma GCC ivdep
        for (int64_t i = first; i < last; ++i) out[i] = (x[i] - mean) * scale * weight + bias;
      });
      continue;
    }
    const int64_t first = row % plan.period * n;
    const T *const weight = weights + first, *const bias = biases + first;
    if (weights && biases) for_elements(n, [=](int64_t i) { out[i] = (x[i] - mean) * scale * weight[i] + bias[i]; });
    else if (weights) for_elements(n, [=](int64_t i) { out[i] = (x[i] - mean) * scale * weight[i]; });
    else if (biases) for_elements(n, [=](int64_t i) { out[i] = (x[i] - mean) * scale + bias[i]; });
    else for_elements(n, [=](int64_t i) { out[i] = (x[i] - mean) * scale; });
  }
}

// With y = (x - mean) * scale and h = grad * weight, the gradient of x is scale * (h - mean(h) - y * mean(h y)).
template <bool kWeighted, class T>
STRIDED_INLINE void to_input(const T* grad, const T* x, const T* weight, T mean, T scale, int64_t n, T* out) {
  double total = 0, along = 0;
  const auto h = [&](int64_t i) { return kWeighted ? grad[i] * weight[i] : grad[i]; };
  sums<T>(n, &total, &along, [&](int64_t i, T& a, T& b) {
    const T g = h(i);
    a += g;
    b += g * ((x[i] - mean) * scale);
  });
  const T shift = static_cast<T>(total / static_cast<double>(n)),
          slope = static_cast<T>(along / static_cast<double>(n));
  for_elements(n, [=](int64_t i) { out[i] = scale * (h(i) - shift - (x[i] - mean) * scale * slope); });
}

// The same for short rows.
template <class T>
void to_input_short(const RowNormGradientPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.n;
  const T* const weights = static_cast<const T*>(plan.weight);
  for_some_rows<T>(begin, end, [&](int64_t row, int64_t rows, int64_t width) {
    alignas(64) T y[kShort * kTogether], h[kShort * kTogether];
    alignas(64) T mean[kTogether] = {}, scale[kTogether] = {}, shift[kTogether] = {}, slope[kTogether] = {};
    turn_rows(static_cast<const T*>(plan.x) + row * n, rows, n, width, y);
    turn_rows(static_cast<const T*>(plan.grad) + row * n, rows, n, width, h);
    for (int64_t r = 0; r < rows; ++r) {
      mean[r] = static_cast<const T*>(plan.mean)[row + r];
      scale[r] = static_cast<const T*>(plan.scale)[row + r];
    }
    for (int64_t i = 0; i < n; ++i) {
      const T weight = weights ? weights[i] : T(1);
      T *const at = y + i * width, *const g = h + i * width;
      for (int64_t r = 0; r < width; ++r) {
        at[r] = (at[r] - mean[r]) * scale[r];
        g[r] *= weight;
        shift[r] += g[r];
        slope[r] += g[r] * at[r];
      }
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < width; ++r)
        h[i * width + r] = scale[r] * (h[i * width + r] - (shift[r] + y[i * width + r] * slope[r]) / static_cast<T>(n));
    transpose_copy(n, rows, h, width, static_cast<T*>(plan.to_x) + row * n, n);
  });
}

// The same where elements share weights: the sums of each piece serve the gradients of weights and biases too.
template <class T>
STRIDED_INLINE void of_pieces(const RowNormGradientPlan& plan, int64_t row, const T* grad, const T* x, T mean, T scale,
                              T* out, T* to_weights, T* to_biases) {
  const T* const weights = static_cast<const T*>(plan.weight);
  double total = 0, along = 0;
  for_pieces(plan, row, [&](int64_t k, int64_t first, int64_t last) {
    double sum = 0, product = 0;
    sums<T>(last - first, &sum, &product, [&](int64_t i, T& a, T& b) {
      const T g = grad[first + i];
      a += g;
      b += g * ((x[first + i] - mean) * scale);
    });
    if (to_weights) to_weights[k] += static_cast<T>(product);
    if (to_biases) to_biases[k] += static_cast<T>(sum);
    const double weight = weights ? static_cast<double>(weights[k]) : 1;
    total += weight * sum;
    along += weight * product;
  });
  if (!out) return;
  const T shift = static_cast<T>(total / static_cast<double>(plan.n)),
          slope = static_cast<T>(along / static_cast<double>(plan.n));
  for_pieces(plan, row, [&](int64_t k, int64_t first, int64_t last) {
    const T weight = weights ? weights[k] : T(1);
#pragma GCC ivdep
    for (int64_t i = first; i < last; ++i) out[i] = scale * (grad[i] * weight - shift - (x[i] - mean) * scale * slope);
  });
}

// The sums over rows begin ... end - 1 are added to to_weight and to_bias (null: not wanted).
template <class T>
void gradient(const RowNormGradientPlan& plan, int64_t begin, int64_t end, void* to_weight, void* to_bias) {
  const int64_t n = plan.n;
  const bool is_short = n < kShort && plan.share == 1 && plan.period == 1;
  if (is_short && plan.to_x) to_input_short<T>(plan, begin, end);
  for (int64_t row = begin; row < end; ++row) {
    const T* const x = static_cast<const T*>(plan.x) + row * n;
    const T* const grad = static_cast<const T*>(plan.grad) + row * n;
    const T mean = static_cast<const T*>(plan.mean)[row], scale = static_cast<const T*>(plan.scale)[row];
    T* const out = plan.to_x && !is_short ? static_cast<T*>(plan.to_x) + row * n : nullptr;
    if (plan.share > 1) {
      of_pieces(plan, row, grad, x, mean, scale, out, static_cast<T*>(to_weight), static_cast<T*>(to_bias));
      continue;
    }
    const int64_t first = row % plan.period * n;
    if (out) {
      if (plan.weight) to_input<true>(grad, x, static_cast<const T*>(plan.weight) + first, mean, scale, n, out);
      else to_input<false>(grad, x, static_cast<const T*>(nullptr), mean, scale, n, out);
    }
    if (to_weight) {
      T* const weights = static_cast<T*>(to_weight) + first;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) weights[i] += grad[i] * ((x[i] - mean) * scale);
    }
    if (to_bias) {
      T* const biases = static_cast<T*>(to_bias) + first;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) biases[i] += grad[i];
    }
  }
}

}  // namespace

void fill_row_norm(KernelTable& table) {
  table.row_norm[0] = {&forward<float>, &gradient<float>};
  table.row_norm[1] = {&forward<double>, &gradient<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
