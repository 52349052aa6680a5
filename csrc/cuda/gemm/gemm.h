// Matrix products: what their kernels share.
//
// Note [Kernels of matrix products]
// C = alpha A B + beta C comes in four shapes, each with its own limit (gemm_run.cu chooses):
//   tile     a block computes a tile of C from slabs of A and B that pass through shared memory (gemm_tile.h on the
//            arithmetic units, gemm_tensor.h, gemm_warpgroup.h and gemm_ring.h on the tensor cores): arithmetic;
//   vector   n = 1 (or m = 1): every element of A is read once and used once (gemm_vector.h): memory;
//   tiny     m n <= 64, k <= 64, a batch of such: several products in a block (gemm_tiny.h): memory.
// Where the tiles are too few for the device, k is cut into parts; the sums of the parts are written down and added in
// ascending order by one more kernel (finish), so a result does not depend on which block was first.
// A C that is contiguous along its rows' axis is written as the transposed product, C^T = B^T A^T.
#pragma once

#include "backend/backend.h"
#include "core/dtype.h"
#include "cuda/pointwise/loop.h"
#include "cuda/runtime/tile_copy.h"

namespace strided {
namespace cuda {

// What products of T are added up in. Integers modulo 2^32 or 2^64, so T is unsigned; bool counts.
template <class T>
using sum_t =
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, compute_t<T>>;

constexpr int kMaxBatchAxes = 4;

// How an operand is brought that cannot be copied in vectors along m or n.
struct OperandFlags {
  bool along_k = false;  // the axis neighbouring threads should walk along
  bool whole = false;    // tensor cores: 16 bytes along k may be copied at a time
};

struct GemmArgs {
  const char *a = nullptr, *b = nullptr;
  char* c = nullptr;
  int32_t m = 0, n = 0;
  int64_t k = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0, c_column = 0;  // elements
  int32_t batch_axes = 0;                                                             // innermost first
  Divisor batch_size[kMaxBatchAxes];
  int64_t batch_stride[kMaxBatchAxes][3] = {};  // of a, b, c; elements
  uint32_t batch = 1, first = 0;                // matrices, and the first of this launch
  uint32_t tiles_m = 1, tiles_n = 1;
  int64_t part = 0;         // columns of A in one part of k; gridDim.y parts
  char* partial = nullptr;  // their sums: [part][batch][m][n]
  alignas(16) char alpha[16] = {}, beta[16] = {};
  bool add = false;       // beta != 0: C is read
  bool vector_c = false;  // rows of C may be written 16 bytes at a time
  bool vector_a = false;  // of vector kernels: A may be read several elements at a time
  OperandFlags flags_a, flags_b;
};

// Of products whose slabs come by maps (Note [Ring of slabs] in gemm_ring.h).
struct RingArgs {
  TileMap a, b;
  GemmArgs gemm;
  uint32_t parts = 1, products = 1;
  bool moves_a[3] = {}, moves_b[3] = {};  // along which batch axes
  uint64_t patience = 0;                  // nanoseconds until a block gives up; 0: never
};

struct TinyArgs {
  GemmArgs gemm;
  Divisor mk, kn, mn, k, n;  // sizes of A, B and C, and of their rows
  uint32_t products = 1;     // of one block
};

template <class V>
__device__ inline V value_at(const char* bytes) {
  V v;
  memcpy(&v, bytes, sizeof(V));
  return v;
}

// Offsets of the matrices of one product.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};
__device__ inline Offsets offsets_of(const GemmArgs& args, uint32_t i) {
  Offsets at;
#pragma unroll 1
  for (int d = 0; d < args.batch_axes; ++d) {
    uint32_t here = i;
    if (d + 1 < args.batch_axes) {
      const uint32_t outer = args.batch_size[d].divide(i);
      here = i - outer * args.batch_size[d].d;
      i = outer;
    }
    at.a += static_cast<int64_t>(here) * args.batch_stride[d][0];
    at.b += static_cast<int64_t>(here) * args.batch_stride[d][1];
    at.c += static_cast<int64_t>(here) * args.batch_stride[d][2];
  }
  return at;
}

template <class V>
__device__ inline void multiply_add(V& sum, const V& x, const V& y) {
  sum += x * y;
}
template <class R>
__device__ inline void multiply_add(Complex<R>& sum, const Complex<R>& x, const Complex<R>& y) {
  sum.re += x.re * y.re;
  sum.re -= x.im * y.im;
  sum.im += x.re * y.im;
  sum.im += x.im * y.re;
}

// An element as it is computed with, and a result as it is stored.
template <class V, class T>
__device__ inline V widened(T x) {
  return static_cast<V>(x);
}
template <class T, class V>
__device__ inline T narrowed(V x) {
  if constexpr (std::is_same_v<T, bool>) return x != V(0);
  else return static_cast<T>(x);
}
// What becomes of an element of C.
template <class T, class V>
__device__ inline T scaled(const GemmArgs& args, V sum, const T* c) {
  V result = value_at<V>(args.alpha) * sum;
  if (args.add) result = result + value_at<V>(args.beta) * widened<V>(*c);
  return narrowed<T>(result);
}

// No GPU had run a tile that is not proven when this was written (Note [Tiles on trial] in gemm_run.cu). Once
// bench/gpu.py --tiles has measured it and tests/gpu has passed with it, it is.
enum class TileStatus {
  Proven,
  OnTrial,  // each device shows that it can
  Unrun,    // the same, where STRIDED_CUDA_TRIALS=1 asks for it: a fault of the device ends the process's use of it
};

// One shape of tile for one dtype.
struct GemmTile {
  int m = 0, n = 0, k = 0, threads = 0;
  int resident = 1;      // blocks that a multiprocessor holds
  double speed = 1;      // of a full tile, relative to the other shapes of the dtype
  int vector = 1;        // elements copied at a time where an operand allows it
  int shared_bytes = 0;  // dynamic ones
  int run_c = 1;         // elements of C that are written at a time where it allows that
  int capability = 0;    // not 0: for devices of exactly this compute capability
  TileStatus status = TileStatus::Proven;
  // [A][B], 1: the operand can be copied in vectors along m or n. If not it is read element by element or, for the
  // tensor cores, in vectors along k (OperandFlags).
  void (*kernel[2][2])(GemmArgs) = {};
  void (*ring[2][2])(RingArgs) = {};  // instead of them, for operands that have maps
};
struct GemmEntry {
  static constexpr int kMaxTiles = 8;
  GemmTile tile[kMaxTiles];  // those that every device can run come first
  int tiles = 0;
  void (*along_k)(GemmArgs) = nullptr;
  void (*along_m)(GemmArgs) = nullptr;
  void (*tiny)(TinyArgs) = nullptr;
  void (*finish)(GemmArgs, uint32_t parts) = nullptr;
  int sum_size = 0;                      // bytes of one sum
  int run_along_k = 1, run_along_m = 1;  // elements of A that the vector kernels read at a time
  void add(const GemmTile& t) { tile[tiles++] = t; }
};
// Whether products of the dtype may take tile i of the table on the device. The first question of a tile that is not
// proven waits for the device.
bool may_take_tile(DType dtype, int i, int device);

struct GemmTable {
  GemmEntry entry[kNumDTypes];
  GemmEntry tf32;  // float32 with rounded factors
};

}  // namespace cuda
}  // namespace strided
