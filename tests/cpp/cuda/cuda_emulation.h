// CUDA on the host, for tests: what a .cu file of csrc/cuda uses of the language and of the run-time library, so that
// the same source compiles with an ordinary C++ compiler and *runs* on a machine without a GPU.
//
// How the emulation works.
// Each thread of a block is a fiber. It runs until it waits at a barrier or at a warp operation, or ends; then the next
// one runs, all in one thread of the operating system. Between two barriers threads run in a random order given by a
// seed (set_order), so a missing barrier shows as a wrong result under some seed. Shared memory is filled with NaN (all
// bits set) when a block begins, fresh device memory likewise. What a GPU would punish by a hang or by silence is an
// error here, raised by launch: a barrier that not all threads of the block reach, threads that meet at different
// source lines, a warp operation that leaves its own lane out. Under the address sanitizer each shared array is a heap
// block of its own. What it does not show: races between blocks, weak memory ordering, and anything about speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
// Of the thread that runs now.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

using cudaStream_t = struct CUstream_st*;

namespace cuda_emulation {

// What a kernel did wrong.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// 0: threads run in the order of their numbers; else in a random order of that seed. At start STRIDED_EMULATE_SEED,
// or 1.
void set_order(uint64_t seed);

struct Site {
  const char* file;
  int line;
};

// Runs `thread` once for each thread of each block. A kernel that was not asked to have more than 48 KiB of shared
// memory has no more, the arrays of its own and the dynamic one together.
void run(dim3 grid, dim3 block, size_t dynamic_shared, bool asked, const std::function<void()>& thread);
void run(dim3 grid, dim3 block, size_t dynamic_shared, const std::function<void()>& thread);  // asked
// The same, in a stream (null: the default one of the current device), whose device must be the current one.
void launch(cudaStream_t stream, dim3 grid, dim3 block, size_t dynamic_shared, bool asked,
            std::function<void()> thread);
// Whether streams do their work as late as they may (cuda_emulation_streams.h); what is under way ends first.
void set_late(bool late);

// While one lives, device memory may be touched (Note [Closed device memory] in cuda_emulation_runtime.cpp).
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
};

enum class Barrier { Plain, Count, And, Or };
int barrier(Barrier kind, int predicate, Site site);
// Waits for the other lanes of the mask, and returns what they all brought: 32 slots of 16 bytes. Lanes that have ended
// leave NaN. The slots hold until the lane's next warp operation.
const char* exchange(unsigned mask, const void* value, size_t size, Site site);
unsigned lane();
void fail(const std::string& what, Site site);

// For an allocator that keeps memory: of `whole` bytes the first `usable` are handed out now. They become NaN, and the
// others may not be touched: the address sanitizer sees it at once, else check_unused ends the program when they were
// written to. Both take place in the stream that the memory belongs to.
void set_usable(void* data, size_t usable, size_t whole, cudaStream_t stream);
void check_unused(const void* data, size_t usable, size_t whole, cudaStream_t stream);

// cp.async: the bytes arrive no sooner than the thread's wait for their group (before that, shared memory has what it
// had), so a missing wait shows. `valid` bytes are read, the rest becomes zero.
void async_copy(void* to, const void* from, size_t bytes, int valid, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());
void async_commit();
void async_wait(unsigned groups);

// mbarrier and cp.async.bulk.tensor (cuda_emulation_tiles.h).
bool make_tile_map(void* bytes, const void* data, int rank, const uint64_t* size, const uint64_t* stride,
                   const uint32_t* box);
void prepare_flag(uint64_t* flag, uint32_t arrivals);
void arrive(uint64_t* flag, uint32_t bytes, const char* file = __builtin_FILE(), int line = __builtin_LINE());
// False: nothing else can go on, and the thread may give up.
bool wait_for_phase(uint64_t* flag, uint32_t parity, bool may_give_up, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());
void copy_tile(void* to, const void* map, const int* at, int rank, uint64_t* flag, const char* file = __builtin_FILE(),
               int line = __builtin_LINE());
