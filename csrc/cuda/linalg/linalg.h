// Kernels of linear algebra: their arguments, and where they are found. The kernels of a dtype are made by one unit
// (linalg_float.cu and so on); linalg_run.cu composes whole operations of them.
#pragma once

#include "backend/linalg_error.h"
#include "base/complex.h"
#include "core/dtype.h"
#include "cuda/pointwise/loop.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {

// A batch of matrices: element (i, j) of matrix q stands at data[q * step + i * row + j * column].
template <class T>
struct View {
  T* data;
  int64_t row, column, step;

  View at(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column, step}; }
  View transposed() const { return {data, column, row, step}; }
};

// Small matrices are read and written through shared memory in the order of their memory, whatever that is.
template <class T>
struct Tiled {
  View<T> of;
  Divisor per_matrix, per_line;
  bool by_rows;

  Tiled(const View<T>& view, int64_t rows, int64_t columns)
      : of(view),
        per_matrix(static_cast<uint32_t>(rows * columns)),
        per_line(static_cast<uint32_t>(view.column <= view.row ? columns : rows)),
        by_rows(view.column <= view.row) {}
};

// A factorisation in place of m x n matrices, n = m for Cholesky. They may be panels of larger matrices that begin at
// row and column `first`: pivots and info count from there, and info keeps what an earlier panel has found.
template <class T>
struct FactorArgs {
  Tiled<T> a;
  int64_t batch;
  int m, n, first;
  int32_t* pivots;  // from `first` on; of matrix q at q * pivot_step
  int64_t pivot_step;
  int32_t* info;
  bool clear;  // Cholesky: zeroes what is above the diagonal
};

// x <- op(T)^-1 x for at most 32 rows: a lower triangle, an upper one, or both in this order (the packed factors of
// LU). Pivots (or null) are applied to x before that, or backwards after it.
enum class Stage : int8_t { None, Unit, Diagonal };  // Unit: ones stand on the diagonal, whatever is there
template <class T>
struct SolveArgs {
  Tiled<const T> t;
  View<T> b;
  int64_t batch, k;
  int n;
  Stage lower, upper;
  const int32_t* pivots;
  int64_t pivot_step;
  bool permute_after;
  Reporter reporter;
};

// Some kernels tell __launch_bounds__ that one block at a time will do: left alone, ptxas keeps to fewer registers than
// there are, and spills.
constexpr int kSmall = 32;          // rows and columns of a matrix that a warp keeps in registers
constexpr int kSizes = 4;           // of small matrices: up to 4, 8, 16, 32
constexpr int kFewColumns = 8;      // of right-hand sides, for which a warp takes them one by one
constexpr int kBlockThreads = 512;  // at most, of a block that has a matrix
constexpr int size_row(int64_t n) { return n <= 4 ? 0 : n <= 8 ? 1 : n <= 16 ? 2 : 3; }
// Warps of a block whose warps work each for itself, limited by their tiles in shared memory.
template <class T>
constexpr int kSmallWarps = sizeof(T) == 16 ? 2 : 4;
// An odd distance between rows: neither rows nor columns compete for the banks of shared memory.
constexpr int tile_row(int columns) { return columns | 1; }

template <class T>
struct LinalgTable {
  void (*lu_small[kSizes])(FactorArgs<T>);
  void (*cholesky_small[kSizes])(FactorArgs<T>);
  void (*solve_few[kSizes])(SolveArgs<T>);   // a lane for each row
  void (*solve_many[kSizes])(SolveArgs<T>);  // a lane for each right-hand side
  void (*lu_block[2])(FactorArgs<T>);        // [1]: in shared memory
  void (*cholesky_block)(FactorArgs<T>);
};
template <class T>
const LinalgTable<T>& linalg_table();  // instantiated by the dtype's unit

// f(T()) for the type T of the dtype.
template <class F>
void with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::Float32: return f(float{});
    case DType::Float64: return f(double{});
    case DType::Complex64: return f(Complex<float>{});
    case DType::Complex128: return f(Complex<double>{});
    default: STRIDED_THROW(NotImplementedError, "linear algebra of ", dtype, " on device 'cuda'");
  }
}

// Row exchanges: row i of a goes with row pivots[i] - 1, begin <= i < end, in `columns` columns; pivots of matrix q are
// at q * pivot_step, those outside 1 ... rows are left out and reported as `fault`. In linalg_rows.cu.
void exchange_view(const char* name, int device, int64_t itemsize, int64_t batch, int64_t rows, int64_t columns,
                   const View<char>& bytes, const int32_t* pivots, int64_t pivot_step, int64_t begin, int64_t end,
                   bool backwards, LinalgFailure fault);

}  // namespace cuda
}  // namespace strided
