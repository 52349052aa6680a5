// Losses of classes: one element of each sample is read, so there is nothing for vectors to do.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/networks.h"

namespace strided {
namespace cpu {
namespace {

constexpr int64_t kPiece = 4096;  // samples whose losses are added before those of others, whatever the threads

struct Sums {
  double loss = 0, weight = 0;
  int64_t wrong = -1;  // the first sample whose class there is not
};

// visit(sample, class, place in a tensor of these strides) for the samples begin ... end - 1 that count. The first
// sample without a class, or -1.
template <class F>
int64_t for_samples(const ClassLossPlan& plan, const int64_t (&stride)[3], int64_t begin, int64_t end, F visit) {
  if (begin == end) return -1;  // images of no pixels have no place to begin at
  int64_t o = begin / plan.inner, i = begin % plan.inner;
  for (int64_t s = begin; s < end; ++s) {
    const int64_t t = plan.target[s];
    if (t != plan.ignore) {
      if (t < 0 || t >= plan.classes) return s;
      visit(s, t, o * stride[0] + t * stride[1] + i * stride[2]);
    }
    if (++i == plan.inner) {
      i = 0;
      ++o;
    }
  }
  return -1;
}

template <class T>
Sums losses(const ClassLossPlan& plan, int64_t begin, int64_t end) {
  const T* const x = static_cast<const T*>(plan.x);
  const T* const weight = static_cast<const T*>(plan.weight);
  Sums sums;
  if (plan.reduction == ClassLossPlan::None) {
    T* const out = static_cast<T*>(plan.out);
    std::fill(out + begin, out + end, T(0));
    sums.wrong = for_samples(plan, plan.stride, begin, end,
                             [=](int64_t s, int64_t t, int64_t at) { out[s] = weight ? -x[at] * weight[t] : -x[at]; });
    return sums;
  }
  sums.wrong = for_samples(plan, plan.stride, begin, end, [&](int64_t, int64_t t, int64_t at) {
    sums.loss -= static_cast<double>(weight ? x[at] * weight[t] : x[at]);
    sums.weight += weight ? static_cast<double>(weight[t]) : 1;
  });
  return sums;
}

template <class T>
void run(const ClassLossPlan& plan) {
  const int64_t samples = plan.outer * plan.inner, pieces = std::max<int64_t>(1, (samples + kPiece - 1) / kPiece);
  Sums one;
  std::vector<Sums> several(static_cast<size_t>(pieces > 1 ? pieces : 0));
  Sums* const sums = pieces > 1 ? several.data() : &one;
  parallel_for(0, pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) sums[p] = losses<T>(plan, p * kPiece, std::min(samples, (p + 1) * kPiece));
  });
  double loss = 0, weight = 0;
  for (int64_t p = 0; p < pieces; ++p) {
    STRIDED_CHECK(sums[p].wrong < 0, IndexError, "Target ", plan.target[sums[p].wrong], " is out of bounds.");
    loss += sums[p].loss;
    weight += sums[p].weight;
  }
  if (plan.reduction == ClassLossPlan::None) return;
  *static_cast<T*>(plan.total) = static_cast<T>(weight);
  *static_cast<T*>(plan.out) = static_cast<T>(plan.reduction == ClassLossPlan::Mean ? loss / weight : loss);
}

template <class T>
void run_gradient(const ClassLossPlan& plan) {
  const int64_t all = plan.outer * plan.classes * plan.inner;
  T* const out = static_cast<T*>(plan.out);
  const T *const grad = static_cast<const T*>(plan.grad), *const weight = static_cast<const T*>(plan.weight);
  const bool one = plan.reduction != ClassLossPlan::None;
  const T share = plan.reduction == ClassLossPlan::Mean ? *static_cast<const T*>(plan.total) : T(1);
  const int64_t stride[3] = {plan.classes * plan.inner, plan.inner, 1};
  parallel_for(0, plan.outer, std::max<int64_t>(1, kPiece * 8 * plan.outer / std::max<int64_t>(all, 1)),
               [&](int64_t begin, int64_t end) {
                 std::memset(out + begin * stride[0], 0, static_cast<size_t>((end - begin) * stride[0]) * sizeof(T));
                 for_samples(plan, stride, begin * plan.inner, end * plan.inner, [=](int64_t s, int64_t t, int64_t at) {
                   const T g = grad ? grad[one ? 0 : s] : T(1);
                   out[at] = -(weight ? weight[t] : T(1)) * g / share;
                 });
               });
}

}  // namespace

void class_loss(const ClassLossPlan& plan) { plan.dtype == DType::Float64 ? run<double>(plan) : run<float>(plan); }
void class_loss_gradient(const ClassLossPlan& plan) {
  plan.dtype == DType::Float64 ? run_gradient<double>(plan) : run_gradient<float>(plan);
}

}  // namespace cpu
}  // namespace strided
