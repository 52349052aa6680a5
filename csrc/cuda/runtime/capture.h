// Whether this thread captures work of a device (Note [Captured work] in graph.h), for all that must know.
#pragma once

#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

// Where kernels of a capture find the seed, and the position that the capture's first number has, in this launch.
// Positions of the capture count from `first`.
struct RandomWords {
  const uint64_t* words = nullptr;  // null: this thread captures nothing on the device
  uint64_t seed = 0, first = 0;     // of the generator that they belong to
};

// What a thread captures.
struct Capture {
  int device = -1;  // nothing
  cudaStream_t stream = nullptr;
  int64_t pool = 0;
  RandomWords random;
  bool failed = false;
};
// A capture of this thread begins (graph.h), or ends: what it was.
void set_capture(const Capture& capture);
Capture end_of_capture();

// ---- what others ask, all of it of this thread
bool capturing(int device);
int64_t capture_pool(int device);  // 0 when nothing is captured
RandomWords captured_random(int device);
// RuntimeError in the name of what cannot be captured, if the thread captures something on the device; then the
// capture has failed.
void refuse_capture(int device, const char* what);
// Whether any thread captures: then events must not be asked.
bool anyone_captures();

// While one lives, calls of the driver that a capture would not have are let through: they are none of its work.
class OutsideCapture {
 public:
  explicit OutsideCapture(int device);
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;

 private:
  bool is_needed_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace cuda
}  // namespace strided
