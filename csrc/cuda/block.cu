#include "cuda/block.h"

#include "cuda/allocator.h"

namespace strided {
namespace cuda {
namespace {

constexpr int kScanItems = 16;  // of a thread

__global__ void __launch_bounds__(kThreads) scan_kernel(int64_t* data, int64_t n, bool with_total) {
  long long carry = 0;
  for (int64_t begin = 0; begin < n; begin += kThreads * kScanItems) {
    const int64_t first = begin + static_cast<int64_t>(threadIdx.x) * kScanItems;
    long long sum = 0, all;
    for (int j = 0; j < kScanItems; ++j)
      if (first + j < n) sum += data[first + j];
    long long before = carry + sum_before<long long>(sum, &all);
    for (int j = 0; j < kScanItems; ++j) {
      if (first + j >= n) break;
      const int64_t here = data[first + j];
      data[first + j] = before;
      before += here;
    }
    carry += all;
  }
  if (with_total && threadIdx.x == 0) data[n] = carry;
}

// Note [Radix sort]
// For each digit, least significant first: tiles count their digits; a scan over (digit, tile) says where the elements
// of each digit of each tile go; tiles move them, equal digits in the order they had. Within a tile that order comes
// from counters for each (digit, thread), because a thread has neighbouring elements.
constexpr int kDigitBits = 4, kDigits = 1 << kDigitBits, kSortItems = 4, kTile = kThreads * kSortItems;

struct SortArgs {
  const uint64_t* keys;
  const int32_t* rows;
  uint64_t* keys_out;
  int32_t* rows_out;
  int64_t* starts;  // [digit][tile]
  int64_t n, tiles;
  int shift;
};

__device__ inline int digit_of(uint64_t key, int shift) { return static_cast<int>(key >> shift) & (kDigits - 1); }

__global__ void __launch_bounds__(kThreads) count_digits_kernel(SortArgs a) {
  STRIDED_SHARED(int, count, [kDigits]);
  if (threadIdx.x < kDigits) count[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * static_cast<int64_t>(kTile);
  for (int j = 0; j < kSortItems; ++j) {
    const int64_t i = begin + j * kThreads + threadIdx.x;
    if (i < a.n) atomicAdd(&count[digit_of(a.keys[i], a.shift)], 1);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) a.starts[threadIdx.x * a.tiles + blockIdx.x] = count[threadIdx.x];
}

__global__ void __launch_bounds__(kThreads) move_digits_kernel(SortArgs a) {
  STRIDED_SHARED(uint16_t, count, [kDigits * kThreads]);  // [digit][thread]
  STRIDED_SHARED(int, first, [kDigits]);                  // elements of smaller digits in the tile
  for (int d = 0; d < kDigits; ++d) count[d * kThreads + threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * static_cast<int64_t>(kTile) + threadIdx.x * kSortItems;
  uint64_t key[kSortItems];
  int rank[kSortItems];
  for (int j = 0; j < kSortItems; ++j) {
    if (begin + j >= a.n) break;
    key[j] = a.keys[begin + j];
    rank[j] = count[digit_of(key[j], a.shift) * kThreads + threadIdx.x]++;
  }
  __syncthreads();
  // Sums before each counter: a thread adds up kDigits of them that stand together.
  int sum = 0, all;
  for (int j = 0; j < kDigits; ++j) sum += count[threadIdx.x * kDigits + j];
  int before = sum_before<int>(sum, &all);
  for (int j = 0; j < kDigits; ++j) {
    const int here = count[threadIdx.x * kDigits + j];
    count[threadIdx.x * kDigits + j] = static_cast<uint16_t>(before);
    before += here;
  }
  __syncthreads();
  if (threadIdx.x < kDigits) first[threadIdx.x] = count[threadIdx.x * kThreads];
  __syncthreads();
  for (int j = 0; j < kSortItems; ++j) {
    if (begin + j >= a.n) break;
    const int d = digit_of(key[j], a.shift);
    const int64_t to = a.starts[d * a.tiles + blockIdx.x] + count[d * kThreads + threadIdx.x] + rank[j] - first[d];
    a.keys_out[to] = key[j];
    a.rows_out[to] = a.rows[begin + j];
  }
}

}  // namespace

void scan_exclusive(int64_t* data, int64_t n, bool total, int device, const char* name) {
  const OnDevice guard(device);
  launch(scan_kernel, dim3(1), dim3(kThreads), 0, current_stream(device), data, n, total);
  check_launch(name);
}

void sort_rows(uint64_t* keys, int32_t* rows, int64_t n, int bits, int device, const char* name) {
  if (n < 2 || bits == 0) return;
  const OnDevice guard(device);
  const cudaStream_t stream = current_stream(device);
  const int64_t tiles = (n + kTile - 1) / kTile;
  const Workspace other_keys(static_cast<size_t>(n) * sizeof(uint64_t), device),
      other_rows(static_cast<size_t>(n) * sizeof(int32_t), device);
  const Workspace starts(static_cast<size_t>(tiles * kDigits) * sizeof(int64_t), device);
  SortArgs a{keys, rows, other_keys.as<uint64_t>(), other_rows.as<int32_t>(), starts.as<int64_t>(), n, tiles, 0};
  const dim3 grid(static_cast<unsigned>(tiles));
  for (; a.shift < bits; a.shift += kDigitBits) {
    launch(count_digits_kernel, grid, dim3(kThreads), 0, stream, a);
    check_launch(name);
    scan_exclusive(a.starts, tiles * kDigits, false, device, name);
    launch(move_digits_kernel, grid, dim3(kThreads), 0, stream, a);
    check_launch(name);
    const SortArgs last = a;
    a.keys = last.keys_out;
    a.rows = last.rows_out;
    a.keys_out = const_cast<uint64_t*>(last.keys);
    a.rows_out = const_cast<int32_t*>(last.rows);
  }
  if (a.keys == keys) return;
  check(cudaMemcpyAsync(keys, a.keys, static_cast<size_t>(n) * sizeof(uint64_t), cudaMemcpyDeviceToDevice, stream),
        name);
  check(cudaMemcpyAsync(rows, a.rows, static_cast<size_t>(n) * sizeof(int32_t), cudaMemcpyDeviceToDevice, stream),
        name);
}

}  // namespace cuda
}  // namespace strided
