// One element of each row, or the first few.
//
// Note [Radix selection]
// Of long rows the k-th key is found digit by digit, most significant first: tiles count the digits of the keys that
// begin with those already known, and a block for each row sees in which of them the k-th one is (as T. Alabi, J. D.
// Blanchard, B. Gordon and R. Steinbach, "Fast k-selection algorithms for graphics processing units", ACM JEA 17,
// 2012). It reads the row once for each digit and writes nothing. The first k are then all smaller keys and the first
// of the equal ones, which are collected in their order and sorted. Short rows are sorted in shared memory.
#include <algorithm>

#include "cuda/runtime/block.h"
#include "cuda/runtime/operations.h"
#include "cuda/sort/short_rows.h"

namespace strided {
namespace cuda {
namespace {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kItems = 16, kTile = kThreads * kItems;
static_assert(kDigits == kThreads, "a thread for each digit");

// ---------------------------------------------------------------- short rows

// First place of a sorted row whose key is not less.
template <class Key, class K>
__device__ inline int64_t first_place(const Key& key, int64_t n, K x) {
  return insertion_place(key, n, x, false);
}

// Which of the k smallest and the medians is wanted, of rows with so many NaN, which come last.
__device__ inline int64_t wanted_rank(OrderStatistic what, int64_t k, int64_t n, int64_t nans) {
  if (what == OrderStatistic::Kth) return k;
  return nans > 0 && (what == OrderStatistic::Median || nans == n) ? n - nans : (n - nans - 1) / 2;
}

// Place of the element in a sorted row.
template <class K, class Key>
__device__ inline int64_t place_in_sorted(const KeyCode<K>& code, const Key& key, int64_t n, OrderStatistic what,
                                          int64_t k) {
  if (what == OrderStatistic::Mode) {
    int64_t best = 0, place = 0;
    for (int64_t i = 0, begin = 0; i < n; ++i) {
      if (i + 1 < n && key(i + 1) == key(i)) continue;
      if (i + 1 - begin > best) {
        best = i + 1 - begin;
        place = i;
      }
      begin = i + 1;
    }
    return place;
  }
  const int64_t nans = code.kind == KeyKind::Float ? n - first_place(key, n, KeyCode<K>::nan) : 0;
  return first_place(key, n, key(wanted_rank(what, k, n, nans)));
}

template <class K>
__global__ void __launch_bounds__(kThreads)
    select_short_kernel(const STRIDED_GRID_CONSTANT SortArgs<K> a, ShortRows rows, OrderStatistic what, int64_t k) {
  STRIDED_SHARED(typename Pairs<K>::Word, words, [kShortRow]);
  STRIDED_SHARED(uint16_t, places, [Pairs<K>::places]);
  const Pairs<K> pairs(words, places);
  const int here = sort_in_block(pairs, a, rows);
  for (int r = static_cast<int>(threadIdx.x); r < here; r += kThreads) {
    const int begin = r * rows.length;
    auto key = [=](int64_t i) { return pairs.key(begin + static_cast<int>(i)); };
    const int from = pairs.from(begin + static_cast<int>(place_in_sorted(a.code, key, a.n, what, k)));
    const int64_t row = rows.first() + r;
    a.values[row] = a.in[row * a.n + from];
    a.index[row] = from;
  }
}

// ---------------------------------------------------------------- long rows

struct RowState {
  unsigned long long key = 0;  // what is known of it; for the mode: length and place of the longest run
  int64_t rank = 0;            // among the keys that begin so
  int32_t nans = 0;
  int32_t first = 0;  // place of the first element with the key
};

template <class K>
struct LongRows {
  const K* in;
  int64_t n;
  uint32_t tiles;  // of a row
  KeyCode<K> code;
  K flip;
  RowState* state;

  LongRows(DType dtype, const char* data, int64_t length, bool descending, const Workspace& states)
      : in(reinterpret_cast<const K*>(data)),
        n(length),
        tiles(static_cast<uint32_t>(ceil_div(length, kTile))),
        code(key_code<K>(dtype)),
        flip(descending ? static_cast<K>(~K(0)) : K(0)),
        state(states.as<RowState>()) {}
  __device__ K key(int64_t row, int64_t i) const { return static_cast<K>(code.encode(in[row * n + i]) ^ flip); }
  __device__ int64_t row() const { return blockIdx.x / tiles; }
  __device__ int64_t begin() const { return static_cast<int64_t>(blockIdx.x % tiles) * kTile; }
};

template <class K>
__global__ void __launch_bounds__(kThreads) count_nan_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a) {
  int count = 0, all;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int64_t i = a.begin() + k * kThreads + threadIdx.x;
    count += i < a.n && a.code.is_nan(a.key(a.row(), i));
  }
  sum_before<int>(count, &all);
  if (threadIdx.x == 0 && all > 0) atomicAdd(&a.state[a.row()].nans, all);
}

__global__ void __launch_bounds__(kThreads)
    begin_kernel(RowState* state, int64_t rows, int64_t n, OrderStatistic what, int64_t k) {
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rows) return;
  state[r].rank = wanted_rank(what, k, n, state[r].nans);
  state[r].first = static_cast<int32_t>(n);
}

