// What the threads of a block do together. Blocks here have kThreads threads in one row.
#pragma once

#include "cuda/pointwise/loop.h"

namespace strided {
namespace cuda {

// The sum of the values of the threads before this one; *total becomes the sum of all. All threads of the block take
// part.
template <class T>
__device__ inline T sum_before(T value, T* total) {
  STRIDED_SHARED(T, of_warp, [kThreads / kWarp]);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  T sum = value;
  for (unsigned step = 1; step < kWarp; step *= 2) {
    const T other = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == kWarp - 1) of_warp[warp] = sum;
  __syncthreads();
  T before = 0, all = 0;
  for (unsigned w = 0; w < kThreads / kWarp; ++w) {
    if (w == warp) before = all;
    all += of_warp[w];
  }
  __syncthreads();  // the array may be used again
  *total = all;
  return before + sum - value;
}

}  // namespace cuda
}  // namespace strided
