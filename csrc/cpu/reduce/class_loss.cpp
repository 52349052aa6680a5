// Losses of classes, where one element of each sample is read, and losses of margins, where all are.
#include <algorithm>
#include <atomic>
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

// One row of losses of margins.
template <class T>
class MarginRow {
 public:
  explicit MarginRow(const MarginLossPlan& plan)
      : plan_(plan), values_(static_cast<size_t>(plan.classes)), slopes_(values_.size()), is_label_(values_.size()) {}

  // False where a label is no class.
  bool run(int64_t row) {
    const int64_t classes = plan_.classes;
    const T* const x = static_cast<const T*>(plan_.x) + row * classes;
    const int64_t* const labels = plan_.target + row * (plan_.several ? classes : 1);
    int64_t n_labels = plan_.several ? 0 : 1;
    if (plan_.several)
      while (n_labels < classes && labels[n_labels] >= 0) ++n_labels;
    for (int64_t k = 0; k < n_labels; ++k) {
      if (labels[k] < 0 || labels[k] >= classes) return false;
      is_label_[static_cast<size_t>(labels[k])] = 1;
    }
    // The other classes side by side.
    int64_t n = 0;
    for (int64_t i = 0; i < classes; ++i) {
      values_[static_cast<size_t>(n)] = x[i];
      n += !is_label_[static_cast<size_t>(i)];
    }
    T* const to = plan_.slopes ? static_cast<T*>(plan_.slopes) + row * classes : nullptr;
    if (to) std::fill(to, to + classes, T(0));
    std::fill_n(slopes_.begin(), n, T(0));
    const T share = 1 / static_cast<T>(classes), g = plan_.grad ? static_cast<const T*>(plan_.grad)[row] : T(1);
    double loss = 0;
    for (int64_t k = 0; k < n_labels; ++k) {
      const int64_t label = labels[k];
      const T weight = plan_.weight ? static_cast<const T*>(plan_.weight)[label] : T(1);
      const T base = static_cast<T>(plan_.margin) - x[label];
      if (plan_.out) loss += static_cast<double>(weight) * sum_gaps(base, n);
      if (to) to[label] -= static_cast<T>(add_slopes(base, weight * share * g, n));
    }
    if (plan_.out) static_cast<T*>(plan_.out)[row] = static_cast<T>(loss) * share;
    if (to)
      for (int64_t i = 0, k = 0; i < classes; ++i)
        if (!is_label_[static_cast<size_t>(i)]) to[i] = slopes_[static_cast<size_t>(k++)];
    for (int64_t k = 0; k < n_labels; ++k) is_label_[static_cast<size_t>(labels[k])] = 0;
    return true;
  }

 private:
  static constexpr int64_t kLanes = 8;

  // NaN stays.
  double sum_gaps(T base, int64_t n) const {
    T sums[kLanes] = {};
    const T* const value = values_.data();
    const auto gap = [=](int64_t i) {
      const T z = base + value[i];
      return z < 0 ? T(0) : z;
    };
    int64_t i = 0;
    if (plan_.square)
      for (; i + kLanes <= n; i += kLanes)
        for (int64_t k = 0; k < kLanes; ++k) sums[k] += gap(i + k) * gap(i + k);
    else
      for (; i + kLanes <= n; i += kLanes)
        for (int64_t k = 0; k < kLanes; ++k) sums[k] += gap(i + k);
    double sum = 0;
    for (; i < n; ++i) sum += static_cast<double>(plan_.square ? gap(i) * gap(i) : gap(i));
    for (const T s : sums) sum += static_cast<double>(s);
    return sum;
  }
  // Adds the derivatives by the other classes, and gives their sum.
  double add_slopes(T base, T factor, int64_t n) {
    T sums[kLanes] = {};
    const T* const value = values_.data();
    T* const to = slopes_.data();
    const bool square = plan_.square;
    const auto slope = [=](int64_t i) {
      const T z = base + value[i], s = square ? (z + z) * factor : factor;
      const T none = z == z ? T(0) : z, d = z > 0 ? s : none;  // NaN stays
      to[i] += d;
      return d;
    };
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) sums[k] += slope(i + k);
    double sum = 0;
    for (; i < n; ++i) sum += static_cast<double>(slope(i));
    for (const T s : sums) sum += static_cast<double>(s);
    return sum;
  }

  const MarginLossPlan& plan_;
  std::vector<T> values_, slopes_;
  std::vector<uint8_t> is_label_;
};

template <class T>
void run_margins(const MarginLossPlan& plan) {
  std::atomic<bool> fits{true};
  const int64_t grain = std::max<int64_t>(1, kPiece * 4 / std::max<int64_t>(plan.classes, 1));
  parallel_for(0, plan.rows, grain, [&](int64_t begin, int64_t end) {
    MarginRow<T> row(plan);
    for (int64_t r = begin; r < end; ++r)
      if (!row.run(r)) return fits.store(false);
  });
  *plan.fits = fits;
}

}  // namespace

void margin_loss(const MarginLossPlan& plan) {
  plan.dtype == DType::Float64 ? run_margins<double>(plan) : run_margins<float>(plan);
}
void class_loss(const ClassLossPlan& plan) { plan.dtype == DType::Float64 ? run<double>(plan) : run<float>(plan); }
void class_loss_gradient(const ClassLossPlan& plan) {
  plan.dtype == DType::Float64 ? run_gradient<double>(plan) : run_gradient<float>(plan);
}

}  // namespace cpu
}  // namespace strided
