// Counting in bins of one width: bins of some elements in vectors, then the counts.
#include "cpu/sort/bins.h"

#include "cpu/kernels.h"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int64_t kBlock = 512;  // elements
// Counts of one bin that follow each other would wait for each other. Of few bins there are several.
constexpr int kApart = 4;
constexpr int64_t kFewBins = 1024;

// The bin of each element, computed in C; plan.bins for those outside.
template <class T, class C>
STRIDED_INLINE void find_bins(int32_t* to, const T* x, int64_t n, const BinsPlan& plan) {
  const T least = static_cast<T>(plan.low), greatest = static_cast<T>(plan.high);
  const C low = static_cast<C>(plan.low), bins = static_cast<C>(plan.bins), last = bins - 1,
          width = static_cast<C>(plan.high - plan.low);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const C place = (static_cast<C>(x[i]) - low) * bins / width;
    const C raised = place > C(0) ? place : C(0), bin = raised < last ? raised : last;  // of NaN (0 / 0) the first
    to[i] = static_cast<int32_t>((x[i] >= least) & (x[i] <= greatest) ? bin : bins);
  }
}

template <class T, class C>
void count_in_bins(const BinsPlan& plan, int64_t begin, int64_t end, int64_t* counts) {
  const T* const x = static_cast<const T*>(plan.in);
  alignas(64) int32_t bin[kBlock];
  uint32_t few[kApart][kFewBins];
  const bool is_few = plan.bins < kFewBins;
  for (int k = 0; k < kApart && is_few; ++k)
    for (int64_t b = 0; b <= plan.bins; ++b) few[k][b] = 0;
  for (int64_t i = begin; i < end; i += kBlock) {
    const int64_t m = min_of(kBlock, end - i);
    find_bins<T, C>(bin, x + i, m, plan);
    int64_t j = 0;
    if (is_few)
      for (; j + kApart <= m; j += kApart)
        for (int k = 0; k < kApart; ++k) ++few[k][bin[j + k]];
    for (; j < m; ++j) ++counts[bin[j]];
  }
  for (int k = 0; k < kApart && is_few; ++k)
    for (int64_t b = 0; b <= plan.bins; ++b) counts[b] += few[k][b];
}

}  // namespace

void fill_bins(KernelTable& table) {
  table.bins = {&count_in_bins<float, float>, &count_in_bins<float, double>, &count_in_bins<double, double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
