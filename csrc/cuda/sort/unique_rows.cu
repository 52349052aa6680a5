// Groups of equal slices.
//
// Order of slices.
// Slices are ordered by their last elements first, then stably by those before, and so on. As many elements as fit are
// made one key of 64 bits.
#include <algorithm>
#include <utility>

#include "cuda/runtime/operations.h"
#include "cuda/sort/radix_sort.h"

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
void run(const char* name, int device, DType dtype, const char* in, int64_t n, int64_t m, int64_t* order,
         int64_t* begins) {
  const cudaStream_t stream = current_stream(device);
  const dim3 grid(static_cast<unsigned>((n + kThreads - 1) / kThreads));
  const Slices<K> slices{reinterpret_cast<const K*>(in), n, m, key_code<K>(dtype)};
  RowSort sort;
  sort.name = name;
  sort.device = device;
  sort.n = sort.keep = n;
  if (order && m == 1) {
    sort.dtype = dtype;
    sort.in = in;
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
  launch(differ_kernel<K>, grid, dim3(kThreads), 0, stream, slices, order, begins);
  check_launch(name);
}

}  // namespace

void unique_rows(const char* name, int device, DType dtype, const char* in, int64_t n, int64_t m, int64_t* order,
                 int64_t* group, int64_t* starts, int64_t* groups) {
  *groups = 0;
  if (n == 0) return;
  STRIDED_CHECK(n < kMaxItems, NotImplementedError, name, ": ", n, " elements on device 'cuda'");
  const OnDevice guard(device);
  switch (size_of(dtype)) {
    case 1: run<uint8_t>(name, device, dtype, in, n, m, order, group); break;
    case 2: run<uint16_t>(name, device, dtype, in, n, m, order, group); break;
    case 4: run<uint32_t>(name, device, dtype, in, n, m, order, group); break;
    default: run<uint64_t>(name, device, dtype, in, n, m, order, group);
  }
  scan(ScanOp::Sum, {name, device, DType::Int64, 1, n, 1, reinterpret_cast<const char*>(group),
                     reinterpret_cast<char*>(group), nullptr});
  const cudaStream_t stream = current_stream(device);
  launch(starts_kernel, dim3(static_cast<unsigned>((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, stream, group, n,
         starts);
  check_launch(name);
  int64_t last = 0;
  check(cudaMemcpyAsync(&last, group + n - 1, sizeof(last), cudaMemcpyDeviceToHost, stream), name);
  synchronize_stream(device, stream);
  *groups = last + 1;
}

}  // namespace cuda
}  // namespace strided
