// The reductions of backend/reduce.h on the device: one kernel for each reduction and dtype.
//
// The tree of a reduction on the device.
// Each output has a number of parts, each part a number of lanes (threads of one block), each lane four accumulators;
// element r of a part goes to a fixed lane and accumulator. They are combined in a fixed order: accumulators, lanes by
// halves, parts like elements by a second launch. How many there are follows from shapes and strides alone, so a result
// is the same in every run and on every device. Long rows are summed by some thousand accumulators, so rounding errors
// grow little.
#pragma once

#include "backend/backend.h"
#include "backend/reduce.h"
#include "cuda/pointwise/pointwise.h"

namespace strided {
namespace cuda {

// Axes, innermost first, and the places of positions along them.
struct Axes {
  int32_t ndim = 0;
  bool wide = false;  // positions do not fit 31 bits
  Divisor size[kMaxAxes];
  int64_t length[kMaxAxes] = {}, stride[kMaxAxes] = {};

  __device__ int64_t offset(int64_t position) const {
    if (ndim <= 1) return position * stride[0];
    return wide ? offset_wide(position) : offset_narrow(static_cast<uint32_t>(position));
  }

 private:
  __device__ int64_t offset_narrow(uint32_t i) const {
    int64_t at = 0;
    int d = 0;
#pragma unroll 1
    for (; d < ndim - 1; ++d) {
      const uint32_t outer = size[d].divide(i);
      at += static_cast<int64_t>(i - outer * size[d].d) * stride[d];
      i = outer;
    }
    return at + static_cast<int64_t>(i) * stride[d];
  }
  STRIDED_NOINLINE __device__ int64_t offset_wide(int64_t i) const {
    int64_t at = 0;
    int d = 0;
#pragma unroll 1
    for (; d < ndim - 1; ++d) {
      at += i % length[d] * stride[d];
      i /= length[d];
    }
    return at + i * stride[d];
  }
};

struct ReduceArgs {
  const char* data = nullptr;
  uint8_t dtype = 0;
  bool cast = false;    // `dtype` is not the reduced one
  bool vector = false;  // the reduced elements of an output are contiguous and aligned
  bool across = false;  // neighbouring threads take neighbouring outputs, else elements of one output
  bool second = false;  // the parts are reduced, from `partial`
  int64_t outputs = 1, reduced = 0;
  int64_t total = 0;  // elements of an output, also in the second pass
  int64_t part_size = 0, parts = 1;
  Axes keep, red;
  char* out[2] = {};
  char* partial = nullptr;  // [outputs][parts] states
  double param = 0;
};

struct ReduceEntry {
  void (*kernel)(ReduceArgs) = nullptr;
  int64_t state_size = 0;
};
struct ReduceTable {
  ReduceEntry entry[kNumReductions][kNumDTypes];
};
const ReduceTable& reduce_table();

// What a lane carries. In general that is the reduction's State; two kinds of reductions have something cheaper.
template <class Op, class T, ReduceAlgorithm W = Op::info.algorithm>
struct Accumulator {
  using S = typename Op::template State<T>;
  S s = Op::template identity<S>();
  __device__ void add(compute_t<T> x, int64_t, double p) { s = Op::combine(s, Op::template map<S>(x, p)); }
  __device__ S state() const { return s; }
};
template <class Op, class T>
struct Accumulator<Op, T, ReduceAlgorithm::Index> {
  using S = typename Op::template State<T>;
  S s = Op::template identity<S>();
  __device__ void add(compute_t<T> x, int64_t position, double p) {
    s = Op::combine(s, Op::template map<S>(x, p, position));
  }
  __device__ S state() const { return s; }
};
// Sums of deviations from the first element: no division for each element, and nothing is lost, because that element's
// own deviation is part of the result.
template <class Op, class T>
struct Accumulator<Op, T, ReduceAlgorithm::Moments> {
  double first = 0, sum = 0, squares = 0;
  int64_t n = 0;
  __device__ void add(compute_t<T> x, int64_t, double) {
    const double v = static_cast<double>(x);
    if (n == 0) first = v;
    const double d = v - first;
    sum += d;
    squares += d * d;
    ++n;
  }
  __device__ Moments state() const {
    if (n == 0) return Moments{0, 0, 0};
    const double count = static_cast<double>(n), m2 = squares - sum * (sum / count);
    return Moments{count, first + sum / count, m2 < 0 ? 0 : m2};
  }
};
template <class Op, class T>
struct Accumulator<Op, T, ReduceAlgorithm::LogSumExp> {
  using S = typename Op::template State<T>;
  S s = Op::template identity<S>();
  __device__ void add(compute_t<T> x, int64_t, double) {
    const auto max = MaxFold::combine(s.max, x);
    const auto shift = Op::shift(max);
    s.sum = s.sum * math::exp(s.max - shift) + math::exp(x - shift);
    s.max = max;
  }
  __device__ S state() const { return s; }
};

// Two states of different elements; lanes interleave, so positions tell which of them stands first.
template <class Op, class S>
__device__ inline S merge(const S& a, const S& b) {
  if constexpr (Op::info.algorithm == ReduceAlgorithm::Index) {
    if (b.index >= 0 && a.index > b.index) return Op::combine(b, a);
  }
  return Op::combine(a, b);
}

template <class T>
__device__ inline compute_t<T> reduced_element(const ReduceArgs& a, const char* at) {
  if (a.cast) return static_cast<compute_t<T>>(load_as<T>(at, a.dtype));
  return static_cast<compute_t<T>>(load<T>(at));
}

// The state of every `lanes`-th element (or 16 bytes) of [begin, end), from `lane` on.
template <class Op, class T>
__device__ inline typename Op::template State<T> fold(const ReduceArgs& a, const char* base, int64_t begin, int64_t end,
                                                      unsigned lane, unsigned lanes) {
  constexpr int V = static_cast<int>(16 / sizeof(T)), A = 4;
  Accumulator<Op, T> acc[A];
  int64_t r = begin + lane;
  if constexpr (V > 1) {
    if (a.vector) {
      using M = memory_t<T>;
      constexpr int U = V >= 16 ? 1 : V == 8 ? 2 : 4;  // loads under way
      const auto* from = reinterpret_cast<const Vec<M, V>*>(base + begin * static_cast<int64_t>(sizeof(T)));
      const int64_t groups = (end - begin) / V;
      int64_t g = lane;
      for (; g + (U - 1) * static_cast<int64_t>(lanes) < groups; g += U * static_cast<int64_t>(lanes)) {
        Vec<M, V> v[U];
        for (int u = 0; u < U; ++u) v[u] = from[g + u * static_cast<int64_t>(lanes)];
        for (int u = 0; u < U; ++u)
          for (int j = 0; j < V; ++j)
            acc[(u * V + j) % A].add(static_cast<compute_t<T>>(value_of<T>(v[u].item[j])),
                                     begin + (g + u * static_cast<int64_t>(lanes)) * V + j, a.param);
      }
#pragma unroll 1
      for (; g < groups; g += lanes) {
        const Vec<M, V> v = from[g];
        for (int j = 0; j < V; ++j)
          acc[j % A].add(static_cast<compute_t<T>>(value_of<T>(v.item[j])), begin + g * V + j, a.param);
      }
      r = begin + groups * V + lane;
    }
  }
#pragma unroll 1
  for (; r + (A - 1) * static_cast<int64_t>(lanes) < end; r += A * static_cast<int64_t>(lanes)) {
    compute_t<T> x[A];
    for (int u = 0; u < A; ++u) x[u] = reduced_element<T>(a, base + a.red.offset(r + u * static_cast<int64_t>(lanes)));
    for (int u = 0; u < A; ++u) acc[u].add(x[u], r + u * static_cast<int64_t>(lanes), a.param);
  }
#pragma unroll 1
  for (; r < end; r += lanes) acc[0].add(reduced_element<T>(a, base + a.red.offset(r)), r, a.param);
  return merge<Op>(merge<Op>(acc[0].state(), acc[1].state()), merge<Op>(acc[2].state(), acc[3].state()));
}

template <class Op, class T>
__global__ void __launch_bounds__(kThreads) reduce_kernel(const STRIDED_GRID_CONSTANT ReduceArgs a) {
  using S = typename Op::template State<T>;
  STRIDED_SHARED(S, shared, [kThreads]);
  const unsigned lane = a.across ? threadIdx.y : threadIdx.x, lanes = a.across ? blockDim.y : blockDim.x;
  const unsigned row = a.across ? threadIdx.x : threadIdx.y, rows = a.across ? blockDim.x : blockDim.y;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * rows + row, part = blockIdx.y;
  S s = Op::template identity<S>();
  if (output < a.outputs) {
    const int64_t begin = part * a.part_size, stop = begin + a.part_size, end = stop < a.reduced ? stop : a.reduced;
    if (a.second) {
      const S* states = reinterpret_cast<const S*>(a.partial) + output * a.reduced;
#pragma unroll 1
      for (int64_t i = begin + lane; i < end; i += lanes) s = merge<Op>(s, states[i]);
    } else {
      s = fold<Op, T>(a, a.data + a.keep.offset(output), begin, end, lane, lanes);
    }
  }
  // Lanes by halves: through shared memory while they are in different warps, then by shuffles.
  const unsigned place = a.across ? lane * rows + row : row * lanes + lane, apart = a.across ? rows : 1;
  unsigned step = lanes / 2;
  if (a.across || lanes > kWarp) {
    shared[place] = s;
    __syncthreads();
    for (; step > 0 && (a.across || step >= kWarp); step /= 2) {
      if (lane < step) {
        s = merge<Op>(s, shared[place + step * apart]);
        shared[place] = s;
      }
      __syncthreads();
    }
  }
  if (!a.across)
    for (; step > 0; step /= 2) s = merge<Op>(s, shuffle_down(s, step));
  if (lane != 0 || output >= a.outputs) return;
  if (a.parts > 1) {
    reinterpret_cast<S*>(a.partial)[output * a.parts + part] = s;
    return;
  }
  using R = decltype(Op::template finish<T>(s, int64_t{}, 0.0));
  if (a.out[0]) reinterpret_cast<R*>(a.out[0])[output] = Op::template finish<T>(s, a.total, a.param);
  if constexpr (Op::info.outputs == 2) {
    using R2 = decltype(Op::template second<T>(s));
    if (a.out[1]) reinterpret_cast<R2*>(a.out[1])[output] = Op::template second<T>(s);
  }
}

// The kernels of all reductions that T has.
template <class T>
void fill_reduce(ReduceTable& table) {
  for_each(ReductionOps{}, [&](auto tag, int id) {
    using Op = typename decltype(tag)::type;
    if constexpr (reduction_supports<Op, T>) {
      ReduceEntry& e = table.entry[id][index_of(dtype_of<T>)];
      e.kernel = reduce_kernel<Op, T>;
      e.state_size = sizeof(typename Op::template State<T>);
    }
  });
}

}  // namespace cuda
}  // namespace strided
