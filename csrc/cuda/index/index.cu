#include "cuda/index/index.h"

#include <algorithm>
#include <numeric>

#include "cuda/runtime/operations.h"
#include "cuda/runtime/runtime.h"
#include "cuda/sort/sort_rows.h"

namespace strided {
namespace cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads) gather_kernel(const STRIDED_GRID_CONSTANT IndexArgs a) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  int64_t to, from;
  if (i < a.n && a.find(i, &to, &from))
    *reinterpret_cast<T*>(a.dense + to) = *reinterpret_cast<const T*>(a.indexed + from);
}

// wins: whether a row is the last one for its place; null when order does not matter.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const STRIDED_GRID_CONSTANT IndexArgs a, const uint8_t* wins) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= a.n || (wins && !wins[a.by_free.divide(i)])) return;
  int64_t from, to;
  if (a.find(i, &from, &to)) *reinterpret_cast<T*>(a.indexed + to) = *reinterpret_cast<const T*>(a.dense + from);
}

// Numbers for the places of rows: byte offsets, made small by what all of them have in common.
struct Places {
  int64_t low = 0, unit = 1, count = 1;
};

// place[row]; ~0 for a row with a bad index, which then comes last in any order.
__global__ void __launch_bounds__(kThreads)
    place_kernel(const STRIDED_GRID_CONSTANT IndexArgs a, Places places, uint64_t* place) {
  const uint32_t r = blockIdx.x * kThreads + threadIdx.x, rows = a.n / a.free;
  if (r >= rows) return;
  int64_t dense, indexed;
  const bool good = a.find(r * a.free, &dense, &indexed);
  place[r] = good ? static_cast<uint64_t>((indexed - places.low) / places.unit) : ~uint64_t(0);
}

// The last one wins, on the device.
// Few rows are compared with each other. For many there is a table with an entry for each place, not cleared: first
// every row writes its number there, and some of them stay; then every row raises the entry to its number where that is
// greater. Now the entry is the last row for the place, whatever stood there before and whoever came first. Where the
// table would be much larger than the rows, these are sorted by place.
constexpr int64_t kFewRows = 1024;
constexpr int64_t kPlacesPerRow = 64;
__global__ void __launch_bounds__(kThreads) compare_rows_kernel(const uint64_t* place, uint8_t* wins, int rows) {
  const int r = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (r >= rows) return;
  bool last = true;
  for (int other = r + 1; other < rows; ++other) last = last && place[other] != place[r];
  wins[r] = last;
}
__global__ void __launch_bounds__(kThreads) enter_rows_kernel(const uint64_t* place, int* table, int rows) {
  const int r = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (r < rows && place[r] != ~uint64_t(0)) table[place[r]] = r;
}
__global__ void __launch_bounds__(kThreads) raise_rows_kernel(const uint64_t* place, int* table, int rows) {
  const int r = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (r < rows && place[r] != ~uint64_t(0) && table[place[r]] < r) atomicMax(&table[place[r]], r);
}
__global__ void __launch_bounds__(kThreads)
    last_rows_kernel(const uint64_t* place, const int* table, uint8_t* wins, int rows) {
  const int r = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (r < rows) wins[r] = place[r] != ~uint64_t(0) && table[place[r]] == r;
}
__global__ void __launch_bounds__(kThreads)
    last_sorted_kernel(const uint64_t* place, const int64_t* row, uint8_t* wins, int rows) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < rows) wins[row[i]] = i == rows - 1 || place[i + 1] != place[i];
}

const IndexTable& index_table() {
  static const IndexTable table = [] {
    IndexTable t;
    fill_index_copies(t);
    fill_index_sorted(t);
    fill_index_atomic(t);
    return t;
  }();
  return table;
}

unsigned blocks(int64_t n) { return static_cast<unsigned>((n + kThreads - 1) / kThreads); }

bool is_empty(const IndexPlan& plan) {
  return std::any_of(plan.shape, plan.shape + plan.ndim, [](int64_t length) { return length == 0; });
}

struct Axis {
  int64_t length, stride[IndexArgs::kOperands];
  bool free;
};

