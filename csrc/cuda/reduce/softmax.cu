// Softmax and its logarithm: each row is read for its largest element and the sum of exponentials, both in one pass
// (M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867, 2018), and read again,
// out of a cache, for the result.
#include <algorithm>

#include "backend/reduce.h"
#include "base/integer.h"
#include "cuda/reduce/scan.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

struct SoftmaxArgs {
  const char* in = nullptr;
  char* out = nullptr;
  int64_t n = 0, rows = 0, inner = 1;
  int64_t part_size = 0, parts = 1;
  char* partial = nullptr;  // [row][part] states
  bool only_partial = false, from_partial = false;
  bool across = false;  // neighbouring threads take neighbouring rows, else elements of one row
  bool logarithm = false;
};

template <class A>
__device__ inline void add(ScaledSum<A>& s, A x) {
  const A max = MaxFold::combine(s.max, x), shift = LogSumExp::shift(max);
  s.sum = s.sum * math::exp(s.max - shift) + math::exp(x - shift);
  s.max = max;
}

template <class T>
__global__ void __launch_bounds__(kThreads) softmax_kernel(const STRIDED_GRID_CONSTANT SoftmaxArgs a) {
  using A = compute_t<T>;
  using S = ScaledSum<A>;
  constexpr int ahead = 4;  // elements taken together: their loads do not wait, the sum is scaled once for all of them
  STRIDED_SHARED(S, shared, [kThreads]);
  const unsigned lane = a.across ? threadIdx.y : threadIdx.x, lanes = a.across ? blockDim.y : blockDim.x;
  const unsigned column = a.across ? threadIdx.x : threadIdx.y, columns = a.across ? blockDim.x : blockDim.y;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * columns + column, part = blockIdx.y;
  const bool inside = row < a.rows;
  const int64_t start = row / a.inner * (a.n - 1) * a.inner + row, begin = part * a.part_size;
  const int64_t stop = begin + a.part_size, end = !inside ? begin : stop < a.n ? stop : a.n;
  const T* in = reinterpret_cast<const T*>(a.in) + start;

  S s = LogSumExp::identity<S>();
  if (a.from_partial) {
    if (inside)
      for (int64_t q = lane; q < a.parts; q += lanes)
        s = LogSumExp::combine(s, reinterpret_cast<const S*>(a.partial)[row * a.parts + q]);
  } else {
    int64_t i = begin + lane;
#pragma unroll 1
    for (; i + (ahead - 1) * lanes < end; i += ahead * lanes) {
      A x[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k) x[k] = static_cast<A>(in[(i + k * lanes) * a.inner]);
      A max = s.max;
#pragma unroll
      for (int k = 0; k < ahead; ++k) max = MaxFold::combine(max, x[k]);
      const A shift = LogSumExp::shift(max);
      s.sum = s.sum * math::exp(s.max - shift);
#pragma unroll
      for (int k = 0; k < ahead; ++k) s.sum += math::exp(x[k] - shift);
      s.max = max;
    }
    for (; i < end; i += lanes) add(s, static_cast<A>(in[i * a.inner]));
  }
  // Lanes by halves, then all of them get the result of the first.
  if (!a.across && lanes <= kWarp) {
    for (unsigned step = lanes / 2; step > 0; step /= 2) s = LogSumExp::combine(s, shuffle_down(s, step));
    s = shuffle_from(s, lane_of_thread() & ~(lanes - 1));
  } else {
    const unsigned place = a.across ? lane * columns + column : column * lanes + lane, apart = a.across ? columns : 1;
    shared[place] = s;
    __syncthreads();
    for (unsigned step = lanes / 2; step > 0; step /= 2) {
      if (lane < step) shared[place] = LogSumExp::combine(shared[place], shared[place + step * apart]);
      __syncthreads();
    }
    s = shared[place - lane * apart];
  }
  if (a.only_partial) {
    if (inside && lane == 0) reinterpret_cast<S*>(a.partial)[row * a.parts + part] = s;
    return;
  }
  // Beside an infinite element there is no answer.
  const A sum = math::isinf(s.max) ? A(NAN) : s.sum, offset = a.logarithm ? math::log(sum) : A(0);
  T* out = reinterpret_cast<T*>(a.out) + start;
#pragma unroll 4
  for (int64_t i = begin + lane; i < end; i += lanes) {
    const A x = static_cast<A>(in[i * a.inner]) - s.max;
    out[i * a.inner] = T(a.logarithm ? x - offset : math::exp(x) / sum);
  }
}

constexpr int64_t kEnoughBlocks = 1024, kLongRow = 2048;  // longer ones get a whole block

template <class T>
void run(const ScanPlan& plan, bool logarithm) {
  SoftmaxArgs a;
  a.in = plan.in;
  a.out = plan.out;
  a.n = plan.n;
  a.inner = plan.inner;
  a.rows = plan.outer * plan.inner;
  a.logarithm = logarithm;
  if (a.n * a.rows == 0) return;
  a.across = a.inner > 1;
  unsigned lanes = 1;
  if (a.across) lanes = a.n >= 64 ? 8 : a.n >= 16 ? 4 : 1;
  else if (a.n > kLongRow) lanes = kThreads;
  else
    while (lanes < kWarp && lanes * 4 < a.n) lanes *= 2;
  const unsigned columns = kThreads / lanes;
  const int64_t blocks = ceil_div(a.rows, columns), unit = lanes * 32;
  STRIDED_CHECK(blocks < kMaxItems, NotImplementedError, plan.name, ": ", a.rows, " rows on device 'cuda'");
  a.part_size = ceil_div(ceil_div(a.n, std::max<int64_t>(kEnoughBlocks / blocks, 1)), unit) * unit;
  a.parts = ceil_div(a.n, a.part_size);

  const OnDevice guard(plan.device);
  const cudaStream_t stream = current_stream(plan.device);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(a.parts));
  const dim3 block = a.across ? dim3(columns, lanes) : dim3(lanes, columns);
  const Workspace partial(a.parts > 1 ? static_cast<size_t>(a.rows * a.parts) * sizeof(ScaledSum<compute_t<T>>) : 0,
                          plan.device);
  if (a.parts > 1) {
    a.partial = partial.data();
    a.only_partial = true;
    launch(softmax_kernel<T>, grid, block, 0, stream, a);
    check_launch(plan.name);
    a.only_partial = false;
    a.from_partial = true;
  }
  launch(softmax_kernel<T>, grid, block, 0, stream, a);
  check_launch(plan.name);
}

}  // namespace

bool softmax(const ScanPlan& plan, bool logarithm) {
  if (!is_floating(plan.dtype)) return false;
  dispatch_loops(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating(dtype_of<T>)) run<T>(plan, logarithm);
  });
  return true;
}

}  // namespace cuda
}  // namespace strided
