// Losses of pairs of numbers, summed, and their gradient.
#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/reduce/row_sums.inc"

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

}  // namespace

void fill_pair_loss(KernelTable& table) {
  table.pair_loss[0] = {&pair_sums<float>, &pair_gradient<float>};
  table.pair_loss[1] = {&pair_sums<double>, &pair_gradient<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