template <class K>
__global__ void __launch_bounds__(kThreads)
    count_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a, int shift, int* counts) {
  STRIDED_SHARED(int, count, [kDigits]);
  count[threadIdx.x] = 0;
  __syncthreads();
  const int64_t row = a.row();
  const uint64_t known = a.state[row].key;
  K key[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int64_t i = a.begin() + k * kThreads + threadIdx.x;
    key[k] = i < a.n ? a.key(row, i) : K(0);
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const uint64_t digits = static_cast<uint64_t>(key[k]) >> shift;
    if (a.begin() + k * kThreads + threadIdx.x < a.n && digits >> kDigitBits == known)
      atomicAdd(&count[digits & (kDigits - 1)], 1);
  }
  __syncthreads();
  if (count[threadIdx.x] > 0) atomicAdd(&counts[row * kDigits + threadIdx.x], count[threadIdx.x]);
}

__global__ void __launch_bounds__(kThreads) pick_kernel(RowState* state, int* counts) {
  const int64_t row = blockIdx.x;
  const RowState s = state[row];
  int& count = counts[row * kDigits + threadIdx.x];
  const int mine = count;
  int all;
  const int before = sum_before<int>(mine, &all);  // no thread has changed the state before all have read it
  if (before <= s.rank && s.rank < before + mine) {
    state[row].key = s.key << kDigitBits | threadIdx.x;
    state[row].rank = s.rank - before;
  }
  count = 0;
}

template <class K>
__global__ void __launch_bounds__(kThreads) find_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a) {
  const int64_t row = a.row();
  RowState& s = a.state[row];
  const K wanted = static_cast<K>(s.key);
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int64_t i = a.begin() + k * kThreads + threadIdx.x;
    if (i < a.n && a.key(row, i) == wanted && static_cast<int32_t>(i) < *const_cast<volatile int32_t*>(&s.first))
      atomicMin(&s.first, static_cast<int32_t>(i));
  }
}

// The longest run of equal keys in a sorted row, the first one of several.
template <class K>
__global__ void __launch_bounds__(kThreads) mode_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a) {
  const int64_t row = a.row();
  auto key = [=](int64_t i) { return a.key(row, i); };
  unsigned long long best = 0;
  for (int k = 0; k < kItems; ++k) {
    const int64_t i = a.begin() + k * kThreads + threadIdx.x;
    if (i >= a.n) break;
    const K here = key(i);
    if (i + 1 < a.n && key(i + 1) == here) continue;
    const uint64_t length = static_cast<uint64_t>(i > 0 && key(i - 1) == here ? i + 1 - first_place(key, i, here) : 1);
    const unsigned long long run = length << 32 | (0xffffffffu - static_cast<uint32_t>(i));
    best = run > best ? run : best;
  }
  for (unsigned step = kWarp / 2; step > 0; step /= 2) {
    const unsigned long long other = shuffle_down(best, step);
    best = other > best ? other : best;
  }
  if (threadIdx.x % kWarp == 0) atomicMax(&a.state[row].key, best);
}

template <class K>
__global__ void __launch_bounds__(kThreads)
    write_selected_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a, int64_t rows, const int64_t* order, K* values,
                          int64_t* index) {
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rows) return;
  int64_t at = a.state[r].first;
  if (order) at = order[r * a.n + (0xffffffffu - static_cast<uint32_t>(a.state[r].key))];
  values[r] = a.in[r * a.n + at];
  index[r] = at;
}

