// What LU needs besides arithmetic: exchanges of rows, the sign of a permutation, and a look at info.
#include "cuda/linalg/linalg.h"
#include "cuda/pointwise/copy.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

// Exchanges of rows, in groups of 32.
// The exchanges are a sequence, each a read and a write that wait for the one before. So 32 of them are first followed
// on numbers alone: slot s stands for row begin + s, slot 32 + s for the row that exchange s names, if it is none of
// those and none before it names it. A warp finds which slot's row comes into which slot; then all rows are read at
// once, and written at once.
constexpr int kGroup = 32;
constexpr int kColumns = 32;  // that a block moves

struct ExchangeArgs {
  View<char> bytes;  // strides in bytes
  int64_t rows, columns, tiles;
  const int32_t* pivots;
  int64_t pivot_step;
  int64_t begin, end;
  bool backwards;
  Reporter reporter;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 1) exchange_kernel(const STRIDED_GRID_CONSTANT ExchangeArgs a) {
  STRIDED_SHARED(int64_t, row_of, [2 * kGroup]);  // -1: nothing moves there
  STRIDED_SHARED(int, from, [2 * kGroup]);
  const int64_t q = blockIdx.x / a.tiles, column = blockIdx.x % a.tiles * kColumns + threadIdx.x % kColumns;
  const int32_t* pivots = a.pivots + q * a.pivot_step;
  char* data = a.bytes.data + q * a.bytes.step + column * a.bytes.column;
  const int64_t groups = (a.end - a.begin + kGroup - 1) / kGroup;
  constexpr int kRows = kThreads / kColumns, kSteps = 2 * kGroup / kRows;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = a.begin + (a.backwards ? groups - 1 - g : g) * kGroup;
    const int count = static_cast<int>(a.end - begin < kGroup ? a.end - begin : kGroup);
    if (threadIdx.x < kWarp) {
      const int lane = static_cast<int>(threadIdx.x);
      int64_t row = lane < count ? int64_t{pivots[begin + lane]} - 1 : begin + lane;
      if (lane < count && (row < 0 || row >= a.rows)) {
        if (blockIdx.x % a.tiles == 0) a.reporter.tell(Fault::Linalg, row + 1, q, 1);
        row = begin + lane;
      }
      const bool near = row >= begin && row < begin + count;
      const int other = static_cast<int>(near ? row - begin : row < begin ? row - begin : row - begin - count);
      // The first lane that names the same row beyond the group. (Rows below and above it have different numbers:
      // negative ones, and those from 0 on.)
      int slot = near ? other : kGroup + lane;
      for (int s = 0; s < kGroup; ++s) {
        const int its = __shfl_sync(kAllLanes, other, s), its_near = __shfl_sync(kAllLanes, static_cast<int>(near), s);
        if (!near && !its_near && its == other && s < lane && slot == kGroup + lane) slot = kGroup + s;
      }
      int low = lane, high = kGroup + lane;  // what stands in slots `lane` and 32 + `lane`
      for (int i = 0; i < count; ++i) {
        const int s = a.backwards ? count - 1 - i : i, with = __shfl_sync(kAllLanes, slot, s);
        const int mine = __shfl_sync(kAllLanes, low, s),
                  theirs = __shfl_sync(kAllLanes, with < kGroup ? low : high, with % kGroup);
        if (with < kGroup && lane == with) low = mine;
        if (with >= kGroup && lane == with - kGroup) high = mine;
        if (lane == s) low = theirs;
      }
      from[lane] = low;
      from[kGroup + lane] = high;
      row_of[lane] = lane < count ? begin + lane : -1;
      row_of[kGroup + lane] = lane < count && slot == kGroup + lane ? row : -1;
    }
    __syncthreads();
    T value[kSteps];
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      const int slot = k * kRows + static_cast<int>(threadIdx.x) / kColumns;
      if (column < a.columns && row_of[slot] >= 0 && from[slot] != slot)
        value[k] = *reinterpret_cast<const T*>(data + row_of[from[slot]] * a.bytes.row);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      const int slot = k * kRows + static_cast<int>(threadIdx.x) / kColumns;
      if (column < a.columns && row_of[slot] >= 0 && from[slot] != slot)
        *reinterpret_cast<T*>(data + row_of[slot] * a.bytes.row) = value[k];
    }
    __syncthreads();
  }
}

