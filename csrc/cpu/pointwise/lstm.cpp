// Steps of an LSTM, and their gradients: LstmPlan.
#include <type_traits>

#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/reduce/elements.inc"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// Usual operands take less than half the time, and have the same bits.
template <class T>
__attribute__((noinline)) void sigmoids(T* x, int64_t n) {
  std::conditional_t<sizeof(T) == 8, int64_t, int32_t> odd = 0;  // lanes as wide as operands
  for (int64_t k = 0; k < n; ++k) odd += !math::has_usual_sigmoid(x[k]);
  if (odd > 0) for_elements(n, [=](int64_t k) { x[k] = math::sigmoid(x[k]); });
  else for_elements(n, [=](int64_t k) { x[k] = math::sigmoid_usual(x[k]); });
}

template <class T>
void step(const LstmPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.width;
  for (int64_t r = begin; r < end; ++r) {
    T* const i = static_cast<T*>(plan.gates) + r * 4 * n;
    T *const f = i + n, *const g = f + n, *const o = g + n;
    const T* const previous = static_cast<const T*>(plan.previous) + r * n;
    T *const cell = static_cast<T*>(plan.cell) + r * n, *const out = static_cast<T*>(plan.out) + r * n;
    sigmoids(i, 2 * n);
    sigmoids(o, n);
    for_elements(n, [=](int64_t k) { g[k] = math::tanh(g[k]); });
    for_elements(n, [=](int64_t k) { cell[k] = math::mul_add(f[k], previous[k], i[k] * g[k]); });
    T* const tanh = plan.tanh ? static_cast<T*>(plan.tanh) + r * n : out;
    for_elements(n, [=](int64_t k) { tanh[k] = math::tanh(cell[k]); });
    for_elements(n, [=](int64_t k) { out[k] = o[k] * tanh[k]; });
  }
}

template <class T>
void gradient(const LstmPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.width;
  for (int64_t r = begin; r < end; ++r) {
    const T* const i = static_cast<const T*>(plan.gates) + r * 4 * n;
    const T *const f = i + n, *const g = f + n, *const o = g + n;
    const auto row = [=](const void* from) { return static_cast<const T*>(from) + r * n; };
    const T *const previous = row(plan.previous), *const tanh = row(plan.tanh);
    const T *const by_out = row(plan.by_out), *const by_next = row(plan.by_next);
    T* const by_cell = static_cast<T*>(plan.by_cell) + r * n;
    T* const to = static_cast<T*>(plan.by_gates) + r * 4 * n;
    for_elements(n, [=](int64_t k) {
      const T h = by_out[k] + by_next[k], t = tanh[k];
      const T c = math::mul_add(h, o[k] * (1 - t * t), by_cell[k]);
      to[k] = c * g[k] * (i[k] * (1 - i[k]));
      to[n + k] = c * previous[k] * (f[k] * (1 - f[k]));
      to[2 * n + k] = c * i[k] * (1 - g[k] * g[k]);
      to[3 * n + k] = h * t * (o[k] * (1 - o[k]));
      by_cell[k] = c * f[k];
    });
  }
}

}  // namespace

void fill_lstm(KernelTable& table) {
  table.lstm[0] = {&step<float>, &gradient<float>};
  table.lstm[1] = {&step<double>, &gradient<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
