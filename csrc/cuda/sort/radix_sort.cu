#include <algorithm>

#include "cuda/runtime/block.h"
#include "cuda/runtime/operations.h"
#include "cuda/sort/short_rows.h"

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

// Radix sort.
// Long rows: for each digit, least significant first, tiles count their digits; a running sum over (digit, tile) of
// each row says where the items of each digit of each tile go; tiles move them, equal digits in the order they had (D.
// Merrill and A. Grimshaw, "High performance and scalable radix sorting", Parallel Processing Letters 21, 2011).
// Within a tile a warp takes 32 neighbouring items at a time: ballots tell each lane which others have its digit, and
// counters how many of them came before. Items are put in order in shared memory first, so that those of one digit
// leave it as neighbours. All rows go at once: a block is a tile of a row. The first pass makes the keys, the last one
// values.
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
static_assert(kDigits == kThreads, "a thread for each digit");
// Items of a thread, as many as fit its registers.
template <class K>
constexpr int sort_items = sizeof(K) == 8 ? 12 : 16;
template <class K>
constexpr int sort_tile = kThreads * sort_items<K>;

// Keys often have digits that are the same in all of them (small integers, integers held in floats). The first kernel
// finds the bits that differ, and passes over other digits end at once; only the last one always runs. Each block works
// out from those bits where the pass before it left the items, so that the host need not know.
template <class K>
struct PassArgs {
  explicit PassArgs(const SortArgs<K>& s) : sort(s) {}
  SortArgs<K> sort;
  K* keys = nullptr;  // two buffers of all items, used in turn; a sort in two passes has one
  int32_t* from = nullptr;
  int64_t items = 0;
  int64_t* starts = nullptr;                // [row][digit][tile]: items up to those
  unsigned long long* differing = nullptr;  // bits that differ within a row; null: all of them
  uint32_t tiles = 1;                       // of a row
  int pass = 0, passes = 1;

  __device__ unsigned digit(K key) const { return static_cast<unsigned>(key >> (pass * kDigitBits)) & (kDigits - 1); }
};
// Where a pass finds the items and leaves them; null: where the sort does.
template <class K>
struct Route {
  const K* keys = nullptr;
  const int32_t* from = nullptr;
  K* keys_out = nullptr;
  int32_t* from_out = nullptr;
  bool needed;

  __device__ explicit Route(const PassArgs<K>& a) {
    const bool last = a.pass == a.passes - 1;
    const unsigned long long bits = a.differing ? *a.differing : ~0ull;
    auto differs = [=](int pass) { return (bits >> (pass * kDigitBits) & (kDigits - 1)) != 0; };
    needed = last || differs(a.pass);
    int before = 0;
    for (int p = 0; p < a.pass; ++p) before += differs(p);
    if (before > 0) {
      keys = a.keys + (before - 1) % 2 * a.items;
      from = a.from + (before - 1) % 2 * a.items;
    }
    if (last) return;
    keys_out = a.keys + before % 2 * a.items;
    from_out = a.from + before % 2 * a.items;
  }
  __device__ K key(const PassArgs<K>& a, int64_t i) const { return keys ? keys[i] : a.sort.key_at(i); }
};

template <class K>
__global__ void __launch_bounds__(kThreads) find_differing_kernel(const STRIDED_GRID_CONSTANT PassArgs<K> a) {
  const int64_t row = blockIdx.x / a.tiles, begin = (blockIdx.x - row * a.tiles) * sort_tile<K>;
  const K first = a.sort.key_at(row * a.sort.n);
  unsigned long long bits = 0;
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k) {
    const int64_t i = begin + k * kThreads + threadIdx.x;
    if (i < a.sort.n) bits |= static_cast<uint64_t>(a.sort.key_at(row * a.sort.n + i) ^ first);
  }
  for (unsigned step = kWarp / 2; step > 0; step /= 2) bits |= shuffle_down(bits, step);
  if (threadIdx.x % kWarp == 0 && (bits & ~*const_cast<volatile unsigned long long*>(a.differing)) != 0)
    atomicOr(a.differing, bits);
}

template <class K>
__global__ void __launch_bounds__(kThreads) count_digits_kernel(const STRIDED_GRID_CONSTANT PassArgs<K> a) {
  STRIDED_SHARED(int, count, [kDigits]);
  const Route<K> route(a);
  if (!route.needed) return;
  count[threadIdx.x] = 0;
  __syncthreads();
  const int64_t row = blockIdx.x / a.tiles, tile = blockIdx.x - row * a.tiles, begin = tile * sort_tile<K>;
  K key[sort_items<K>];
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k) {
    const int64_t i = begin + k * kThreads + threadIdx.x;
    key[k] = i < a.sort.n ? route.key(a, row * a.sort.n + i) : K(0);
  }
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k)
    if (begin + k * kThreads + threadIdx.x < a.sort.n) atomicAdd(&count[a.digit(key[k])], 1);
  __syncthreads();
  a.starts[(row * kDigits + threadIdx.x) * a.tiles + tile] = count[threadIdx.x];
}

