#include <algorithm>

#include "cuda/block.h"
#include "cuda/operations.h"
#include "cuda/short_rows.h"

namespace strided {
namespace cuda {
namespace {

template <class K>
__global__ void __launch_bounds__(kThreads)
    sort_short_kernel(const STRIDED_GRID_CONSTANT SortArgs<K> a, ShortRows rows) {
  STRIDED_SHARED(typename Pairs<K>::Word, words, [kShortRow]);
  STRIDED_SHARED(uint16_t, places, [Pairs<K>::places]);
  const Pairs<K> pairs(words, places);
  const int64_t first = rows.first();
  const int here = sort_in_block(pairs, a, rows), keep = static_cast<int>(a.keep);
  for (int i = static_cast<int>(threadIdx.x); i < here * keep; i += kThreads) {
    const int row = i / keep, place = i - row * keep, at = row * rows.length + place;
    a.write(first + row, place, pairs.key(at), pairs.from(at));
  }
}

// Note [Radix sort]
// Long rows: for each digit, least significant first, tiles count their digits; a running sum over (digit, tile) of
// each row says where the items of each digit of each tile go; tiles move them, equal digits in the order they had (D.
// Merrill and A. Grimshaw, "High performance and scalable radix sorting", Parallel Processing Letters 21, 2011).
// Within a tile a warp takes 32 neighbouring items at a time: ballots tell each lane which others have its digit, and
// counters how many of them came before. Items are put in order in shared memory first, so that those of one digit
// leave it as neighbours. All rows go at once: a block is a tile of a row. The first pass makes the keys, the last one
// values.
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kSortItems = 16, kTile = kThreads * kSortItems;
static_assert(kDigits == kThreads, "a thread for each digit");

template <class K>
struct PassArgs {
  explicit PassArgs(const SortArgs<K>& s) : sort(s) {}
  SortArgs<K> sort;
  const K* keys = nullptr;        // null: the first pass
  const int32_t* from = nullptr;  // likewise
  K* keys_out = nullptr;          // null: the last pass
  int32_t* from_out = nullptr;
  int64_t* starts = nullptr;  // [row][digit][tile]: items up to those
  uint32_t tiles = 1;         // of a row
  int shift = 0;

  __device__ K key(int64_t i) const { return keys ? keys[i] : sort.key_at(i); }
  __device__ unsigned digit(K key) const { return static_cast<unsigned>(key >> shift) & (kDigits - 1); }
};

template <class K>
__global__ void __launch_bounds__(kThreads) count_digits_kernel(const STRIDED_GRID_CONSTANT PassArgs<K> a) {
  STRIDED_SHARED(int, count, [kDigits]);
  count[threadIdx.x] = 0;
  __syncthreads();
  const int64_t row = blockIdx.x / a.tiles, tile = blockIdx.x - row * a.tiles, begin = tile * kTile;
  K key[kSortItems];
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    const int64_t i = begin + k * kThreads + threadIdx.x;
    key[k] = i < a.sort.n ? a.key(row * a.sort.n + i) : K(0);
  }
#pragma unroll
  for (int k = 0; k < kSortItems; ++k)
    if (begin + k * kThreads + threadIdx.x < a.sort.n) atomicAdd(&count[a.digit(key[k])], 1);
  __syncthreads();
  a.starts[(row * kDigits + threadIdx.x) * a.tiles + tile] = count[threadIdx.x];
}

template <class K>
__global__ void __launch_bounds__(kThreads) move_digits_kernel(const STRIDED_GRID_CONSTANT PassArgs<K> a) {
  constexpr unsigned warps = kThreads / kWarp;
  using Item = std::conditional_t<sizeof(K) == 8, uint64_t, uint32_t>;  // keys, then places
  STRIDED_SHARED(Item, item, [kTile]);
  STRIDED_SHARED(int, count, [warps * kDigits]);  // [warp][digit]
  STRIDED_SHARED(int, target, [kDigits]);         // where the first item of the tile goes, if it has that digit
  const int64_t row = blockIdx.x / a.tiles, tile = blockIdx.x - row * a.tiles, begin = tile * kTile;
  const int64_t row_begin = row * a.sort.n, rest = a.sort.n - begin;
  const int items = rest < kTile ? static_cast<int>(rest) : kTile, me = static_cast<int>(threadIdx.x);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, lower = (1u << lane) - 1;
  const int own = static_cast<int>(warp * kWarp * kSortItems + lane);  // and every 32nd from there
  int* const counted = count + warp * kDigits;
  for (unsigned w = 0; w < warps; ++w) count[w * kDigits + threadIdx.x] = 0;

  K key[kSortItems];
  int place[kSortItems];
#pragma unroll
  for (int k = 0; k < kSortItems; ++k)
    key[k] = own + k * 32 < items ? a.key(row_begin + begin + own + k * 32) : K(0);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    const bool valid = own + k * 32 < items;
    const unsigned digit = a.digit(key[k]);
    unsigned same = __ballot_sync(kAllLanes, valid);
#pragma unroll
    for (int b = 0; b < kDigitBits; ++b) {
      const bool one = digit >> b & 1;
      const unsigned ones = __ballot_sync(kAllLanes, one);
      same &= one ? ones : ~ones;
    }
    const int before = counted[digit];
    place[k] = before + __popc(same & lower);
    __syncwarp();
    if (valid && (same & lower) == 0) counted[digit] = before + __popc(same);
    __syncwarp();
  }
  __syncthreads();
  // Each thread has a digit: its items in the warps before each warp, and all smaller digits.
  int sum = 0, all;
  for (unsigned w = 0; w < warps; ++w) {
    const int here = count[w * kDigits + threadIdx.x];
    count[w * kDigits + threadIdx.x] = sum;
    sum += here;
  }
  const int smaller = sum_before<int>(sum, &all);
  for (unsigned w = 0; w < warps; ++w) count[w * kDigits + threadIdx.x] += smaller;
  target[threadIdx.x] = static_cast<int>(a.starts[(row * kDigits + threadIdx.x) * a.tiles + tile]) - sum - smaller;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    if (own + k * 32 >= items) break;
    place[k] += counted[a.digit(key[k])];
    item[place[k]] = static_cast<Item>(key[k]);
  }
  __syncthreads();
  int to[kSortItems];
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    const int p = k * kThreads + me;
    if (p >= items) break;
    key[k] = static_cast<K>(item[p]);
    to[k] = target[a.digit(key[k])] + p;
    if (a.keys_out) a.keys_out[row_begin + to[k]] = key[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    const int64_t i = begin + own + k * 32;
    if (own + k * 32 >= items) break;
    item[place[k]] = static_cast<Item>(a.from ? a.from[row_begin + i] : static_cast<int32_t>(i));
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    const int p = k * kThreads + me;
    if (p >= items) break;
    const int32_t from = static_cast<int32_t>(item[p]);
    if (a.from_out) a.from_out[row_begin + to[k]] = from;
    else a.sort.write(row, to[k], key[k], from);
  }
}

