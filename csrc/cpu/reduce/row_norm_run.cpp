// The driver of layer normalisation: rows are spread over threads; sums over rows are made of parts whose number does
// not depend on that of the threads.
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

const RowNormKernels& kernels_of(DType dtype) { return kernel_table().row_norm[dtype == DType::Float64 ? 1 : 0]; }

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
  const auto run = kernel_table().row_gradients[plan.dtype == DType::Float64 ? 1 : 0].softmax;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.n, 1));
  parallel_for(0, plan.rows, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void label_sums(const LabelSumsPlan& plan) {
  const auto run = kernel_table().label_sums[plan.dtype == DType::Float64 ? 1 : 0];
  const int64_t grain = std::max<int64_t>(1, kGrain / 16 / std::max<int64_t>(plan.steps * plan.states, 1));
  parallel_for(0, plan.batch, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void pair_sums(const PairLossPlan& plan) {
  const auto run = kernel_table().pair_loss[plan.dtype == DType::Float64 ? 1 : 0].sums;
  parallel_for(0, (plan.n + PairLossPlan::kPiece - 1) / PairLossPlan::kPiece, 2,
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void pair_gradient(const PairLossPlan& plan) {
  const auto run = kernel_table().pair_loss[plan.dtype == DType::Float64 ? 1 : 0].gradient;
  parallel_for(0, (plan.n + PairLossPlan::kPiece - 1) / PairLossPlan::kPiece, 2,
               [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void distances(const DistancePlan& plan) {
  const auto run = kernel_table().distances[plan.dtype == DType::Float64 ? 1 : 0].values;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.others * plan.columns, 1));
  parallel_for(0, plan.rows, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void distances_gradient(const DistanceGradientPlan& plan) {
  const auto run = kernel_table().distances[plan.dtype == DType::Float64 ? 1 : 0].gradient;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.others * plan.columns, 1));
  parallel_for(0, plan.rows, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void channels_gradient(const ChannelGradientPlan& plan) {
  const auto run = kernel_table().row_gradients[plan.dtype == DType::Float64 ? 1 : 0].channels;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.outer * plan.inner, 1));
  parallel_for(0, plan.channels, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void normalise_rows(const RowNormPlan& plan) {
  const auto run = kernels_of(plan.dtype).forward;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.n, 1));
  parallel_for(0, plan.rows, grain, [&](int64_t begin, int64_t end) { run(plan, begin, end); });
}

void normalise_rows_gradient(const RowNormGradientPlan& plan) {
  const auto run = kernels_of(plan.dtype).gradient;
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
