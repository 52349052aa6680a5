// Device memory: a caching allocator. Blocks that are freed stay with the stream they were asked for and are handed out
// again without a call of the driver, because cudaMalloc and cudaFree stop the whole device.
//
// Stream order.
// A block may be handed out again as soon as it is freed, although kernels that use it may not have run yet: the next
// user works on the same stream, after them. A block that was also used on another stream (record_stream says so) waits
// until that stream has passed the point of the free.
//
// Pools.
// Memory that a capture asks for (Note [Captured work] in graph.h) stays in a pool of its own: its segments, and what
// is freed of them, serve captures of that pool only, until the pool is given up.
#pragma once

#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

// For the current stream of the device. OutOfMemoryError with sizes, after everything unused was given back and a
// second try.
void* allocate(size_t bytes, int device);
void deallocate(void* data, int device);
void record_stream(void* data, int device, cudaStream_t stream);
int64_t new_pool();
void give_up_pool(int64_t pool);  // when no graph of the pool lives: its memory is like any other
void empty_cache();               // gives unused memory of all devices back to the driver

struct MemoryStats {
  size_t allocated, reserved, max_allocated, max_reserved;
  size_t retries;  // times that everything unused was given back for want of memory
};
MemoryStats memory_stats(int device);
void reset_peak_stats(int device);
void memory_info(int device, size_t* free, size_t* total);

// Page-locked memory of the host, which copies without a detour and in the background.
void* allocate_pinned(size_t bytes);
void deallocate_pinned(void* data);
bool is_pinned(const void* data);
int device_of_pointer(const void* data);  // ValueError for memory of the host

// Memory for the time of a call.
class Workspace {
 public:
  Workspace(size_t bytes, int device) : device_(device), data_(bytes ? allocate(bytes, device) : nullptr) {}
  ~Workspace() {
    if (data_) deallocate(data_, device_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  int device_;
  void* data_;
};

}  // namespace cuda
}  // namespace strided
