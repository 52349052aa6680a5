// Many products of tiny matrices: a block has as many of them as it has room for. Their elements come into shared
// memory in the order they have in memory, then every thread computes elements of C.
#pragma once

#include "cuda/gemm/gemm.h"

namespace strided {
namespace cuda {

constexpr int kTinyResults = 64, kTinyDepth = 64;  // m n and k of tiny products are at most these
constexpr int kTinyBytes = 16384;                  // of shared memory for A, and for B

template <class T, class V>
__global__ void __launch_bounds__(kThreads) gemm_tiny_kernel(const STRIDED_GRID_CONSTANT TinyArgs tiny) {
  constexpr int kRoom = kTinyBytes / static_cast<int>(sizeof(V));
  STRIDED_SHARED(V, a, [kRoom]);
  STRIDED_SHARED(V, b, [kRoom]);
  const GemmArgs& args = tiny.gemm;
  const uint32_t first = blockIdx.x * tiny.products, left = args.batch - first;
  const uint32_t products = left < tiny.products ? left : tiny.products;
  for (uint32_t i = threadIdx.x; i < products * tiny.mk.d; i += kThreads) {
    const uint32_t p = tiny.mk.divide(i), rest = i - p * tiny.mk.d, row = tiny.k.divide(rest),
                   l = rest - row * tiny.k.d;
    a[i] = widened<V>(
        reinterpret_cast<const T*>(args.a)[offsets_of(args, first + p).a + row * args.a_row + l * args.a_column]);
  }
  for (uint32_t i = threadIdx.x; i < products * tiny.kn.d; i += kThreads) {
    const uint32_t p = tiny.kn.divide(i), rest = i - p * tiny.kn.d, l = tiny.n.divide(rest),
                   column = rest - l * tiny.n.d;
    b[i] = widened<V>(
        reinterpret_cast<const T*>(args.b)[offsets_of(args, first + p).b + l * args.b_row + column * args.b_column]);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < products * tiny.mn.d; i += kThreads) {
    const uint32_t p = tiny.mn.divide(i), rest = i - p * tiny.mn.d, row = tiny.n.divide(rest),
                   column = rest - row * tiny.n.d;
    const V *x = a + p * tiny.mk.d + row * tiny.k.d, *y = b + p * tiny.kn.d + column;
    V sum = V(0);
    for (uint32_t l = 0; l < tiny.k.d; ++l) multiply_add(sum, x[l], y[l * tiny.n.d]);
    T* to = reinterpret_cast<T*>(args.c) + offsets_of(args, first + p).c + row * args.c_row + column * args.c_column;
    *to = scaled<T>(args, sum, to);
  }
}

}  // namespace cuda
}  // namespace strided
