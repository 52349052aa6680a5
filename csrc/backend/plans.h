// Plans: what an operation asks of a backend. No tensor and no memory is owned here, only pointers, strides and sizes.
#pragma once

#include "backend/linalg_error.h"
#include "backend/loop_plan.h"
#include "core/device.h"

namespace strided {

class Generator;

// Scans along one axis.
enum class ScanOp { Sum, Product, LogSumExp, Max, Min, Softmax, LogSoftmax };
constexpr int kNumScans = static_cast<int>(ScanOp::LogSoftmax) + 1;

// Strides in elements.
struct Matrix {
  void* data;
  int64_t row_stride, col_stride;
};

// Decompositions of `batch` matrices A (m x n), stored by columns, one after the other, in float32, float64, complex64
// or complex128. What comes out is stored by columns too. On every backend they have LAPACK's conventions, and but for
// small matrices on the CPU they are those of a library. info[i] (where there is one) becomes 0, or what LAPACK's
// routine says went wrong; svd and least_squares give a negative one for NaN or inf in a matrix, eigh gives NaN.
struct DecompositionPlan : OpContext {
  DType dtype = DType::Float32;
  int64_t batch = 1, m = 0, n = 0;
  void* a = nullptr;  // overwritten
  int32_t* info = nullptr;
};
// What a driver of least squares gives besides the solution.
struct LeastSquaresParts {
  bool rank = false, singular_values = false, residuals = false;
};

enum class ScatterOp : int8_t { Add, Mul, Max, Min };

// Evenly spaced numbers (csrc/ops/factory.cpp). Integers are computed from the int_ members, wrapping around; complex
// numbers have a second part. `steps` is the number of elements of the whole tensor.
struct RangeSpec {
  double start[2] = {}, end[2] = {}, step = 0, base = 10;
  int64_t int_start = 0, int_end = 0, int_step = 0, steps = 0;
  bool plain = false;  // arange: each element on its own, as PyTorch's `range` does
};
// What n elements are to be drawn.
struct RandomFill {
  enum Kind : int8_t {
    Uniform,      // in [a, b)
    Normal,       // mean a, standard deviation b
    NormalPairs,  // the same, two numbers at a time: PyTorch's way for fewer than 16 elements, or not contiguous ones
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
// Orders of contiguous rows: NaN is the greatest, both zeros are equal, equal elements keep their order. Positions are
// int64.
enum class OrderStatistic : int8_t { Kth, Median, NanMedian, Mode };

// A reduction of one operand, as asked for: axes outermost first, not merged.
struct ReducePlan : OpContext {
  const char* data = nullptr;
  DType dtype = DType::Float32;  // as stored; elements are cast to the dtype that is reduced
  int ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;  // bytes
  uint64_t axes = 0;                 // bit i: axis i is reduced
  char* out[2] = {};                 // contiguous over the axes that stay; either may be null
  double param = 0;
};

// Gathers from, or scatters to, places of the indexed operand: a place is where the strides of `indexed` lead, plus
// index * stride for each index tensor. The other operand is dense: it has an element for each element of `shape`.
struct IndexPlan : OpContext {
  static constexpr int kMaxIndices = 8;
  struct Index {
    const int64_t* data = nullptr;
    const int64_t* strides = nullptr;  // bytes, over `shape`
    int64_t size = 0;                  // good are 0 ... size - 1, and -size ... -1 when they may wrap
    int64_t stride = 0;                // bytes from place to place
    int axis = 0;                      // for the error; -1: the tensor is taken as flat
  };
  const char* error_prefix = "";  // opens the text of an IndexError
  DType dtype = DType::Float32;   // of both operands
  bool wrap = true;
  int ndim = 0;
  const int64_t* shape = nullptr;  // outermost first, not merged
  char* dense = nullptr;
  const int64_t* dense_strides = nullptr;  // bytes
  char* indexed = nullptr;
  const int64_t* indexed_strides = nullptr;  // bytes; 0 along axes of the indices
  int n_indices = 1;
  Index index[kMaxIndices];
};

// C = alpha A B + beta C for each matrix of a batch; C(m x n), A(m x k), B(k x n) by strides in elements, of any sign
// or 0 (C's may not be 0 along an axis longer than 1). alpha and beta point at one value of the compute type on the
// host (float for the 16-bit floats). beta == 0 never reads C.
struct GemmPlan : OpContext {
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

// An axis of a matrix that is several axes of memory, outermost first; strides in elements.
struct FoldedAxis {
  int ndim = 0;
  const int64_t *shape = nullptr, *strides = nullptr;
};
// The same product where rows and columns of B are axes of memory; the steps of b are not read. (The columns that a
// convolution multiplies with overlap in memory: no matrix is them, but some axes are.)
struct FoldedGemmPlan : GemmPlan {
  FoldedAxis b_rows, b_columns;
  int64_t b_reach = 0;  // elements from b's first to the end of its memory
};

// A scan along the middle one of three axes of a contiguous tensor.
struct ScanPlan : OpContext {
  DType dtype = DType::Float32;  // of input and output
  int64_t outer = 1, n = 1, inner = 1;
  const char* in = nullptr;
  char* out = nullptr;
  int64_t* index = nullptr;  // of Max and Min
};

// Contiguous rows of n elements, float32 or float64, to be brought to mean 0 and variance 1, and then to be
// multiplied by weight and shifted by bias (or null). mean, scale: of each row, and 1 / sqrt(variance + eps). `share`
// elements of a row have one weight, n / share weights belong to a row, and every `period` rows they begin anew:
// element i of row r has weight (r % period) * (n / share) + i / share.
struct RowNormPlan {
  DType dtype = DType::Float32;
  int64_t rows = 0, n = 0, share = 1, period = 1;
  double eps = 0;
  const void *x = nullptr, *weight = nullptr, *bias = nullptr;
  void *out = nullptr, *mean = nullptr, *scale = nullptr;
};
// Its gradients: of x, of weight and of bias (the sums over all rows); null: not wanted.
struct RowNormGradientPlan {
  DType dtype = DType::Float32;
  int64_t rows = 0, n = 0, share = 1, period = 1;
  const void *grad = nullptr, *x = nullptr, *mean = nullptr, *scale = nullptr, *weight = nullptr;
  void *to_x = nullptr, *to_weight = nullptr, *to_bias = nullptr;
};

// The entries of a sparse matrix in any order, float32 or float64: entry e stands in row[e] and column[e] and is
// value[e], or 1 (value null). Entries with a negative row or column count for nothing. `rows` x `columns` is the
// shape; dense operands are contiguous rows of `width` elements.
struct SparseProductPlan {
  DType dtype = DType::Float32;
  int64_t entries = 0, rows = 0, columns = 0, width = 0;
  const int64_t *row = nullptr, *column = nullptr;
  const void* value = nullptr;
};

// Contiguous rows to be sorted or selected from. values and index may be null in `sort`, and index is in unique_values.
struct SortPlan : OpContext {
  DType dtype = DType::Float32;
  const char* in = nullptr;
  int64_t n = 0, rows = 0;
  char* values = nullptr;
  int64_t* index = nullptr;
};

// The groups of equal ones among n contiguous slices of m elements: slices in lexicographic order (order[i] becomes the
// i-th of them) or, with a null order, neighbours only. group[i]: the group of the i-th; starts[g]: the first place of
// group g (room for n).
struct UniquePlan : OpContext {
  DType dtype = DType::Float32;
  const char* in = nullptr;
  int64_t n = 0, m = 1;
  int64_t* order = nullptr;
  int64_t* group = nullptr;
  int64_t* starts = nullptr;
};

// Values looked up in sorted rows: m of them in each row, or all of them in one. Left and Right write int64: the number
// of elements of the row that are less than the value (Right: or equal to it). In and NotIn write bool: whether the row
// has the value, or does not.
enum class Search : int8_t { Left, Right, In, NotIn };
struct SearchPlan : OpContext {
  DType dtype = DType::Float32;
  const char* sorted = nullptr;
  const int64_t* sorter = nullptr;  // null, or as long as the rows: a row is sorted[sorter[0]], sorted[sorter[1]], ...
  int64_t n = 0, rows = 1;
  const char* values = nullptr;
  int64_t m = 0;  // for each row
  char* out = nullptr;
};

enum class RangeKind : int8_t { Arange, Linspace, Logspace };

// Tensors joined along an axis: rows of contiguous parts, one after the other in each row of the result.
struct JoinPlan : OpContext {
  struct Part {
    const char* data;
    int64_t length;  // elements of each row
  };
  DType dtype = DType::Float32;
  int64_t rows = 1;
  int64_t n_parts = 0;
  const Part* parts = nullptr;
  char* out = nullptr;
};

// Fourier transforms of the rows of a batch, along one axis: out[k] = scale * sum over j of in[j] e^(-2 pi i j k / n),
// with e^(+...) for `inverse`. Of the real kinds, the complex side has the elements 0 ... n / 2; of a ComplexToReal's
// input, whose other half is the conjugate, the imaginary parts of element 0 and (n even) n / 2 are not read. A Complex
// one may be in place: same address, same strides.
struct FftPlan : OpContext {
  enum Kind : int8_t { Complex, RealToComplex, ComplexToReal };
  Kind kind = Complex;
  DType dtype = DType::Float32;  // of the real numbers, and of the parts of complex ones: float32 or float64
  bool inverse = false;
  int64_t n = 1;  // at least 1
  double scale = 1;
  const char* in = nullptr;
  char* out = nullptr;
  int64_t in_stride = 0, out_stride = 0;  // bytes from element to element
  int ndim = 0;                           // axes of the batch, outermost first, not merged
  const int64_t* shape = nullptr;
  const int64_t* in_strides = nullptr;  // bytes
  const int64_t* out_strides = nullptr;
};

// Contiguous bytes between devices; -1 is the host. Waits, unless `non_blocking` and the memory allows it.
struct TransferPlan : OpContext {
  void* to = nullptr;
  int to_device = -1;
  const void* from = nullptr;
  int from_device = -1;
  size_t bytes = 0;
  bool non_blocking = false;
};

// Where random numbers come from: the caller of the slot has locked it. The CPU draws from the generator itself. An
// accelerator takes blocks of the sequence that `seed` names (Note [Generators of accelerators] in core/random.h), from
// block `offset` on, and writes how many it took.
struct RandomSource {
  Generator* generator = nullptr;
  uint64_t seed = 0, offset = 0;
  uint64_t used = 0;
};

}  // namespace strided
