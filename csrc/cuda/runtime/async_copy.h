// Copies from global to shared memory that go on while the thread computes (cp.async of PTX, sm_80 and newer).
// A thread starts copies, closes a group of them, and later waits until at most N of its groups are under way; other
// threads see the data after a barrier behind that.
#pragma once

#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

// Bytes (4, 8 or 16, and as aligned) to shared memory; the first `valid` of them are read, the others become zero.
template <int bytes>
__device__ inline void copy_async(void* shared, const void* global, int valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what the hardware copies");
#if STRIDED_EMULATED
  ::cuda_emulation::async_copy(shared, global, bytes, valid);
#elif defined(__HIPCC__)
  char part[bytes] = {};
  memcpy(part, global, static_cast<size_t>(valid));
  memcpy(shared, part, bytes);
#else
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(to), "l"(global), "n"(bytes), "r"(valid)
                 : "memory");
#endif
}

// All of them.
template <int bytes>
__device__ inline void copy_async(void* shared, const void* global) {
#if STRIDED_EMULATED || defined(__HIPCC__)
  copy_async<bytes>(shared, global, bytes);
#else
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(global) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\n" ::"r"(to), "l"(global), "n"(bytes) : "memory");
#endif
}

__device__ inline void close_copies() {
#if STRIDED_EMULATED
  ::cuda_emulation::async_commit();
#elif !defined(__HIPCC__)
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}

template <int groups>
__device__ inline void wait_copies() {
#if STRIDED_EMULATED
  ::cuda_emulation::async_wait(groups);
#elif !defined(__HIPCC__)
  asm volatile("cp.async.wait_group %0;\n" ::"n"(groups) : "memory");
#endif
}

}  // namespace cuda
}  // namespace strided
