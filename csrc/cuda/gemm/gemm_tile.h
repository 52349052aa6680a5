// Products of tiles: slabs of A and B pass through shared memory, several of them on their way at a time, and each
// thread adds up its elements of C from them.
//
// Slabs.
// Both slabs lie in shared memory as [k][m] and [k][n], whatever the operand's strides: then a thread's factors for one
// k are neighbours and are read 16 bytes at a time. An operand whose m (n) neighbours are neighbours in memory is
// copied 16 bytes at a time; any other one element at a time, by neighbouring threads along the axis with the smaller
// stride, and rows are padded by 16 bytes so that those writes meet different banks. Elements outside the matrix become
// zero. (The scheme is that of the SIMT kernels of NVIDIA's CUTLASS, docs "Efficient GEMM in CUDA".)
#pragma once

#include "cuda/gemm/gemm_tiny.h"
#include "cuda/gemm/gemm_vector.h"
#include "cuda/runtime/async_copy.h"

namespace strided {
namespace cuda {

// kOuter_ x kDepth_ elements of an operand on their way to a slab [kDepth][kPitch] of S, by kThreads threads.
template <class T, class S, int kOuter_, int kDepth_, int kPitch_, int kThreads, bool kVector>
class SlabLoader {
 public:
  using Element = S;
  static constexpr int kOuter = kOuter_, kDepth = kDepth_, kPitch = kPitch_, kElements = kDepth * kPitch;

 private:
  static constexpr int kRun = kVector ? static_cast<int>(16 / sizeof(T)) : 1;  // elements of one copy
  static constexpr int kRuns = kOuter / kRun;
  static constexpr int kCount = kRuns * kDepth / kThreads;  // copies of one thread
  static constexpr int kBytes = static_cast<int>(sizeof(T)) * kRun;
  static constexpr bool kAsync = std::is_same_v<T, S> && sizeof(T) >= 4;
  static_assert(kRuns * kDepth % kThreads == 0 && kThreads % kDepth == 0 && kThreads % kRuns == 0,
                "threads share evenly");
  static_assert(kAsync || !kVector, "vectors are copied, not converted");

 public:
  // `outer` elements of the operand from the tile's first on, `depth` of its k; strides in elements.
  __device__ SlabLoader(const T* from, int64_t outer_stride, int64_t k_stride, OperandFlags flags, int outer,
                        int64_t depth)
      : base_(from), k_stride_(k_stride), depth_(depth), all_inside_(outer >= kOuter) {
    const int t = static_cast<int>(threadIdx.x);
    int first, d_outer;
    if (kVector || !flags.along_k) {
      first = t % kRuns * kRun;
      k_ = t / kRuns;
      d_outer = 0;
      d_k_ = kThreads / kRuns;
    } else {
      first = t / kDepth;
      k_ = t % kDepth;
      d_outer = kThreads / kDepth;
      d_k_ = 0;
    }
    left_ = outer - first;
    d_left_ = d_outer;
    from_ = from + first * outer_stride + k_ * k_stride;
    step_ = d_outer * outer_stride + d_k_ * k_stride;
    place_ = k_ * kPitch + first;
    place_step_ = d_k_ * kPitch + d_outer;
  }

  // Begins to bring the next slab. Most slabs are whole: for them nothing is compared.
  __device__ void begin(S* slab) {
    if (all_inside_ && depth_ >= kDepth) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if constexpr (kAsync) copy_async<kBytes>(slab + place_ + i * place_step_, from_ + i * step_);
        else held_[i] = widened<S>(from_[i * step_]);
      }
    } else if constexpr (kAsync) {
#pragma unroll 1
      for (int i = 0; i < kCount; ++i) {
        const int left = left_ - i * d_left_;
        const int valid = left <= 0 || k_ + i * d_k_ >= depth_ ? 0
                          : left < kRun                        ? static_cast<int>(sizeof(T)) * left
                                                               : kBytes;
        copy_async<kBytes>(slab + place_ + i * place_step_, valid ? from_ + i * step_ : base_, valid);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        held_[i] = left_ - i * d_left_ > 0 && k_ + i * d_k_ < depth_ ? widened<S>(from_[i * step_]) : S(0);
    }
    from_ += kDepth * k_stride_;
    depth_ -= kDepth;
  }
  // Writes what could not be copied while the thread computed.
  __device__ void end(S* slab) {
    if constexpr (!kAsync)
#pragma unroll
      for (int i = 0; i < kCount; ++i) slab[place_ + i * place_step_] = held_[i];
  }

