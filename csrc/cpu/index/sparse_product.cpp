// Products with the entries of a sparse matrix. Entries of one row that follow each other are summed in registers.
#include "base/math_basic.h"
#include "cpu/kernels.h"

namespace strided {
inline namespace STRIDED_ISA {
namespace {

constexpr int64_t kPiece = 64;  // elements of a row that are summed in registers
constexpr int64_t kAhead = 12;  // entries: rows of dense stand in no order, so they are fetched before they are needed

// out[0 ... n) += the entries begin ... end - 1, all of one row, times their rows of dense.
template <bool kWeighted, class T>
STRIDED_INLINE void add_entries(const SparseProductPlan& plan, const T* dense, int64_t begin, int64_t end, T* out,
                                int64_t n) {
  T sum[kPiece];
  for (int64_t k = 0; k < n; ++k) sum[k] = out[k];
  for (int64_t e = begin; e < end; ++e) {
    const int64_t column = plan.column[e];
    if (e + kAhead < plan.entries) {
      const int64_t later = plan.column[e + kAhead];
      __builtin_prefetch(dense + (later > 0 ? later : 0) * plan.width);
    }
    if (column < 0) continue;
    const T* const from = dense + column * plan.width;
    if constexpr (kWeighted) {
      const T value = static_cast<const T*>(plan.value)[e];
      for (int64_t k = 0; k < n; ++k) sum[k] = math::mul_add(value, from[k], sum[k]);
    } else {
      for (int64_t k = 0; k < n; ++k) sum[k] += from[k];
    }
  }
  for (int64_t k = 0; k < n; ++k) out[k] = sum[k];
}

template <bool kWeighted, class T>
STRIDED_INLINE void product_of(const SparseProductPlan& plan, const T* dense, T* out, int64_t begin, int64_t end) {
  int64_t next;
  for (int64_t e = 0; e < plan.entries; e = next) {
    const int64_t row = plan.row[e];
    for (next = e + 1; next < plan.entries && plan.row[next] == row; ++next) {
    }
    if (row < begin || row >= end) continue;
    T* const to = out + row * plan.width;
    int64_t at = 0;
    for (; at + kPiece <= plan.width; at += kPiece) add_entries<kWeighted>(plan, dense + at, e, next, to + at, kPiece);
    for (; at + 16 <= plan.width; at += 16) add_entries<kWeighted>(plan, dense + at, e, next, to + at, int64_t{16});
    for (; at + 4 <= plan.width; at += 4) add_entries<kWeighted>(plan, dense + at, e, next, to + at, int64_t{4});
    if (at < plan.width) add_entries<kWeighted>(plan, dense + at, e, next, to + at, plan.width - at);
  }
}

// out (zeros) += the entries of rows begin ... end - 1.
template <class T>
void product(const SparseProductPlan& plan, const void* dense, void* out, int64_t begin, int64_t end) {
  if (plan.value) product_of<true>(plan, static_cast<const T*>(dense), static_cast<T*>(out), begin, end);
  else product_of<false>(plan, static_cast<const T*>(dense), static_cast<T*>(out), begin, end);
}

template <class T>
void sampled(const SparseProductPlan& plan, const void* a, const void* b, void* out, int64_t begin, int64_t end) {
  constexpr int64_t side = 16;
  const int64_t n = plan.width, whole = n - n % side;
  for (int64_t e = begin; e < end; ++e) {
    const int64_t row = plan.row[e], column = plan.column[e];
    T total = 0;
    if (row >= 0 && column >= 0) {
      const T* const x = static_cast<const T*>(a) + row * n;
      const T* const y = static_cast<const T*>(b) + column * n;
      T lane[side] = {};
      for (int64_t i = 0; i < whole; i += side)
        for (int64_t k = 0; k < side; ++k) lane[k] = math::mul_add(x[i + k], y[i + k], lane[k]);
      for (int64_t i = whole; i < n; ++i) lane[i - whole] = math::mul_add(x[i], y[i], lane[i - whole]);
      for (int64_t half = side / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; ++k) lane[k] += lane[k + half];
      total = lane[0];
    }
    static_cast<T*>(out)[e] = total;
  }
}

}  // namespace

void fill_sparse_product(KernelTable& table) {
  table.sparse_product[0] = {&product<float>, &sampled<float>};
  table.sparse_product[1] = {&product<double>, &sampled<double>};
}

}  // namespace STRIDED_ISA
}  // namespace strided