// The plan as a kernel wants it: free axes inside, neighbours merged, several small items taken as one large where rows
// are contiguous (only_bytes: they merely move).
struct Prepared {
  IndexArgs args;
  int64_t itemsize;
  Places places;
};
Prepared prepare(const IndexPlan& plan, bool only_bytes) {
  STRIDED_CHECK(plan.n_indices <= IndexPlan::kMaxIndices, NotImplementedError, plan.name, ": more than ",
                IndexPlan::kMaxIndices, " index tensors on device 'cuda'");
  Prepared p;
  IndexArgs& a = p.args;
  p.itemsize = size_of(plan.dtype);
  Axis axis[64];
  int n = 0;
  const int operands = 2 + plan.n_indices;
  for (const bool free : {true, false}) {  // the order of rows among themselves stays
    const int group = n;
    for (int i = plan.ndim - 1; i >= 0; --i) {
      Axis x{plan.shape[i], {plan.dense_strides[i], plan.indexed_strides[i]}, plan.indexed_strides[i] != 0};
      for (int k = 0; k < plan.n_indices; ++k) {
        x.stride[2 + k] = plan.index[k].strides[i];
        x.free = x.free && x.stride[2 + k] == 0;
      }
      if (x.free != free || x.length == 1) continue;
      bool follows = n > group;
      for (int k = 0; follows && k < operands; ++k) follows = axis[n - 1].stride[k] * axis[n - 1].length == x.stride[k];
      if (follows) axis[n - 1].length *= x.length;
      else axis[n++] = x;
    }
  }
  if (only_bytes && n > 0 && axis[0].free && axis[0].stride[0] == p.itemsize && axis[0].stride[1] == p.itemsize) {
    uint64_t common = reinterpret_cast<uintptr_t>(plan.dense) | reinterpret_cast<uintptr_t>(plan.indexed) |
                      static_cast<uint64_t>(axis[0].length * p.itemsize);
    for (int d = 1; d < n; ++d)
      common |= static_cast<uint64_t>(axis[d].stride[0]) | static_cast<uint64_t>(axis[d].stride[1]);
    for (int k = 0; k < plan.n_indices; ++k) common |= static_cast<uint64_t>(plan.index[k].stride);
    int64_t item = 16;
    while (common % static_cast<uint64_t>(item) != 0) item /= 2;
    if (item > p.itemsize) {
      axis[0].length = axis[0].length * p.itemsize / item;
      axis[0].stride[0] = axis[0].stride[1] = p.itemsize = item;
    }
  }
  STRIDED_CHECK(n <= kMaxAxes, NotImplementedError, plan.name, ": more than ", kMaxAxes, " axes on device 'cuda'");
  int64_t numel = 1, free = 1;
  for (int d = 0; d < n; ++d) numel *= axis[d].length;
  STRIDED_CHECK(numel < kMaxItems, NotImplementedError, plan.name, ": an indexed copy of ", numel,
                " elements on device 'cuda'");
  int64_t high = 0;
  auto reach = [&](int64_t stride, int64_t length) {
    (stride < 0 ? p.places.low : high) += stride * (length - 1);
    p.places.unit = std::gcd(p.places.unit, stride);
  };
  p.places.unit = 0;
  for (int d = 0; d < n; ++d) {
    if (axis[d].free) free *= axis[d].length;
    else reach(axis[d].stride[1], axis[d].length);
    a.length[d] = Divisor(static_cast<uint32_t>(axis[d].length));
    std::copy(axis[d].stride, axis[d].stride + operands, a.stride[d]);
  }
  a.n = static_cast<uint32_t>(numel);
  a.free = static_cast<uint32_t>(free);
  a.by_free = Divisor(a.free > 0 ? a.free : 1);
  a.ndim = n;
  a.dense = plan.dense;
  a.indexed = plan.indexed;
  a.wrap = plan.wrap;
  a.n_indices = plan.n_indices;
  for (int k = 0; k < plan.n_indices; ++k) {
    a.index[k] = reinterpret_cast<const char*>(plan.index[k].data);
    a.size[k] = plan.index[k].size;
    a.step[k] = plan.index[k].stride;
    a.axis[k] = plan.index[k].axis;
    reach(plan.index[k].stride, std::max<int64_t>(plan.index[k].size, 1));
  }
  if (p.places.unit == 0) p.places.unit = 1;
  p.places.count = (high - p.places.low) / p.places.unit + 1;
  a.reporter = reporter(plan.device, plan.name, 0);
  return p;
}

// More bits than the numbers of places need, so that rows with a bad index come after all of them.
int bits_for(const Places& places) {
  int bits = 1;
  while (bits < 64 && (places.count >> (bits - 1)) != 0) ++bits;
  return bits;
}

class RowsByPlace {
 public:
  RowsByPlace(const IndexPlan& plan, const Places& places, const Workspace& place, int64_t rows)
      : place_(static_cast<size_t>(rows) * sizeof(uint64_t), plan.device),
        row_(static_cast<size_t>(rows) * sizeof(int64_t), plan.device) {
    RowSort sort;
    sort.name = plan.name;
    sort.device = plan.device;
    sort.in = place.data();
    sort.n = sort.keep = rows;
    sort.values = place_.data();
    sort.index = row_.as<int64_t>();
    sort.bits = bits_for(places);
    sort_rows(sort);
  }
  SortedRows get() const { return {place_.as<const uint64_t>(), row_.as<const int64_t>()}; }

 private:
  Workspace place_, row_;
};

