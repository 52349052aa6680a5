// The tensor cores' instructions for warpgroups, four warps of which the first has a number divisible by four (wgmma of
// PTX, sm_90a): C(64xN) += A(64x16) B(16xN) of 16-bit elements, both factors read from shared memory while the threads
// go on.
//
// Note [Order of warpgroup products]
// The tensor cores read shared memory by a way of their own, the "async proxy". What threads wrote (cp.async too) they
// see after fence_async_proxy() in each writing thread and a barrier behind that; what they have read may be written
// again once wait_products() has seen the product end, in every warpgroup that reads it. Between open_products() and
// wait_products() the sums belong to the tensor cores: a thread must not read, write or move them.
//
// Note [Matrices for warpgroup products]
// A factor lies in shared memory in atoms of 1024 bytes at multiples of 1024: eight lines of 128 bytes, the 16-byte
// chunk c of line l at place c ^ l. Elements go along the lines in the direction in which the factor is contiguous:
// k (8 rows, 64 of k), or m or n (64 rows, 8 of k). A descriptor (PTX ISA, "Matrix Descriptor") has
//   bits 0-13   address / 16 of the first element; inside an atom, for later k of a factor that is contiguous along k
//   bits 16-29  bytes / 16 from an atom to the next along the lines' direction, where m or n is contiguous
//   bits 32-45  bytes / 16 from an atom to the next across the lines: 8 rows further, or 8 of k
//   bits 62-63  1: chunks have changed places within 128 bytes
// Under the emulation (tests/cpp/cuda/cuda_emulation_warpgroup.h) the same functions are written from these rules.
#pragma once

#include "base/half.h"
#include "cuda/runtime/portability.h"

#if STRIDED_EMULATED
#include <cuda_emulation_warpgroup.h>
#endif

namespace strided {
namespace cuda {

// Whether the code that is being compiled may have these instructions.
#if STRIDED_EMULATED || defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr bool kWarpgroups = true;
#else
constexpr bool kWarpgroups = false;
#endif
constexpr int kWarpgroup = 128;  // threads

// along, across: bytes from an atom to the next.
__device__ inline uint64_t matrix_descriptor(const void* shared, uint32_t along, uint32_t across) {
#if STRIDED_EMULATED
  const uint32_t address = ::cuda_emulation::shared_address(shared);
#else
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
#endif
  return uint64_t{across >> 4 | 1u << 30} << 32 | (along >> 4) << 16 | (address & 0x3ffff) >> 4;
}

// Of shared memory: what this thread wrote, for the tensor cores.
__device__ inline void fence_async_proxy() {
#if STRIDED_EMULATED
  ::cuda_emulation::fence_async_proxy();
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
#endif
}

// Ties the sums to their registers: the compiler may neither take up nor move what it knows about them.
template <int count>
__device__ inline void hold(float (&sum)[count]) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sum[i])::"memory");
#else
  static_cast<void>(sum);
#endif
}

// Hands the sums over, and closes a group of products.
template <int count>
__device__ inline void open_products(float (&sum)[count]) {
  hold(sum);
#if STRIDED_EMULATED
  ::cuda_emulation::wgmma_fence();
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}
__device__ inline void close_products() {
#if STRIDED_EMULATED
  ::cuda_emulation::wgmma_commit();
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#endif
}

// Until at most so many groups are under way. The sums are the thread's again when none is.
template <int groups, int count>
__device__ inline void wait_products(float (&sum)[count]) {
#if STRIDED_EMULATED
  ::cuda_emulation::wgmma_wait(groups);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(groups) : "memory");
#endif
  hold(sum);
}

// With g = lane / 4 and t = lane % 4, warp w of the warpgroup has in sum[4 j], sum[4 j + 1] row 16 w + g, columns
// 8 j + 2 t and 8 j + 2 t + 1; in sum[4 j + 2], sum[4 j + 3] row 16 w + g + 8. T is Half or BFloat16; kAlongM, kAlongN:
// the factor is contiguous along m or n, not along k.
template <class T, bool kAlongM, bool kAlongN, int count>
__device__ inline void multiply_warpgroup(float (&sum)[count], uint64_t a, uint64_t b) {
  static_assert(count == 64 || count == 128, "64x128 or 64x256");
#if STRIDED_EMULATED
  const auto value = [](const char* element) {
    T x;
    memcpy(&x, element, sizeof(T));
    return static_cast<float>(x);
  };
  ::cuda_emulation::wgmma(sum, {a, b, 2 * count, kAlongM, kAlongN, value});
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define STRIDED_NAMES(tens) \
  "%" #tens "0, %" #tens "1, %" #tens "2, %" #tens "3, %" #tens "4, %" #tens "5, %" #tens "6, %" #tens "7, %" #tens \
  "8, %" #tens "9, "
#define STRIDED_NAMES_60 \
  STRIDED_NAMES() STRIDED_NAMES(1) STRIDED_NAMES(2) STRIDED_NAMES(3) STRIDED_NAMES(4) STRIDED_NAMES(5)
#define STRIDED_NAMES_120 \
  STRIDED_NAMES_60 STRIDED_NAMES(6) STRIDED_NAMES(7) STRIDED_NAMES(8) STRIDED_NAMES(9) STRIDED_NAMES(10) \
      STRIDED_NAMES(11)
#define STRIDED_SUMS_4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define STRIDED_SUMS_16(i) STRIDED_SUMS_4(i), STRIDED_SUMS_4(i + 4), STRIDED_SUMS_4(i + 8), STRIDED_SUMS_4(i + 12)
#define STRIDED_SUMS_64(i) STRIDED_SUMS_16(i), STRIDED_SUMS_16(i + 16), STRIDED_SUMS_16(i + 32), STRIDED_SUMS_16(i + 48)
// The numbers behind the descriptors: C is added to, A and B keep their signs, and the directions they lie in.
#define STRIDED_MULTIPLY_128(type) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" STRIDED_NAMES_60 \
               "%60, %61, %62, %63}, %64, %65, 1, 1, 1, %66, %67;\n" \
               : STRIDED_SUMS_64(0) \
               : "l"(a), "l"(b), "n"(int{kAlongM}), "n"(int{kAlongN}))
#define STRIDED_MULTIPLY_256(type) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" STRIDED_NAMES_120 \
               "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, %130, %131;\n" \
               : STRIDED_SUMS_64(0), STRIDED_SUMS_64(64) \
               : "l"(a), "l"(b), "n"(int{kAlongM}), "n"(int{kAlongN}))
  if constexpr (count == 64) {
    if constexpr (std::is_same_v<T, Half>) STRIDED_MULTIPLY_128("f16");
    else STRIDED_MULTIPLY_128("bf16");
  } else {
    if constexpr (std::is_same_v<T, Half>) STRIDED_MULTIPLY_256("f16");
    else STRIDED_MULTIPLY_256("bf16");
  }
#undef STRIDED_NAMES
#undef STRIDED_NAMES_60
#undef STRIDED_NAMES_120
#undef STRIDED_SUMS_4
#undef STRIDED_SUMS_16
#undef STRIDED_SUMS_64
#undef STRIDED_MULTIPLY_128
#undef STRIDED_MULTIPLY_256
#endif
}

}  // namespace cuda
}  // namespace strided