 private:
  const T *base_, *from_;
  int64_t k_stride_, step_, depth_;
  bool all_inside_;
  int k_, d_k_, left_, d_left_, place_, place_step_;
  S held_[kAsync ? 1 : kCount];
};

// Sums of a block's tile on the arithmetic units: each thread has kRows x kColumns of them, in groups of as many
// neighbours as 16 bytes hold, the groups of a warp's lanes side by side (4 lanes along m, 8 along n).
template <class V, int kM, int kN, int kRows, int kColumns>
struct Units {
  static constexpr int kThreads = kM * kN / (kRows * kColumns);
  static constexpr int kRun = static_cast<int>(16 / sizeof(V));
  static constexpr int kWarpM = 4 * kRows, kWarpN = 8 * kColumns, kWarpsM = kM / kWarpM;
  static_assert(kM % kWarpM == 0 && kN % kWarpN == 0 && kRows % kRun == 0 && kColumns % kRun == 0, "shape of the tile");

  V sum[kRows][kColumns];
  int row, column;  // of the first element

  __device__ Units() {
    const int lane = static_cast<int>(threadIdx.x % kWarp), warp = static_cast<int>(threadIdx.x / kWarp);
    row = warp % kWarpsM * kWarpM + lane / 8 * kRun;
    column = warp / kWarpsM * kWarpN + lane % 8 * kRun;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sum[i][j] = V(0);
  }
  __device__ int row_of(int i) const { return row + i / kRun * (4 * kRun) + i % kRun; }
  __device__ int column_of(int j) const { return column + j / kRun * (8 * kRun) + j % kRun; }

  template <int count, int lanes>
  __device__ static void read(V (&to)[count], const V* from) {
    struct alignas(16) Run {
      V v[kRun];
    };
#pragma unroll
    for (int g = 0; g < count / kRun; ++g) {
      const Run run = *reinterpret_cast<const Run*>(from + g * lanes * kRun);
#pragma unroll
      for (int e = 0; e < kRun; ++e) to[g * kRun + e] = run.v[e];
    }
  }

  template <class SlabA, class SlabB>
  __device__ void multiply(const V* a, const V* b) {
    constexpr int kDepth = SlabA::kDepth;
    V x[2][kRows], y[2][kColumns];  // those of the next k are read while this one is used
    read<kRows, 4>(x[0], a + row);
    read<kColumns, 8>(y[0], b + column);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      if (k + 1 < kDepth) {
        read<kRows, 4>(x[(k + 1) % 2], a + (k + 1) * SlabA::kPitch + row);
        read<kColumns, 8>(y[(k + 1) % 2], b + (k + 1) * SlabB::kPitch + column);
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) multiply_add(sum[i][j], x[k % 2][i], y[k % 2][j]);
    }
  }

  // f(row, column, sums) for runs of neighbouring columns.
  template <class F>
  __device__ void each(F f) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; j += kRun) f(row_of(i), column_of(j), &sum[i][j]);
  }
  static constexpr int kEach = kRun, kPadding = 1;  // padding of slabs, in units of 16 bytes
  static constexpr int kBehind = 0, kCapability = 0;
  static constexpr bool kHere = true;
  __device__ static void arrived() {}
  __device__ static void finish() {}
};

// Which tile is the i-th: bands of so many rows of tiles, column by column, so that the slabs that blocks of one time
// read are few and stay in the L2 cache.
template <uint32_t band_rows>
__device__ inline void tile_of(const GemmArgs& args, uint32_t i, uint32_t* tile_m, uint32_t* tile_n) {
  const uint32_t in_band = band_rows * args.tiles_n, band = i / in_band, rest = i - band * in_band;
  const uint32_t left = args.tiles_m - band * band_rows, rows = left < band_rows ? left : band_rows;
  *tile_m = band * band_rows + rest % rows;
  *tile_n = rest / rows;
}

