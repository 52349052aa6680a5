// The CPU's factorisations and triangular systems: checks of pivots and info, and the loops of linalg.cpp for a dtype.
#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/operations.h"

namespace strided {
namespace cpu {
namespace {

template <class F>
F loop_of(const OpContext& on, DType dtype, F LinalgKernels::* loop) {
  const F f = kernel_table().linalg[index_of(dtype)].*loop;
  STRIDED_CHECK(f, NotImplementedError, on.name, ": not implemented for ", dtype, " on device 'cpu'");
  return f;
}

// The loops trust pivots: each must name one of `rows` rows, counted from 1.
void check_pivots(const OpContext& on, LinalgFailure failure, const int32_t* pivots, int64_t n, int64_t rows) {
  // The highest bit of (p - 1) | (rows - p) is set where p is below 1 or above rows: vector code, without a branch.
  const uint32_t most = static_cast<uint32_t>(std::min<int64_t>(rows, INT32_MAX));
  auto misplaced = [most](int32_t pivot) {
    const uint32_t p = static_cast<uint32_t>(pivot);
    return (p - 1) | (most - p);
  };
  uint32_t any = 0;
  for (int64_t i = 0; i < n; ++i) any |= misplaced(pivots[i]);
  if (any >> 31 == 0) return;
  const int32_t* bad = std::find_if(pivots, pivots + n, [&](int32_t p) { return misplaced(p) >> 31 != 0; });
  raise_linalg_failure(failure, on.name, false, 0, *bad);
}

}  // namespace

void lu_factor(const OpContext& on, DType dtype, int64_t batch, int64_t m, int64_t n, void* a, int32_t* pivots,
               int32_t* info) {
  loop_of(on, dtype, &LinalgKernels::lu_factor)(batch, m, n, a, pivots, info);
}

void lu_solve(const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, const void* lu,
              int64_t lu_batch_stride, const int32_t* pivots, int64_t pivots_batch_stride, void* b, int op) {
  check_pivots(on, LinalgFailure::PivotOfSolve, pivots, pivots_batch_stride == 0 ? n : batch * n, n);
  loop_of(on, dtype, &LinalgKernels::lu_solve)(batch, n, k, lu, lu_batch_stride, pivots, pivots_batch_stride, b, op);
}

void cholesky(const OpContext& on, DType dtype, int64_t batch, int64_t n, void* a, bool upper, int32_t* info) {
  loop_of(on, dtype, &LinalgKernels::cholesky)(batch, n, a, upper, info);
}

void solve_triangular(const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, Matrix t,
                      int64_t t_batch_stride, void* b, bool upper, bool unit_diagonal) {
  loop_of(on, dtype, &LinalgKernels::solve_triangular)(batch, n, k, t, t_batch_stride, b, upper, unit_diagonal, false);
}

void exchange_rows(const OpContext& on, DType dtype, int64_t batch, int64_t rows, int64_t columns, void* a,
                   const int32_t* pivots, int64_t count, bool backwards) {
  check_pivots(on, LinalgFailure::PivotOfUnpack, pivots, batch * count, rows);
  const int64_t row_bytes = columns * size_of(dtype);
  parallel_for(0, batch, std::max<int64_t>(1, 65536 / std::max<int64_t>(count * row_bytes, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   char* matrix = static_cast<char*>(a) + b * rows * row_bytes;
                   for (int64_t step = 0; step < count; ++step) {
                     const int64_t i = backwards ? count - 1 - step : step, with = int64_t{pivots[b * count + i]} - 1;
                     char *one = matrix + i * row_bytes, *other = matrix + with * row_bytes;
                     if (one != other) std::swap_ranges(one, one + row_bytes, other);
                   }
                 }
               });
}

void permutation_sign(const OpContext&, int64_t batch, int64_t count, const int32_t* pivots, double* sign) {
  for (int64_t b = 0; b < batch; ++b) {
    bool odd = false;
    for (int64_t i = 0; i < count; ++i) odd ^= pivots[b * count + i] != i + 1;
    sign[b] = odd ? -1.0 : 1.0;
  }
}

void check_info(const OpContext& on, LinalgFailure failure, const int32_t* info, int64_t n, bool batched, bool) {
  for (int64_t i = 0; i < n; ++i)
    if (info[i] != 0) raise_linalg_failure(failure, on.name, batched, i, info[i]);
}

}  // namespace cpu
}  // namespace strided
