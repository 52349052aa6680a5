// The loops of the CPU: function pointers that the translation units of each instruction set fill in (cpu/backend.cpp),
// and that the CPU's operations (csrc/cpu) call with chunks, rows and ranges of their work.
#pragma once

#include "backend/backend.h"
#include "backend/bins.h"
#include "backend/network_plans.h"

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

// Products of 16-bit floats that are float32.
struct WidenedGemmKernels {
  GemmKernel single = nullptr;
  BatchedGemmKernel batched = nullptr;
};

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

// The slots of the same names (backend/backend.h), of `batch` packed real matrices stored by columns.
struct QrKernels {
  void (*qr)(int64_t batch, int64_t m, int64_t n, void* a, void* tau) = nullptr;
  void (*form_q)(int64_t batch, int64_t m, int64_t n, int64_t k, void* a, const void* tau) = nullptr;
};

// Decompositions of `batch` small real matrices, m x n, packed, no side longer than `most` (cpu/linalg/small.inc).
struct SmallDecompositionKernels {
  int lanes = 0;  // matrices that are decomposed side by side
  int64_t most = 0;
  // a by columns or by rows; q (may be null) by columns, r by rows; both of their reduced or complete size
  void (*qr)(int64_t batch, int64_t m, int64_t n, const void* a, bool by_columns, bool complete, void* q,
             void* r) = nullptr;
  // The slots of the same names, of matrices stored by columns.
  void (*eigh)(int64_t batch, int64_t n, void* a, void* w, bool upper, bool vectors, int32_t* info) = nullptr;
  void (*svd)(int64_t batch, int64_t m, int64_t n, const void* a, void* s, void* u, void* vh, bool full,
              int32_t* info) = nullptr;
};

// Copies whole cache lines by streaming stores, to an address that is aligned to 64 bytes (cpu/streaming.h).
using StreamKernel = void (*)(char* to, const char* from, int64_t bytes);

// copy_turned (cpu/transposed.h) for items of 8 bytes: whole cache lines of the result are written at once.
using TurnKernel = void (*)(char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows,
                            int64_t columns);

