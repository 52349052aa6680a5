// Products of tiles by warpgroups (Note [Order of warpgroup products] in warpgroup.h).
//
// Tiles of warpgroups.
// On sm_90 mma.sync reaches about 0.6 of what the tensor cores do through wgmma, which reads both factors from shared
// memory by itself. Each warpgroup has 64 rows of the tile; the slabs are those of gemm_tensor.h, 64 of k deep, whose
// lines of 128 bytes with exchanged chunks are what the instruction expects. The products of one slab are under way
// while the threads wait for the next slab and start to bring a later one, so a slab's place is free one turn later
// than elsewhere (kBehind). Operands of any layout will do; gemm_ring.h is for those that the tensor memory accelerator
// can read.
#pragma once

#include "cuda/gemm/gemm_tensor.h"
#if !defined(__HIPCC__)
#include "cuda/gemm/warpgroup.h"
#endif

namespace strided {
namespace cuda {

#if !defined(__HIPCC__)
// A warpgroup's sums: 64 rows, all columns.
template <int kM, int kN>
struct Warpgroups {
  static constexpr int kThreads = kM / 64 * kWarpgroup;
  static constexpr int kEach = 2, kBehind = 1, kCapability = 90;
  static constexpr bool kHere = kWarpgroups;

  float sum[kN / 2];
  int row;  // the first one; the shuffle tells the compiler that a warp has but one

  __device__ Warpgroups() : row(static_cast<int>(__shfl_sync(kAllLanes, threadIdx.x / kWarpgroup, 0)) * 64) {
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
  }

  __device__ static void arrived() { fence_async_proxy(); }

  template <class SlabA, class SlabB, class T>
  __device__ void multiply(const T* a, const T* b) {
    static_assert(SlabA::kLine == 8 && SlabB::kLine == 8, "lines of 128 bytes");
    const int rows = SlabA::kAlongOuter ? SlabA::place(0, row / 8) : SlabA::place(row, 0);
    const uint64_t from_a = descriptor<SlabA>(a + rows), from_b = descriptor<SlabB>(b);
    open_products(sum);
#pragma unroll
    for (int k = 0; k < SlabA::kDepth; k += 16)
      multiply_warpgroup<T, SlabA::kAlongOuter, SlabB::kAlongOuter>(sum, from_a + step<SlabA>(k),
                                                                    from_b + step<SlabB>(k));
    close_products();
    wait_products<kBehind>(sum);
  }

  __device__ void finish() { wait_products<0>(sum); }

  template <class F>
  __device__ void each(F f) const {
    const int lane = static_cast<int>(threadIdx.x % kWarp), warp = static_cast<int>(threadIdx.x / kWarp);
#pragma unroll
    for (int i = 0; i < kN / 2; i += 2) f(16 * warp + lane / 4 + i % 4 * 4, i / 4 * 8 + lane % 4 * 2, &sum[i]);
  }

 private:
  template <class Slab, class T>
  __device__ static uint64_t descriptor(const T* from) {
    return matrix_descriptor(from, Slab::kAlongOuter ? Slab::kDepth * 128 : 16, 1024);
  }
  // To later k, as descriptors count: within the lines, or that many lines further.
  template <class Slab>
  static constexpr uint64_t step(int k) {
    return static_cast<uint64_t>(k) * (Slab::kAlongOuter ? 128 : sizeof(typename Slab::Element)) / 16;
  }
};

template <class T, int kM, int kN, int kStages, int kBlocks>
GemmTile warpgroup_tile_of(double speed) {
  using Sums = Warpgroups<kM, kN>;
  GemmTile t = tile_of_slabs<T, float, Sums, TensorSlabs<T, Sums, kM, kN, 64>, kStages, kBlocks>(speed);
  t.status = TileStatus::OnTrial;
  return t;
}
#endif

}  // namespace cuda
}  // namespace strided