// A warp for each permutation: odd where an odd number of exchanges are real ones.
__global__ void __launch_bounds__(kThreads)
    permutation_sign_kernel(const int32_t* pivots, int64_t batch, int64_t count, double* sign) {
  const int64_t q = blockIdx.x * int64_t{kThreads / kWarp} + threadIdx.x / kWarp;
  if (q >= batch) return;
  const unsigned lane = threadIdx.x % kWarp;
  int odd = 0;
  for (int64_t i = lane; i < count; i += kWarp) odd ^= pivots[q * count + i] != i + 1;
  const unsigned lanes = __ballot_sync(kAllLanes, odd);
  if (lane == 0) sign[q] = __popc(lanes) % 2 ? -1.0 : 1.0;
}

// One block: the first info that is not 0. Each thread looks at several before all of them meet.
constexpr int kCheckThreads = 1024, kCheckEach = 8;
__global__ void __launch_bounds__(kCheckThreads)
    check_info_kernel(const int32_t* info, int64_t n, bool batched, Reporter reporter) {
  STRIDED_SHARED(int, first, [1]);
  constexpr int kAll = kCheckThreads * kCheckEach;
  if (threadIdx.x == 0) first[0] = kAll;
  for (int64_t begin = 0; begin < n; begin += kAll) {
    int failed = kAll;
#pragma unroll
    for (int k = kCheckEach - 1; k >= 0; --k) {
      const int i = k * kCheckThreads + static_cast<int>(threadIdx.x);
      if (begin + i < n && info[begin + i] != 0) failed = i;
    }
    if (!__syncthreads_or(failed < kAll)) continue;
    atomicMin(&first[0], failed);
    __syncthreads();
    if (failed == first[0]) reporter.tell(Fault::Linalg, info[begin + failed], begin + failed, batched);
    return;
  }
}

}  // namespace

void exchange_view(const char* name, int device, int64_t itemsize, int64_t batch, int64_t rows, int64_t columns,
                   const View<char>& bytes, const int32_t* pivots, int64_t pivot_step, int64_t begin, int64_t end,
                   bool backwards, LinalgFailure fault) {
  if (batch == 0 || columns == 0 || end <= begin) return;
  constexpr void (*kernels[5])(ExchangeArgs) = {exchange_kernel<uint8_t>, exchange_kernel<uint16_t>,
                                                exchange_kernel<uint32_t>, exchange_kernel<uint64_t>,
                                                exchange_kernel<Item16>};
  const int64_t tiles = (columns + kColumns - 1) / kColumns;
  STRIDED_CHECK(tiles * batch < kMaxItems, NotImplementedError, name, ": a batch of ", batch, " on device 'cuda'");
  const OnDevice guard(device);
  const ExchangeArgs a{bytes,      rows,  columns, tiles,     pivots,
                       pivot_step, begin, end,     backwards, reporter(device, name, static_cast<int>(fault))};
  launch(kernels[item_row(itemsize)], dim3(static_cast<unsigned>(tiles * batch)), dim3(kThreads), 0,
         current_stream(device), a);
  check_launch(name);
}

void exchange_rows(const OpContext& on, DType dtype, int64_t batch, int64_t rows, int64_t columns, void* a,
                   const int32_t* pivots, int64_t count, bool backwards) {
  const int64_t size = size_of(dtype);
  exchange_view(on.name, on.device, size, batch, rows, columns,
                {static_cast<char*>(a), columns * size, size, rows * columns * size}, pivots, count, 0, count,
                backwards, LinalgFailure::PivotOfUnpack);
}

void permutation_sign(const OpContext& on, int64_t batch, int64_t count, const int32_t* pivots, double* sign) {
  if (batch == 0) return;
  const OnDevice guard(on.device);
  constexpr int64_t warps = kThreads / kWarp;
  launch(permutation_sign_kernel, dim3(static_cast<unsigned>((batch + warps - 1) / warps)), dim3(kThreads), 0,
         current_stream(on.device), pivots, batch, count, sign);
  check_launch(on.name);
}

void check_info(const OpContext& on, LinalgFailure fault, const int32_t* info, int64_t n, bool batched, bool wait) {
  if (n == 0) return;
  const OnDevice guard(on.device);
  const cudaStream_t stream = current_stream(on.device);
  launch(check_info_kernel, dim3(1), dim3(kCheckThreads), 0, stream, info, n, batched,
         reporter(on.device, on.name, static_cast<int>(fault)));
  check_launch(on.name);
  if (wait) synchronize_stream(on.device, stream);
}

}  // namespace cuda
}  // namespace strided
