// What the shared library of a backend gives when it is opened: its devices, their memory, streams and events, and its kernels.
// Plain functions on plain values, because the library keeps its symbols to itself. Functions raise the library's errors
// (base/error.h).
#pragma once

#include <cstdint>

#include "core/storage.h"
#include "ops/kernels.h"

namespace strided {

struct DeviceProperties {
  char name[256] = {};
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0, max_threads_per_multiprocessor = 0, warp_size = 0;
  uint64_t total_memory = 0, l2_cache = 0, shared_memory_per_block = 0;
};

struct DeviceMemoryStats {
  uint64_t allocated = 0, reserved = 0, max_allocated = 0, max_reserved = 0;  // bytes
  uint64_t retries = 0;  // times that everything unused was given back for want of memory
};

// A stream and an event as the driver names them. The null stream is the default one.
using StreamHandle = void*;
using EventHandle = void*;

struct Backend {
  static constexpr int kVersion = 1;
  int version = kVersion;  // of this struct; another one is refused

  // Devices. `why_none` says why there is none, in one sentence; null when there are some.
  const char* (*why_none)() = nullptr;
  int (*device_count)() = nullptr;
  int (*current_device)() = nullptr;  // of this thread
  void (*set_device)(int device) = nullptr;
  DeviceProperties (*properties)(int device) = nullptr;
  bool (*can_access)(int device, int peer) = nullptr;
  // Waits for all work, and raises what kernels have reported (an index out of range).
  void (*synchronize)(int device) = nullptr;

  // Streams. `current_stream` is this thread's.
  StreamHandle (*current_stream)(int device) = nullptr;
  void (*set_stream)(int device, StreamHandle stream) = nullptr;
  StreamHandle (*new_stream)(int device, int priority) = nullptr;  // of a pool; never destroyed
  void (*synchronize_stream)(int device, StreamHandle stream) = nullptr;
  bool (*stream_is_done)(int device, StreamHandle stream) = nullptr;
  // A block was used on another stream than the one it was allocated on.
  void (*record_stream)(void* data, int device, StreamHandle stream) = nullptr;

  // Events.
  EventHandle (*new_event)(int device, bool timing) = nullptr;
  void (*free_event)(EventHandle event) = nullptr;
  void (*record_event)(EventHandle event, int device, StreamHandle stream) = nullptr;
  void (*wait_event)(int device, StreamHandle stream, EventHandle event) = nullptr;
  void (*synchronize_event)(EventHandle event) = nullptr;
  bool (*event_is_done)(EventHandle event) = nullptr;
  double (*elapsed_ms)(EventHandle start, EventHandle end) = nullptr;

  // Memory.
  DeviceMemory memory;
  DeviceMemoryStats (*memory_stats)(int device) = nullptr;
  void (*reset_peak_stats)(int device) = nullptr;
  void (*empty_cache)() = nullptr;
  void (*memory_info)(int device, uint64_t* free, uint64_t* total) = nullptr;
  void* (*allocate_pinned)(uint64_t nbytes) = nullptr;  // page-locked host memory
  void (*free_pinned)(void* data) = nullptr;
  bool (*is_pinned)(const void* data) = nullptr;

  DeviceKernels kernels;
};

// The exported function: extern "C" const Backend* strided_backend().
using BackendEntry = const Backend* (*)();

// The backend of a device type; opened when it is first asked for. null: there is none, and `why` says why.
const Backend* find_backend(DeviceType type, std::string* why = nullptr);
const Backend& backend(DeviceType type);  // RuntimeError when there is none
// Where the CUDA library lies; set once by the package. An empty path: this build has none.
void set_cuda_library(const std::string& path);
bool backend_is_open(DeviceType type);

}  // namespace strided