template <class K>
void sort_short(const RowSort& plan, const SortArgs<K>& sort, cudaStream_t stream) {
  const ShortRows rows(plan.name, plan.n, plan.rows);
  launch(sort_short_kernel<K>, rows.grid(), dim3(kThreads), 0, stream, sort, rows);
  check_launch(plan.name);
}

template <class K>
void sort_long(const RowSort& plan, const SortArgs<K>& sort, cudaStream_t stream) {
  const int64_t tiles = ceil_div(plan.n, kTile), blocks = plan.rows * tiles;
  STRIDED_CHECK(plan.n < kMaxItems && blocks < kMaxItems, NotImplementedError, plan.name, ": ", plan.rows, " rows of ",
                plan.n, " elements on device 'cuda'");
  const int passes = std::max<int>(1, static_cast<int>(ceil_div(std::min<int>(plan.bits, 8 * sizeof(K)), kDigitBits)));
  const size_t items = static_cast<size_t>(plan.rows * plan.n);
  // Two passes need one place between them, more need two in turn.
  const int buffers = std::min(passes - 1, 2);
  const Workspace keys(buffers * items * sizeof(K), plan.device), from(buffers * items * sizeof(int32_t), plan.device),
      starts(static_cast<size_t>(blocks) * kDigits * sizeof(int64_t), plan.device);
  PassArgs<K> a(sort);
  a.starts = starts.template as<int64_t>();
  a.tiles = static_cast<uint32_t>(tiles);
  const dim3 grid(static_cast<unsigned>(blocks));
  for (int pass = 0; pass < passes; ++pass) {
    const bool last = pass == passes - 1;
    a.shift = pass * kDigitBits;
    a.keys_out = last ? nullptr : keys.template as<K>() + (pass % 2) * items;
    a.from_out = last ? nullptr : from.template as<int32_t>() + (pass % 2) * items;
    launch(count_digits_kernel<K>, grid, dim3(kThreads), 0, stream, a);
    check_launch(plan.name);
    scan(ScanOp::Sum, {plan.name, plan.device, DType::Int64, plan.rows, kDigits * tiles, 1,
                       reinterpret_cast<const char*>(a.starts), reinterpret_cast<char*>(a.starts), nullptr});
    launch(move_digits_kernel<K>, grid, dim3(kThreads), 0, stream, a);
    check_launch(plan.name);
    a.keys = a.keys_out;
    a.from = a.from_out;
  }
}

template <class K>
void sort_keys(const RowSort& plan) {
  const SortArgs<K> a(plan);
  const OnDevice guard(plan.device);
  const cudaStream_t stream = current_stream(plan.device);
  if (plan.n <= kShortRow) sort_short(plan, a, stream);
  else sort_long(plan, a, stream);
}

}  // namespace

void sort_rows(const RowSort& plan) {
  if (plan.rows == 0 || plan.keep == 0) return;
  switch (size_of(plan.dtype)) {
    case 1: return sort_keys<uint8_t>(plan);
    case 2: return sort_keys<uint16_t>(plan);
    case 4: return sort_keys<uint32_t>(plan);
    default: return sort_keys<uint64_t>(plan);
  }
}

}  // namespace cuda
}  // namespace strided
