// What libstrided_cuda.so exports: one function, which gives a table of functions. It is the border between two
// libraries that share no symbol, so nothing crosses it but plain data: no exception, no object of the standard
// library, no CUDA type.
#pragma once

#include "ops/kernels.h"

namespace strided {

// What went wrong, in place of an exception.
struct CudaFailure {
  enum Kind : int { Runtime, Index, Value, NotImplemented, OutOfMemory } kind;
  const char* text;  // until the next call of the same thread
};

struct CudaMemoryStats {
  size_t allocated, reserved, max_allocated, max_reserved, retries;
};
struct CudaDeviceInfo {
  char name[256];
  int major, minor, multiprocessors, max_threads_per_multiprocessor, warp_size;
  size_t total_memory, l2_cache;
};

using CudaStream = void*;  // null: the default stream
using CudaEvent = void*;

// A function of DeviceKernels, or of the run time, that gives back a failure, or null.
template <class F>
struct Guarded;
template <class... A>
struct Guarded<void (*)(A...)> {
  using type = const CudaFailure* (*)(A...);
};
template <class F>
using guarded_t = typename Guarded<F>::type;

#define STRIDED_DEVICE_KERNELS(X)                                                                                     \
  X(elementwise)                                                                                                      \
  X(copy) X(select) X(divide_by_counts) X(reduce) X(take) X(put) X(combine) X(set_elements) X(write_set)              \
      X(clear_triangle) X(unravel) X(ramp) X(random_fill) X(random_bernoulli) X(random_poisson) X(random_permutation) \
          X(random_choice) X(transfer)

struct CudaApi {
  static constexpr uint32_t kVersion = 1;

  // ---- operations: DeviceKernels, each giving back a failure
#define X(name) guarded_t<decltype(DeviceKernels::name)> name;
  STRIDED_DEVICE_KERNELS(X)
#undef X

  // ---- devices
  const CudaFailure* (*device_count)(int* count);
  const CudaFailure* (*current_device)(int* device);
  const CudaFailure* (*set_device)(int device);
  const CudaFailure* (*device_info)(int device, CudaDeviceInfo* info);
  const CudaFailure* (*synchronize)(int device);
  // ---- memory
  const CudaFailure* (*device_of_pointer)(const void* data, int* device);  // the current one for null; a failure for host memory
  const CudaFailure* (*allocate)(size_t bytes, int device, void** data);
  const CudaFailure* (*deallocate)(void* data, int device);
  const CudaFailure* (*record_stream)(void* data, int device, CudaStream stream);
  const CudaFailure* (*empty_cache)();
  const CudaFailure* (*memory_stats)(int device, CudaMemoryStats* stats);
  const CudaFailure* (*reset_peak_stats)(int device);
  const CudaFailure* (*memory_info)(int device, size_t* free, size_t* total);
  const CudaFailure* (*allocate_pinned)(size_t bytes, void** data);
  const CudaFailure* (*deallocate_pinned)(void* data);
  const CudaFailure* (*is_pinned)(const void* data, bool* pinned);
  // ---- streams and events
  const CudaFailure* (*current_stream)(int device, CudaStream* stream);
  const CudaFailure* (*set_current_stream)(int device, CudaStream stream);
  const CudaFailure* (*pool_stream)(int device, int priority, CudaStream* stream);
  const CudaFailure* (*synchronize_stream)(int device, CudaStream stream);
  const CudaFailure* (*stream_done)(int device, CudaStream stream, bool* done);
  const CudaFailure* (*make_event)(int device, bool timed, CudaEvent* event);
  const CudaFailure* (*destroy_event)(CudaEvent event);
  const CudaFailure* (*record_event)(CudaEvent event, int device, CudaStream stream);
  const CudaFailure* (*wait_event)(CudaEvent event, int device, CudaStream stream);
  const CudaFailure* (*synchronize_event)(CudaEvent event, int device);
  const CudaFailure* (*event_done)(CudaEvent event, bool* done);
  const CudaFailure* (*elapsed_milliseconds)(CudaEvent begin, CudaEvent end, double* milliseconds);
};

}  // namespace strided

// The one exported symbol; null for another version of the table.
extern "C" __attribute__((visibility("default"))) const strided::CudaApi* strided_cuda_api(uint32_t version);
