// Kernels for functions of one element of each operand: elementwise ops, conversion, choice by a condition.
//
// Two kernels for a function.
// The vector kernel moves up to 16 bytes of each operand at a time. It wants operands without gaps along the innermost
// axis (or that do not move along it, or that are one value), at aligned addresses. The general kernel takes one
// element after the other from any strides, and casts inputs of another dtype as it loads them. Where both would do the
// work of a memory copy, only the vector kernel keeps up with the memory for types of one and two bytes.
#pragma once

#include <utility>

#include "core/convert.h"
#include "cuda/pointwise/loop.h"

namespace strided {
namespace cuda {

// How a type lies in memory: a byte other than 0 and 1 may stand in memory that was viewed as bool.
template <class T>
struct MemoryType {
  using type = T;
};
template <>
struct MemoryType<bool> {
  using type = uint8_t;
};
template <class T>
using memory_t = typename MemoryType<T>::type;
template <class T>
STRIDED_HD T value_of(memory_t<T> m) {
  if constexpr (std::is_same_v<T, bool>) return m != 0;
  else return m;
}
template <class T>
STRIDED_HD T load(const char* at) {
  return value_of<T>(*reinterpret_cast<const memory_t<T>*>(at));
}

template <class T, int V>
struct alignas(sizeof(T) * V) Vec {
  T item[V];
};

// One element of a dtype known at run time only: read as the widest type of its kind, which loses nothing, and
// converted from that. (A branch for each dtype would make this the larger part of every kernel; the one taken is the
// same in every lane.)
template <class T>
using widest_t = std::conditional_t<!std::is_integral_v<T>, Complex<double>,
                                    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
template <class Wide>
STRIDED_HD Wide load_widest(const char* at, DType dtype) {
  Wide v = Wide(0);
  switch (dtype) {
#define X(E, T) \
  case DType::E: \
    if constexpr (std::is_same_v<widest_t<T>, Wide>) v = convert<Wide>(load<T>(at)); \
    break;
    STRIDED_DTYPES(X)
#undef X
  }
  return v;
}
template <class T>
STRIDED_NOINLINE __device__ T load_as(const char* at, uint8_t stored) {
  constexpr DTypeSet integral = dtypes_of_kinds(kinds::Bool | kinds::Int), with_sign = integral & kSignedDTypes;
  const DType dtype = static_cast<DType>(stored);
  const DTypeSet one = DTypeSet(1) << stored;
  if (one & with_sign) return convert<T>(load_widest<int64_t>(at, dtype));
  if (one & integral) return convert<T>(load_widest<uint64_t>(at, dtype));
  return convert<T>(load_widest<Complex<double>>(at, dtype));
}

// Functions of elements.
// A function F says: Result; arity; In<K>, the type operand K has in memory; call(v..., params). `vectors` is false
// where a vector kernel would gain nothing, because the arithmetic takes longer than the memory; `casts` where the
// general kernel is to take inputs of any dtype.
constexpr int smaller(int a, int b) { return a < b ? a : b; }
template <class F, size_t... K>
constexpr int widest_item(std::index_sequence<K...>) {
  int widest = static_cast<int>(sizeof(typename F::Result));
  ((widest = static_cast<int>(sizeof(typename F::template In<K>)) > widest
                 ? static_cast<int>(sizeof(typename F::template In<K>))
                 : widest),
   ...);
  return widest;
}
template <class F>
using Operands = std::make_index_sequence<F::arity>;
// Elements of an item of the vector kernel: 16 bytes of the widest operand, but not more than 8.
template <class F>
constexpr int vector_width = smaller(16 / widest_item<F>(Operands<F>{}), 8);
// Items for each thread: enough bytes under way to keep the memory busy.
template <class F>
constexpr int vector_unroll = F::arity == 1 ? 2 : 1;
template <class F>
constexpr int general_unroll = !F::vectors     ? 1
                               : F::arity == 1 ? 4
                                               : 2;

// The inputs of one item.
template <size_t K, class T, int V>
struct Slot {
  Vec<memory_t<T>, V> v;
};
template <class F, int V, class Sequence>
struct SlotsOf;
template <class F, int V, size_t... K>
struct SlotsOf<F, V, std::index_sequence<K...>> : Slot<K, typename F::template In<K>, V>... {};
template <class F, int V>
using Slots = SlotsOf<F, V, Operands<F>>;
template <size_t K, class F, int V>
__device__ inline auto& slot(Slots<F, V>& s) {
  return static_cast<Slot<K, typename F::template In<K>, V>&>(s).v.item;
}

// An operand that is one value, in every place of the slot.
template <class F, int V, size_t K>
__device__ inline void load_constant(const LoopArgs& a, Slots<F, V>& s) {
  using T = typename F::template In<K>;
  if (!(a.constant >> (K + 1) & 1)) return;
  const char* at = a.data[K + 1] ? a.data[K + 1] : a.value[K + 1];
  memory_t<T> v;
  if constexpr (V == 1 && F::casts) {  // (vector kernels cast nothing)
    if (a.cast >> (K + 1) & 1) v = static_cast<memory_t<T>>(load_as<T>(at, a.dtype[K + 1]));
    else v = *reinterpret_cast<const memory_t<T>*>(at);
  } else {
    v = *reinterpret_cast<const memory_t<T>*>(at);
  }
  for (int j = 0; j < V; ++j) slot<K, F, V>(s)[j] = v;
}

template <class F, int V, size_t K>
__device__ inline void load_vector(const LoopArgs& a, Slots<F, V>& s, int64_t at, bool whole) {
  using M = memory_t<typename F::template In<K>>;
  if (a.constant >> (K + 1) & 1) return;
  const M* from = reinterpret_cast<const M*>(a.data[K + 1] + at);
  auto& to = slot<K, F, V>(s);
  if (a.splat >> (K + 1) & 1) {
    const M v = *from;
    for (int j = 0; j < V; ++j) to[j] = v;
  } else if (whole) {
    static_cast<Slot<K, typename F::template In<K>, V>&>(s).v = *reinterpret_cast<const Vec<M, V>*>(from);
  } else {
    for (int j = 0; j < V; ++j) to[j] = from[static_cast<uint32_t>(j) < a.tail ? j : 0];
  }
}

template <class F, int V, size_t... K>
__device__ inline typename F::Result call_item(const LoopArgs& a, Slots<F, V>& s, int j, std::index_sequence<K...>) {
  return F::call(value_of<typename F::template In<K>>(slot<K, F, V>(s)[j])..., a.params);
}

template <class F, size_t... K>
__device__ inline void vector_items(const LoopArgs& a, std::index_sequence<K...> operands) {
  constexpr int V = vector_width<F>, U = vector_unroll<F>, N = F::arity + 1;
  using R = typename F::Result;
  const uint32_t first = blockIdx.x * (kThreads * U) + threadIdx.x;
  Slots<F, V> in[U];
  int64_t at[U][N];
  (load_constant<F, V, K>(a, in[0]), ...);
  for (int u = 1; u < U; ++u) in[u] = in[0];
  for (int u = 0; u < U; ++u) {
    const uint32_t i = first + u * kThreads;
    if (i >= a.n) break;
    const bool whole = a.tail == 0 || i != a.n - 1;
    find_offsets(a, i, at[u]);
    (load_vector<F, V, K>(a, in[u], at[u][K + 1], whole), ...);
  }
  for (int u = 0; u < U; ++u) {
    const uint32_t i = first + u * kThreads;
    if (i >= a.n) break;
    Vec<R, V> out;
    for (int j = 0; j < V; ++j) out.item[j] = call_item<F, V>(a, in[u], j, operands);
    R* to = reinterpret_cast<R*>(a.data[0] + at[u][0]);
    if (a.tail == 0 || i != a.n - 1) {
      *reinterpret_cast<Vec<R, V>*>(to) = out;
    } else {
      for (int j = 0; j < V; ++j)
        if (static_cast<uint32_t>(j) < a.tail) to[j] = out.item[j];
    }
  }
}
template <class F>
__global__ void __launch_bounds__(kThreads) vector_kernel(const STRIDED_GRID_CONSTANT LoopArgs a) {
  vector_items<F>(a, Operands<F>{});
}

template <class F, size_t K>
__device__ inline void load_general(const LoopArgs& a, Slots<F, 1>& s, int64_t at) {
  using T = typename F::template In<K>;
  if (a.constant >> (K + 1) & 1) return;
  const char* from = a.data[K + 1] + at;
  if constexpr (F::casts) {
    if (a.cast >> (K + 1) & 1) {
      slot<K, F, 1>(s)[0] = static_cast<memory_t<T>>(load_as<T>(from, a.dtype[K + 1]));
      return;
    }
  }
  slot<K, F, 1>(s)[0] = *reinterpret_cast<const memory_t<T>*>(from);
}

template <class F, size_t... K>
__device__ inline void general_items(const LoopArgs& a, std::index_sequence<K...> operands) {
  constexpr int U = general_unroll<F>, N = F::arity + 1;
  using R = typename F::Result;
  const uint32_t first = blockIdx.x * (kThreads * U) + threadIdx.x;
  Slots<F, 1> in[U];
  int64_t at[U][N];
  (load_constant<F, 1, K>(a, in[0]), ...);
  for (int u = 1; u < U; ++u) in[u] = in[0];
  for (int u = 0; u < U; ++u) {
    const uint32_t i = first + u * kThreads;
    if (i >= a.n) break;
    find_offsets(a, i, at[u]);
    (load_general<F, K>(a, in[u], at[u][K + 1]), ...);
  }
  for (int u = 0; u < U; ++u) {
    if (first + u * kThreads >= a.n) break;
    const R out = call_item<F, 1>(a, in[u], 0, operands);
    *reinterpret_cast<R*>(a.data[0] + at[u][0]) = out;
  }
}
template <class F>
__global__ void __launch_bounds__(kThreads) general_kernel(const STRIDED_GRID_CONSTANT LoopArgs a) {
  general_items<F>(a, Operands<F>{});
}

// What the host knows of a function's kernels.
struct PointwiseKernel {
  void (*general)(LoopArgs) = nullptr;
  void (*vector)(LoopArgs) = nullptr;
  int arity = 0, width = 1, vector_unroll = 1, general_unroll = 1;
  DType operand[kMaxOperands] = {};  // result and inputs, as the function takes them
  int64_t itemsize[kMaxOperands] = {};
};

template <class F, size_t... K>
PointwiseKernel vector_kernel_of(std::index_sequence<K...>) {
  PointwiseKernel k;
  if constexpr (F::vectors && vector_width < F >> 1) k.vector = vector_kernel<F>;
  k.arity = F::arity;
  k.width = vector_width<F>;
  k.vector_unroll = vector_unroll<F>;
  k.general_unroll = general_unroll<F>;
  k.operand[0] = F::dtype(0);
  k.itemsize[0] = sizeof(typename F::Result);
  ((k.operand[K + 1] = F::dtype(static_cast<int>(K) + 1), k.itemsize[K + 1] = sizeof(typename F::template In<K>)), ...);
  return k;
}
// Without the general kernel, and with it.
template <class F>
PointwiseKernel vector_kernel_of() {
  return vector_kernel_of<F>(Operands<F>{});
}
template <class F>
PointwiseKernel kernel_of() {
  PointwiseKernel k = vector_kernel_of<F>();
  k.general = general_kernel<F>;
  return k;
}

}  // namespace cuda
}  // namespace strided
