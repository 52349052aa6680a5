// Losses of pairs of numbers, summed, and their gradient; distances of pairs of rows.
#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/reduce/row_sums.inc"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// f(loss, slope) with both as functions of the difference.
template <class T, class F>
STRIDED_INLINE void with_loss(const PairLossPlan& plan, F f) {
  const T delta = static_cast<T>(plan.delta);
  if (plan.kind == PairLossPlan::Square) f([](T d) { return d * d; }, [](T d) { return d + d; });
  else
    f(
        [delta](T d) {
          const T size = math::abs(d), c = size < delta ? size : delta;
          return (size - T(0.5) * c) * c;
        },
        [delta](T d) {
          const T raised = d < -delta ? -delta : d;
          return raised > delta ? delta : raised;
        });
}

template <class T>
void pair_sums(const PairLossPlan& plan, int64_t begin, int64_t end) {
  const T *const x = static_cast<const T*>(plan.x), *const y = static_cast<const T*>(plan.y);
  with_loss<T>(plan, [&](auto loss, auto) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p * PairLossPlan::kPiece, n = min_of(PairLossPlan::kPiece, plan.n - first);
      double total = 0, none = 0;
      sums<T>(n, &total, &none, [&](int64_t i, T& a, T&) { a += loss(x[first + i] - y[first + i]); });
      plan.parts[p] = total;
    }
  });
}

template <class T>
void pair_gradient(const PairLossPlan& plan, int64_t begin, int64_t end) {
  const T *const x = static_cast<const T*>(plan.x), *const y = static_cast<const T*>(plan.y);
  T* const to = static_cast<T*>(plan.to);
  const T factor = static_cast<T>(plan.factor);
  with_loss<T>(plan, [&](auto, auto slope) {
    const int64_t last = min_of(plan.n, end * PairLossPlan::kPiece);
#pragma GCC ivdep
    for (int64_t i = begin * PairLossPlan::kPiece; i < last; ++i) to[i] = slope(x[i] - y[i]) * factor;
  });
}

// From one row to several side by side: step(sum, difference) for each column, join(sum, sum) for every kFew of them,
// so that the error of long sums stays small.
template <class T, class Step, class Join>
void distances_by(const DistancePlan& plan, int64_t begin, int64_t end, Step step, Join join) {
  using V = Vec<T>;
  constexpr int N = 4, W = kLanes<T>;
  static_assert(N * W <= DistancePlan::kMore, "what is read after the last number");
  constexpr int64_t kFew = 32;
  const T *const x = static_cast<const T*>(plan.x), *const y = static_cast<const T*>(plan.y);
  const int64_t columns = plan.columns, others = plan.others;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = plan.pairs ? i + 1 : 0;
    T* const out = static_cast<T*>(plan.out) + (plan.pairs ? i * (2 * others - i - 1) / 2 - first : i * others);
    for (int64_t j = first; j < others; j += N * W) {
      V total[N] = {};
      for (int64_t c = 0; c < columns; c += kFew) {
        const int64_t last = min_of(c + kFew, columns);
        V part[N] = {};
        for (int64_t k = c; k < last; ++k) {
          const V here = V{} + x[i * columns + k];
#pragma GCC unroll 4
          for (int v = 0; v < N; ++v) part[v] = step(part[v], load<V>(y + k * others + j + v * W) - here);
        }
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v) total[v] = join(total[v], part[v]);
      }
      T made[N * W];
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) store(made + v * W, total[v]);
      const int64_t count = min_of(N * W, others - j);
      const bool square = plan.p == 2;
      for (int64_t k = 0; k < count; ++k) out[j + k] = square ? math::sqrt(made[k]) : made[k];
    }
  }
}
template <class T>
void distances(const DistancePlan& plan, int64_t begin, int64_t end) {
  using V = Vec<T>;
  const auto size = [](V d) { return d < 0 ? -d : d; };
  const auto plus = [](V a, V b) { return a + b; };
  const auto larger = [size](V a, V d) {
    const V s = size(d);
    return (s > a) | (s != s) ? s : a;
  };
  const auto differs = [](V a, V d) { return a + (d == 0 ? V{} : d == d ? V{} + T(1) : d); };
  if (plan.p == 2) distances_by<T>(plan, begin, end, [](V a, V d) { return a + d * d; }, plus);
  else if (plan.p == 1) distances_by<T>(plan, begin, end, [size](V a, V d) { return a + size(d); }, plus);
  else if (plan.p == 0) distances_by<T>(plan, begin, end, differs, plus);
  else distances_by<T>(plan, begin, end, larger, larger);
}

template <class T, class F>
void distance_gradients_by(const DistanceGradientPlan& plan, int64_t begin, int64_t end, F f) {
  constexpr int step = DistanceGradientPlan::kStep, W = kLanes<T> < step ? kLanes<T> : step, N = step / W;
  constexpr int64_t kFew = 32;  // so many are summed before they are added to the others
  using V = Vec<T, W>;
  const T* const weights = static_cast<const T*>(plan.weight);
  const int64_t columns = plan.columns, others = plan.others;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < columns; c += step) {
      const T* const x = static_cast<const T*>(plan.x) + i * columns + c;
      const T* const y = static_cast<const T*>(plan.y) + c;
      V here[N], total[N] = {};
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) here[v] = load<V>(x + v * W);
      // Of pairs first those with the rows before this one, whose weights come nearer to each other.
      for (int part = plan.pairs ? 0 : 1; part < 2; ++part) {
        const bool before = part == 0;
        const int64_t first = before || !plan.pairs ? 0 : i + 1, last = before ? i : others;
        const T* weight = weights + (before ? i - 1 : plan.pairs ? i * (2 * others - i - 1) / 2 : i * others);
        int64_t apart = before ? others - 2 : 1;
        for (int64_t k = first; k < last; k += kFew) {
          const int64_t most = min_of(k + kFew, last);
          V some[N] = {};
#pragma GCC unroll 1
          for (int64_t j = k; j < most; ++j) {
#pragma GCC unroll 4
            for (int v = 0; v < N; ++v) some[v] += f(here[v] - load<V>(y + j * columns + v * W), V{} + *weight);
            weight += apart;
            apart -= before;
          }
#pragma GCC unroll 4
          for (int v = 0; v < N; ++v) total[v] += some[v];
        }
      }
      T* const out = static_cast<T*>(plan.out) + i * columns + c;
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) store(out + v * W, total[v]);
    }
  }
}
template <class T>
void distances_gradient(const DistanceGradientPlan& plan, int64_t begin, int64_t end) {
  if (plan.signs)  // 0 and NaN are their own signs
    distance_gradients_by<T>(plan, begin, end, [](auto d, auto w) { return d > 0 ? w : d < 0 ? -w : d * w; });
  else distance_gradients_by<T>(plan, begin, end, [](auto d, auto w) { return d * w; });
}

}  // namespace

void fill_pair_loss(KernelTable& table) {
  table.pair_loss[0] = {&pair_sums<float>, &pair_gradient<float>};
  table.pair_loss[1] = {&pair_sums<double>, &pair_gradient<double>};
  table.distances[0] = {&distances<float>, &distances_gradient<float>};
  table.distances[1] = {&distances<double>, &distances_gradient<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
