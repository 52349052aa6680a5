// Products with n = 1: every element of A is read once and used once, so all that counts is how it is read.
// (m = 1 is the transposed product, m = n = 1 the dot product.)
//
// along_k_kernel  A's neighbours along k are neighbours in memory: 32 lanes walk along a row together, or the whole
//                 block where there are few rows.
// along_m_kernel  they are along m: each lane keeps rows of its own, the eight warps of a block take every eighth k.
// Both add in an order that only the shape decides.
#pragma once

#include "cuda/gemm/gemm.h"

namespace strided {
namespace cuda {

// Elements of A that are read at a time.
template <class T>
constexpr int kRunAlongK = sizeof(T) < 16 ? static_cast<int>(16 / sizeof(T)) : 1;
template <class T>
constexpr int kRunAlongM = kRunAlongK<T> < 4 ? kRunAlongK<T> : 4;

template <class T, int run>
struct alignas(sizeof(T) * run) VectorRun {
  T v[run];
};

template <class T, class V>
__device__ inline void write_sum(const GemmArgs& args, V sum, int64_t row, uint32_t product, const Offsets& at) {
  if (args.partial) {
    reinterpret_cast<V*>(args.partial)[(static_cast<int64_t>(blockIdx.y) * args.batch + product) * args.m + row] = sum;
    return;
  }
  T* to = reinterpret_cast<T*>(args.c) + at.c + row * args.c_row;
  *to = scaled<T>(args, sum, to);
}

// blockDim: (lanes, rows), 256 threads; lanes is 32 or 256.
template <class T, class V>
__global__ void __launch_bounds__(kThreads) gemv_along_k_kernel(const STRIDED_GRID_CONSTANT GemmArgs args) {
  constexpr int run = kRunAlongK<T>;
  const uint32_t product = args.first + blockIdx.z;
  const Offsets at = offsets_of(args, product);
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int64_t begin = blockIdx.y * args.part, end = begin + args.part < args.k ? begin + args.part : args.k;
  V sum = V(0);
  if (row < args.m) {
    const T* a = reinterpret_cast<const T*>(args.a) + at.a + row * args.a_row;
    const T* x = reinterpret_cast<const T*>(args.b) + at.b;
    int64_t k = begin + threadIdx.x;
    if (args.vector_a) {
      V sums[run];
      for (int e = 0; e < run; ++e) sums[e] = V(0);
      for (k = begin + static_cast<int64_t>(threadIdx.x) * run; k + run <= end;
           k += static_cast<int64_t>(blockDim.x) * run) {
        const VectorRun<T, run> line = *reinterpret_cast<const VectorRun<T, run>*>(a + k);
#pragma unroll
        for (int e = 0; e < run; ++e) multiply_add(sums[e], widened<V>(line.v[e]), widened<V>(x[(k + e) * args.b_row]));
      }
#pragma unroll
      for (int e = 0; e < run; ++e) sum = sum + sums[e];
      k = begin + (end - begin) / run * run + threadIdx.x;  // what is left over is less than a run
    }
    for (; k < end; k += blockDim.x) multiply_add(sum, widened<V>(a[k * args.a_column]), widened<V>(x[k * args.b_row]));
  }
#pragma unroll
  for (unsigned step = kWarp / 2; step > 0; step /= 2) sum = sum + shuffle_down(sum, step);
  if (blockDim.x > kWarp) {
    STRIDED_SHARED(V, of_warp, [kThreads / kWarp]);
    if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
      for (unsigned w = 1; w < kThreads / kWarp; ++w) sum = sum + of_warp[w];
  }
  if (threadIdx.x == 0 && row < args.m) write_sum<T>(args, sum, row, product, at);
}

// blockDim: (32, 8).
template <class T, class V>
__global__ void __launch_bounds__(kThreads) gemv_along_m_kernel(const STRIDED_GRID_CONSTANT GemmArgs args) {
  constexpr int run = kRunAlongM<T>, slices = kThreads / kWarp;
  const uint32_t product = args.first + blockIdx.z;
  const Offsets at = offsets_of(args, product);
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x) * run;
  const int64_t begin = blockIdx.y * args.part, end = begin + args.part < args.k ? begin + args.part : args.k;
  const T* a = reinterpret_cast<const T*>(args.a) + at.a + row * args.a_row;
  const T* x = reinterpret_cast<const T*>(args.b) + at.b;
  V sum[run];
  for (int e = 0; e < run; ++e) sum[e] = V(0);
  const int rows = args.m - row >= run ? run : args.m > row ? static_cast<int>(args.m - row) : 0;
  const bool whole = args.vector_a && rows == run;
  for (int64_t k = begin + threadIdx.y; k < end; k += slices) {
    const V factor = widened<V>(x[k * args.b_row]);
    const T* from = a + k * args.a_column;
    if (whole) {
      const VectorRun<T, run> line = *reinterpret_cast<const VectorRun<T, run>*>(from);
#pragma unroll
      for (int e = 0; e < run; ++e) multiply_add(sum[e], widened<V>(line.v[e]), factor);
    } else {
#pragma unroll
      for (int e = 0; e < run; ++e)
        if (e < rows) multiply_add(sum[e], widened<V>(from[e * args.a_row]), factor);
    }
  }
  STRIDED_SHARED(V, sums, [slices][kWarp * run + 1]);
#pragma unroll
  for (int e = 0; e < run; ++e) sums[threadIdx.y][threadIdx.x * run + e] = sum[e];
  __syncthreads();
  const unsigned t = threadIdx.y * kWarp + threadIdx.x;
  if (t >= kWarp * run) return;
  const int64_t mine = static_cast<int64_t>(blockIdx.x) * kWarp * run + t;
  if (mine >= args.m) return;
  V total = sums[0][t];
#pragma unroll
  for (int s = 1; s < slices; ++s) total = total + sums[s][t];
  write_sum<T>(args, total, mine, product, at);
}

// Adds the parts of k in ascending order. One thread for each element of C.
template <class T, class V>
__global__ void __launch_bounds__(kThreads)
    gemm_finish_kernel(const STRIDED_GRID_CONSTANT GemmArgs args, uint32_t parts) {
  const int64_t mn = static_cast<int64_t>(args.m) * args.n, all = mn * args.batch;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= all) return;
  const V* from = reinterpret_cast<const V*>(args.partial) + i;
  V sum = from[0];
  for (uint32_t p = 1; p < parts; ++p) sum = sum + from[p * all];
  const uint32_t product = static_cast<uint32_t>(i / mn);
  const int64_t rest = i - product * mn, row = rest / args.n, column = rest - row * args.n;
  T* to = reinterpret_cast<T*>(args.c) + offsets_of(args, product).c + row * args.c_row + column * args.c_column;
  *to = scaled<T>(args, sum, to);
}

}  // namespace cuda
}  // namespace strided
