// The running reductions of backend/scan_steps.h on the device.
//
// Scans on the device.
// Contiguous rows are taken as one sequence that is cut into tiles: a block brings a tile to shared memory, each
// thread runs over the few elements that stand together for it, and a segmented scan over the threads (G. E. Blelloch,
// "Prefix sums and their applications", CMU-CS-90-190, 1990) says what stands before them, nothing where a row begins.
// So short rows fill blocks as well as long ones. Rows side by side need none of that: each thread has a column. Where
// there are too few rows to fill a device they are cut into parts: a first launch leaves the state of each part, a
// second one makes of them the state before each, and the third, as for whole rows, begins with that. (One launch
// whose blocks look back at each other would read less, but its order of additions, and so its rounding, would differ
// from run to run.) How a scan is cut follows from its shape alone.
#pragma once

#include "backend/backend.h"
#include "backend/scan_steps.h"
#include "cuda/pointwise/loop.h"
#include "cuda/pointwise/pointwise.h"

namespace strided {
namespace cuda {

struct ScanArgs {
  const char* in = nullptr;
  char* out = nullptr;
  int64_t* position = nullptr;
  int64_t n = 0, rows = 0;
  int64_t inner = 1;          // rows side by side
  int64_t rows_of_block = 1;  // contiguous rows
  int64_t part_size = 0, parts = 1;
  char* partial = nullptr;    // [part][row] states
  bool only_partial = false;  // the first launch
};

// State of consecutive elements, and whether a row begins among them: then it is that of the last row's elements.
template <class S>
struct Segment {
  S state;
  int32_t begins;
  __device__ void append(const Segment& next) {
    if (next.begins) *this = next;
    else state.append(next.state);
  }
};

// What the threads before this one have, appended in their order; *all becomes that of all threads. Between two calls
// there must be a barrier.
template <class G>
__device__ inline G append_before(const G& mine, const G& nothing, G* all) {
  STRIDED_SHARED(G, of_warp, [kThreads / kWarp]);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  G sum = mine;
  for (unsigned step = 1; step < kWarp; step *= 2) {
    G other = shuffle_up(sum, step);
    if (lane >= step) {
      other.append(sum);
      sum = other;
    }
  }
  if (lane == kWarp - 1) of_warp[warp] = sum;
  __syncthreads();
  G before = nothing, total = nothing;
  for (unsigned w = 0; w < kThreads / kWarp; ++w) {
    if (w == warp) before = total;
    total.append(of_warp[w]);
  }
  const G neighbour = shuffle_up(sum, 1);
  if (lane > 0) before.append(neighbour);
  *all = total;
  return before;
}

// Elements of a thread: an odd number of words, so that threads that walk over theirs meet in no bank.
template <class Op, class T>
constexpr int scan_items = Op::positions || sizeof(T) == 8 ? 7
                           : sizeof(T) == 16               ? 3
                           : sizeof(T) == 4                ? 13
                                                           : 14;
template <class Op, class T>
constexpr int scan_tile = kThreads * scan_items<Op, T>;

template <class Op, class T>
__global__ void __launch_bounds__(kThreads) scan_rows_kernel(const STRIDED_GRID_CONSTANT ScanArgs a) {
  using S = typename Op::template State<T>;
  using G = Segment<S>;
  constexpr int items = scan_items<Op, T>, tile = scan_tile<Op, T>;
  STRIDED_SHARED(memory_t<T>, item, [tile]);
  STRIDED_SHARED(int64_t, place, [Op::positions ? tile : 1]);
  // Some rows, or a part of one.
  const int64_t row = blockIdx.x * a.rows_of_block, more = a.rows - row;
  const int64_t rows = more < a.rows_of_block ? more : a.rows_of_block;
  const int64_t in_row = blockIdx.y * a.part_size, rest = rows * a.n - in_row;
  const int64_t begin = row * a.n + in_row, length = a.parts > 1 && a.part_size < rest ? a.part_size : rest;
  const memory_t<T>* in = reinterpret_cast<const memory_t<T>*>(a.in) + begin;
  memory_t<T>* out = reinterpret_cast<memory_t<T>*>(a.out) + begin;
  const int own = static_cast<int>(threadIdx.x) * items;

  const G nothing{S::first(), 0};
  G carry = nothing;
  if (a.parts > 1 && !a.only_partial) carry.state = reinterpret_cast<const S*>(a.partial)[blockIdx.y * a.rows + row];
#pragma unroll 1
  for (int64_t base = 0; base < length; base += tile) {
    const int count = length - base < tile ? static_cast<int>(length - base) : tile;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const int j = k * kThreads + static_cast<int>(threadIdx.x);
      if (j < count) item[j] = in[base + j];
    }
    __syncthreads();
    // Blocks with several rows are short.
    int64_t first = in_row + base + own;
    if (rows > 1) first = static_cast<uint32_t>(first) % static_cast<uint32_t>(a.n);
    int64_t at = first;
    G mine = nothing;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (own + k >= count) break;
      if (at == a.n) at = 0;
      if (at == 0) mine = {S::first(), 1};
      mine.state.add(value_of<T>(item[own + k]), at++);
    }
    G all, before = carry;
    before.append(append_before(mine, nothing, &all));
    carry.append(all);
    if (!a.only_partial) {
      S s = before.state;
      at = first;
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (own + k >= count) break;
        if (at == a.n) at = 0;
        if (at == 0) s = S::first();
        s.add(value_of<T>(item[own + k]), at++);
        item[own + k] = s.value();
        if constexpr (Op::positions) place[own + k] = s.position();
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const int j = k * kThreads + static_cast<int>(threadIdx.x);
        if (j >= count) break;
        out[base + j] = item[j];
        if constexpr (Op::positions) a.position[begin + base + j] = place[j];
      }
    }
    __syncthreads();
  }
  if (a.only_partial && threadIdx.x == 0) reinterpret_cast<S*>(a.partial)[blockIdx.y * a.rows + row] = carry.state;
}

