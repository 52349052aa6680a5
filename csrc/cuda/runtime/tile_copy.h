// Copies of boxes of a tensor to shared memory by the tensor memory accelerator (cp.async.bulk.tensor of PTX, sm_90),
// and the barriers in shared memory (mbarrier) by which threads know that one has arrived.
//
// Note [Flags]
// A flag counts arrivals, and bytes that are still to come; when both have come, its phase is over and the next one
// begins, with the parity of its number: 0, 1, 0, ... A thread waits for the end of the phase of a parity; it passes if
// the phase that goes on has the other one. What a thread did before it arrived is seen by those that waited.
//
// Note [Maps of tensors]
// The accelerator reads a tensor's address, sizes and strides from a map of 128 bytes that the driver writes. Strides
// are multiples of 16 bytes, the innermost axis is contiguous. Elements outside of the tensor become zero. The box lies
// in shared memory, at a multiple of 1024 bytes, as lines of 128 bytes along the innermost axis, whose chunk c of 16
// bytes stands at place c ^ l in line l: what the warpgroups' products read (warpgroup.h).
#pragma once

#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

constexpr int kTileAxes = 5;

struct alignas(64) TileMap {
  unsigned char bytes[128] = {};
};
// A tensor of 16-bit elements, its axes innermost first; strides (bytes) of the axes from the second on.
struct TileMapPlan {
  const void* data = nullptr;
  int rank = 2;  // 2 or 5, as the copies have it
  uint64_t size[kTileAxes] = {1, 1, 1, 1, 1};
  uint64_t stride[kTileAxes - 1] = {16, 16, 16, 16};
  uint32_t box[kTileAxes] = {1, 1, 1, 1, 1};
};
// False where the tensor has no map, or the driver cannot make one.
bool make_tile_map(TileMap& map, const TileMapPlan& plan);

#if !defined(__HIPCC__)

#if !STRIDED_EMULATED
__device__ inline uint32_t shared_address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}
#endif

// One thread prepares flags; others may use them after flags_ready() and a barrier of the block.
__device__ inline void prepare_flag(uint64_t* flag, uint32_t arrivals) {
#if STRIDED_EMULATED
  ::cuda_emulation::prepare_flag(flag, arrivals);
#elif __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(flag)), "r"(arrivals) : "memory");
#endif
}
__device__ inline void flags_ready() {
#if !STRIDED_EMULATED && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\n" ::: "memory");
#endif
}

__device__ inline void arrive(uint64_t* flag) {
#if STRIDED_EMULATED
  ::cuda_emulation::arrive(flag, 0);
#elif __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(flag)) : "memory");
#endif
}
// Arrives, and so many bytes are to come.
__device__ inline void arrive_expecting(uint64_t* flag, uint32_t bytes) {
#if STRIDED_EMULATED
  ::cuda_emulation::arrive(flag, bytes);
#elif __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(flag)), "r"(bytes)
               : "memory");
#endif
}
// False where the phase has not ended after `patience` nanoseconds; 0: waits for ever.
__device__ inline bool wait_for_phase(uint64_t* flag, uint32_t parity, uint64_t patience) {
#if STRIDED_EMULATED
  return ::cuda_emulation::wait_for_phase(flag, parity, patience > 0);
#elif __CUDA_ARCH__ >= 900
  uint64_t begin = 0;
  for (;;) {
    uint32_t passed;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(passed)
        : "r"(shared_address(flag)), "r"(parity)
        : "memory");
    if (passed) return true;
    if (patience == 0) continue;
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;\n" : "=l"(now));
    if (begin == 0) begin = now;
    else if (now - begin > patience) return false;
  }
#else
  return false;
#endif
}

// Brings the box that begins at `at`; its bytes are counted by the flag. One thread asks for it.
__device__ inline void copy_tile(void* shared, const TileMap& map, int at0, int at1, uint64_t* flag) {
#if STRIDED_EMULATED
  const int at[] = {at0, at1};
  ::cuda_emulation::copy_tile(shared, map.bytes, at, 2, flag);
#elif __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];\n" ::"r"(shared_address(shared)),
      "l"(&map), "r"(shared_address(flag)), "r"(at0), "r"(at1)
      : "memory");
#endif
}
__device__ inline void copy_tile(void* shared, const TileMap& map, int at0, int at1, const int (&outer)[3],
                                 uint64_t* flag) {
#if STRIDED_EMULATED
  const int at[] = {at0, at1, outer[0], outer[1], outer[2]};
  ::cuda_emulation::copy_tile(shared, map.bytes, at, 5, flag);
#elif __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];\n" ::"r"(shared_address(shared)),
      "l"(&map), "r"(shared_address(flag)), "r"(at0), "r"(at1), "r"(outer[0]), "r"(outer[1]), "r"(outer[2])
      : "memory");
#endif
}

// The registers of each thread of this warpgroup become so many: those it gives back, or waits for.
template <int count>
__device__ inline void give_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(count));
#endif
}
template <int count>
__device__ inline void take_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(count));
#endif
}
#endif

}  // namespace cuda
}  // namespace strided
