#include "cuda/index/index.h"

namespace strided {
namespace cuda {
namespace {

// One thread for each (sorted row, free element). The first row of a place does the work of all of them, in their
// order.
template <ScatterOp Op, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_sorted_kernel(const STRIDED_GRID_CONSTANT IndexArgs a, SortedRows sorted, int64_t rows) {
  using C = compute_t<T>;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= a.n) return;
  const uint32_t first = a.by_free.divide(i), inner = i - first * a.free;
  const uint64_t place = sorted.place[first];
  if (place == ~uint64_t(0) || (first > 0 && sorted.place[first - 1] == place)) return;
  int64_t from, to;
  if (!a.find(static_cast<uint32_t>(sorted.row[first]) * a.free + inner, &from, &to)) return;
  C sum = static_cast<C>(load<T>(a.indexed + to));
  for (int64_t r = first; r < rows && sorted.place[r] == place; ++r) {
    int64_t same;
    a.find(static_cast<uint32_t>(sorted.row[r]) * a.free + inner, &from, &same);
    const C x = static_cast<C>(load<T>(a.dense + from));
    sum = Op == ScatterOp::Add ? sum + x : sum * x;
  }
  *reinterpret_cast<T*>(a.indexed + to) = T(sum);
}

}  // namespace

void fill_index_sorted(IndexTable& table) {
  for_each(DTypesOf<kinds::floating>{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    table.reduce_sorted[static_cast<int>(ScatterOp::Add)][index_of(dtype_of<T>)] =
        reduce_sorted_kernel<ScatterOp::Add, T>;
    table.reduce_sorted[static_cast<int>(ScatterOp::Mul)][index_of(dtype_of<T>)] =
        reduce_sorted_kernel<ScatterOp::Mul, T>;
  });
}

}  // namespace cuda
}  // namespace strided
