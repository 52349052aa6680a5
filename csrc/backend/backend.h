// The seam between operations and backends: plain function pointers, filled by one `fill` of each backend
// (csrc/cpu/fill.cpp; the CUDA library fills its own). No tensor crosses it, only pointers, strides and sizes.
#pragma once

#include "backend/linalg_error.h"
#include "backend/loop_plan.h"
#include "core/device.h"

namespace strided {

class Generator;

// Note [Two kinds of backend]
// The CPU gets 2-d inner loops, chunks of reductions, ranges of masks: the host decides who does what. An accelerator decides
// that itself and cannot be called a thousand times for one operation, so it gets the whole planned iteration, or the whole
// reduction, in one call (DeviceKernels at the end), which returns when the work is in the device's queue.

// A reduction, taken apart so that the driver (ops/reduce/reduction.cpp) alone decides on chunks, tree and threads.
struct ReduceKernel {
  int64_t acc_size = 0;  // bytes of one accumulator
  // acc[k] = reduction over j < n_red of in[k * keep_stride + j * red_stride], for k < n_keep. index0 is the position of
  // the first reduced element (arg-reductions). Overwrites acc.
  void (*accumulate)(char* acc, const char* in, int64_t n_keep, int64_t keep_stride, int64_t n_red, int64_t red_stride,
                     int64_t index0, const void* params) = nullptr;
  // a[k] = combine(a[k], b[k]); b stands after a in the reduced order.
  void (*combine)(char* a, const char* b, int64_t n, const void* params) = nullptr;
  // out[o][k * stride[o]] = finish(acc[k]) for each output o of the reduction.
  void (*finish)(char* const* out, const int64_t* stride, const char* acc, int64_t n, int64_t n_red,
                 const void* params) = nullptr;
};

// rows independent scans of n elements each. Strides are bytes. Rows are contiguous, or lie side by side (row strides of one
// item), input and outputs alike. Max and Min have a second output: positions (int64).
enum class ScanOp { Sum, Product, LogSumExp, Max, Min, Softmax, LogSoftmax };
constexpr int kNumScans = 7;
using ScanKernel = void (*)(char* const* out, const int64_t* out_stride, const int64_t* out_row_stride, const char* in,
                            int64_t in_stride, int64_t in_row_stride, int64_t n, int64_t rows);

// C = alpha * A B + beta * C for one matrix product; strides in elements, any of them may be 0 or negative
// (C's may not be 0). alpha and beta point at one value of the compute type (float for the 16-bit floats).
// beta == 0 never reads C.
struct Matrix {
  void* data;
  int64_t row_stride, col_stride;
};
using GemmKernel = void (*)(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, Matrix c, const void* alpha,
                            const void* beta);
// The same for `batch` products, the matrices of one batch apart by batch_stride elements (0 repeats one matrix).
using BatchedGemmKernel = void (*)(int64_t batch, const int64_t batch_stride[3], int64_t m, int64_t n, int64_t k,
                                   Matrix a, Matrix b, Matrix c, const void* alpha, const void* beta);

// In-place factorisations of `batch` row-major matrices (leading dimension = columns), packed one after the other.
// pivots are 1-based rows as LAPACK's getrf returns them; info[i] = 0, or the 1-based index of the first zero pivot
// (LU) or of the leading minor that is not positive definite (Cholesky).
struct LinalgKernels {
  void (*lu_factor)(int64_t batch, int64_t m, int64_t n, void* a, int32_t* pivots, int32_t* info) = nullptr;
  // b (n x k, row-major) <- solution of op(A) x = b from the factors; op: 0 = A, 1 = transpose, 2 = conjugate transpose.
  void (*lu_solve)(int64_t batch, int64_t n, int64_t k, const void* lu, int64_t lu_batch_stride, const int32_t* pivots,
                   int64_t pivots_batch_stride, void* b, int op) = nullptr;
  void (*cholesky)(int64_t batch, int64_t n, void* a, bool upper, int32_t* info) = nullptr;
  // b (n x k, row-major) <- inverse(T) b for a triangular T given by strides (so a transposed T costs nothing).
  void (*solve_triangular)(int64_t batch, int64_t n, int64_t k, Matrix t, int64_t t_batch_stride, void* b, bool upper,
                           bool unit_diagonal, bool conjugate) = nullptr;
};

// Decompositions of `batch` matrices A (m x n), stored by columns, one after the other, in float32, float64, complex64 or
// complex128. What comes out is stored by columns too. On every backend they are those of a library for linear algebra, with
// LAPACK's algorithms and conventions. info[i] (where there is one) becomes 0, or what LAPACK's routine says went wrong; svd and least_squares give a negative one
// for NaN or inf in a matrix, eigh gives NaN.
struct DecompositionPlan {
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;
  int64_t batch = 1, m = 0, n = 0;
  void* a = nullptr;  // overwritten
  int32_t* info = nullptr;
};
enum class SvdDriver : int8_t { Default, Qr, Jacobi, Approximate };          // gesvd, gesvdj and gesvda of cuSOLVER
enum class LstsqDriver : int8_t { Full, PivotedQr, Svd, DivideAndConquer };  // gels, gelsy, gelss and gelsd of LAPACK
struct DecompositionKernels {
  // A = Q R: R on and above the diagonal of a, the reflectors whose product is Q below; their scales in tau, min(m, n).
  void (*qr)(const DecompositionPlan& plan, void* tau) = nullptr;
  // The first k columns of a (m x n, k <= n <= m) hold reflectors; a becomes the first n columns of their product.
  void (*form_q)(const DecompositionPlan& plan, int64_t k, const void* tau) = nullptr;
  // a becomes Q A (left) or A Q, with Q^H for Q if `adjoint`: Q the product of k reflectors, columns of `reflectors`, which
  // has as many rows as Q.
  void (*apply_q)(const DecompositionPlan& plan, int64_t k, const void* reflectors, const void* tau, bool left,
                  bool adjoint) = nullptr;
  // A = U diag(s) Vh, s real and descending. u is m x m and vh n x n (full), or m x k and k x n with k = min(m, n); with u null
  // there is only s.
  void (*svd)(const DecompositionPlan& plan, void* s, void* u, void* vh, bool full, SvdDriver driver) = nullptr;
  // Hermitian A, of which one triangle is read: w real and ascending; a becomes the eigenvectors (`vectors`) or is lost.
  void (*eigh)(const DecompositionPlan& plan, void* w, bool upper, bool vectors) = nullptr;
  // Square A: w and v complex, for real A too; v (unit columns) may be null.
  void (*eig)(const DecompositionPlan& plan, void* w, void* v) = nullptr;
  // The X of least norm among those that make |A X - B| least. b: max(m, n) x k, B in its first m rows, then X in its first n,
  // and with Full the sums of squares of its last m - n rows are the residuals. rcond: singular values (Svd,
  // DivideAndConquer: s) or diagonal elements below rcond times the largest count as zero; rank[i] is the number of the
  // others, not with Full.
  void (*least_squares)(const DecompositionPlan& plan, int64_t k, void* b, LstsqDriver driver, double rcond,
                        int32_t* rank, void* s) = nullptr;
  // Symmetric (or Hermitian) A = L D L^T (L^H), by Bunch and Kaufman, from the lower triangle; pivots as LAPACK's sytrf has
  // them. Then the solutions of A X = B from that; b: n x k.
  void (*ldl_factor)(const DecompositionPlan& plan, int32_t* pivots, bool hermitian) = nullptr;
  void (*ldl_solve)(const DecompositionPlan& plan, int64_t k, const int32_t* pivots, void* b, bool hermitian) = nullptr;
};

// Moves between a dense side and the places on an indexed side that int64 indices name. The loops have the operands
// to, from, index (bytes for strides): an element's place is where the strides lead, plus index * stride.
struct IndexParams {
  enum Check : int8_t { Trusted, NonNegative, Wrapping };  // index is good; in [0, size); in [-size, size)
  int64_t size = 0;
  int64_t stride = 1;
  Check check = Wrapping;
  int* bad = nullptr;  // becomes 1 when an index is out of range; the loop stops there
};
enum class ScatterOp : int8_t { Add, Mul, Max, Min };
// Tables of five have a row for items of 1, 2, 4, 8 and 16 bytes.
struct IndexKernels {
  Loop2d resolve = nullptr;            // operands to (int64), index: to += index * stride
  Loop2d take[5] = {};                 // to = from[index]
  Loop2d put[5] = {};                  // to[index] = from, in ascending order
  Loop2d combine[4][kNumDTypes] = {};  // to[index] = op(to[index], from), in ascending order
  Loop2d select[5] = {};               // operands to, condition (bool), a, b: to = condition ? a : b
  Loop2d divide[kNumDTypes] = {};      // operands to, count: to /= count, rounding down for integers
  // Position of the first of n contiguous indices that is out of range, or -1.
  int64_t (*first_bad)(const int64_t* index, int64_t n, const IndexParams& params) = nullptr;
  // Masks are rows of n bytes, zero or not.
  int64_t (*count_true)(const char* mask, int64_t n) = nullptr;
  // The first `count` elements of `from` (contiguous) whose mask is set; the mask must have that many.
  void (*compress[5])(char* to, const char* from, const char* mask, int64_t count) = {};
  // Their positions, counted from `first`.
  void (*true_positions)(int64_t* to, const char* mask, int64_t count, int64_t first) = nullptr;
  // to[i] = floor(position[i] / inner) mod size
  void (*unravel)(int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size) = nullptr;
};

// Evenly spaced numbers (csrc/ops/factory.cpp). Integers are computed from the int_ members, wrapping around; complex
// numbers have a second part. `steps` is the number of elements of the whole tensor.
struct RangeSpec {
  double start[2] = {}, end[2] = {}, step = 0, base = 10;
  int64_t int_start = 0, int_end = 0, int_step = 0, steps = 0;
  bool plain = false;  // arange: each element on its own, as PyTorch's `range` does
};
// Writes out[i] for begin <= i < end.
using RangeKernel = void (*)(void* out, int64_t begin, int64_t end, const RangeSpec& ramp);
struct RangeKernels {
  RangeKernel arange[kNumDTypes] = {};
  RangeKernel linspace[kNumDTypes] = {};  // at least two steps
  RangeKernel logspace[kNumDTypes] = {};
};

// What n elements are to be drawn.
struct RandomFill {
  enum Kind : int8_t {
    Uniform,      // in [a, b)
    Normal,       // mean a, standard deviation b
    NormalPairs,  // the same, two numbers at a time: PyTorch's way when the elements are not contiguous or fewer than 16
    LogNormal,    // exp of that
    Exponential,  // rate a
    Cauchy,       // median a, scale b
    Geometric,    // success probability a
    Bernoulli,    // one with probability a
    Integers,     // base + 0 ... range - 1, as int64 and then converted; range 0 stands for 2^64
    Everything,   // all the non-negative integers of the dtype; 0 ... 2^digits for a floating one
  };
  Kind kind;
  double a = 0, b = 1;
  int64_t base = 0;
  uint64_t range = 0;
};
enum class WeightsFailure : int8_t { None, Negative, NotFinite, ZeroSum };
// Contiguous elements, drawn one after the other. Where the parameters are tensors they are checked before the first draw.
struct RandomKernels {
  void (*fill)(const RandomFill& what, DType dtype, void* data, int64_t n, Generator& generator) = nullptr;
  // One with probability p[i]; false when there is a p outside [0, 1].
  bool (*bernoulli)(DType dtype, void* out, DType p_dtype, const void* p, int64_t n, Generator& generator) = nullptr;
  // Poisson's law of rate[i]; false when there is a negative rate.
  bool (*poisson)(DType dtype, void* out, const void* rate, int64_t n, Generator& generator) = nullptr;
  // 0 ... n - 1 in a random order.
  void (*permutation)(DType dtype, void* out, int64_t n, Generator& generator) = nullptr;
  // For each row of weights `samples` of its categories, with replacement.
  WeightsFailure (*choice)(DType dtype, int64_t* out, const void* weights, int64_t rows, int64_t categories,
                           int64_t samples, Generator& generator) = nullptr;
};

// Orders of contiguous rows: NaN is the greatest, both zeros are equal, equal elements keep their order. Positions are int64.
enum class Select : int8_t { Kth, Median, NanMedian, Mode };
struct SortKernels {
  // `rows` rows of n elements; values or index may be null.
  void (*sort)(char* values, int64_t* index, const char* in, int64_t n, int64_t rows, bool descending) = nullptr;
  // The k first elements in descending (largest) or ascending order.
  void (*top)(char* values, int64_t* index, const char* in, int64_t n, int64_t rows, int64_t k, bool largest) = nullptr;
  // One element of each row: the k-th smallest (from 0); the lower median, the first NaN if there is one, or leaving out NaN;
  // the most frequent one. n > 0.
  void (*select)(char* values, int64_t* index, const char* in, int64_t n, int64_t rows, Select what,
                 int64_t k) = nullptr;
  // The groups of equal ones among n slices of m elements, in lexicographic order (order[i] becomes the i-th slice) or, with a
  // null order, among neighbours. group[i] becomes the group of the i-th, starts[g] the first place of group g (there is room
  // for n); returns the number of groups. NaN equals nothing.
  int64_t (*unique_rows)(const char* in, int64_t n, int64_t m, int64_t* order, int64_t* group,
                         int64_t* starts) = nullptr;
  // The distinct values of n elements in ascending order; returns their number.
  int64_t (*distinct)(char* values, const char* in, int64_t n) = nullptr;
  // out[i] = number of elements of a sorted row before which (right: or equal to which) values[i] does not stand. With a
  // sorter the row is sorted[sorter[0]], sorted[sorter[1]], ...
  void (*search)(int64_t* out, const char* sorted, const int64_t* sorter, int64_t n, const char* values, int64_t m,
                 bool right) = nullptr;
  // out[i] (bool): whether values[i] is in the sorted row, or is not (invert).
  void (*contains)(char* out, const char* sorted, int64_t n, const char* values, int64_t m, bool invert) = nullptr;
};

// A reduction of one operand, as asked for: axes outermost first, not merged.
struct ReducePlan {
  const char* name = "";
  int device = 0;
  const char* data = nullptr;
  DType dtype = DType::Float32;  // as stored; elements are cast to the dtype that is reduced
  int ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;  // bytes
  uint64_t axes = 0;                 // bit i: axis i is reduced
  char* out[2] = {};                 // contiguous over the axes that stay; either may be null
  double param = 0;
};

// Elements on their way between a dense operand and the places that index tensors name (Note [Index moves] in
// ops/index/indexed_copy.h): a place is where the strides of `named` lead, plus index * stride for each index tensor.
struct IndexPlan {
  static constexpr int kMaxIndices = 8;
  struct Index {
    const int64_t* data = nullptr;
    const int64_t* strides = nullptr;  // bytes, over `shape`
    int64_t size = 0;                  // good are 0 ... size - 1, and -size ... -1 when they may wrap
    int64_t stride = 0;                // bytes from place to place
    int axis = 0;                      // for the error; -1: the tensor is taken as flat
  };
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;  // of both sides
  bool wrap = true;
  int ndim = 0;
  const int64_t* shape = nullptr;  // of the dense side, outermost first, not merged
  char* dense = nullptr;
  const int64_t* dense_strides = nullptr;  // bytes
  char* named = nullptr;
  const int64_t* named_strides = nullptr;  // bytes; 0 along axes of the indices
  int n_indices = 1;
  Index index[kMaxIndices];
};

// C = alpha A B + beta C for each matrix of a batch; C(m x n), A(m x k), B(k x n) by strides in elements, of any sign or 0
// (C's may not be 0 along an axis longer than 1). alpha and beta point at one value of the compute type on the host
// (float for the 16-bit floats). beta == 0 never reads C.
struct GemmPlan {
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;  // of all three
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  int batch_ndim = 0;
  const int64_t* batch_shape = nullptr;  // outermost first, not merged
  const int64_t* batch_strides[3] = {};  // of a, b, c; elements
  const void* alpha = nullptr;
  const void* beta = nullptr;
  bool tf32 = false;  // float32 factors may be rounded to 10 bits of fraction
};

// A scan along the middle one of three axes of a contiguous tensor.
struct ScanPlan {
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;  // of input and output
  int64_t outer = 1, n = 1, inner = 1;
  const char* in = nullptr;
  char* out = nullptr;
  int64_t* index = nullptr;  // of Max and Min
};

// Contiguous rows to be sorted or selected from, as in SortKernels.
struct SortPlan {
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;
  const char* in = nullptr;
  int64_t n = 0, rows = 0;
  char* values = nullptr;
  int64_t* index = nullptr;
};

// Values looked up in sorted rows: m of them in each row, or all of them in one. Left and Right write places (int64) as
// SortKernels::search does, In and NotIn bools as `contains`.
enum class Search : int8_t { Left, Right, In, NotIn };
struct SearchPlan {
  const char* name = "";
  int device = 0;
  DType dtype = DType::Float32;
  const char* sorted = nullptr;
  const int64_t* sorter = nullptr;  // in the rows' shape, or null
  int64_t n = 0, rows = 1;
  const char* values = nullptr;
  int64_t m = 0;  // for each row
  char* out = nullptr;
};

enum class RangeKind : int8_t { Arange, Linspace, Logspace };

// A generator of an accelerator (Note [Generators of accelerators] in core/random.h).
struct PhiloxState {
  uint64_t seed, offset;
};

// What a backend does that runs whole operations; a null function raises NotImplementedError. Everything but `nonzero_begin`,
// `unique_rows`, `random_choice`, `transfer` and a `check_info` that waits returns when the work is queued on the current stream of
// the device; what kernels find wrong is raised by the next call that waits.
struct DeviceKernels {
  void (*elementwise)(int op, DType compute, const LoopPlan& plan, const double* params) = nullptr;
  void (*copy)(const LoopPlan& plan) = nullptr;              // operands to, from; an immediate `from` fills
  void (*select)(const LoopPlan& plan) = nullptr;            // operands to, condition (bool), a, b
  void (*divide_by_counts)(const LoopPlan& plan) = nullptr;  // operands to, counts (int64)
  void (*reduce)(int op, DType compute, const ReducePlan& plan) = nullptr;
  void (*scan)(ScanOp op, const ScanPlan& plan) = nullptr;
  void (*sort)(const SortPlan& plan, int64_t keep,
               bool descending) = nullptr;  // the first `keep` of each sorted row; values or index may be null
  void (*select_of_rows)(const SortPlan& plan, Select what, int64_t k) = nullptr;
  void (*unique_rows)(const char* name, int device, DType dtype, const char* in, int64_t n, int64_t m, int64_t* order,
                      int64_t* group, int64_t* starts, int64_t* groups) = nullptr;
  void (*search)(const SearchPlan& plan, Search what) = nullptr;
  void (*take)(const IndexPlan& plan) = nullptr;
  void (*put)(const IndexPlan& plan) = nullptr;
  void (*combine)(const IndexPlan& plan, ScatterOp op) = nullptr;
  // The set elements of a contiguous mask: their number, and a handle to get positions (from null) or elements of `from`;
  // `to` null closes the handle.
  void (*nonzero_begin)(const char* name, int device, const char* mask, int64_t n, void** handle,
                        int64_t* count) = nullptr;
  void (*nonzero_write)(void* handle, char* to, const char* from, int64_t itemsize) = nullptr;
  void (*gemm)(const GemmPlan& plan) = nullptr;
  // Linear algebra: as LinalgKernels, in one of its dtypes. Pivots out of range are left out and reported.
  void (*lu_factor)(const char* name, int device, DType dtype, int64_t batch, int64_t m, int64_t n, void* a,
                    int32_t* pivots, int32_t* info) = nullptr;
  void (*lu_solve)(const char* name, int device, DType dtype, int64_t batch, int64_t n, int64_t k, const void* lu,
                   int64_t lu_batch_stride, const int32_t* pivots, int64_t pivots_batch_stride, void* b,
                   int op) = nullptr;
  void (*cholesky)(const char* name, int device, DType dtype, int64_t batch, int64_t n, void* a, bool upper,
                   int32_t* info) = nullptr;
  void (*solve_triangular)(const char* name, int device, DType dtype, int64_t batch, int64_t n, int64_t k, Matrix t,
                           int64_t t_batch_stride, void* b, bool upper, bool unit_diagonal) = nullptr;
  // Packed matrices with `rows` rows of any dtype: exchanges row i with row pivots[i] - 1, for i from 0 to count - 1 or backwards.
  void (*exchange_rows)(const char* name, int device, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                        void* a, const int32_t* pivots, int64_t count, bool backwards) = nullptr;
  // sign[b]: of the permutation that `count` pivots make, +1 or -1.
  void (*permutation_sign)(const char* name, int device, int64_t batch, int64_t count, const int32_t* pivots,
                           double* sign) = nullptr;
  // Reports the first of n matrices whose info is not 0. `wait`: and waits, so that it is raised now.
  void (*check_info)(const char* name, int device, LinalgFailure fault, const int32_t* info, int64_t n, bool batched,
                     bool wait) = nullptr;
  // Zeroes the elements of matrices that are not on or below (keep_below), on or above the diagonal column - row == diagonal.
  // Axes innermost first: columns, rows, then those of the batch; one operand.
  void (*clear_triangle)(const LoopPlan& plan, int64_t diagonal, bool keep_below) = nullptr;
  void (*unravel)(const char* name, int device, int64_t* to, const int64_t* position, int64_t n, int64_t inner,
                  int64_t size) = nullptr;
  void (*ramp)(const char* name, int device, RangeKind kind, DType dtype, void* to, int64_t n,
               const RangeSpec& ramp) = nullptr;
  // *used: the blocks used, by which the generator's offset grows.
  void (*random_fill)(const char* name, int device, const RandomFill& what, DType dtype, void* to, int64_t n,
                      PhiloxState state, uint64_t* used) = nullptr;
  void (*random_bernoulli)(const char* name, int device, DType dtype, void* to, DType p_dtype, const void* p, int64_t n,
                           PhiloxState state, uint64_t* used) = nullptr;
  void (*random_poisson)(const char* name, int device, DType dtype, void* to, const void* rate, int64_t n,
                         PhiloxState state, uint64_t* used) = nullptr;
  void (*random_permutation)(const char* name, int device, DType dtype, void* to, int64_t n, PhiloxState state,
                             uint64_t* used) = nullptr;
  void (*random_choice)(const char* name, int device, DType dtype, int64_t* to, const void* weights, int64_t rows,
                        int64_t categories, int64_t samples, PhiloxState state, uint64_t* used,
                        WeightsFailure* fault) = nullptr;
  // Contiguous bytes between devices, or the host (device -1). Waits, unless `non_blocking` and the memory allows it.
  void (*transfer)(void* to, int to_device, const void* from, int from_device, size_t bytes,
                   bool non_blocking) = nullptr;
};

constexpr int kMaxElementwise = 192;
constexpr int kMaxReductions = 48;

// Everything a backend can do. A null slot raises NotImplementedError: "lu_factor on device 'x'".
struct KernelTable {
  Loop2d elementwise[kMaxElementwise][kNumDTypes] = {};
  Loop2d copy[kNumDTypes][kNumDTypes] = {};  // [to][from]; data: to, from
  ReduceKernel reduce[kMaxReductions][kNumDTypes] = {};
  GemmKernel gemm[kNumDTypes] = {};
  BatchedGemmKernel batched_gemm[kNumDTypes] = {};
  LinalgKernels linalg[kNumDTypes] = {};
  // family slots
  ScanKernel scan[kNumScans][kNumDTypes] = {};
  SortKernels sorting[kNumDTypes];
  RandomKernels random;
  RangeKernels ramp;
  // Zeroes the elements of rows [begin, end) of a matrix that are not on or below (keep_below), on or above the diagonal
  // column - row == diagonal. Strides are bytes.
  void (*clear_triangle)(char* data, int64_t itemsize, int64_t begin, int64_t end, int64_t columns, int64_t row_stride,
                         int64_t column_stride, int64_t diagonal, bool keep_below) = nullptr;
  IndexKernels index;
  DecompositionKernels decompositions;
  const DeviceKernels* device =
      nullptr;  // of a backend of the other kind; the slots above but for the decompositions are empty then
};

KernelTable& kernel_table(DeviceType type);  // for the backend that fills it
const KernelTable& kernels(Device device);   // RuntimeError when no backend serves the device

}  // namespace strided