// Writes a block's sums to C, or to the partial sums.
template <class T, class V, class Sums>
__device__ inline void write_tile(const GemmArgs& args, const Sums& sums, int row0, int column0, uint32_t product,
                                  uint32_t part, T* c) {
  constexpr int run = Sums::kEach;
  sums.each([&](int i, int j, const V* sum) {
    const int row = row0 + i, column = column0 + j;
    if (row >= args.m || column >= args.n) return;
    if (args.partial) {
      V* to = reinterpret_cast<V*>(args.partial) +
              ((static_cast<int64_t>(part) * args.batch + product) * args.m + row) * args.n + column;
#pragma unroll
      for (int e = 0; e < run; ++e)
        if (column + e < args.n) to[e] = sum[e];
      return;
    }
    T* to = c + row * args.c_row + column * args.c_column;
    struct alignas(sizeof(T) * run) Run {
      T v[run];
    };
    if (run > 1 && args.vector_c && column + run <= args.n) {
      Run out;
      if (args.add) out = *reinterpret_cast<const Run*>(to);
#pragma unroll
      for (int e = 0; e < run; ++e) out.v[e] = scaled<T>(args, sum[e], &out.v[e]);
      *reinterpret_cast<Run*>(to) = out;
      return;
    }
#pragma unroll
    for (int e = 0; e < run; ++e)
      if (column + e < args.n) to[e * args.c_column] = scaled<T>(args, sum[e], to + e * args.c_column);
  });
}

// begin(s) and end(s) fill stage s with the next slabs, use(s) multiplies it. Where that goes on behind its back, the
// kBehind slabs before it are still in use; all other stages are on their way. arrived(): a thread's copies have.
template <int kDepth, int kStages, int kBehind, class Begin, class End, class Arrived, class Use>
__device__ inline void pass_slabs(int64_t depth, Begin begin, End end, Arrived arrived, Use use) {
  constexpr int kAhead = kStages - 1 - kBehind;
  static_assert(kAhead > 0, "too few stages");
  const int64_t slabs = (depth + kDepth - 1) / kDepth;
#pragma unroll
  for (int s = 0; s < kAhead; ++s) {
    if (s < slabs) {
      begin(s);
      end(s);
    }
    close_copies();
  }
  int now = 0, free = kAhead;
#pragma unroll 1
  for (int64_t s = 0; s < slabs; ++s) {
    wait_copies<kAhead - 1>();
    arrived();
    __syncthreads();  // the slab is there, and nobody reads the one before it (and kBehind more) any longer
    const bool more = s + kAhead < slabs;
    if (more) begin(free);
    close_copies();
    use(now);
    if (more) end(free);
    now = now + 1 == kStages ? 0 : now + 1;
    free = free + 1 == kStages ? 0 : free + 1;
  }
}

// T: as stored; Sums: how the tile is added up; SlabA, SlabB: how the operands come to shared memory, and lie there.
template <class T, class V, class Sums, class SlabA, class SlabB, int kStages, int kBlocks>
__global__ void __launch_bounds__(Sums::kThreads, kBlocks) gemm_tile_kernel(const STRIDED_GRID_CONSTANT GemmArgs args) {
#if defined(__CUDA_ARCH__)
  if constexpr (!Sums::kHere) return __trap();  // code for another device
#endif
  using Element = typename SlabA::Element;
  STRIDED_DYNAMIC_SHARED_AT(Element, slabs, 1024);
  auto slab_a = [&](int s) { return slabs + s * (SlabA::kElements + SlabB::kElements); };
  auto slab_b = [&](int s) { return slab_a(s) + SlabA::kElements; };
  uint32_t tile_m, tile_n;
  tile_of<8>(args, blockIdx.x, &tile_m, &tile_n);
  const int row0 = static_cast<int>(tile_m) * SlabA::kOuter, column0 = static_cast<int>(tile_n) * SlabB::kOuter;
  const uint32_t product = args.first + blockIdx.z;
  const Offsets at = offsets_of(args, product);
  const int64_t k0 = blockIdx.y * args.part, depth = args.k - k0 < args.part ? args.k - k0 : args.part;
  SlabA load_a(reinterpret_cast<const T*>(args.a) + at.a + row0 * args.a_row + k0 * args.a_column, args.a_row,
               args.a_column, args.flags_a, args.m - row0, depth);
  SlabB load_b(reinterpret_cast<const T*>(args.b) + at.b + column0 * args.b_column + k0 * args.b_row, args.b_column,
               args.b_row, args.flags_b, args.n - column0, depth);
  Sums sums;
  pass_slabs<SlabA::kDepth, kStages, Sums::kBehind>(
      depth,
      [&](int s) {
        load_a.begin(slab_a(s));
        load_b.begin(slab_b(s));
      },
      [&](int s) {
        load_a.end(slab_a(s));
        load_b.end(slab_b(s));
      },
      [] { Sums::arrived(); }, [&](int s) { sums.template multiply<SlabA, SlabB>(slab_a(s), slab_b(s)); });
  sums.finish();
  write_tile<T, V>(args, sums, row0, column0, product, blockIdx.y, reinterpret_cast<T*>(args.c) + at.c);
}

