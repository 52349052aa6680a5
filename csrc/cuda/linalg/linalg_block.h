// A matrix for each block: whole ones that fit into shared memory, and the panels of larger ones. Threads stand in a
// grid over columns (neighbours along a row, so that memory is read in order) and rows. Two barriers for each column.
// Included by the units that instantiate the kernels.
#pragma once

#include "cuda/linalg/linalg_small.h"

namespace strided {
namespace cuda {

// The grid of threads over a part with `columns` columns: a power of two along a row, at most a warp, and so many that
// a warp can hold one number for each line of the grid.
struct ThreadGrid {
  int x, y, width, height;

  __device__ explicit ThreadGrid(int columns) {
    const int threads = static_cast<int>(blockDim.x);
    width = threads / static_cast<int>(kWarp);
    while (width < static_cast<int>(kWarp) && width < columns) width *= 2;
    height = threads / width;
    x = static_cast<int>(threadIdx.x) % width;
    y = static_cast<int>(threadIdx.x) / width;
  }
};

// Between memory and a tile with rows `line` apart. Both directions: f(element of the tile, row, column, in memory).
template <class T, class F>
__device__ inline void for_staged(const Tiled<T>& a, int64_t q, T* tile, int line, F f) {
  for (uint32_t e = threadIdx.x; e < a.per_matrix.d; e += blockDim.x) {
    const uint32_t slow = a.per_line.divide(e), fast = e - slow * a.per_line.d, i = a.by_rows ? slow : fast,
                   c = a.by_rows ? fast : slow;
    f(tile[i * line + c], i, c, a.of.data[q * a.of.step + i * a.of.row + c * a.of.column]);
  }
}

// The pivot search of one column goes on while the former column is eliminated: each line of the grid of threads
// leaves its best row here.
template <class T>
struct Candidates {
  real_t<T> size[kWarp];
  int place[kWarp];
  T value[kWarp];
};

template <class T>
struct Best {
  real_t<T> size = real_t<T>(-2);
  int place = INT32_MAX;
  T value = T(0);

