// The one place that knows which compiler reads the .cu files: nvcc, hipcc, or the host compiler with the emulation of
// tests/cpp/cuda/cuda_emulation.h. The code is written in CUDA's words; for HIP they are renamed here.
#pragma once

#include <math.h>  // its functions are global in device code, for float and double alike

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>

#include "cuda/runtime/portability_hip.h"
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include <cuda_emulation.h>
#define STRIDED_EMULATED 1
#endif

// An array in shared memory, its type written as for a type name: STRIDED_SHARED(float, tile, [32][33]);
// and the memory whose size the launch gives, at a multiple of so many bytes.
#if STRIDED_EMULATED
#define STRIDED_SHARED(T, name, dims) \
  using name##_array = T dims; \
  static const char name##_site = 0; \
  name##_array& name = ::cuda_emulation::shared<name##_array>(&name##_site)
#define STRIDED_DYNAMIC_SHARED_AT(T, name, alignment) \
  T* name = static_cast<T*>(::cuda_emulation::dynamic_shared(alignment))
#else
// As bytes: types with constructors may not stand in shared memory.
#define STRIDED_SHARED(T, name, dims) \
  using name##_array = T dims; \
  __shared__ __align__(16) unsigned char name##_bytes[sizeof(name##_array)]; \
  name##_array& name = *reinterpret_cast<name##_array*>(name##_bytes)
#define STRIDED_DYNAMIC_SHARED_AT(T, name, alignment) \
  extern __shared__ __align__(alignment) \
  unsigned char strided_dynamic_shared##alignment[]; \
  T* name = reinterpret_cast<T*>(strided_dynamic_shared##alignment)
#endif
#define STRIDED_DYNAMIC_SHARED(T, name) STRIDED_DYNAMIC_SHARED_AT(T, name, 16)

// A kernel's argument that every thread reads where it lies: without this, taking its address (or indexing it) makes
// each thread copy the whole structure into local memory first.
#if defined(__CUDACC__) && !defined(__HIPCC__)
#define STRIDED_GRID_CONSTANT __grid_constant__
#else
#define STRIDED_GRID_CONSTANT
#endif

// A function that stays one: called from many kernels of a unit, compiled once.
#if STRIDED_EMULATED
#define STRIDED_NOINLINE __attribute__((noinline))
#else
#define STRIDED_NOINLINE __noinline__
#endif

namespace strided {
namespace cuda {

// Kernels are written for groups of 32 lanes, on every device: where a hardware warp is wider it holds two of them.
constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

#if !STRIDED_EMULATED
// From now on the kernel may have so many bytes of dynamic shared memory on the current device (runtime.cu).
void allow_shared(const void* kernel, size_t bytes);
#endif

// Starts `kernel`. A launch that fails is reported by the next check_launch (runtime.h). More shared memory than 48 KiB
// has to be asked for; sm_80 has up to 163 KiB, sm_86 and sm_89 99 KiB, sm_90 227 KiB. The kernel's own arrays count
// too, which are small beside dynamic ones, so it is asked for some before that.
constexpr size_t kUnaskedShared = size_t{40} << 10;
template <class T>
struct Exactly {  // the kernel alone decides the types of its arguments
  using type = T;
};
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            typename Exactly<P>::type... args) {
#if STRIDED_EMULATED
  ::cuda_emulation::launch(stream, grid, block, shared_bytes, shared_bytes > kUnaskedShared, [=] { kernel(args...); });
#else
  if (shared_bytes > kUnaskedShared) allow_shared(reinterpret_cast<const void*>(kernel), shared_bytes);
  kernel<<<grid, block, shared_bytes, stream>>>(args...);
#endif
}

__device__ inline unsigned lane_of_thread() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kWarp;
}

// Words of any trivially copyable value, for shuffles.
template <class S>
struct Words {
  static_assert(std::is_trivially_copyable<S>::value, "only bytes travel between lanes");
  static constexpr int count = static_cast<int>((sizeof(S) + 3) / 4);
  unsigned word[count];
};

// `move` applied to each word of any trivially copyable value.
template <class S, class Move>
__device__ inline S shuffle_words(S value, Move move) {
  Words<S> w;
  w.word[Words<S>::count - 1] = 0;
  memcpy(w.word, &value, sizeof(S));
  for (int i = 0; i < Words<S>::count; ++i) w.word[i] = move(w.word[i]);
  memcpy(&value, w.word, sizeof(S));
  return value;
}
// The value of the lane `delta` further on or back, or of a lane that each names for itself. All 32 lanes take part.
template <class S>
__device__ inline S shuffle_down(S value, unsigned delta) {
  return shuffle_words(value, [=](unsigned w) { return __shfl_down_sync(kAllLanes, w, delta); });
}
template <class S>
__device__ inline S shuffle_up(S value, unsigned delta) {
  return shuffle_words(value, [=](unsigned w) { return __shfl_up_sync(kAllLanes, w, delta); });
}
template <class S>
__device__ inline S shuffle_from(S value, unsigned lane) {
  return shuffle_words(value, [=](unsigned w) { return __shfl_sync(kAllLanes, w, static_cast<int>(lane)); });
}

// The product's upper word.
__host__ __device__ inline uint32_t multiply_high(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}

// atomicAdd and its kind take `unsigned long long`, which is another type than uint64_t on Linux.
__device__ inline unsigned long long* as_atomic(int64_t* p) { return reinterpret_cast<unsigned long long*>(p); }
__device__ inline unsigned long long* as_atomic(uint64_t* p) { return reinterpret_cast<unsigned long long*>(p); }

}  // namespace cuda
}  // namespace strided
