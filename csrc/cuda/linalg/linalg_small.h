// Matrices of at most 32 rows and columns. A warp has one of them, or several: S lanes for each, S = 4, 8, 16 or 32. A
// lane keeps a row in registers, and rows that pivoting exchanges stay where they are: a lane knows at which place its
// row stands. What all lanes of a matrix must see goes through shared memory, 16 bytes at a time. Included by the units
// that instantiate the kernels.
//
// The order of operations on an element is that of csrc/cpu/linalg/linalg.cpp (G. Golub and C. Van Loan, "Matrix
// Computations", 4th ed., 3.4 and 4.2). Keeping a row in the registers of a lane for small batched LU: A. Haidar et
// al., "Batched matrix computations on hardware accelerators based on GPUs", IJHPCA 29 (2015).
#pragma once

#include "cuda/linalg/linalg.h"

namespace strided {
namespace cuda {

// What a pivot is chosen by, as on the CPU: |re| + |im| for complex numbers. A NaN is smaller than anything, so that
// the first place wins where there is nothing else.
template <class R>
__device__ inline R order_of(R size) {
  return size == size ? size : R(-1);
}
template <class T>
__device__ inline real_t<T> pivot_size(const T& x) {
  if constexpr (is_complex_v<T>) return order_of(fabs(x.re) + fabs(x.im));
  else return order_of(fabs(x));
}
// Of several that are equally large the first one is the pivot.
template <class R>
__device__ inline bool goes_before(R size, int place, R other_size, int other_place) {
  return size > other_size || (size == other_size && place < other_place);
}
template <class T>
__device__ inline T conjugate(const T& x) {
  if constexpr (is_complex_v<T>) return conj(x);
  else return x;
}
template <class T>
__device__ inline real_t<T> real_part(const T& x) {
  if constexpr (is_complex_v<T>) return x.re;
  else return x;
}
template <class T>
__device__ inline T divided(const T& x, real_t<T> d) {
  if constexpr (is_complex_v<T>) return T(x.re / d, x.im / d);
  else return x / d;
}

// 16 bytes of values, read at once.
template <class T>
struct alignas(16) Pack {
  static constexpr int count = static_cast<int>(16 / sizeof(T));
  T value[16 / sizeof(T)];
};

// The matrices of a warp, between memory and its tile: row i of the q-th of them is line q * S + i.
template <int S, class T, class F>
__device__ inline void for_tile(const Tiled<T>& a, int64_t first, int count, unsigned lane, F f) {
  const uint32_t n = static_cast<uint32_t>(count) * a.per_matrix.d;
#pragma unroll 4
  for (uint32_t e = lane; e < n; e += kWarp) {
    const uint32_t q = a.per_matrix.divide(e), x = e - q * a.per_matrix.d, slow = a.per_line.divide(x),
                   fast = x - slow * a.per_line.d, i = a.by_rows ? slow : fast, c = a.by_rows ? fast : slow;
    f(q * S + i, c, a.of.data + (first + q) * a.of.step + i * a.of.row + c * a.of.column);
  }
}

template <class T, int S>
struct SmallWarp {
  static constexpr int kLine = tile_row(S), kMatrices = static_cast<int>(kWarp) / S, kWarps = kSmallWarps<T>;
  using Tile = T[kWarp * kLine];

  unsigned lane = threadIdx.x % kWarp;
  int row = static_cast<int>(lane) % S;  // the lane's row at the start
  unsigned group = lane / S;             // its matrix
  int64_t first;                         // matrix of the warp
  int count;                             // matrices it has, at most kMatrices

