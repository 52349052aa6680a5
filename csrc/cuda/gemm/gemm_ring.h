// Products of tiles by warpgroups whose slabs the tensor memory accelerator brings.
//
// Note [Ring of slabs]
// A block has one warpgroup that asks for slabs (one thread of it does; Note [Maps of tensors] in tile_copy.h) and
// kConsumers that multiply, 64 rows of the tile each. Slabs pass through a ring of kStages places (Note [Flags] there):
// `full` says that both slabs of a place have come, `empty` that all consumers have multiplied them. There are as many
// blocks as the device has multiprocessors. They take tiles by turns, so the slabs of the next tile come while the sums
// of this one are written. The warpgroup that asks gives its registers to the others.
// (The scheme is that of CUTLASS's persistent warp-specialized kernels, docs "Efficient GEMM in CUDA".)
#pragma once

#include "cuda/gemm/gemm_warpgroup.h"

namespace strided {
namespace cuda {

#if !defined(__HIPCC__)
template <class T, int kM_, int kN_, int kStages_>
struct RingShape {
  static constexpr int kM = kM_, kN = kN_, kStages = kStages_, kDepth = 64, kConsumers = kM / 64;
  static constexpr int kThreads = (kConsumers + 1) * kWarpgroup;
  static constexpr int kElementsA = kM * kDepth, kElementsB = kN * kDepth;
  static constexpr int kBytes = (kElementsA + kElementsB) * static_cast<int>(sizeof(T));  // of one place
  // Registers of a thread: 64 Ki of a multiprocessor at the start, as many for each; then in steps of 8.
  static constexpr int kAtStart = 65536 / kThreads / 8 * 8, kAsking = 40;
  static constexpr int kMultiplying = (kAtStart * (kConsumers + 1) - kAsking) / kConsumers / 8 * 8;
};

// A slab as a box brings it: where TensorSlab has it (gemm_tensor.h), as Warpgroups reads it.
template <class T, int kOuter_, bool kAlongOuter_>
struct BoxedSlab {
  using Element = T;
  static constexpr int kOuter = kOuter_, kDepth = 64, kLine = 8;
  static constexpr bool kAlongOuter = kAlongOuter_;
  static constexpr int kBoxOuter = kAlongOuter ? 64 : kOuter;

  __device__ static int place(int row, int chunk) {
    constexpr int kRows = kAlongOuter ? kDepth : kOuter;
    return ((chunk & -kLine) * kRows + row * kLine + ((chunk & (kLine - 1)) ^ (row & (kLine - 1)))) * 8;
  }
  // Asks for the elements from (outer, k) on.
  __device__ static void ask(T* slab, const TileMap& map, int outer, int k, const int (&batch)[3], bool batched,
                             uint64_t* flag) {
#pragma unroll
    for (int o = 0; o < kOuter; o += kBoxOuter) {
      T* to = slab + o * kDepth;
      const int at0 = kAlongOuter ? outer + o : k, at1 = kAlongOuter ? k : outer + o;
      if (batched) copy_tile(to, map, at0, at1, batch, flag);
      else copy_tile(to, map, at0, at1, flag);
    }
  }
};

// Where a matrix of the batch is, along the batch axes of the maps.
__device__ inline void find_matrix(const RingArgs& ring, uint32_t i, int (&a)[3], int (&b)[3]) {
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const bool here = d < ring.gemm.batch_axes, last = d + 1 >= ring.gemm.batch_axes;
    const uint32_t outer = here && !last ? ring.gemm.batch_size[d].divide(i) : 0;
    const int at = here ? static_cast<int>(i - outer * ring.gemm.batch_size[d].d * !last) : 0;
    a[d] = ring.moves_a[d] ? at : 0;
    b[d] = ring.moves_b[d] ? at : 0;
    i = outer;
  }
}

template <class T, class Shape, bool kAlongM, bool kAlongN>
__global__ void __launch_bounds__(Shape::kThreads, 1) gemm_ring_kernel(const STRIDED_GRID_CONSTANT RingArgs ring) {
  using Sums = Warpgroups<Shape::kM, Shape::kN>;
#if defined(__CUDA_ARCH__)
  if constexpr (!Sums::kHere) return __trap();  // code for another device
#endif
  using SlabA = BoxedSlab<T, Shape::kM, kAlongM>;
  using SlabB = BoxedSlab<T, Shape::kN, kAlongN>;
  constexpr int kStages = Shape::kStages, kDepth = Shape::kDepth;
  STRIDED_DYNAMIC_SHARED_AT(T, slabs, 1024);
  uint64_t* const full = reinterpret_cast<uint64_t*>(slabs + kStages * (Shape::kElementsA + Shape::kElementsB));
  uint64_t* const empty = full + kStages;
  auto slab_a = [&](int s) { return slabs + s * (Shape::kElementsA + Shape::kElementsB); };
  auto slab_b = [&](int s) { return slab_a(s) + Shape::kElementsA; };
  const GemmArgs& args = ring.gemm;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      prepare_flag(full + s, 1);
      prepare_flag(empty + s, Shape::kConsumers * 4);  // warps
    }
    flags_ready();
  }
  __syncthreads();

  const uint32_t tiles = args.tiles_m * args.tiles_n;
  const int64_t all = static_cast<int64_t>(tiles) * ring.parts * ring.products;
  int place = 0;
  uint32_t parity = 0;  // of the phase of `full` that the place is in
  const auto next_place = [&] {
    if (++place < kStages) return;
    place = 0;
    parity ^= 1;
  };
  // f(row, column, first k, depth, product, part) for this block's tiles, until it gives up.
  const auto each_tile = [&](auto f) {
#pragma unroll 1
    for (int64_t w = blockIdx.x; w < all; w += gridDim.x) {
      const int64_t outer = w / tiles;
      const uint32_t product = args.first + static_cast<uint32_t>(outer / ring.parts),
                     part = static_cast<uint32_t>(outer % ring.parts);
      uint32_t tile_m, tile_n;
      tile_of<Shape::kN >= 2 * Shape::kM ? 16 : 8>(args, static_cast<uint32_t>(w % tiles), &tile_m, &tile_n);
      const int64_t k0 = part * args.part, rest = args.k - k0;
      if (!f(static_cast<int>(tile_m) * Shape::kM, static_cast<int>(tile_n) * Shape::kN, k0,
             rest < args.part ? rest : args.part, product, part))
        return;
    }
  };

  if (threadIdx.x >= Shape::kConsumers * kWarpgroup) {
    give_registers<Shape::kAsking>();
    if (threadIdx.x != Shape::kConsumers * kWarpgroup) return;
    each_tile([&](int row0, int column0, int64_t k0, int64_t depth, uint32_t product, uint32_t) {
      int at_a[3], at_b[3];
      find_matrix(ring, product, at_a, at_b);
#pragma unroll 1
      for (int64_t k = 0; k < depth; k += kDepth) {
        if (!wait_for_phase(empty + place, parity ^ 1, ring.patience)) return false;
        arrive_expecting(full + place, Shape::kBytes);
        const int from = static_cast<int>(k0 + k);
        SlabA::ask(slab_a(place), ring.a, row0, from, at_a, args.batch_axes > 0, full + place);
        SlabB::ask(slab_b(place), ring.b, column0, from, at_b, args.batch_axes > 0, full + place);
        next_place();
      }
      return true;
    });
    return;
  }
  take_registers<Shape::kMultiplying>();
  each_tile([&](int row0, int column0, int64_t, int64_t depth, uint32_t product, uint32_t part) {
    Sums sums;
    int before = -1;  // the place whose products may still be under way
    const auto leave = [&](int s) {
      __syncwarp();
      if (threadIdx.x % kWarp == 0) arrive(empty + s);
    };
#pragma unroll 1
    for (int64_t k = 0; k < depth; k += kDepth) {
      if (!wait_for_phase(full + place, parity, ring.patience)) {
        sums.finish();
        return false;
      }
      sums.template multiply<SlabA, SlabB>(slab_a(place), slab_b(place));
      if (before >= 0) leave(before);
      before = place;
      next_place();
    }
    sums.finish();
    if (before >= 0) leave(before);
    write_tile<T, float>(args, sums, row0, column0, product, part,
                         reinterpret_cast<T*>(args.c) + offsets_of(args, product).c);
    return true;
  });
}