// A row of the table. Slabs: A and B, each for operands that are copied in vectors along m or n (true) and others.
template <class T, class V, class Sums, class Slabs, int kStages, int kBlocks>
GemmTile tile_of_slabs(double speed) {
  using A = typename Slabs::template A<false>;
  using B = typename Slabs::template B<false>;
  GemmTile t;
  t.m = A::kOuter;
  t.n = B::kOuter;
  t.k = A::kDepth;
  t.threads = Sums::kThreads;
  t.resident = kBlocks;
  t.speed = speed;
  t.vector = Slabs::kVector;
  t.run_c = Sums::kEach;
  t.capability = Sums::kCapability;
  t.shared_bytes = kStages * (A::kElements + B::kElements) * static_cast<int>(sizeof(typename A::Element));
  t.kernel[0][0] = gemm_tile_kernel<T, V, Sums, A, B, kStages, kBlocks>;
  if constexpr (Slabs::kVector > 1) {
    using VectorA = typename Slabs::template A<true>;
    using VectorB = typename Slabs::template B<true>;
    t.kernel[0][1] = gemm_tile_kernel<T, V, Sums, A, VectorB, kStages, kBlocks>;
    t.kernel[1][0] = gemm_tile_kernel<T, V, Sums, VectorA, B, kStages, kBlocks>;
    t.kernel[1][1] = gemm_tile_kernel<T, V, Sums, VectorA, VectorB, kStages, kBlocks>;
  }
  return t;
}

template <class T, class V, class Sums, int kM, int kN, int kDepth>
struct PaddedSlabs {
  static constexpr int kVector =  // elements of a copy
      std::is_same_v<T, V> && !std::is_integral_v<T> && sizeof(T) < 16 ? static_cast<int>(16 / sizeof(T)) : 1;
  static constexpr int kPadding = static_cast<int>(16 / sizeof(V)) * Sums::kPadding;
  template <bool vector>
  using A = SlabLoader<T, V, kM, kDepth, kM + kPadding, Sums::kThreads, vector>;
  template <bool vector>
  using B = SlabLoader<T, V, kN, kDepth, kN + kPadding, Sums::kThreads, vector>;
};
template <class T, class V, class Sums, int kM, int kN, int kDepth, int kStages, int kBlocks>
GemmTile tile_of(double speed) {
  return tile_of_slabs<T, V, Sums, PaddedSlabs<T, V, Sums, kM, kN, kDepth>, kStages, kBlocks>(speed);
}

// What is the same for every dtype.
template <class T, class V>
GemmEntry entry_of() {
  GemmEntry e;
  e.along_k = gemv_along_k_kernel<T, V>;
  e.along_m = gemv_along_m_kernel<T, V>;
  e.tiny = gemm_tiny_kernel<T, V>;
  e.finish = gemm_finish_kernel<T, V>;
  e.sum_size = sizeof(V);
  e.run_along_k = kRunAlongK<T>;
  e.run_along_m = kRunAlongM<T>;
  return e;
}

}  // namespace cuda
}  // namespace strided