  __device__ void consider(const T& x, int i) {
    const real_t<T> s = pivot_size(x);
    if (!goes_before(s, i, size, place)) return;
    size = s;
    place = i;
    value = x;
  }
  __device__ void leave(Candidates<T>& at, const ThreadGrid& grid) const {
    if (grid.x != 0) return;
    at.size[grid.y] = size;
    at.place[grid.y] = place;
    at.value[grid.y] = value;
  }
};

// Elements a[i * line + c]. Returns the column of the first zero pivot, from 1, or 0.
template <class T, class Index>
__device__ inline int lu_of_block(T* a, Index line, int m, int n, int first, int32_t* pivots, Candidates<T>& best_of) {
  const ThreadGrid grid(n);
  const int steps = m < n ? m : n, threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  int info = 0;
  {
    Best<T> best;
    if (grid.x == 0)
      for (int i = grid.y; i < m; i += grid.height) best.consider(a[i * line], i);
    best.leave(best_of, grid);
  }
  for (int j = 0; j < steps; ++j) {
    __syncthreads();
    // Every warp looks for itself.
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    const int my_place = lane < grid.height ? best_of.place[lane] : INT32_MAX;
    real_t<T> size = lane < grid.height ? best_of.size[lane] : real_t<T>(-2);
    int p = my_place;
#pragma unroll
    for (int d = static_cast<int>(kWarp) / 2; d > 0; d /= 2) {
      const real_t<T> other = __shfl_xor_sync(kAllLanes, size, d);
      const int other_place = __shfl_xor_sync(kAllLanes, p, d);
      if (goes_before(other, other_place, size, p)) {
        size = other;
        p = other_place;
      }
    }
    const T pivot = best_of.value[__ffs(static_cast<int>(__ballot_sync(kAllLanes, my_place == p))) - 1];
    const bool zero = pivot == T(0);
    const T divisor = zero ? T(1) : pivot;
    if (zero && info == 0) info = j + 1;
    if (me == 0) pivots[j] = first + p + 1;
    // The rows change places; in column j the thread that divides does it.
    if (p != j) {
      for (int c = me; c < n; c += threads) {
        if (c == j) continue;
        const T t = a[j * line + c];
        a[j * line + c] = a[p * line + c];
        a[p * line + c] = t;
      }
    }
    for (int i = j + 1 + me; i < m; i += threads) {
      const T x = i == p ? a[j * line + j] : a[i * line + j];
      a[i * line + j] = x / divisor;
      if (i == p) a[j * line + j] = pivot;
    }
    __syncthreads();
    Best<T> best;
    for (int c = j + 1 + grid.x; c < n; c += grid.width) {
      const T top = a[j * line + c];
#pragma unroll 4
      for (int i = j + 1 + grid.y; i < m; i += grid.height) {
        const T x = a[i * line + c] - a[i * line + j] * top;
        a[i * line + c] = x;
        if (c == j + 1) best.consider(x, i);
      }
    }
    best.leave(best_of, grid);
  }
  return info;
}

// Staged: in shared memory; else where the matrix stands.
template <class T, bool Staged>
__global__ void __launch_bounds__(kBlockThreads, 1) lu_block_kernel(const STRIDED_GRID_CONSTANT FactorArgs<T> a) {
  STRIDED_SHARED(Candidates<T>, candidates, [1]);
  const int64_t q = blockIdx.x;
  int32_t* pivots = a.pivots + q * a.pivot_step;
  int info;
  if constexpr (Staged) {
    STRIDED_DYNAMIC_SHARED(T, tile);
    const int line = tile_row(a.n);
    for_staged(a.a, q, tile, line, [](T& x, uint32_t, uint32_t, T& in_memory) { x = in_memory; });
    __syncthreads();
    info = lu_of_block<T, int>(tile, line, a.m, a.n, a.first, pivots, candidates[0]);
    __syncthreads();
    for_staged(a.a, q, tile, line, [](T& x, uint32_t, uint32_t, T& in_memory) { in_memory = x; });
  } else {
    const View<T>& v = a.a.of;
    info = lu_of_block<T, int64_t>(v.data + q * v.step, v.row, a.m, a.n, a.first, pivots, candidates[0]);
  }
  if (threadIdx.x == 0 && (a.first == 0 || (info != 0 && a.info[q] == 0))) a.info[q] = info == 0 ? 0 : a.first + info;
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads, 1) cholesky_block_kernel(const STRIDED_GRID_CONSTANT FactorArgs<T> a) {
  using R = real_t<T>;
  constexpr int kParts = static_cast<int>(sizeof(T) / sizeof(R));
  STRIDED_DYNAMIC_SHARED(T, tile);
  const int64_t q = blockIdx.x;
  if (a.first > 0 && a.info[q] != 0) return;
  const int n = a.n, line = tile_row(n), me = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const ThreadGrid grid(n);
  for_staged(a.a, q, tile, line, [](T& x, uint32_t, uint32_t, T& in_memory) { x = in_memory; });
  int info = 0;
  for (int j = 0; j < n; ++j) {
    __syncthreads();
    const R diagonal = real_part(tile[j * line + j]);
    if (!(diagonal > R(0))) {
      info = a.first + j + 1;
      break;
    }
    const R root = sqrt(diagonal);
    for (int i = me; i < (n - j - 1) * kParts; i += threads) {  // real and imaginary parts are divided alike
      R& part = reinterpret_cast<R*>(tile + (j + 1 + i / kParts) * line + j)[i % kParts];
      part = part / root;
    }
    __syncthreads();
    if (me == 0) tile[j * line + j] = T(root);
    for (int c = j + 1 + grid.x; c < n; c += grid.width) {
      const T right = conjugate(tile[c * line + j]);
#pragma unroll 4
      for (int i = j + 1 + grid.y; i < n; i += grid.height)
        if (i >= c) tile[i * line + c] -= tile[i * line + j] * right;
    }
  }
  __syncthreads();
  for_staged(a.a, q, tile, line, [&](T& x, uint32_t i, uint32_t c, T& in_memory) {
    if (c <= i) in_memory = x;
    else if (a.clear) in_memory = T(0);
  });
  if (me == 0) a.info[q] = info;
}

}  // namespace cuda
}  // namespace strided
