// Triangular systems of at most 32 rows, one or two after another: the diagonal blocks of large ones, and small ones as
// a whole. Few right-hand sides are taken one by one, a lane for each row of the matrix; of many, each lane takes one.
// Included by the units that instantiate the kernels.
#pragma once

#include "cuda/linalg/linalg_small.h"

namespace strided {
namespace cuda {

// Which row of b comes to place `row` by the exchanges. Each lane of a group of S follows one row.
template <class T>
__device__ inline int permuted_row(const SolveArgs<T>& a, int64_t matrix, bool has_matrix, int row, unsigned first_lane,
                                   int steps) {
  const int32_t* pivots = a.pivots + matrix * a.pivot_step;
  const int pivot = has_matrix && row < a.n ? pivots[row] : row + 1;
  const bool bad = pivot < 1 || pivot > a.n;
  if (bad && has_matrix && row < a.n) a.reporter.tell(Fault::Linalg, pivot, matrix, a.batch > 1);
  const int partner = bad ? row : pivot - 1;
  int content = row;
#pragma unroll 4
  for (int j = 0; j < steps; ++j) {
    const int p = __shfl_sync(kAllLanes, partner, static_cast<int>(first_lane) + j);
    const int from = row == j ? p : row == p ? j : row;
    content = __shfl_sync(kAllLanes, content, static_cast<int>(first_lane) + from);
  }
  return content;
}

// x / d for many x: of complex numbers what Smith's formula (base/complex.h) makes of d is computed once.
template <class T>
struct Quotient {
  T d;
  Quotient() = default;
  __device__ explicit Quotient(const T& x) : d(x) {}
  __device__ T operator()(const T& x) const { return x / d; }
};
template <class R>
struct Quotient<Complex<R>> {
  R c1, c2, scale;
  Quotient() = default;
  __device__ explicit Quotient(const Complex<R>& d) {
    const bool by_re = !(fabs(d.im) > fabs(d.re));
    const R ratio = by_re ? d.im / d.re : d.re / d.im;
    c1 = by_re ? R(1) : ratio;
    c2 = by_re ? ratio : R(1);
    scale = R(1) / (by_re ? d.re + d.im * ratio : d.im + d.re * ratio);
  }
  __device__ Complex<R> operator()(const Complex<R>& x) const {
    return {(x.re * c1 + x.im * c2) * scale, (x.im * c1 - x.re * c2) * scale};
  }
};

template <class T, int S>
__global__ void __launch_bounds__(kSmallWarps<T>* kWarp) solve_few_kernel(const STRIDED_GRID_CONSTANT SolveArgs<T> a) {
  using Warp = SmallWarp<T, S>;
  STRIDED_SHARED(typename Warp::Tile, tiles, [Warp::kWarps]);
  const Warp w(a.batch);
  if (w.count == 0) return;
  auto& tile = tiles[threadIdx.x / kWarp];
  w.fill(a.t, tile);
  const int64_t q = w.first + w.group;
  const unsigned first_lane = w.group * S;
  const bool mine = w.has_matrix() && w.row < a.n;
  const T* r = tile + w.lane * w.kLine;
  const Quotient<T> divide(mine ? r[w.row] : T(1));
  const int other = a.pivots ? permuted_row(a, q, w.has_matrix(), w.row, first_lane, a.n) : w.row;
  const int from = a.permute_after ? w.row : other, to = a.permute_after ? other : w.row;
  T* b = a.b.data + q * a.b.step;
  for (int64_t c = 0; c < a.k; ++c) {
    T x = mine ? b[from * a.b.row + c * a.b.column] : T(0);
    if (a.lower != Stage::None) {
#pragma unroll 4
      for (int j = 0; j < a.n; ++j) {
        if (a.lower == Stage::Diagonal && w.row == j) x = divide(x);
        const T solved = shuffle_from(x, first_lane + j);
        if (mine && w.row > j) x -= r[j] * solved;
      }
    }
    if (a.upper != Stage::None) {
#pragma unroll 4
      for (int j = a.n - 1; j >= 0; --j) {
        if (a.upper == Stage::Diagonal && w.row == j) x = divide(x);
        const T solved = shuffle_from(x, first_lane + j);
        if (mine && w.row < j) x -= r[j] * solved;
      }
    }
    __syncwarp();  // all rows were read
    if (mine) b[to * a.b.row + c * a.b.column] = x;
  }
}

// A block takes some columns of one matrix, a warp 32 of them.
template <class T, int S>
__global__ void __launch_bounds__(4 * kWarp, 1) solve_many_kernel(const STRIDED_GRID_CONSTANT SolveArgs<T> a) {
  STRIDED_SHARED(T, tile, [S * S]);
  STRIDED_SHARED(Quotient<T>, divide, [S]);
  STRIDED_SHARED(int, order, [S]);
  const int64_t chunks = (a.k + blockDim.x - 1) / blockDim.x;
  const int64_t q = blockIdx.x / chunks, c = blockIdx.x % chunks * blockDim.x + threadIdx.x;
  for (unsigned e = threadIdx.x; e < S * S; e += blockDim.x) tile[e] = T(e / S == e % S ? 1 : 0);
  __syncthreads();
  const Tiled<const T>& t = a.t;
  for (uint32_t e = threadIdx.x; e < t.per_matrix.d; e += blockDim.x) {
    const uint32_t slow = t.per_line.divide(e), fast = e - slow * t.per_line.d, i = t.by_rows ? slow : fast,
                   j = t.by_rows ? fast : slow;
    tile[i * S + j] = t.of.data[q * t.of.step + i * t.of.row + j * t.of.column];
  }
  if (threadIdx.x < kWarp) {
    const int row = static_cast<int>(threadIdx.x);
    const int other = a.pivots ? permuted_row(a, q, true, row, 0, a.n) : row;
    if (row < S) order[row] = other;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < S; i += blockDim.x) divide[i] = Quotient<T>(tile[i * S + i]);
  __syncthreads();
  if (c >= a.k) return;
  T* b = a.b.data + q * a.b.step + c * a.b.column;
  T x[S];
#pragma unroll
  for (int i = 0; i < S; ++i) x[i] = i < a.n ? b[(a.permute_after ? i : order[i]) * a.b.row] : T(0);
  using P = Pack<T>;
  constexpr int L = P::count;
  if (a.lower != Stage::None) {
#pragma unroll
    for (int i = 0; i < S; ++i) {
      if (i >= a.n) break;
      P line;
#pragma unroll
      for (int j = 0; j < i; ++j) {
        if (j % L == 0) line = *reinterpret_cast<const P*>(tile + i * S + j);
        x[i] -= line.value[j % L] * x[j];
      }
      if (a.lower == Stage::Diagonal) x[i] = divide[i](x[i]);
    }
  }
  if (a.upper != Stage::None) {
#pragma unroll
    for (int i = S - 1; i >= 0; --i) {
      if (i >= a.n) continue;
      P line;
#pragma unroll
      for (int j = S - 1; j > i; --j) {
        if (j % L == L - 1) line = *reinterpret_cast<const P*>(tile + i * S + (j - L + 1));
        x[i] -= line.value[j % L] * x[j];
      }
      if (a.upper == Stage::Diagonal) x[i] = divide[i](x[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < S; ++i)
    if (i < a.n) b[(a.permute_after ? order[i] : i) * a.b.row] = x[i];
}

}  // namespace cuda
}  // namespace strided
