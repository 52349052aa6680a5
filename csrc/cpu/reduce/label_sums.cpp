// Sums over the ways through the states of label sequences (connectionist temporal classification), step by step.
#include <cstring>

#include "base/math.h"
#include "cpu/kernels.h"
#include "cpu/networks.h"
#include "cpu/simd.inc"
#include "cpu/workspace.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

// to[s] = log(exp(from[s]) + exp(from[s + one]) + exp(from[s + two] + shut[s])) + score[s]
template <class T>
void step(const T* from, int64_t one, int64_t two, const T* shut, const T* score, int64_t n, T* to) {
  constexpr T infinity = math::infinity<T>();
#pragma GCC ivdep
  for (int64_t s = 0; s < n; ++s) {
    const T a = from[s], b = from[s + one], c = from[s + two] + shut[s];
    const T ab = a > b ? a : b, most = ab > c ? ab : c;
    const T base = most > -infinity && most < infinity ? most : T(0);  // no differences of infinities
    to[s] = base + math::log(math::exp(a - base) + math::exp(b - base) + math::exp(c - base)) + score[s];
  }
}

// Sequences begin ... end - 1 of the batch.
template <class T>
void label_sums(const LabelSumsPlan& plan, int64_t begin, int64_t end) {
  constexpr T none = -math::infinity<T>();
  const int64_t n = plan.states, apart = plan.batch * n;
  // A step's sums between two states that no way leads to, on each side.
  T* const now = static_cast<T*>(workspace(WorkspaceSlot::Columns, (3 * n + 8) * static_cast<int64_t>(sizeof(T))));
  T *const next = now + n + 4, *const shut = next + n + 4;
  for (int64_t s = 0; s < 2 * (n + 4); ++s) now[s] = none;
  for (int64_t b = begin; b < end; ++b) {
    const T* const scores = static_cast<const T*>(plan.scores) + b * n;
    const bool* const skips = plan.skips + b * n;
    T* const out = static_cast<T*>(plan.out) + b * n;
    const int64_t length = plan.lengths[b], last = 2 * plan.labels[b];
    const auto size = static_cast<size_t>(n) * sizeof(T);
    T *from = now + 2, *to = next + 2;
    if (plan.backward) {
      for (int64_t s = 0; s < n; ++s) shut[s] = s + 2 < n && skips[s + 2] ? T(0) : none;
      for (int64_t t = plan.steps - 1; t >= 0; --t) {
        const T* const score = scores + t * apart;
        if (t >= length) {
          for (int64_t s = 0; s < n; ++s) to[s] = none;
        } else if (t == length - 1) {
          for (int64_t s = 0; s < n; ++s) to[s] = s == last || s == max_of(last - 1, 0) ? score[s] : none;
        } else {
          step(from, 1, 2, shut, score, n, to);
        }
        std::memcpy(out + t * apart, to, size);
        T* const done = to;
        to = from, from = done;
      }
    } else {
      for (int64_t s = 0; s < n; ++s) shut[s] = skips[s] ? T(0) : none;
      for (int64_t t = 0; t < plan.steps; ++t) {
        const T* const score = scores + t * apart;
        if (t == 0)
          for (int64_t s = 0; s < n; ++s) to[s] = s < 2 ? score[s] : none;
        else if (t >= length) std::memcpy(to, from, size);
        else step(from, -1, -2, shut, score, n, to);
        std::memcpy(out + t * apart, to, size);
        T* const done = to;
        to = from, from = done;
      }
    }
  }
}

}  // namespace

void fill_label_sums(KernelTable& table) {
  table.label_sums[0] = &label_sums<float>;
  table.label_sums[1] = &label_sums<double>;
}

}  // namespace STRIDED_ISA
}  // namespace strided
