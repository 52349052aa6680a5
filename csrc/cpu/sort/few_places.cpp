// Where values stand in few sorted elements: those that stand before each value are counted, in vectors. A search by
// halves compares less often, but each of its comparisons waits for the one before.
#include "cpu/kernels.h"
#include "cpu/simd.inc"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

template <class T, bool right>
void count_before(int64_t* out, const T* x, int64_t m, const T* row, int64_t n) {
  using I = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  for (int64_t i = 0; i < m; i += W) {
    const bool whole = i + W <= m;
    T some[W] = {};
    if (!whole) __builtin_memcpy(some, x + i, static_cast<size_t>(m - i) * sizeof(T));
    const V value = load<V>(whole ? x + i : some);
    Vec<I> place = Vec<I>{} + static_cast<I>(n);  // all of them, less those that stand behind: none behind NaN
    for (int64_t j = 0; j < n; ++j) {
      const V y = V{} + row[j];
      place += right ? y > value : y >= value;  // -1 where it does
    }
    const auto wide = __builtin_convertvector(place, Vec<int64_t, W>);
    if (whole) store(out + i, wide);
    else __builtin_memcpy(out + i, &wide, static_cast<size_t>(m - i) * sizeof(int64_t));
  }
}

template <class T>
void few_places(int64_t* out, const char* values, int64_t m, const char* sorted, int64_t n, bool right) {
  const T *const x = reinterpret_cast<const T*>(values), *const row = reinterpret_cast<const T*>(sorted);
  right ? count_before<T, true>(out, x, m, row, n) : count_before<T, false>(out, x, m, row, n);
}

}  // namespace

void fill_few_places(KernelTable& table) {
  const auto fill = [&](auto of) {
    table.sort.few_places[index_of(dtype_of<decltype(of)>)] = few_places<decltype(of)>;
  };
  table.sort.few_bytes = 8 * kVectorBytes;  // more take longer than a search by halves
  fill(float());
  fill(double());
  fill(int32_t());
  fill(int64_t());
}

}  // namespace STRIDED_ISA
}  // namespace strided
