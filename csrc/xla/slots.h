// The slots this backend has (csrc/backend/backend.h says what each does). The others raise NotImplementedError.
#pragma once

#include "backend/backend.h"

#define STRIDED_XLA_SLOTS(X) \
  X(elementwise) \
  X(copy) \
  X(where) \
  X(divide_by_counts) \
  X(clear_triangle) \
  X(range) \
  X(join) \
  X(unravel) \
  X(reduce) \
  X(scan) \
  X(sort) \
  X(order_statistic) \
  X(unique_rows) \
  X(unique_values) \
  X(search) \
  X(gather) \
  X(scatter) \
  X(scatter_reduce) \
  X(nonzero_begin) \
  X(nonzero_write) \
  X(nonzero_end) \
  X(gemm) \
  X(fft) \
  X(lu_factor) \
  X(lu_solve) \
  X(cholesky) \
  X(solve_triangular) \
  X(exchange_rows) \
  X(permutation_sign) \
  X(check_info) \
  X(qr) \
  X(form_q) \
  X(apply_q) \
  X(svd) \
  X(eigh) \
  X(least_squares) \
  X(eig) \
  X(ldl_factor) \
  X(ldl_solve) \
  X(random_fill) \
  X(random_bernoulli) \
  X(random_poisson) \
  X(random_choice) \
  X(random_permutation)

namespace strided::xla {

#define X(name, parameters) void name parameters;
STRIDED_BACKEND_SLOTS(X)
#undef X

// What a slot says that has no lowering for what it is asked.
[[noreturn]] inline void refuse(const OpContext& on, const std::string& what) {
  STRIDED_THROW(NotImplementedError, on.name, " on device 'xla': its backend has no ", what);
}

}  // namespace strided::xla
