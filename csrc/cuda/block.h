// What the threads of a block do together, and sums over arrays. Blocks here have kThreads threads in one row.
#pragma once

#include "cuda/loop.h"

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

// data[i] becomes the sum of data[0] ... data[i - 1], for n >= 0 elements; data[n] the sum of all, where `total` says
// so. Queued on the current stream.
void scan_exclusive(int64_t* data, int64_t n, bool total, int device, const char* name);

// Puts `rows` (0 ... n - 1) into the order of keys[rows], equal keys in ascending order of rows, and the keys likewise.
// Keys have `bits` bits. keys and rows hold n elements; n < 2^31. Least significant digits first, four bits at a time.
void sort_rows(uint64_t* keys, int32_t* rows, int64_t n, int bits, int device, const char* name);

}  // namespace cuda
}  // namespace strided