  __device__ explicit SmallWarp(int64_t batch) {
    first = (static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp) * kMatrices;
    const int64_t left = batch - first;
    count = left < 0 ? 0 : left < kMatrices ? static_cast<int>(left) : kMatrices;
  }
  __device__ bool has_matrix() const { return static_cast<int>(group) < count; }
  // Fills the tile.
  template <class U>
  __device__ void fill(const Tiled<U>& a, Tile& tile) const {
    for_tile<S>(a, first, count, lane, [&](uint32_t line, uint32_t c, const T* at) { tile[line * kLine + c] = *at; });
    __syncwarp();
  }
  // Reads the lane's row; zeros beyond rows and columns. Then the tile is free.
  __device__ void load(const Tiled<T>& a, Tile& tile, T (&r)[S], int rows, int columns) const {
    fill(a, tile);
    const bool mine = has_matrix() && row < rows;
#pragma unroll
    for (int c = 0; c < S; ++c) r[c] = mine && c < columns ? tile[lane * kLine + c] : T(0);
    __syncwarp();
  }
  // Writes the tile, in which from(line) stands where `line` belongs.
  template <class F>
  __device__ void store(const Tiled<T>& a, const Tile& tile, F from) const {
    for_tile<S>(a, first, count, lane,
                [&](uint32_t line, uint32_t c, T* at) { *at = tile[static_cast<uint32_t>(from(line)) * kLine + c]; });
  }
};

// Rows that move along.
// Registers have no index, so loops over columns must be unrolled; over the steps as well they would make a long
// program. So each step moves the row on by one register: column j stands in r[0] when its turn comes, and the update
// of column j + c is written to r[c - 1]. What is finished goes to the lane's line of the tile. Steps come in groups of
// eight, each with a loop of its own that has as many registers as columns are left.
constexpr int kStepGroup = 8;

// Steps of LU that have W columns left at their beginning.
template <int W, class T, int S>
__device__ inline void lu_steps(const SmallWarp<T, S>& w, T* tile, T* lines, T (&r)[S], int rows, int steps, int& place,
                                int& pivot, int& info) {
  using R = real_t<T>;
  using P = Pack<T>;
  constexpr int kEnd = S - W + (W < kStepGroup ? W : kStepGroup), L = P::count;
#pragma unroll 1
  for (int j = S - W; j < kEnd && j < steps; ++j) {
    R size = w.row < rows && place >= j ? pivot_size(r[0]) : R(-2);
    int p = place;
#pragma unroll
    for (int d = S / 2; d > 0; d /= 2) {
      const R other = __shfl_xor_sync(kAllLanes, size, d);
      const int other_place = __shfl_xor_sync(kAllLanes, p, d);
      if (goes_before(other, other_place, size, p)) {
        size = other;
        p = other_place;
      }
    }
    // Two lines by turns, so that a lane that is ahead does not overwrite what another still reads.
    T* line = lines + (j % 2) * kWarp + w.group * S;
    if (place == p) {
#pragma unroll
      for (int c = 0; c < W; ++c) line[c] = r[c];
    }
    const unsigned holder = __ffs(static_cast<int>(__ballot_sync(kAllLanes, place == p) >> (w.group * S))) - 1u;
    __syncwarp();
    if (j + w.row < S) tile[(w.group * S + holder) * w.kLine + j + w.row] = line[w.row];
    if (w.row == j) pivot = p + 1;
    place = place == p ? j : place == j ? p : place;
    P top = *reinterpret_cast<const P*>(line);
    const T value = top.value[0];
    const bool zero = value == T(0);
    if (zero && info == 0) info = j + 1;
    const T l = zero ? r[0] : r[0] / value;
    if (place > j) tile[w.lane * w.kLine + j] = l;
#pragma unroll
    for (int c = 1; c < W; ++c) {
      if (c % L == 0) top = *reinterpret_cast<const P*>(line + c);
      r[c - 1] = r[c] - l * top.value[c % L];
    }
  }
  if constexpr (W > kStepGroup) lu_steps<W - kStepGroup>(w, tile, lines, r, rows, steps, place, pivot, info);
}

template <class T, int S>
__global__ void __launch_bounds__(kSmallWarps<T>* kWarp) lu_small_kernel(const STRIDED_GRID_CONSTANT FactorArgs<T> a) {
  using Warp = SmallWarp<T, S>;
  STRIDED_SHARED(typename Warp::Tile, tiles, [Warp::kWarps]);
  STRIDED_SHARED(T, lines, [Warp::kWarps][2 * kWarp]);
  STRIDED_SHARED(int, lane_of, [Warp::kWarps][kWarp]);
  const Warp w(a.batch);
  if (w.count == 0) return;
  const unsigned warp = threadIdx.x / kWarp;
  T r[S];
  w.load(a.a, tiles[warp], r, a.m, a.n);
  const int steps = a.m < a.n ? a.m : a.n;
  int place = w.row, pivot = 0, info = 0;
  lu_steps<S>(w, tiles[warp], lines[warp], r, a.m, steps, place, pivot, info);
  lane_of[warp][w.group * S + place] = static_cast<int>(w.lane);
  __syncwarp();
  w.store(a.a, tiles[warp], [&](uint32_t line) { return lane_of[warp][line]; });
  if (!w.has_matrix()) return;
  const int64_t q = w.first + w.group;
  if (w.row < steps) a.pivots[q * a.pivot_step + w.row] = pivot;
  if (w.row == 0) a.info[q] = info;
}

template <int W, class T, int S>
__device__ inline void cholesky_steps(const SmallWarp<T, S>& w, T* tile, T* lines, T (&r)[S], int n, int& info) {
  using R = real_t<T>;
  using P = Pack<T>;
  constexpr int kEnd = S - W + (W < kStepGroup ? W : kStepGroup), L = P::count;
#pragma unroll 1
  for (int j = S - W; j < kEnd && j < n; ++j) {
    const R diagonal = shuffle_from(real_part(r[0]), w.group * S + j);
    if (info == 0 && !(diagonal > R(0))) info = j + 1;
    const R root = info == 0 ? sqrt(diagonal) : R(1);
    const T l = divided(r[0], root);
    tile[w.lane * w.kLine + j] = w.row > j ? l : w.row == j ? T(root) : T(0);
    T* line = lines + (j % 2) * kWarp + w.group * S;  // by turns, as for LU
    if (w.row >= j) line[w.row - j] = conjugate(l);
    __syncwarp();
    P column = *reinterpret_cast<const P*>(line);
#pragma unroll
    for (int c = 1; c < W; ++c) {
      if (c % L == 0) column = *reinterpret_cast<const P*>(line + c);
      r[c - 1] = r[c] - l * column.value[c % L];
    }
  }
  if constexpr (W > kStepGroup) cholesky_steps<W - kStepGroup>(w, tile, lines, r, n, info);
}

template <class T, int S>
__global__ void __launch_bounds__(kSmallWarps<T>* kWarp)
    cholesky_small_kernel(const STRIDED_GRID_CONSTANT FactorArgs<T> a) {
  using Warp = SmallWarp<T, S>;
  STRIDED_SHARED(typename Warp::Tile, tiles, [Warp::kWarps]);
  STRIDED_SHARED(T, lines, [Warp::kWarps][2 * kWarp]);
  const Warp w(a.batch);
  if (w.count == 0) return;
  const unsigned warp = threadIdx.x / kWarp;
  T r[S];
  w.load(a.a, tiles[warp], r, a.m, a.n);
  int info = 0;
  cholesky_steps<S>(w, tiles[warp], lines[warp], r, a.n, info);
  __syncwarp();
  w.store(a.a, tiles[warp], [](uint32_t line) { return line; });
  if (w.has_matrix() && w.row == 0) a.info[w.first + w.group] = info;
}

}  // namespace cuda
}  // namespace strided