template <class T, int kM, int kN, int kStages>
GemmTile ring_tile_of(double speed) {
  using Shape = RingShape<T, kM, kN, kStages>;
  GemmTile t;
  t.m = kM;
  t.n = kN;
  t.k = Shape::kDepth;
  t.threads = Shape::kThreads;
  t.speed = speed;
  t.vector = 8;
  t.run_c = 2;
  t.capability = 90;
  t.status = TileStatus::Unrun;
  t.shared_bytes = kStages * (Shape::kBytes + 16);
  t.ring[0][0] = gemm_ring_kernel<T, Shape, false, false>;
  t.ring[0][1] = gemm_ring_kernel<T, Shape, false, true>;
  t.ring[1][0] = gemm_ring_kernel<T, Shape, true, false>;
  t.ring[1][1] = gemm_ring_kernel<T, Shape, true, true>;
  return t;
}
#endif

// The table's row of a 16-bit dtype.
// Pieces of 64x64 for each warp: for 32 instructions it reads 4 KiB of shared memory, which takes shared memory less
// time than the instructions take (pieces of 64x32 would take it longer). 256x128 because tiles of 128x128 would ask
// more of the L2 cache than it gives on an H100: 64 operations for a byte, against 85. Four slabs of 24 KiB fit sm_86
// and sm_89 too.
// Warpgroups: with 64x256 each they read 10 KiB of shared memory, which gives 16, while the tensor cores take 128
// cycles; four slabs of 48 KiB. With 64x128 there are twice the blocks, two of them on a multiprocessor: one multiplies
// while the other waits.
template <class T>
GemmEntry half_entry() {
  GemmEntry e = entry_of<T, float>();
#if defined(__HIPCC__)  // no tensor cores of this kind
  e.add(tile_of<T, float, Units<float, 64, 64, 8, 4>, 64, 64, 16, 2, 4>(1.0));
  e.add(tile_of<T, float, Units<float, 32, 32, 4, 4>, 32, 32, 16, 2, 8>(0.6));
#else
  e.add(tensor_tile_of<T, Fragments<256, 128, 64, 64>, 256, 128, 32, 4, 1>(1.0));
  e.add(tensor_tile_of<T, Fragments<128, 128, 64, 64>, 128, 128, 32, 3, 2>(0.85));
  e.add(tensor_tile_of<T, Fragments<64, 64, 32, 32>, 64, 64, 32, 3, 4>(0.55));
#if STRIDED_EMULATED || STRIDED_WARPGROUPS  // the build is for such devices too
  e.add(warpgroup_tile_of<T, 128, 256, 4, 1>(1.5));
  e.add(warpgroup_tile_of<T, 128, 128, 3, 2>(1.3));
  e.add(ring_tile_of<T, 128, 256, 4>(1.8));
  e.add(ring_tile_of<T, 128, 128, 6>(1.6));
#endif
#endif
  return e;
}

}  // namespace cuda
}  // namespace strided
