// The loops of the CPU: function pointers that the translation units of each instruction set fill in (cpu/backend.cpp),
// and that the CPU's operations (csrc/cpu) call with chunks, rows and ranges of their work.
#pragma once

#include "backend/backend.h"

namespace strided {

// A reduction, taken apart so that the driver (cpu/reduce/reduce_run.cpp) alone decides on chunks, tree and threads.
struct ReduceKernel {
  int64_t acc_size = 0;      // bytes of one accumulator
  int64_t out_size[2] = {};  // bytes of one element of each output
  // acc[k] = reduction over j < n_red of in[k * keep_stride + j * red_stride], for k < n_keep. index0 is the position
  // of the first reduced element (arg-reductions). Overwrites acc.
  void (*accumulate)(char* acc, const char* in, int64_t n_keep, int64_t keep_stride, int64_t n_red, int64_t red_stride,
                     int64_t index0, const void* params) = nullptr;
  // a[k] = combine(a[k], b[k]); b stands after a in the reduced order.
  void (*combine)(char* a, const char* b, int64_t n, const void* params) = nullptr;
  // out[o][k * stride[o]] = finish(acc[k]) for each output o of the reduction.
  void (*finish)(char* const* out, const int64_t* stride, const char* acc, int64_t n, int64_t n_red,
                 const void* params) = nullptr;
};

// rows independent scans of n elements each. Strides are bytes. Rows are contiguous, or lie side by side (row strides
// of one item), input and outputs alike. Max and Min have a second output: positions (int64).
using ScanKernel = void (*)(char* const* out, const int64_t* out_stride, const int64_t* out_row_stride, const char* in,
                            int64_t in_stride, int64_t in_row_stride, int64_t n, int64_t rows);

// C = alpha * A B + beta * C for one matrix product; strides in elements, any of them may be 0 or negative
// (C's may not be 0). alpha and beta point at one value of the compute type (float for the 16-bit floats).
// beta == 0 never reads C.
using GemmKernel = void (*)(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, Matrix c, const void* alpha,
                            const void* beta);
// The same for `batch` products, the matrices of one batch apart by batch_stride elements (0 repeats one matrix).
using BatchedGemmKernel = void (*)(int64_t batch, const int64_t batch_stride[3], int64_t m, int64_t n, int64_t k,
                                   Matrix a, Matrix b, Matrix c, const void* alpha, const void* beta);

// The same for a batch of products where the elements of B stand at rows[p] + columns[j], in elements from `b`. at: for
// each product of the batch where its a, b and c begin, in elements. Memory before b + reach may be read.
struct FoldedProducts {
  int64_t batch, m, n, k;
  Matrix a, c;
  const void* b;
  const int64_t *rows, *columns;
  int64_t reach;
  const int64_t (*at)[3];
  const void *alpha, *beta;
};
using FoldedGemmKernel = void (*)(const FoldedProducts& products);

// In-place factorisations of `batch` row-major matrices (leading dimension = columns), packed one after the other.
// pivots are 1-based rows as LAPACK's getrf returns them; info[i] = 0, or the 1-based index of the first zero pivot
// (LU) or of the leading minor that is not positive definite (Cholesky).
struct LinalgKernels {
  void (*lu_factor)(int64_t batch, int64_t m, int64_t n, void* a, int32_t* pivots, int32_t* info) = nullptr;
  // b (n x k, row-major) <- solution of op(A) x = b from the factors; op: 0 = A, 1 = transpose, 2 = conjugate
  // transpose.
  void (*lu_solve)(int64_t batch, int64_t n, int64_t k, const void* lu, int64_t lu_batch_stride, const int32_t* pivots,
                   int64_t pivots_batch_stride, void* b, int op) = nullptr;
  void (*cholesky)(int64_t batch, int64_t n, void* a, bool upper, int32_t* info) = nullptr;
  // b (n x k, row-major) <- inverse(T) b for a triangular T given by strides (so a transposed T costs nothing).
  void (*solve_triangular)(int64_t batch, int64_t n, int64_t k, Matrix t, int64_t t_batch_stride, void* b, bool upper,
                           bool unit_diagonal, bool conjugate) = nullptr;
};

// Decompositions of `batch` small real matrices, m x n, packed, no side longer than `most` (cpu/linalg/small.inc).
struct SmallDecompositionKernels {
  int lanes = 0;  // matrices that are decomposed side by side
  int64_t most = 0;
  // a by columns or by rows; q (may be null) by columns, r by rows; both of their reduced or complete size
  void (*qr)(int64_t batch, int64_t m, int64_t n, const void* a, bool by_columns, bool complete, void* q,
             void* r) = nullptr;
};

// Tables of five have a row for items of 1, 2, 4, 8 and 16 bytes.
struct IndexKernels {
  Loop2d where[5] = {};  // operands to, condition (bool), a, b: to = condition ? a : b
  // Masks are rows of n bytes, zero or not.
  int64_t (*count_true)(const char* mask, int64_t n) = nullptr;
  // The first `count` elements of `from` (contiguous) whose mask is set; the mask must have that many.
  void (*compress[5])(char* to, const char* from, const char* mask, int64_t count) = {};
};

// How elements become the keys that are sorted: (key ^ flip) - base. Note [Keys] in backend/sort_keys.h.
struct SortCoding {
  uint8_t kind = 0;       // a KeyKind
  uint64_t infinity = 0;  // of KeyCode
  uint64_t flip = 0, base = 0;
};
// Words behind those that are sorted, and behind scratch memory, that may be touched.
constexpr int64_t kSortSlack = 64;
// Bits of a digit, where rows are sorted by digits.
constexpr int kSortDigit = 11;
// Words are signed: a key of up to 32 bits and the position; or a key of 64 bits, and the position in `index`.
// Tables of four have a row for items of 1, 2, 4 and 8 bytes.
struct SortKernels {
  // Sorts each of `rows` runs of n words that follow each other. scratch: n + kSortSlack words, for each array.
  void (*words)(int64_t* words, int64_t* index, int64_t n, int64_t rows, int64_t* scratch) = nullptr;
  void (*key_range[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t* low, uint64_t* high) = {};
  // Elements, n in each row; the first one's position is `first`.
  void (*encode[4])(int64_t* words, int64_t* index, const char* in, int64_t first, int64_t n, int64_t rows,
                    const SortCoding& coding) = {};
  // Values and positions of n words of each row. `in`: the beginning of the first row.
  void (*decode[4])(char* values, int64_t* to, const int64_t* words, const int64_t* index, const char* in, int64_t n,
                    int64_t rows, const SortCoding& coding) = {};
};

// Rows begin ... end - 1 of layer normalisation and of its gradient; sums over these rows are added to the two arrays
// of n elements (null: not wanted).
struct RowNormKernels {
  void (*forward)(const RowNormPlan& plan, int64_t begin, int64_t end) = nullptr;
  void (*gradient)(const RowNormGradientPlan& plan, int64_t begin, int64_t end, void* to_weight,
                   void* to_bias) = nullptr;
};

// Products with sparse matrices: the rows begin ... end - 1 of the result, and the entries begin ... end - 1.
struct SparseProductKernels {
  void (*product)(const SparseProductPlan& plan, const void* dense, void* out, int64_t begin, int64_t end) = nullptr;
  void (*sampled)(const SparseProductPlan& plan, const void* a, const void* b, void* out, int64_t begin,
                  int64_t end) = nullptr;
};

// Writes out[i] for begin <= i < end.
using RangeKernel = void (*)(void* out, int64_t begin, int64_t end, const RangeSpec& ramp);
struct RangeKernels {
  RangeKernel arange[kNumDTypes] = {};
  RangeKernel linspace[kNumDTypes] = {};  // at least two steps
  RangeKernel logspace[kNumDTypes] = {};
};

struct FftRows;
struct FftLong;
struct FftHalf;
// Fourier transforms (cpu/fft/plan.h) of one floating type.
struct FftKernels {
  int lanes = 0;  // rows that are transformed side by side
  // Up to `lanes` rows.
  void (*rows)(const FftRows& rows) = nullptr;
  // One long row, as columns and then as rows of a matrix: groups begin ... end - 1 of `lanes` of them.
  void (*columns)(const FftLong& row, int64_t begin, int64_t end) = nullptr;
  void (*matrix_rows)(const FftLong& row, int64_t begin, int64_t end) = nullptr;
  // Between the transform of a real row and that of its pairs taken as complex numbers.
  void (*split_half)(const FftHalf& half) = nullptr;
  void (*join_half)(const FftHalf& half) = nullptr;
  // to[i] = a[i] * b[i] * scale of complex numbers, i < n; swap: the parts of a and of the result change places
  void (*multiply)(void* to, const void* a, const void* b, int64_t n, double scale, bool swap_in,
                   bool swap_out) = nullptr;
};

constexpr int kMaxElementwise = 192;
constexpr int kMaxReductions = 48;

// The loops of the instruction set that was chosen; null where a dtype has none.
struct KernelTable {
  Loop2d elementwise[kMaxElementwise][kNumDTypes] = {};
  DType elementwise_result[kMaxElementwise][kNumDTypes] = {};  // the dtype that the loop writes
  Loop2d copy[kNumDTypes][kNumDTypes] = {};                    // [to][from]; data: to, from
  ReduceKernel reduce[kMaxReductions][kNumDTypes] = {};
  GemmKernel gemm[kNumDTypes] = {};
  BatchedGemmKernel batched_gemm[kNumDTypes] = {};
  FoldedGemmKernel folded_gemm[kNumDTypes] = {};
  LinalgKernels linalg[kNumDTypes] = {};
  SmallDecompositionKernels small_decompositions[2];  // of float32, float64
  ScanKernel scan[kNumScans][kNumDTypes] = {};
  RowNormKernels row_norm[2];  // of float32, float64
  SparseProductKernels sparse_product[2];
  RangeKernels range;
  IndexKernels index;
  SortKernels sort;
  FftKernels fft[2];  // of float32, float64
};

KernelTable& kernel_table();

}  // namespace strided
