// Groups of equal slices.
//
// Order of slices.
// Slices are ordered by their last elements first, then stably by those before, and so on. As many elements as fit are
// made one key of 64 bits.
#include <algorithm>
#include <utility>

#include "cuda/runtime/operations.h"
#include "cuda/sort/sort_rows.h"

namespace strided {
namespace cuda {
namespace {

template <class K>
struct Slices {
  const K* in;
  int64_t n, m;
  KeyCode<K> code;
  __device__ K key(int64_t slice, int64_t column) const { return code.encode(in[slice * m + column]); }
};

template <class K>
__global__ void __launch_bounds__(kThreads)
    pack_kernel(Slices<K> s, const int64_t* order, int64_t column, int columns, uint64_t* keys) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.n) return;
  const int64_t slice = order ? order[i] : i;
  uint64_t key = s.key(slice, column);
  for (int c = 1; c < columns; ++c) key = key << (8 * sizeof(K) % 64) | s.key(slice, column + c);
  keys[i] = key;
}

// begins[i]: 1 where slice i in the order differs from the one before it, but for the first one. NaN equals nothing.
template <class K>
__global__ void __launch_bounds__(kThreads) differ_kernel(Slices<K> s, const int64_t* order, int64_t* begins) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.n) return;
  bool equal = true;
  if (i > 0) {
    const int64_t a = order ? order[i - 1] : i - 1, b = order ? order[i] : i;
    for (int64_t c = 0; c < s.m && equal; ++c) {
      const K x = s.key(a, c);
      equal = x == s.key(b, c) && !s.code.is_nan(x);
    }
  }
  begins[i] = !equal;
}

__global__ void __launch_bounds__(kThreads) starts_kernel(const int64_t* group, int64_t n, int64_t* starts) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n && (i == 0 || group[i] != group[i - 1])) starts[group[i]] = i;
}

template <class K>
__global__ void __launch_bounds__(kThreads)
    first_values_kernel(const K* sorted, const int64_t* group, int64_t n, K* values) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n && (i == 0 || group[i] != group[i - 1])) values[group[i]] = sorted[i];
}

dim3 grid_for(int64_t n) { return dim3(static_cast<unsigned>((n + kThreads - 1) / kThreads)); }

void check_size(const OpContext& on, int64_t n) {
  STRIDED_CHECK(n < kMaxItems, NotImplementedError, on.name, ": ", n, " elements on device 'cuda'");
}

// Calls f with a key of the dtype's size.
template <class F>
void for_keys(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

// What differ_kernel wrote becomes the number of each one's group; returns the number of groups, for which it waits.
int64_t number_groups(const OpContext& on, int64_t* group, int64_t n) {
  scan({on.name, on.device, DType::Int64, 1, n, 1, reinterpret_cast<const char*>(group), reinterpret_cast<char*>(group),
        nullptr},
       ScanOp::Sum);
  const cudaStream_t stream = current_stream(on.device);
  int64_t last = 0;
  check(cudaMemcpyAsync(&last, group + n - 1, sizeof(last), cudaMemcpyDeviceToHost, stream), on.name);
  synchronize_stream(on.device, stream);
  return last + 1;
}

// Sorts the slices (with an order) and marks in plan.group where each group begins.
template <class K>
void sort_and_mark(const UniquePlan& plan) {
  const cudaStream_t stream = current_stream(plan.device);
  const int64_t n = plan.n, m = plan.m;
  int64_t* const order = plan.order;
  const char* const name = plan.name;
  const int device = plan.device;
  const dim3 grid = grid_for(n);
  const Slices<K> slices{reinterpret_cast<const K*>(plan.in), n, m, key_code<K>(plan.dtype)};
  RowSort sort;
  sort.name = name;
  sort.device = device;
  sort.n = sort.keep = n;
  if (order && m == 1) {
    sort.dtype = plan.dtype;
    sort.in = plan.in;
    sort.index = order;
    sort_rows(sort);
  } else if (order) {
    constexpr int64_t of_key = 8 / sizeof(K);
    const size_t bytes = static_cast<size_t>(n) * sizeof(int64_t);
    const Workspace keys(bytes, device), other(bytes, device);
    const int64_t passes = (m + of_key - 1) / of_key;
    // The last pass leaves the order where it is wanted.
    int64_t *from = nullptr, *to = passes % 2 ? order : other.as<int64_t>();
    sort.in = keys.data();
    for (int64_t p = passes - 1; p >= 0; --p) {
      const int64_t column = p * of_key, columns = std::min(of_key, m - column);
      launch(pack_kernel<K>, grid, dim3(kThreads), 0, stream, slices, from, column, static_cast<int>(columns),
             keys.as<uint64_t>());
      check_launch(name);
      sort.bits = static_cast<int>(columns * 8 * static_cast<int64_t>(sizeof(K)));
      sort.position = from;
      sort.index = to;
      sort_rows(sort);
      from = to;
      to = to == order ? other.as<int64_t>() : order;
    }
  }
  launch(differ_kernel<K>, grid, dim3(kThreads), 0, stream, slices, order, plan.group);
  check_launch(name);
}

}  // namespace

void unique_rows(const UniquePlan& plan, int64_t* groups) {
  *groups = 0;
  if (plan.n == 0) return;
  check_size(plan, plan.n);
  const OnDevice guard(plan.device);
  for_keys(plan.dtype, [&](auto key) { sort_and_mark<decltype(key)>(plan); });
  *groups = number_groups(plan, plan.group, plan.n);
  launch(starts_kernel, grid_for(plan.n), dim3(kThreads), 0, current_stream(plan.device), plan.group, plan.n,
         plan.starts);
  check_launch(plan.name);
}

void unique_values(const SortPlan& plan, int64_t* count) {
  *count = 0;
  const int64_t n = plan.n;
  if (n == 0) return;
  check_size(plan, n);
  const OnDevice guard(plan.device);
  const Workspace sorted(static_cast<size_t>(n * size_of(plan.dtype)), plan.device),
      group(static_cast<size_t>(n) * sizeof(int64_t), plan.device);
  sort({plan.name, plan.device, plan.dtype, plan.in, n, 1, sorted.data()}, n, false);
  for_keys(plan.dtype, [&](auto key) {
    using K = decltype(key);
    UniquePlan neighbours{plan.name, plan.device, plan.dtype, sorted.data(), n};
    neighbours.group = group.as<int64_t>();
    sort_and_mark<K>(neighbours);
    *count = number_groups(plan, neighbours.group, n);
    launch(first_values_kernel<K>, grid_for(n), dim3(kThreads), 0, current_stream(plan.device), sorted.as<const K>(),
           group.as<const int64_t>(), n, reinterpret_cast<K*>(plan.values));
    check_launch(plan.name);
  });
}

}  // namespace cuda
}  // namespace strided
