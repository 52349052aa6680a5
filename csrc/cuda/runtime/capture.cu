#include "cuda/runtime/capture.h"

#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/macros.h"

namespace strided {
namespace cuda {
namespace {

thread_local Capture capture;
std::atomic<int> captures{0};

}  // namespace

void set_capture(const Capture& begun) {
  capture = begun;
  ++captures;
}
Capture end_of_capture() {
  --captures;
  return std::exchange(capture, Capture());
}

bool capturing(int device) { return capture.device == device; }
int64_t capture_pool(int device) { return capturing(device) ? capture.pool : 0; }
RandomWords captured_random(int device) { return capturing(device) ? capture.random : RandomWords(); }
bool anyone_captures() { return captures.load(std::memory_order_relaxed) > 0; }
void refuse_capture(int device, const char* what) {
  if (STRIDED_LIKELY(!capturing(device))) return;
  capture.failed = true;
  STRIDED_THROW(RuntimeError, what, ": CUDA error: operation not permitted when stream is capturing");
}

OutsideCapture::OutsideCapture(int device) : is_needed_(capturing(device) || anyone_captures()) {
  if (is_needed_) cudaThreadExchangeStreamCaptureMode(&mode_);
}
OutsideCapture::~OutsideCapture() {
  if (is_needed_) cudaThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace cuda
}  // namespace strided