// The state before each part of a row; a block for a row.
template <class Op, class T>
__global__ void __launch_bounds__(kThreads) scan_parts_kernel(const STRIDED_GRID_CONSTANT ScanArgs a) {
  using S = typename Op::template State<T>;
  using G = Segment<S>;
  S* states = reinterpret_cast<S*>(a.partial) + blockIdx.x;
  const int64_t own = (a.parts + kThreads - 1) / kThreads, begin = threadIdx.x * own, stop = begin + own;
  const int64_t end = stop < a.parts ? stop : a.parts;
  const G nothing{S::first(), 0};
  G mine = nothing, all;
  for (int64_t p = begin; p < end; ++p) mine.state.append(states[p * a.rows]);
  S before = append_before(mine, nothing, &all).state;
  for (int64_t p = begin; p < end; ++p) {
    const S here = states[p * a.rows];
    states[p * a.rows] = before;
    before.append(here);
  }
}

// Threads are numbered through the rows of the first part, then of the second, ...
template <class Op, class T>
__global__ void __launch_bounds__(kThreads) scan_columns_kernel(const STRIDED_GRID_CONSTANT ScanArgs a) {
  using S = typename Op::template State<T>;
  constexpr int ahead = 8;  // loads that do not wait for each other
  const int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (i >= a.rows * a.parts) return;
  const int64_t part = a.parts == 1 ? 0 : i / a.rows, row = i - part * a.rows;
  const int64_t outer = row / a.inner, begin = part * a.part_size, stop = begin + a.part_size;
  const int64_t end = stop < a.n ? stop : a.n, start = outer * (a.n - 1) * a.inner + row;
  const memory_t<T>* in = reinterpret_cast<const memory_t<T>*>(a.in) + start;
  memory_t<T>* out = reinterpret_cast<memory_t<T>*>(a.out) + start;
  S s = S::first();
  if (a.parts > 1 && !a.only_partial) s = reinterpret_cast<const S*>(a.partial)[i];
#pragma unroll 1
  for (int64_t p = begin; p < end; p += ahead) {
    memory_t<T> x[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k)
      if (p + k < end) x[k] = in[(p + k) * a.inner];
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (p + k >= end) break;
      s.add(value_of<T>(x[k]), p + k);
      if (a.only_partial) continue;
      out[(p + k) * a.inner] = s.value();
      if constexpr (Op::positions) a.position[start + (p + k) * a.inner] = s.position();
    }
  }
  if (a.only_partial) reinterpret_cast<S*>(a.partial)[i] = s;
}

struct ScanEntry {
  void (*rows)(ScanArgs) = nullptr;
  void (*parts)(ScanArgs) = nullptr;
  void (*columns)(ScanArgs) = nullptr;
  int64_t state_size = 0, tile = 0;
};
struct ScanTable {
  ScanEntry entry[kNumScans][kNumDTypes];
};
template <class Op>
void fill_scan(ScanTable& table, ScanOp op) {
  for_each(typename Op::Types{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    table.entry[static_cast<int>(op)][index_of(dtype_of<T>)] = {
        scan_rows_kernel<Op, T>, scan_parts_kernel<Op, T>, scan_columns_kernel<Op, T>,
        sizeof(typename Op::template State<T>), scan_tile<Op, T>};
  });
}
void fill_scan_folds(ScanTable& table);
void fill_scan_extremes(ScanTable& table);

// Softmax, or its logarithm; false where the dtype has none.
bool softmax(const ScanPlan& plan, bool logarithm);

}  // namespace cuda
}  // namespace strided
