// What operations call: one table of functions, the slots, for each type of device. A plan goes in; when the function
// returns, the work is done (CPU) or queued on the current stream of the device.
#pragma once

#include "backend/plans.h"

namespace strided {

// Note [Slots]
// Name and parameters of a slot are written here, once. What follows from the two lists: the members of Backend, the
// functions that raise NotImplementedError in slots that a backend leaves empty, the CPU's registration
// (cpu/backend.cpp), the prototypes and the C table of the CUDA library with its guards (cuda/runtime). A slot returns
// void; results go where parameters point. What kernels of an accelerator find wrong is raised by the next call that
// waits. These wait: nonzero_begin, unique_rows, unique_values, random_choice, transfer and a check_info that is told
// to.
#define STRIDED_KERNEL_SLOTS(X) \
  X(elementwise, (const LoopPlan& plan, int op, DType compute, const double* params)) \
  /* operands to, from; an immediate `from` fills */ \
  X(copy, (const LoopPlan& plan)) \
  /* operands to, condition (bool), a, b */ \
  X(where, (const LoopPlan& plan)) \
  /* operands to, counts (int64): to /= count, rounding down for integers; a count below 2 changes nothing */ \
  X(divide_by_counts, (const LoopPlan& plan)) \
  X(reduce, (const ReducePlan& plan, int op, DType compute)) \
  X(scan, (const ScanPlan& plan, ScanOp op)) \
  /* the first `keep` elements of each sorted row; values or index may be null */ \
  X(sort, (const SortPlan& plan, int64_t keep, bool descending)) \
  X(order_statistic, (const SortPlan& plan, OrderStatistic what, int64_t k)) \
  /* NaN equals nothing. *groups, *count: how many there are */ \
  X(unique_rows, (const UniquePlan& plan, int64_t* groups)) \
  /* the distinct values of one row in ascending order; values has room for n */ \
  X(unique_values, (const SortPlan& plan, int64_t* count)) \
  X(search, (const SearchPlan& plan, Search what)) \
  /* dense = indexed[index]. The CPU raises an index out of range at once, here and below */ \
  X(gather, (const IndexPlan& plan)) \
  /* indexed[index] = dense; of several elements for one place the last in row-major order stays */ \
  X(scatter, (const IndexPlan& plan)) \
  /* indexed[index] = op(indexed[index], dense); sums and products of floating point in row-major order */ \
  X(scatter_reduce, (const IndexPlan& plan, ScatterOp op)) \
  /* the set elements of a contiguous mask, which must stay: their number, and a handle that nonzero_end frees */ \
  X(nonzero_begin, (const OpContext& on, const char* mask, int64_t n, void** handle, int64_t* count)) \
  /* their positions (from null: int64), or the elements of contiguous `from` at these positions */ \
  X(nonzero_write, (const OpContext& on, void* handle, char* to, const char* from, int64_t itemsize)) \
  X(nonzero_end, (const OpContext& on, void* handle)) \
  /* to[i] = floor(position[i] / inner) mod size */ \
  X(unravel, (const OpContext& on, int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size)) \
  X(gemm, (const GemmPlan& plan)) \
  X(fft, (const FftPlan& plan)) \
  /* In-place factorisations of `batch` row-major matrices, packed one after the other, in float32, float64, complex64 \
     or complex128. pivots: 1-based rows as LAPACK's getrf returns them; info[i]: 0, or the 1-based index of the first \
     zero pivot (LU) or of the leading minor that is not positive definite (Cholesky). */ \
  X(lu_factor, \
    (const OpContext& on, DType dtype, int64_t batch, int64_t m, int64_t n, void* a, int32_t* pivots, int32_t* info)) \
  /* b (n x k, row-major) <- solution of op(A) x = b; op: 0 = A, 1 = transpose, 2 = conjugate transpose. A pivot that \
     is not in 1 ... n is an error. */ \
  X(lu_solve, (const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, const void* lu, \
               int64_t lu_batch_stride, const int32_t* pivots, int64_t pivots_batch_stride, void* b, int op)) \
  X(cholesky, (const OpContext& on, DType dtype, int64_t batch, int64_t n, void* a, bool upper, int32_t* info)) \
  /* b (n x k, row-major) <- inverse(T) b for a triangular T given by strides */ \
  X(solve_triangular, (const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, Matrix t, \
                       int64_t t_batch_stride, void* b, bool upper, bool unit_diagonal)) \
  /* packed matrices of any dtype: exchanges row i with row pivots[i] - 1, for i from 0 to count - 1 or backwards. A \
     pivot that is not in 1 ... rows is an error. */ \
  X(exchange_rows, (const OpContext& on, DType dtype, int64_t batch, int64_t rows, int64_t columns, void* a, \
                    const int32_t* pivots, int64_t count, bool backwards)) \
  /* sign[b]: of the permutation that `count` pivots make, +1 or -1 */ \
  X(permutation_sign, (const OpContext& on, int64_t batch, int64_t count, const int32_t* pivots, double* sign)) \
  /* reports the first of n matrices whose info is not 0; `wait`: and waits, so that it is raised now */ \
  X(check_info, (const OpContext& on, LinalgFailure failure, const int32_t* info, int64_t n, bool batched, bool wait)) \
  /* zeroes the elements of matrices that are not on or below (keep_below), on or above the diagonal column - row == \
     diagonal; axes innermost first: columns, rows, then those of the batch; one operand */ \
  X(clear_triangle, (const LoopPlan& plan, int64_t diagonal, bool keep_below)) \
  /* evenly spaced numbers: to[i] for i < n; no bools, and no complex numbers of Arange */ \
  X(range, (const OpContext& on, RangeKind kind, DType dtype, void* to, int64_t n, const RangeSpec& range)) \
  /* each row of the result: that row of every part */ \
  X(join, (const JoinPlan& plan)) \
  /* n contiguous random elements */ \
  X(random_fill, \
    (const OpContext& on, const RandomFill& what, DType dtype, void* to, int64_t n, RandomSource& source)) \
  /* to[i] is one with probability p[i], which is floating */ \
  X(random_bernoulli, \
    (const OpContext& on, DType dtype, void* to, DType p_dtype, const void* p, int64_t n, RandomSource& source)) \
  X(random_poisson, (const OpContext& on, DType dtype, void* to, const void* rate, int64_t n, RandomSource& source)) \
  /* 0 ... n - 1 in a random order */ \
  X(random_permutation, (const OpContext& on, DType dtype, void* to, int64_t n, RandomSource& source)) \
  /* for each row of weights `samples` of its categories, with replacement; `failure` tells what is wrong with them */ \
  X(random_choice, (const OpContext& on, DType dtype, int64_t* to, const void* weights, int64_t rows, \
                    int64_t categories, int64_t samples, RandomSource& source, WeightsFailure* failure)) \
  X(transfer, (const TransferPlan& plan))

// Decompositions of DecompositionPlan's matrices, with LAPACK's algorithms and conventions: LAPACK's on the CPU
// (small matrices: kernels of our own, cpu/linalg/small_run.cpp), cuSOLVER's on CUDA devices. They wait.
#define STRIDED_DECOMPOSITION_SLOTS(X) \
  /* A = Q R: R on and above the diagonal of a, the reflectors whose product is Q below; their scales in tau, \
     min(m, n) */ \
  X(qr, (const DecompositionPlan& plan, void* tau)) \
  /* the first k columns of a (m x n, k <= n <= m) hold reflectors; a becomes the first n columns of their product */ \
  X(form_q, (const DecompositionPlan& plan, int64_t k, const void* tau)) \
  /* a becomes Q A (left) or A Q, with Q^H for Q if `adjoint`: Q the product of k reflectors, columns of `reflectors`, \
     which has as many rows as Q */ \
  X(apply_q, \
    (const DecompositionPlan& plan, int64_t k, const void* reflectors, const void* tau, bool left, bool adjoint)) \
  /* A = U diag(s) Vh, s real and descending. u is m x m and vh n x n (full), or m x k and k x n with k = min(m, n); \
     with u null there is only s. driver: a name that the backend knows, or null for its default */ \
  X(svd, (const DecompositionPlan& plan, void* s, void* u, void* vh, bool full, const char* driver)) \
  /* Hermitian A, of which one triangle is read: w real and ascending; a becomes the eigenvectors (`vectors`) or is \
     lost */ \
  X(eigh, (const DecompositionPlan& plan, void* w, bool upper, bool vectors)) \
  /* square A: w and v complex, for real A too; v (unit columns) may be null */ \
  X(eig, (const DecompositionPlan& plan, void* w, void* v)) \
  /* the X of least norm among those that make |A X - B| least. b: max(m, n) x k, B in its first m rows, zeros below; \
     X becomes its first n rows. driver: a name that the backend knows, or null for its default. *gives tells what \
     that driver gives besides X: s, singular values; rank, the number of singular values or diagonal elements that \
     are not below rcond times the largest; residuals, as sums of squares of the last m - n rows of b */ \
  X(least_squares, (const DecompositionPlan& plan, int64_t k, void* b, const char* driver, double rcond, \
                    int32_t* rank, void* s, LeastSquaresParts* gives)) \
  /* symmetric (or Hermitian) A = L D L^T (L^H), by Bunch and Kaufman, from the lower triangle; pivots as LAPACK's \
     sytrf has them */ \
  X(ldl_factor, (const DecompositionPlan& plan, int32_t* pivots, bool hermitian)) \
  /* the solutions of A X = B from that; b: n x k. Pivots that sytrf would not give are an error. */ \
  X(ldl_solve, (const DecompositionPlan& plan, int64_t k, const int32_t* pivots, void* b, bool hermitian))

#define STRIDED_BACKEND_SLOTS(X) STRIDED_KERNEL_SLOTS(X) STRIDED_DECOMPOSITION_SLOTS(X)

// The short way.
// Loops for few elements in host memory, each operand contiguous or one value. One call of a loop does the work of a
// slot, without a plan. Only a backend whose memory is the host's has them.
struct ShortLoops {
  static constexpr int64_t kMost = 32768;             // elements
  const Loop2d (*elementwise)[kNumDTypes] = nullptr;  // [op][compute dtype]
  const Loop2d (*copy)[kNumDTypes] = nullptr;         // [to][from]
  const Loop2d* where = nullptr;                      // [item_row]
};

struct FusedPlan;

struct Backend {
#define X(name, parameters) void(*name) parameters;
  STRIDED_BACKEND_SLOTS(X)
#undef X
  const ShortLoops* short_loops = nullptr;
  // QR of small matrices at once, where a backend has that: false, and nothing is done, where the slots are to do it.
  // A is read as it lies, by columns or by rows; q by columns (null: not wanted), r by rows, reduced or complete. With
  // r null it only answers.
  bool (*small_qr)(const DecompositionPlan& plan, bool by_columns, bool complete, void* q, void* r) = nullptr;
  // A product whose B is folded, where a backend has that for the dtype: false, and nothing is done, where B is to be
  // copied to a matrix first.
  bool (*folded_gemm)(const FoldedGemmPlan& plan) = nullptr;
  // Layer normalisation of rows and its gradient, where a backend has both. Null: it is made of other operations.
  void (*normalise_rows)(const RowNormPlan& plan) = nullptr;
  void (*normalise_rows_gradient)(const RowNormGradientPlan& plan) = nullptr;
  // out = the sparse matrix times dense (columns x width), and out[e] = the product of row row[e] of a with row
  // column[e] of b. Null, as above.
  void (*sparse_product)(const SparseProductPlan& plan, const void* dense, void* out) = nullptr;
  void (*sampled_product)(const SparseProductPlan& plan, const void* a, const void* b, void* out) = nullptr;
  // Runs a program of elementwise operations (Note [Fused programs]). Null: the device runs them one by one.
  void (*fused_pointwise)(const FusedPlan& plan) = nullptr;
};

// The table that the backend of a type of device fills. Slots that it leaves as they are raise NotImplementedError with
// the function and the device.
extern Backend backend_tables[kNumDeviceTypes];
inline Backend& backend_table(DeviceType type) { return backend_tables[static_cast<int>(type)]; }
inline const Backend& backend(Device device) { return backend_table(device.type); }

}  // namespace strided