// The thread goes on no sooner than this is so; or, with false, when no thread can go on and this one may give up.
bool wait_until(std::function<bool()> passed, bool may_give_up, Site site);
// From the order's seed; 0 where threads run by number.
uint64_t random_number();

// What a library that works on device memory needs to know of these devices (cusolver_emulated.cpp), as it shares no
// symbol with the one that it serves.
struct Devices {
  int (*current)();
  bool (*has)(const void* data, size_t bytes, int device);  // a range of one block of its memory
  int (*of_stream)(cudaStream_t stream);                    // -1: there is no such stream
  void (*enter)();                                          // a DeviceAccess, until leave()
  void (*leave)();
  bool (*refused)();  // whether a capture refuses now what allocates or waits
  // Puts work into a stream, or into its capture; false where that has failed.
  bool (*queue)(cudaStream_t stream, std::function<void()> work);
};
// Gives them to `library` (a handle of dlopen), if it has a function use_emulated_devices(const Devices*).
void lend_devices(void* library);

// While held, events are not ready: as if the streams were still at work.
void hold_events(bool held);

// The array that this call site has in this block.
void* shared_array(const void* site, size_t bytes);
// The dynamic one, as aligned as the kernel says and no better; its address as the instructions have it, in which it
// begins at 1024 or behind, as on sm_90; and its bytes by that address.
void* dynamic_shared(size_t alignment);
uint32_t shared_address(const void* data, const char* file = __builtin_FILE(), int line = __builtin_LINE());
struct Arena {
  char* memory;  // address 0
  uint32_t begin, end;
};
Arena arena();
unsigned thread_number();  // in its block

template <class Array>
Array& shared(const void* site) {
  return *static_cast<Array*>(shared_array(site, sizeof(Array)));
}

template <class T>
T from_lane(const char* slots, unsigned lane) {
  T value;
  std::memcpy(&value, slots + 16 * lane, sizeof(T));
  return value;
}
template <class T>
void check_shuffle(int width, Site site) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) >= 4, "CUDA shuffles 32- and 64-bit numbers");
  if (width < 1 || width > 32 || (width & (width - 1)))
    fail("the width of a shuffle must be a power of two up to 32", site);
}

}  // namespace cuda_emulation

#define STRIDED_HERE \
  cuda_emulation::Site { file, line }
#define STRIDED_FROM const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(STRIDED_FROM) { cuda_emulation::barrier(cuda_emulation::Barrier::Plain, 0, STRIDED_HERE); }
inline int __syncthreads_count(int p, STRIDED_FROM) {
  return cuda_emulation::barrier(cuda_emulation::Barrier::Count, p, STRIDED_HERE);
}
inline int __syncthreads_and(int p, STRIDED_FROM) {
  return cuda_emulation::barrier(cuda_emulation::Barrier::And, p, STRIDED_HERE);
}
inline int __syncthreads_or(int p, STRIDED_FROM) {
  return cuda_emulation::barrier(cuda_emulation::Barrier::Or, p, STRIDED_HERE);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, STRIDED_FROM) {
  cuda_emulation::exchange(mask, nullptr, 0, STRIDED_HERE);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// A lane outside its group of `width` lanes reads its own value, as on the device.
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32, STRIDED_FROM) {
  cuda_emulation::check_shuffle<T>(width, STRIDED_HERE);
  const char* slots = cuda_emulation::exchange(mask, &value, sizeof(T), STRIDED_HERE);
  const int first = static_cast<int>(cuda_emulation::lane()) & -width;
  return cuda_emulation::from_lane<T>(slots, static_cast<unsigned>(first + (from & (width - 1))));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, STRIDED_FROM) {
  cuda_emulation::check_shuffle<T>(width, STRIDED_HERE);
  const char* slots = cuda_emulation::exchange(mask, &value, sizeof(T), STRIDED_HERE);
  const unsigned me = cuda_emulation::lane(), w = static_cast<unsigned>(width);
  return (me & (w - 1)) + delta < w ? cuda_emulation::from_lane<T>(slots, me + delta) : value;
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, STRIDED_FROM) {
  cuda_emulation::check_shuffle<T>(width, STRIDED_HERE);
  const char* slots = cuda_emulation::exchange(mask, &value, sizeof(T), STRIDED_HERE);
  const unsigned me = cuda_emulation::lane(), w = static_cast<unsigned>(width);
  return (me & (w - 1)) >= delta ? cuda_emulation::from_lane<T>(slots, me - delta) : value;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, STRIDED_FROM) {
  cuda_emulation::check_shuffle<T>(width, STRIDED_HERE);
  const char* slots = cuda_emulation::exchange(mask, &value, sizeof(T), STRIDED_HERE);
  const unsigned me = cuda_emulation::lane(), w = static_cast<unsigned>(width),
                 other = me ^ static_cast<unsigned>(bits);
  return other / w > me / w ? value : cuda_emulation::from_lane<T>(slots, other);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, STRIDED_FROM) {
  const unsigned mine = predicate != 0;
  const char* slots = cuda_emulation::exchange(mask, &mine, sizeof(mine), STRIDED_HERE);
  unsigned result = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1 && cuda_emulation::from_lane<unsigned>(slots, i) == 1) result |= 1u << i;
  return result;
}
inline int __any_sync(unsigned mask, int predicate, STRIDED_FROM) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, STRIDED_FROM) {
  return __ballot_sync(mask, !predicate, file, line) == 0;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }

