// What libstrided_cuda.so exports: one function, which gives a table of functions. It is the border between two
// libraries that share no symbol, so nothing crosses it but plain data: no exception, no object of the standard
// library, no CUDA type.
#pragma once

#include "backend/backend.h"

namespace strided {

// What went wrong, in place of an exception.
struct CudaFailure {
  enum Kind : int { Runtime, Index, Value, NotImplemented, OutOfMemory, LinAlg } kind;
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
using CudaGraph = void*;

// What is no operation: the choice of tiles, who finds libraries (nvidia_library.h); devices; memory (device_of_pointer
// gives the current device for null, and a failure for memory of the host); streams, events and graphs (graph.h).
// X(name, parameters); a result goes where the last one points.
#define STRIDED_CUDA_RUNTIME(X) \
  X(force_gemm_tile, (int index)) \
  X(set_library_finder, (void (*find)(const char* name, int cuda, char* path, size_t size))) \
  X(device_count, (int* count)) \
  X(device_problem, (const char** text)) \
  X(current_device, (int* device)) \
  X(set_device, (int device)) \
  X(device_info, (int device, CudaDeviceInfo* info)) \
  X(synchronize, (int device)) \
  X(device_of_pointer, (const void* data, int* device)) \
  X(allocate, (size_t bytes, int device, void** data)) \
  X(deallocate, (void* data, int device)) \
  X(record_stream, (void* data, int device, CudaStream stream)) \
  X(empty_cache, ()) \
  X(memory_stats, (int device, CudaMemoryStats* stats)) \
  X(reset_peak_stats, (int device)) \
  X(memory_info, (int device, size_t* free, size_t* total)) \
  X(allocate_pinned, (size_t bytes, void** data)) \
  X(deallocate_pinned, (void* data)) \
  X(is_pinned, (const void* data, bool* pinned)) \
  X(current_stream, (int device, CudaStream* stream)) \
  X(set_current_stream, (int device, CudaStream stream)) \
  X(pool_stream, (int device, int priority, CudaStream* stream)) \
  X(note_recorded, (int device, CudaStream stream)) \
  X(join_recorded, (int device, bool begins)) \
  X(synchronize_stream, (int device, CudaStream stream)) \
  X(stream_done, (int device, CudaStream stream, bool* done)) \
  X(make_event, (int device, bool timed, CudaEvent* event)) \
  X(destroy_event, (CudaEvent event)) \
  X(record_event, (CudaEvent event, int device, CudaStream stream)) \
  X(wait_event, (CudaEvent event, int device, CudaStream stream)) \
  X(synchronize_event, (CudaEvent event, int device)) \
  X(event_done, (CudaEvent event, bool* done)) \
  X(elapsed_milliseconds, (CudaEvent begin, CudaEvent end, double* milliseconds)) \
  X(new_pool, (int64_t* pool)) \
  X(give_up_pool, (int64_t pool)) \
  X(capturing, (int device, bool* is)) \
  X(begin_capture, (int device, int mode, int64_t pool, uint64_t seed, uint64_t position)) \
  X(end_capture, (int device, CudaGraph* graph)) \
  X(launch_graph, (CudaGraph graph, uint64_t seed, uint64_t position)) \
  X(free_graph, (CudaGraph graph))

struct CudaApi {
  static constexpr uint32_t kVersion = 5;

  // Each function gives back a failure, or null.

#define X(name, parameters) const CudaFailure*(*name)parameters;
  STRIDED_BACKEND_SLOTS(X)
  STRIDED_CUDA_RUNTIME(X)
#undef X
};

}  // namespace strided

// The one exported symbol; null for another version of the table.
extern "C" __attribute__((visibility("default"))) const strided::CudaApi* strided_cuda_api(uint32_t version);
