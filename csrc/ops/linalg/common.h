// What the files of the linalg family share.
#pragma once

#include "backend/backend.h"
#include "ops/linalg/linalg.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided::linalg_detail {

void check_square(const char* op, const Tensor& a);
void check_dtype(const char* op, const Tensor& a);  // floating or complex
int64_t batches(const Tensor& a);
Dims batch_shape(const Tensor& a, int drop);  // all but the last `drop` sizes
Tensor packed_copy(const Tensor& a);          // contiguous, in the kernels' dtype
inline OpContext context(const char* op, const Tensor& a) { return {op, a.device().index}; }

// When linear algebra fails.
// The error names the first matrix of the batch whose info is not 0. The CPU raises it at once, a device with the next
// call that waits, or at once where the caller asks for a check.
enum class Check : int8_t { Never, Later, Now };
void check_info(const char* op, LinalgFailure fault, const Tensor& info, Check check);
Tensor adjoint_of(const Tensor& x);
Tensor cast_to(const Tensor& x, DType t);  // x itself when it has that dtype

// The factors of a in the kernels' dtype, without check and record.
Factors factor(const Tensor& a);
// op(A)^-1 b from such factors, in the kernels' dtype, not recorded: op 0 is A, 1 its transpose, 2 its adjoint. b is
// (..., n, k); the batch axes of the factors are broadcast to those of b.
Tensor solve_factored(const Tensor& lu, const Tensor& pivots, const Tensor& b, int op);

// ---- decompositions: matrices stored by columns in the kernels' dtype, not recorded
void check_matrices(const char* op, const Tensor& a, const char* what = "A ");  // of any shape, floating or complex
Dims matrix_shape(const Tensor& batch_of, int64_t rows, int64_t columns);
Tensor empty_by_columns(const Tensor& batch_of, int64_t rows, int64_t columns);
Tensor copy_by_columns(const Tensor& a);
Tensor identity_like(const Tensor& batch_of, int64_t rows, int64_t columns);
DecompositionPlan plan_of(const char* op, const Tensor& a, const Tensor& info);
std::pair<Tensor, Tensor> qr_packed(const char* op, const Tensor& a);
Tensor q_of(const char* op, const Tensor& packed, const Tensor& tau, int64_t k, int64_t columns);
void apply_q(const char* op, const Tensor& packed, const Tensor& tau, int64_t k, const Tensor& c, bool left,
             bool adjoint);
bool is_vector(const Tensor& a, const Tensor& b);  // whether b is a vector, or one for each matrix of a batch

Tensor pinv_backward(const Tensor& g, const Tensor& pinv, const Tensor& a);
// What the gradients of decompositions need where a vector of a pair may be turned by e^(i phi): an error if the loss
// does.
void check_gauge(const char* op, const char* vectors, const Tensor& turn);

}  // namespace strided::linalg_detail
