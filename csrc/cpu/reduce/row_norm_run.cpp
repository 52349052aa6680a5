// Drivers of layer normalisation, of distances, and of some losses and gradients: rows are spread over threads. Sums
// over rows are made of parts whose number does not depend on that of the threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread
constexpr int64_t kMostParts = 16;

// Rows of so many elements, or of steps that cost as much as so many.
template <class Plan>
void spread_rows(void (*run)(const Plan& plan, int64_t begin, int64_t end), const Plan& plan, int64_t rows,
                 int64_t elements) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(elements, 1));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

// Pairs of elements, in pieces whose number does not depend on that of the threads.
void spread_pieces(void (*run)(const PairLossPlan& plan, int64_t begin, int64_t end), const PairLossPlan& plan) {
  parallel_for(0, (plan.n + PairLossPlan::kPiece - 1) / PairLossPlan::kPiece, 2,
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

template <class T>
void add_parts(const char* parts, int64_t count, int64_t stride, int64_t n, void* to) {
  T* const out = static_cast<T*>(to);
  std::memset(to, 0, static_cast<size_t>(n) * sizeof(T));
  for (int64_t p = 0; p < count; ++p) {
    const T* const part = reinterpret_cast<const T*>(parts + p * stride);
    for (int64_t i = 0; i < n; ++i) out[i] += part[i];
  }
}

}  // namespace

void softmax_gradient(const SoftmaxGradientPlan& plan) {
  spread_rows(kernel_table().row_gradients[plan.dtype == DType::Float64].softmax, plan, plan.rows, plan.n);
}

void channels_gradient(const ChannelGradientPlan& plan) {
  spread_rows(kernel_table().row_gradients[plan.dtype == DType::Float64].channels, plan, plan.channels,
              plan.outer * plan.inner);
}

void label_sums(const LabelSumsPlan& plan) {
  constexpr int64_t kCost = 16;  // of a state, in elements
  spread_rows(kernel_table().label_sums[plan.dtype == DType::Float64], plan, plan.batch,
              kCost * plan.steps * plan.states);
}

void pair_sums(const PairLossPlan& plan) {
  spread_pieces(kernel_table().pair_loss[plan.dtype == DType::Float64].sums, plan);
}

void pair_gradient(const PairLossPlan& plan) {
  spread_pieces(kernel_table().pair_loss[plan.dtype == DType::Float64].gradient, plan);
}

void distances(const DistancePlan& plan) {
  spread_rows(kernel_table().distances[plan.dtype == DType::Float64].values, plan, plan.rows,
              plan.others * plan.columns);
}

void distances_gradient(const DistanceGradientPlan& plan) {
  spread_rows(kernel_table().distances[plan.dtype == DType::Float64].gradient, plan, plan.rows,
              plan.others * plan.columns);
}

void normalise_rows(const RowNormPlan& plan) {
  spread_rows(kernel_table().row_norm[plan.dtype == DType::Float64].forward, plan, plan.rows, plan.n);
}

void normalise_rows_gradient(const RowNormGradientPlan& plan) {
  const auto run = kernel_table().row_norm[plan.dtype == DType::Float64].gradient;
  const int64_t weights = plan.n / plan.share * plan.period, size = size_of(plan.dtype) * weights;
  const int64_t count = std::clamp<int64_t>(plan.rows * plan.n / kGrain, 1, std::min(plan.rows, kMostParts));
  const int64_t stride = 2 * size;  // of a part: sums for the weight, sums for the bias
  std::vector<char> parts(static_cast<size_t>(plan.to_weight || plan.to_bias ? count * stride : 0));
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      char* const own = parts.data() + p * stride;
      run(plan, plan.rows * p / count, plan.rows * (p + 1) / count, plan.to_weight ? own : nullptr,
          plan.to_bias ? own + size : nullptr);
    }
  });
  const auto add = plan.dtype == DType::Float64 ? &add_parts<double> : &add_parts<float>;
  if (plan.to_weight) add(parts.data(), count, stride, weights, plan.to_weight);
  if (plan.to_bias) add(parts.data() + size, count, stride, weights, plan.to_bias);
}

}  // namespace cpu
}  // namespace strided