// Tables of five have a row for items of 1, 2, 4, 8 and 16 bytes.
struct IndexKernels {
  Loop2d where[5] = {};  // operands to, condition (bool), a, b: to = condition ? a : b
  // Masks are rows of n bytes, zero or not.
  int64_t (*count_true)(const char* mask, int64_t n) = nullptr;
  // The first `count` elements of `from` (contiguous) whose mask is set; the mask must have that many.
  void (*compress[5])(char* to, const char* from, const char* mask, int64_t count) = {};
  Loop2d scatter_reduce[4][kNumDTypes] = {};  // of the 16-bit floats, by ScatterOp (cpu/index/indexed.inc)
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
// Sorting of a long row in parts: Note [Long rows] (cpu/sort/long_rows.h). Words are those of SortKernels without a
// base: one array for keys of up to 32 bits, two for longer ones.
struct LongRowKernels {
  // Cuts of a sample, for 1 << levels parts; to: kCutBytes.
  void (*choose)(int64_t* to, const char* in, int64_t n, const SortCoding& coding, int levels) = nullptr;
  // The part of each element, and how many belong to each part.
  void (*count)(uint8_t* bucket, int64_t* counts, const char* in, int64_t n, const SortCoding& coding,
                const int64_t* cuts, int levels) = nullptr;
  // Moves each element's word to the next place of its part. The first element's position is `first`.
  void (*distribute)(int64_t* words, int64_t* positions, int64_t* place, const uint8_t* bucket, const char* in,
                     int64_t first, int64_t n, const SortCoding& coding) = nullptr;
  // Values and positions (either may be null) in sorted order of n words whose positions ascend. `in`: the row. What
  // is at `words`, `positions` and `other` (as much, for n > kMostInBucket) is lost. scratch: long_row_words(n).
  void (*sort)(char* values, int64_t* to, int64_t* words, int64_t* positions, int64_t n, const char* in,
               const SortCoding& coding, int64_t* other, int64_t* scratch) = nullptr;
};
// Selection from rows by keys, which are as SortCoding has them, without its base.
struct SelectKernels {
  // The key of the k-th element (from 0) in the order of the sort. scratch: select_words(n).
  uint64_t (*kth_key[4])(const char* in, int64_t n, int64_t k, const SortCoding& coding, int64_t* scratch) = {};
  // The first place of a key, n where it is not; how often it is there.
  int64_t (*find_key[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t key) = {};
  int64_t (*count_key[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t key) = {};
  // The places of keys below a limit, in ascending order, and their number. places: n.
  int64_t (*places_below[4])(const char* in, int64_t n, const SortCoding& coding, uint64_t limit,
                             uint32_t* places) = {};
  // The values of the different keys in ascending order, and their number; of a key that stands for several values any
  // one. scratch: select_words(n).
  int64_t (*distinct_keys[4])(char* values, const char* in, int64_t n, const SortCoding& coding, int64_t* scratch) = {};
};
// Values and positions (either may be null) of rows of n elements that follow each other, in the order of the sort. The
// rows that are done: all of them, or those before the first `*again` rows for which another way must be found.
// scratch: short_row_bytes(n) bytes, at a multiple of 64.
using SortShortRows = int64_t (*)(char* values, int64_t* to, const char* in, int64_t n, int64_t rows,
                                  const SortCoding& coding, char* scratch, int64_t* again);
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
  SortShortRows short_rows[4] = {};
  LongRowKernels long_rows[4];  // (none of bytes)
  SelectKernels select;
  // Where m values stand in n sorted elements of up to few_bytes, as searchsorted has it.
  void (*few_places[kNumDTypes])(int64_t* out, const char* values, int64_t m, const char* sorted, int64_t n,
                                 bool right) = {};
  int64_t few_bytes = 0;
};

// Adds the counts of elements begin ... end - 1, fewer than 2^31, to `counts`, which has room for one bin more.
using BinsKernel = void (*)(const BinsPlan& plan, int64_t begin, int64_t end, int64_t* counts);
struct BinsKernels {
  BinsKernel of_float = nullptr, of_float_in_double = nullptr, of_double = nullptr;
};

// Rows begin ... end - 1 of layer normalisation and of its gradient; sums over these rows are added to the two arrays
// of n elements (null: not wanted).
struct RowNormKernels {
  void (*forward)(const RowNormPlan& plan, int64_t begin, int64_t end) = nullptr;
  void (*gradient)(const RowNormGradientPlan& plan, int64_t begin, int64_t end, void* to_weight,
                   void* to_bias) = nullptr;
};

// What follows computes the pieces begin ... end - 1 of a plan.
struct SamplingKernels {
  void (*taps)(const TapsPlan& plan, int64_t begin, int64_t end) = nullptr;          // outer positions
  void (*channels)(const ChannelsPlan& plan, int64_t begin, int64_t end) = nullptr;  // planes
};
struct LstmKernels {
  void (*step)(const LstmPlan& plan, int64_t begin, int64_t end) = nullptr;      // rows
  void (*gradient)(const LstmPlan& plan, int64_t begin, int64_t end) = nullptr;  // rows
};
struct PointKernels {  // blocks are of SamplePlan::kBlock points
  void (*values)(const SamplePlan& plan, int64_t begin, int64_t end) = nullptr;    // blocks
  void (*by_image)(const SamplePlan& plan, int64_t begin, int64_t end) = nullptr;  // planes
  void (*by_grid)(const SamplePlan& plan, int64_t begin, int64_t end) = nullptr;   // blocks
};
using PoolKernel = void (*)(const PoolPlan& plan, int64_t begin, int64_t end);            // rows of outputs
using LabelSumsKernel = void (*)(const LabelSumsPlan& plan, int64_t begin, int64_t end);  // sequences
struct DistanceKernels {                                                                  // begin and end: rows of x
  void (*values)(const DistancePlan& plan, int64_t begin, int64_t end) = nullptr;
  void (*gradient)(const DistanceGradientPlan& plan, int64_t begin, int64_t end) = nullptr;
};
struct PairLossKernels {
  void (*sums)(const PairLossPlan& plan, int64_t begin, int64_t end) = nullptr;
  void (*gradient)(const PairLossPlan& plan, int64_t begin, int64_t end) = nullptr;
};
struct RowGradientKernels {
  void (*softmax)(const SoftmaxGradientPlan& plan, int64_t begin, int64_t end) = nullptr;   // rows
  void (*channels)(const ChannelGradientPlan& plan, int64_t begin, int64_t end) = nullptr;  // channels
};

// Rows of scores of attention (cpu/gemm/attention.cpp).
struct ScoreKernels {
  static constexpr int64_t kPiece = 32;
  // Replaces each element by exp(element - largest one), and gives their sum; n is a multiple of kPiece.
  double (*exponentials)(void* row, int64_t n) = nullptr;
  // Adds a mask, `step` elements from one to the next; false where it is -inf throughout.
  bool (*add_mask)(void* row, const void* mask, int64_t step, int64_t n) = nullptr;
  void (*narrow)(BFloat16* to, const float* row, int64_t n) = nullptr;  // of float32
};

// Products with sparse matrices: the rows begin ... end - 1 of the result, and the entries begin ... end - 1.
struct SparseProductKernels {
  void (*product)(const SparseProductPlan& plan, const void* dense, void* out, int64_t begin, int64_t end) = nullptr;
  void (*sampled)(const SparseProductPlan& plan, const void* a, const void* b, void* out, int64_t begin,
                  int64_t end) = nullptr;
};

// Writes out[i] for begin <= i < end.
using RangeKernel = void (*)(void* out, int64_t begin, int64_t end, const RangeSpec& range);
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

// Chains of elementwise operations: Note [Chains] (cpu/pointwise/chain.h).
enum class ChainOp : uint8_t;
struct ChainCode;
struct ChainKernels {
  int64_t strip = 0;  // bytes
  // n elements; the first code is a Load.
  void (*run[kNumDTypes])(const ChainCode* codes, int n_codes, int64_t n) = {};
  ChainOp op_of[kMaxElementwise] = {};  // of an elementwise operation; None: no chain has it
};

// Random numbers in bulk (cpu/random/random_loops.cpp). `words` are words of the generator's state, not tempered.
struct RandomLoops {
  // to[i] = from + range * (word[i] mod 2^24) / 2^24, and `from` where that rounds to `end`
  void (*uniform_float)(float* to, const uint32_t* words, int64_t n, float from, float range, float end) = nullptr;
  // the same with 53 bits of two words, the first of them the higher half
  void (*uniform_double)(double* to, const uint32_t* words, int64_t n, double from, double range, double end) = nullptr;
  // Uniform numbers in [0, 1) become normal ones, in blocks of 16: eight make the radii, the other eight the angles.
  void (*box_muller_float)(float* data, int64_t blocks, float mean, float std) = nullptr;
  void (*box_muller_double)(double* data, int64_t blocks, double mean, double std) = nullptr;
  // to[i] = factor * log1p(-unit[i]) in double, rounded, for multiples of 2^-53 in [0, 1): as the C library has it
  void (*exponential_float)(float* to, const double* unit, int64_t n, double factor) = nullptr;
};

// The loops of the instruction set that was chosen; null where a dtype has none. Rows of two are of float32 and of
// float64, or of float16 and of bfloat16.
struct KernelTable {
  // Loops of vectors of half the size, where the processor computes as fast with them: elementwise ones are faster
  // beyond the second-level cache, Fourier transforms have half the buffers. Null elsewhere.
  const KernelTable* far = nullptr;
  Loop2d elementwise[kMaxElementwise][kNumDTypes] = {};
  DType elementwise_result[kMaxElementwise][kNumDTypes] = {};  // the dtype that the loop writes
  Loop2d copy[kNumDTypes][kNumDTypes] = {};                    // [to][from]; data: to, from
  StreamKernel stream = nullptr;
  TurnKernel turn = nullptr;
  ReduceKernel reduce[kMaxReductions][kNumDTypes] = {};
  GemmKernel gemm[kNumDTypes] = {};
  BatchedGemmKernel batched_gemm[kNumDTypes] = {};
  FoldedGemmKernel folded_gemm[kNumDTypes] = {};
  WidenedGemmKernels widened_gemm[2];
  LinalgKernels linalg[kNumDTypes] = {};
  QrKernels qr[2];
  SmallDecompositionKernels small_decompositions[2];
  ScanKernel scan[kNumScans][kNumDTypes] = {};
  RowNormKernels row_norm[2];
  RowGradientKernels row_gradients[2];
  SamplingKernels sampling[2];
  decltype(SamplingKernels::taps) byte_taps = nullptr;
  PointKernels points[2];
  LstmKernels lstm[2];
  PoolKernel pool[2] = {};
  LabelSumsKernel label_sums[2] = {};
  PairLossKernels pair_loss[2];
  ScoreKernels scores[2];
  SparseProductKernels sparse_product[2];
  RangeKernels range;
  IndexKernels index;
  SortKernels sort;
  BinsKernels bins;
  FftKernels fft[2];
  ChainKernels chain;
  DistanceKernels distances[2];
  RandomLoops random;
};

KernelTable& kernel_table();

}  // namespace strided
