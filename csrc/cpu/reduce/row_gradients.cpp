// Gradients of softmax of contiguous rows, and of channels that were normalised: what is read a second time is in a
// cache still.
#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/reduce/row_sums.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

template <class T>
void softmax_gradient(const SoftmaxGradientPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.n;
  for (int64_t row = begin; row < end; ++row) {
    const T* const y = static_cast<const T*>(plan.out) + row * n;
    const T* const g = static_cast<const T*>(plan.grad) + row * n;
    T* const to = static_cast<T*>(plan.to) + row * n;
    double total = 0, none = 0;
    if (plan.log) {
      sums<T>(n, &total, &none, [&](int64_t i, T& a, T&) { a += g[i]; });
      const T sum = static_cast<T>(total);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = math::mul_add(math::exp(y[i]), -sum, g[i]);
    } else {
      sums<T>(n, &total, &none, [&](int64_t i, T& a, T&) { a = math::mul_add(g[i], y[i], a); });
      const T sum = static_cast<T>(total);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = (g[i] - sum) * y[i];
    }
  }
}

// Of one channel: sum of the gradient and of its products with x - mean; then what makes the gradient of x of both.
template <class T>
struct ChannelGradient {
  T mean, to_bias, to_weight, factor, shift, slope;

  ChannelGradient(const ChannelGradientPlan& plan, int64_t c, double sum, double product)
      : mean(static_cast<const T*>(plan.mean)[c]) {
    const T scale = static_cast<const T*>(plan.scale)[c];
    to_bias = static_cast<T>(sum);
    to_weight = static_cast<T>(product * static_cast<double>(scale));
    factor = plan.weight ? scale * static_cast<const T*>(plan.weight)[c] : scale;
    const T each = factor / -static_cast<T>(plan.outer * plan.inner);
    shift = each * to_bias;
    slope = each * to_weight * scale;
    static_cast<T*>(plan.to_weight)[c] = to_weight;
    static_cast<T*>(plan.to_bias)[c] = to_bias;
  }
};

template <class T>
void gradient_of_rows(const ChannelGradientPlan& plan, int64_t c) {
  const int64_t n = plan.inner, step = plan.channels * n;
  const T *const x = static_cast<const T*>(plan.x) + c * n, *const g = static_cast<const T*>(plan.grad) + c * n;
  const T mean = static_cast<const T*>(plan.mean)[c];
  double sum = 0, product = 0;
  for (int64_t o = 0; o < plan.outer; ++o) {
    const T *const xs = x + o * step, *const gs = g + o * step;
    sums<T>(n, &sum, &product, [&](int64_t i, T& a, T& b) {
      a += gs[i];
      b = math::mul_add(gs[i], xs[i] - mean, b);
    });
  }
  const ChannelGradient<T> found(plan, c, sum, product);
  if (!plan.to_x) return;
  T* const to = static_cast<T*>(plan.to_x) + c * n;
  for (int64_t o = 0; o < plan.outer; ++o) {
    const T *const xs = x + o * step, *const gs = g + o * step;
    T* const row = to + o * step;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      row[i] = math::mul_add(xs[i] - mean, found.slope, math::mul_add(gs[i], found.factor, found.shift));
  }
}

constexpr int64_t kBlock = 64;  // channels side by side

// Channels that lie side by side: c ... c + count - 1.
template <class T>
void gradient_of_columns(const ChannelGradientPlan& plan, int64_t c, int64_t count) {
  const int64_t step = plan.channels;
  const T *const x = static_cast<const T*>(plan.x) + c, *const g = static_cast<const T*>(plan.grad) + c;
  const T* const mean = static_cast<const T*>(plan.mean) + c;
  double sum[kBlock] = {}, product[kBlock] = {};
  for (int64_t o = 0; o < plan.outer; ++o) {
    const T *const xs = x + o * step, *const gs = g + o * step;
#pragma GCC ivdep
    for (int64_t k = 0; k < count; ++k) {
      sum[k] += static_cast<double>(gs[k]);
      product[k] += static_cast<double>(gs[k] * (xs[k] - mean[k]));
    }
  }
  alignas(64) T factor[kBlock], shift[kBlock], slope[kBlock];
  for (int64_t k = 0; k < count; ++k) {
    const ChannelGradient<T> found(plan, c + k, sum[k], product[k]);
    factor[k] = found.factor, shift[k] = found.shift, slope[k] = found.slope;
  }
  if (!plan.to_x) return;
  T* const to = static_cast<T*>(plan.to_x) + c;
  for (int64_t o = 0; o < plan.outer; ++o) {
    const T *const xs = x + o * step, *const gs = g + o * step;
    T* const row = to + o * step;
#pragma GCC ivdep
    for (int64_t k = 0; k < count; ++k)
      row[k] = math::mul_add(xs[k] - mean[k], slope[k], math::mul_add(gs[k], factor[k], shift[k]));
  }
}

template <class T>
void channels_gradient(const ChannelGradientPlan& plan, int64_t begin, int64_t end) {
  if (plan.inner > 1)
    for (int64_t c = begin; c < end; ++c) gradient_of_rows<T>(plan, c);
  else
    for (int64_t c = begin; c < end; c += kBlock) gradient_of_columns<T>(plan, c, min_of(kBlock, end - c));
}

}  // namespace

void fill_row_gradients(KernelTable& table) {
  table.row_gradients[0] = {&softmax_gradient<float>, &channels_gradient<float>};
  table.row_gradients[1] = {&softmax_gradient<double>, &channels_gradient<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