// Keys below the one that was found, and equal ones, in the order of the row. They are counted in the lower and upper
// half of a word, and a warp takes 512 neighbouring ones.
constexpr int kHalf = 16;
template <class K>
struct Smaller {
  K key[kItems];
  unsigned below[kItems], equal[kItems];  // of the lanes
  int64_t begin;                          // item of the lane; and every 32nd from there
  int before, all;                        // of the warp, of the tile
  __device__ explicit Smaller(const LongRows<K>& a) {
    STRIDED_SHARED(int, of_warp, [kThreads / kWarp]);
    const int64_t row = a.row();
    const K wanted = static_cast<K>(a.state[row].key);
    const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    begin = a.begin() + warp * (kWarp * kItems) + lane;
#pragma unroll
    for (int k = 0; k < kItems; ++k) key[k] = begin + k * kWarp < a.n ? a.key(row, begin + k * kWarp) : K(0);
    int sum = 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const bool inside = begin + k * kWarp < a.n;
      below[k] = __ballot_sync(kAllLanes, inside && key[k] < wanted);
      equal[k] = __ballot_sync(kAllLanes, inside && key[k] == wanted);
      sum += __popc(below[k]) + (__popc(equal[k]) << kHalf);
    }
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    before = all = 0;
    for (unsigned w = 0; w < kThreads / kWarp; ++w) {
      if (w == warp) before = all;
      all += of_warp[w];
    }
  }
};
// counts: [row][below, equal][tile]
template <class K>
__global__ void __launch_bounds__(kThreads)
    count_smaller_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a, int64_t* counts) {
  const Smaller<K> s(a);
  if (threadIdx.x > 1) return;
  counts[(a.row() * 2 + threadIdx.x) * a.tiles + blockIdx.x % a.tiles] =
      threadIdx.x == 0 ? s.all & ((1 << kHalf) - 1) : s.all >> kHalf;
}
template <class K>
__global__ void __launch_bounds__(kThreads)
    collect_kernel(const STRIDED_GRID_CONSTANT LongRows<K> a, const int64_t* ends, int64_t keep, K* values,
                   int64_t* position) {
  const Smaller<K> s(a);
  const int64_t row = a.row(), *end = ends + row * 2 * a.tiles, tile = blockIdx.x % a.tiles;
  const int mask = (1 << kHalf) - 1;
  int64_t below = end[tile] - (s.all & mask) + (s.before & mask);
  int64_t equal = end[a.tiles - 1] + end[a.tiles + tile] - (s.all >> kHalf) + (s.before >> kHalf);
  const unsigned lane = threadIdx.x % kWarp, lower = (1u << lane) - 1;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const bool is_below = s.below[k] >> lane & 1, is_equal = s.equal[k] >> lane & 1;
    const int64_t to = is_below ? below + __popc(s.below[k] & lower) : equal + __popc(s.equal[k] & lower);
    if ((is_below || is_equal) && to < keep) {
      const int64_t i = s.begin + k * kWarp;
      values[row * keep + to] = a.in[row * a.n + i];
      position[row * keep + to] = i;
    }
    below += __popc(s.below[k]);
    equal += __popc(s.equal[k]);
  }
}

RowSort sort_of(const SortPlan& plan, int64_t keep, bool descending) {
  RowSort sort;
  sort.name = plan.name;
  sort.device = plan.device;
  sort.dtype = plan.dtype;
  sort.in = plan.in;
  sort.n = plan.n;
  sort.rows = plan.rows;
  sort.keep = keep;
  sort.values = plan.values;
  sort.index = plan.index;
  sort.descending = descending;
  return sort;
}

template <class F>
void for_keys(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1: return f(Tag<uint8_t>{});
    case 2: return f(Tag<uint16_t>{});
    case 4: return f(Tag<uint32_t>{});
    default: return f(Tag<uint64_t>{});
  }
}

// What the kernels of long rows are launched with.
struct Launch {
  const char* name;
  cudaStream_t stream;
  dim3 tiles, rows;  // a block for each tile; a thread for each row

  explicit Launch(const SortPlan& plan) : name(plan.name), stream(current_stream(plan.device)) {
    const int64_t blocks = plan.rows * ceil_div(plan.n, kTile);
    STRIDED_CHECK(plan.n < kMaxItems && blocks < kMaxItems, NotImplementedError, name, ": ", plan.rows, " rows of ",
                  plan.n, " elements on device 'cuda'");
    tiles = dim3(static_cast<unsigned>(blocks));
    rows = dim3(static_cast<unsigned>(ceil_div(plan.rows, kThreads)));
  }
  template <class... P>
  void operator()(void (*kernel)(P...), dim3 grid, typename Exactly<P>::type... args) const {
    launch(kernel, grid, dim3(kThreads), 0, stream, args...);
    check_launch(name);
  }
};

