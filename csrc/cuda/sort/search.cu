// Places of values in sorted rows: a thread for each value, by halving.
#include "backend/op.h"
#include "backend/sort_keys.h"
#include "cuda/pointwise/pointwise.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {
namespace {

struct SearchArgs {
  const char* sorted = nullptr;
  const int64_t* sorter = nullptr;
  int64_t n = 0;
  const char* values = nullptr;
  int64_t m = 0, all = 0;  // values of a row, of all rows
  char* out = nullptr;
  Search what = Search::Left;
};

template <class T>
__global__ void __launch_bounds__(kThreads) search_kernel(const STRIDED_GRID_CONSTANT SearchArgs a) {
  using C = compute_t<T>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.all) return;
  const int64_t start = a.m == a.all ? 0 : i / a.m * a.n;
  const char* row = a.sorted + start * static_cast<int64_t>(sizeof(T));
  auto value = [=](int64_t k) { return static_cast<C>(load<T>(row + k * static_cast<int64_t>(sizeof(T)))); };
  const C x = static_cast<C>(load<T>(a.values + i * static_cast<int64_t>(sizeof(T))));
  if (a.what == Search::Left || a.what == Search::Right) {
    const int64_t* order = a.sorter ? a.sorter + start : nullptr;
    const int64_t n = a.n;
    // An entry of the sorter that is out of range is reported by check_sorter_kernel.
    auto ordered = [=](int64_t k) {
      const int64_t at = order ? order[k] : k;
      return value(static_cast<uint64_t>(at) < static_cast<uint64_t>(n) ? at : 0);
    };
    reinterpret_cast<int64_t*>(a.out)[i] = insertion_place(ordered, n, x, a.what == Search::Right);
    return;
  }
  // By keys: in their order NaN has a place, though it is equal to nothing.
  constexpr KeyCode<key_t<T>> code = key_code<key_t<T>>(dtype_of<T>);
  auto key = [=](int64_t k) { return code.encode(reinterpret_cast<const key_t<T>*>(row)[k]); };
  const int64_t at = insertion_place(key, a.n, code.encode(reinterpret_cast<const key_t<T>*>(a.values)[i]), false);
  reinterpret_cast<uint8_t*>(a.out)[i] = (at < a.n && value(at) == x) != (a.what == Search::NotIn);
}

__global__ void __launch_bounds__(kThreads)
    check_sorter_kernel(const int64_t* sorter, int64_t all, int64_t n, Reporter reporter) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < all && static_cast<uint64_t>(sorter[i]) >= static_cast<uint64_t>(n))
    reporter.tell(Fault::Sorter, sorter[i], i, n);
}

dim3 grid_for(const char* name, int64_t n) {
  STRIDED_CHECK(n < kMaxItems * kThreads, NotImplementedError, name, ": ", n, " elements on device 'cuda'");
  return dim3(static_cast<unsigned>((n + kThreads - 1) / kThreads));
}

}  // namespace

void search(const SearchPlan& plan, Search what) {
  const OnDevice guard(plan.device);
  const cudaStream_t stream = current_stream(plan.device);
  if (const int64_t all = plan.rows * plan.n; plan.sorter && all > 0) {
    launch(check_sorter_kernel, grid_for(plan.name, all), dim3(kThreads), 0, stream, plan.sorter, all, plan.n,
           reporter(plan.device, plan.name, 0));
    check_launch(plan.name);
  }
  SearchArgs a;
  a.sorted = plan.sorted;
  a.sorter = plan.sorter;
  a.n = plan.n;
  a.values = plan.values;
  a.m = plan.m;
  a.all = plan.rows * plan.m;
  a.out = plan.out;
  a.what = what;
  if (a.all == 0) return;
  dispatch_loops(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_v<T>) launch(search_kernel<T>, grid_for(plan.name, a.all), dim3(kThreads), 0, stream, a);
  });
  check_launch(plan.name);
}

}  // namespace cuda
}  // namespace strided