// Atomics exist for the types CUDA has them for, so that a call that nvcc would refuse is refused here.
namespace cuda_emulation {
template <class T, class... U>
constexpr bool one_of = (std::is_same_v<T, U> || ...);
template <class T, class F>
T update(T* at, F f) {
  const T old = *at;
  *at = f(old);
  return old;
}
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else return a + b;
}
template <class T>
using Same = std::common_type_t<T>;  // not deduced: the address alone decides the type
}  // namespace cuda_emulation

template <class T>
T atomicAdd(T* at, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long, float, double>);
  return cuda_emulation::update(at, [v](T old) { return cuda_emulation::wrapping_add(old, v); });
}
template <class T>
T atomicCAS(T* at, cuda_emulation::Same<T> expected, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long, unsigned short>);
  return cuda_emulation::update(at, [=](T old) { return old == expected ? v : old; });
}
template <class T>
T atomicExch(T* at, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long, float>);
  return cuda_emulation::update(at, [v](T) { return v; });
}
template <class T>
T atomicMax(T* at, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long, long long>);
  return cuda_emulation::update(at, [v](T old) { return old < v ? v : old; });
}
template <class T>
T atomicMin(T* at, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long, long long>);
  return cuda_emulation::update(at, [v](T old) { return v < old ? v : old; });
}
template <class T>
T atomicOr(T* at, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long>);
  return cuda_emulation::update(at, [v](T old) { return old | v; });
}
template <class T>
T atomicAnd(T* at, cuda_emulation::Same<T> v) {
  static_assert(cuda_emulation::one_of<T, int, unsigned, unsigned long long>);
  return cuda_emulation::update(at, [v](T old) { return old & v; });
}

#undef STRIDED_FROM
#undef STRIDED_HERE

// ---------------------------------------------------------------- the run-time library
// As many devices as STRIDED_EMULATE_CUDA says (1 when unset), each with STRIDED_EMULATE_CUDA_MEMORY bytes (1 GiB when
// unset), STRIDED_EMULATE_CUDA_SHARED bytes of shared memory for a block that asks (48 KiB when unset, so that what
// does not fit is small enough to test) and compute capability STRIDED_EMULATE_CUDA_CAPABILITY (90 when unset).
// Everything is done when the call returns, unless streams are late; errors are those CUDA would return. With
// STRIDED_EMULATE_FAULT=N the N-th launch breaks the context, as an address outside of memory does: from then on every
// call that would need it returns an error.
enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorStreamCaptureWrongThread = 908,
};
enum cudaStreamCaptureMode : int {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaMemcpyKind : int {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaMemoryType : int {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocDefault = 0;
constexpr unsigned cudaHostAllocPortable = 1;

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor, l2CacheSize;
  size_t sharedMemPerBlock, sharedMemPerBlockOptin;
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;

const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaMalloc(void** data, size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