// The key of the wanted rank of each row becomes known.
template <class K>
void find_keys(const Launch& run, const SortPlan& plan, const LongRows<K>& a, OrderStatistic what, int64_t k) {
  const size_t bytes = static_cast<size_t>(plan.rows) * kDigits * sizeof(int);
  const Workspace counts(bytes, plan.device);
  check(cudaMemsetAsync(counts.data(), 0, bytes, run.stream), run.name);
  check(cudaMemsetAsync(a.state, 0, static_cast<size_t>(plan.rows) * sizeof(RowState), run.stream), run.name);
  if (what != OrderStatistic::Kth && a.code.kind == KeyKind::Float) run(count_nan_kernel<K>, run.tiles, a);
  run(begin_kernel, run.rows, a.state, plan.rows, plan.n, what, k);
  for (int shift = 8 * static_cast<int>(sizeof(K)) - kDigitBits; shift >= 0; shift -= kDigitBits) {
    run(count_kernel<K>, run.tiles, a, shift, counts.as<int>());
    run(pick_kernel, dim3(static_cast<unsigned>(plan.rows)), a.state, counts.as<int>());
  }
}

template <class K>
void select_long(const SortPlan& plan, OrderStatistic what, int64_t k) {
  const Launch run(plan);
  const Workspace states(static_cast<size_t>(plan.rows) * sizeof(RowState), plan.device);
  const LongRows<K> a(plan.dtype, plan.in, plan.n, false, states);
  K* const values = reinterpret_cast<K*>(plan.values);
  if (what != OrderStatistic::Mode) {
    find_keys(run, plan, a, what, k);
    run(find_kernel<K>, run.tiles, a);
    return run(write_selected_kernel<K>, run.rows, a, plan.rows, nullptr, values, plan.index);
  }
  const size_t items = static_cast<size_t>(plan.rows * plan.n);
  const Workspace sorted(items * sizeof(K), plan.device), order(items * sizeof(int64_t), plan.device);
  SortPlan whole = plan;
  whole.values = sorted.data();
  whole.index = order.as<int64_t>();
  sort_rows(sort_of(whole, plan.n, false));
  check(cudaMemsetAsync(a.state, 0, static_cast<size_t>(plan.rows) * sizeof(RowState), run.stream), run.name);
  run(mode_kernel<K>, run.tiles, LongRows<K>(plan.dtype, sorted.data(), plan.n, false, states));
  run(write_selected_kernel<K>, run.rows, a, plan.rows, order.as<const int64_t>(), values, plan.index);
}

template <class K>
void top_long(const SortPlan& plan, int64_t keep, bool descending) {
  const Launch run(plan);
  const Workspace states(static_cast<size_t>(plan.rows) * sizeof(RowState), plan.device);
  const LongRows<K> a(plan.dtype, plan.in, plan.n, descending, states);
  find_keys(run, plan, a, OrderStatistic::Kth, keep - 1);
  const int64_t tiles = a.tiles;
  const size_t items = static_cast<size_t>(plan.rows * keep);
  const Workspace counts(static_cast<size_t>(plan.rows * 2 * tiles) * sizeof(int64_t), plan.device);
  const Workspace values(items * sizeof(K), plan.device), position(items * sizeof(int64_t), plan.device);
  run(count_smaller_kernel<K>, run.tiles, a, counts.as<int64_t>());
  scan({plan.name, plan.device, DType::Int64, plan.rows * 2, tiles, 1, counts.data(), counts.data(), nullptr},
       ScanOp::Sum);
  run(collect_kernel<K>, run.tiles, a, counts.as<const int64_t>(), keep, values.as<K>(), position.as<int64_t>());
  RowSort sort = sort_of(plan, keep, descending);
  sort.in = values.data();
  sort.n = keep;
  sort.position = position.as<const int64_t>();
  sort_rows(sort);
}

}  // namespace

void sort(const SortPlan& plan, int64_t keep, bool descending) {
  if (plan.rows == 0 || keep == 0) return;
  const OnDevice guard(plan.device);
  if (plan.n <= kShortRow || keep * 4 > plan.n) return sort_rows(sort_of(plan, keep, descending));
  for_keys(plan.dtype, [&](auto tag) { top_long<typename decltype(tag)::type>(plan, keep, descending); });
}

void order_statistic(const SortPlan& plan, OrderStatistic what, int64_t k) {
  if (plan.rows == 0) return;
  const OnDevice guard(plan.device);
  for_keys(plan.dtype, [&](auto tag) {
    using K = typename decltype(tag)::type;
    if (plan.n > kShortRow) return select_long<K>(plan, what, k);
    const ShortRows rows(plan.name, plan.n, plan.rows);
    launch(select_short_kernel<K>, rows.grid(), dim3(kThreads), 0, current_stream(plan.device),
           SortArgs<K>(sort_of(plan, 1, false)), rows, what, k);
    check_launch(plan.name);
  });
}

}  // namespace cuda
}  // namespace strided