template <class K>
__global__ void __launch_bounds__(kThreads) move_digits_kernel(const STRIDED_GRID_CONSTANT PassArgs<K> a) {
  constexpr unsigned warps = kThreads / kWarp;
  using Item = std::conditional_t<sizeof(K) == 8, uint64_t, uint32_t>;  // keys, then places
  STRIDED_SHARED(Item, item, [sort_tile<K>]);
  STRIDED_SHARED(int, count, [warps * kDigits]);  // [warp][digit]
  STRIDED_SHARED(int, target, [kDigits]);         // where the first item of the tile goes, if it has that digit
  const Route<K> route(a);
  if (!route.needed) return;
  const int64_t row = blockIdx.x / a.tiles, tile = blockIdx.x - row * a.tiles, begin = tile * sort_tile<K>;
  const int64_t row_begin = row * a.sort.n, rest = a.sort.n - begin;
  const int items = rest < sort_tile<K> ? static_cast<int>(rest) : sort_tile<K>, me = static_cast<int>(threadIdx.x);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, lower = (1u << lane) - 1;
  const int own = static_cast<int>(warp * kWarp * sort_items<K> + lane);  // and every 32nd from there
  int* const counted = count + warp * kDigits;
  for (unsigned w = 0; w < warps; ++w) count[w * kDigits + threadIdx.x] = 0;

  K key[sort_items<K>];
  int place[sort_items<K>];
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k)
    key[k] = own + k * 32 < items ? route.key(a, row_begin + begin + own + k * 32) : K(0);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k) {
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
  for (int k = 0; k < sort_items<K>; ++k) {
    if (own + k * 32 >= items) break;
    place[k] += counted[a.digit(key[k])];
    item[place[k]] = static_cast<Item>(key[k]);
  }
  __syncthreads();
  int to[sort_items<K>];
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k) {
    const int p = k * kThreads + me;
    if (p >= items) break;
    key[k] = static_cast<K>(item[p]);
    to[k] = target[a.digit(key[k])] + p;
    if (route.keys_out) route.keys_out[row_begin + to[k]] = key[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k) {
    const int64_t i = begin + own + k * 32;
    if (own + k * 32 >= items) break;
    item[place[k]] = static_cast<Item>(route.from ? route.from[row_begin + i] : static_cast<int32_t>(i));
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < sort_items<K>; ++k) {
    const int p = k * kThreads + me;
    if (p >= items) break;
    const int32_t from = static_cast<int32_t>(item[p]);
    if (route.from_out) route.from_out[row_begin + to[k]] = from;
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
  const int64_t tiles = ceil_div(plan.n, sort_tile<K>), blocks = plan.rows * tiles;
  STRIDED_CHECK(plan.n < kMaxItems && blocks < kMaxItems, NotImplementedError, plan.name, ": ", plan.rows, " rows of ",
                plan.n, " elements on device 'cuda'");
  const int passes = std::max<int>(1, static_cast<int>(ceil_div(std::min<int>(plan.bits, 8 * sizeof(K)), kDigitBits)));
  const size_t items = static_cast<size_t>(plan.rows * plan.n), buffers = static_cast<size_t>(std::min(passes - 1, 2));
  const Workspace keys(buffers * items * sizeof(K), plan.device), from(buffers * items * sizeof(int32_t), plan.device),
      starts(static_cast<size_t>(blocks) * kDigits * sizeof(int64_t), plan.device);
  const bool looks = passes > 2;  // else there is little to be spared
  const Workspace differing(looks ? sizeof(unsigned long long) : 0, plan.device);
  PassArgs<K> a(sort);
  a.keys = keys.template as<K>();
  a.from = from.template as<int32_t>();
  a.items = static_cast<int64_t>(items);
  a.starts = starts.template as<int64_t>();
  a.differing = differing.template as<unsigned long long>();
  a.tiles = static_cast<uint32_t>(tiles);
  a.passes = passes;
  const dim3 grid(static_cast<unsigned>(blocks));
  if (looks) {
    check(cudaMemsetAsync(a.differing, 0, sizeof(unsigned long long), stream), plan.name);
    launch(find_differing_kernel<K>, grid, dim3(kThreads), 0, stream, a);
    check_launch(plan.name);
  }
  for (; a.pass < passes; ++a.pass) {
    launch(count_digits_kernel<K>, grid, dim3(kThreads), 0, stream, a);
    check_launch(plan.name);
    scan({plan.name, plan.device, DType::Int64, plan.rows, kDigits * tiles, 1, reinterpret_cast<const char*>(a.starts),
          reinterpret_cast<char*>(a.starts), nullptr},
         ScanOp::Sum);
    launch(move_digits_kernel<K>, grid, dim3(kThreads), 0, stream, a);
    check_launch(plan.name);
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