// Can two elements that differ go to one place?
bool order_matters(const IndexPlan& plan, const IndexArgs& a) {
  if (a.n == a.free) return false;
  for (int i = 0; i < plan.ndim; ++i)
    if (plan.dense_strides[i] != 0 && plan.shape[i] > 1) return true;
  return false;
}

}  // namespace

void fill_index_copies(IndexTable& table) {
  auto fill = [&](auto tag) {
    using T = typename decltype(tag)::type;
    table.gather[item_row(sizeof(T))] = gather_kernel<T>;
    table.scatter[item_row(sizeof(T))] = scatter_kernel<T>;
  };
  fill(Tag<uint8_t>{});
  fill(Tag<uint16_t>{});
  fill(Tag<uint32_t>{});
  fill(Tag<uint64_t>{});
  fill(Tag<Item16>{});
}

void gather(const IndexPlan& plan) {
  if (is_empty(plan)) return;
  const Prepared p = prepare(plan, true);
  const OnDevice guard(plan.device);
  launch(index_table().gather[item_row(p.itemsize)], dim3(blocks(p.args.n)), dim3(kThreads), 0,
         current_stream(plan.device), p.args);
  check_launch(plan.name);
}

void scatter(const IndexPlan& plan) {
  if (is_empty(plan)) return;
  const Prepared p = prepare(plan, true);
  const IndexArgs& a = p.args;
  const OnDevice guard(plan.device);
  const cudaStream_t stream = current_stream(plan.device);
  const auto kernel = index_table().scatter[item_row(p.itemsize)];
  if (!order_matters(plan, a)) {
    launch(kernel, dim3(blocks(a.n)), dim3(kThreads), 0, stream, a, nullptr);
    return check_launch(plan.name);
  }
  const int rows = static_cast<int>(a.n / a.free);
  const dim3 grid(blocks(rows));
  const Workspace place(static_cast<size_t>(rows) * sizeof(uint64_t), plan.device),
      wins(static_cast<size_t>(rows), plan.device);
  launch(place_kernel, grid, dim3(kThreads), 0, stream, a, p.places, place.as<uint64_t>());
  check_launch(plan.name);
  if (rows <= kFewRows) {
    launch(compare_rows_kernel, grid, dim3(kThreads), 0, stream, place.as<const uint64_t>(), wins.as<uint8_t>(), rows);
  } else if (p.places.count / kPlacesPerRow > rows) {
    const RowsByPlace sorted(plan, p.places, place, rows);
    launch(last_sorted_kernel, grid, dim3(kThreads), 0, stream, sorted.get().place, sorted.get().row,
           wins.as<uint8_t>(), rows);
  } else {
    const Workspace table(static_cast<size_t>(p.places.count) * sizeof(int), plan.device);
    launch(enter_rows_kernel, grid, dim3(kThreads), 0, stream, place.as<const uint64_t>(), table.as<int>(), rows);
    launch(raise_rows_kernel, grid, dim3(kThreads), 0, stream, place.as<const uint64_t>(), table.as<int>(), rows);
    launch(last_rows_kernel, grid, dim3(kThreads), 0, stream, place.as<const uint64_t>(), table.as<const int>(),
           wins.as<uint8_t>(), rows);
  }
  check_launch(plan.name);
  launch(kernel, dim3(blocks(a.n)), dim3(kThreads), 0, stream, a, wins.as<const uint8_t>());
  check_launch(plan.name);
}

void scatter_reduce(const IndexPlan& plan, ScatterOp op) {
  if (is_empty(plan)) return;
  const Prepared p = prepare(plan, false);
  const IndexArgs& a = p.args;
  const int o = static_cast<int>(op), t = index_of(plan.dtype);
  const OnDevice guard(plan.device);
  const cudaStream_t stream = current_stream(plan.device);
  if (const auto kernel = index_table().reduce_atomic[o][t]) {
    launch(kernel, dim3(blocks(a.n)), dim3(kThreads), 0, stream, a);
    return check_launch(plan.name);
  }
  const auto kernel = o < 2 ? index_table().reduce_sorted[o][t] : nullptr;
  STRIDED_CHECK(kernel, NotImplementedError, plan.name, ": not implemented for ", plan.dtype, " on device 'cuda'");
  const int64_t rows = a.n / a.free;
  const Workspace place(static_cast<size_t>(rows) * sizeof(uint64_t), plan.device);
  launch(place_kernel, dim3(blocks(rows)), dim3(kThreads), 0, stream, a, p.places, place.as<uint64_t>());
  check_launch(plan.name);
  const RowsByPlace sorted(plan, p.places, place, rows);
  launch(kernel, dim3(blocks(a.n)), dim3(kThreads), 0, stream, a, sorted.get(), rows);
  check_launch(plan.name);
}

}  // namespace cuda
}  // namespace strided
