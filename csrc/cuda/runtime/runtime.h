// The devices as the library sees them: which there are, their streams and events, and errors with a name.
// Everything raises RuntimeError in a child that was forked after a device was used.
#pragma once

#include <string>

#include "base/error.h"
#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

// RuntimeError "what: CUDA error: ...".
void check(cudaError_t error, const char* what);
// Raises what a launch of this operation left behind.
void check_launch(const char* operation);

// ---- devices
int device_count();    // 0 where there is no driver or no device
int current_device();  // of this thread
void set_device(int device);
void require_device(int device);  // RuntimeError with PyTorch's words when there is none of that number
struct DeviceInfo {
  char name[256];
  int major, minor, multiprocessors, max_threads_per_multiprocessor, warp_size;
  size_t total_memory, l2_cache, shared_per_block;  // shared memory: as much as a launch may ask for
};
const DeviceInfo& device_info(int device);

// Makes a device current, and the former one again at the end.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_, device_;
};

// Waits for everything on a device, or on a stream, and raises what its kernels had to report (see report.h).
void synchronize(int device);
void synchronize_stream(int device, cudaStream_t stream);

// ---- streams
// The stream of this thread for a device; at first the default one, which is null and waits for all others.
cudaStream_t current_stream(int device);
void set_current_stream(int device, cudaStream_t stream);
// A stream of the pool: they are handed out by turns and never destroyed. priority < 0: before others.
cudaStream_t pool_stream(int device, int priority);

// Raises in a child forked after the first use of a device, where the driver no longer works.
void check_not_forked();

}  // namespace cuda
}  // namespace strided
