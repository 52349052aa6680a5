#include "cuda/runtime/transfer.h"

#include "cuda/runtime/allocator.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {
namespace {

struct Event {
  cudaEvent_t event;
  Event(int device) : event(make_event(device, false)) {}
  ~Event() { destroy_event(event); }
};

// Both devices' current streams take part: the copy starts after what either has to do before, and what either does
// next comes after the copy.
void between_devices(const TransferPlan& plan) {
  const int to_device = plan.to_device, from_device = plan.from_device;
  const cudaStream_t source = current_stream(from_device), target = current_stream(to_device);
  const Event ready(to_device), copied(from_device);
  record_event(ready.event, to_device, target);
  wait_event(ready.event, from_device, source);
  {
    const OnDevice guard(from_device);
    check(cudaMemcpyPeerAsync(plan.to, to_device, plan.from, from_device, plan.bytes, source), plan.name);
  }
  record_event(copied.event, from_device, source);
  wait_event(copied.event, to_device, target);
}

}  // namespace

void transfer(const TransferPlan& plan) {
  if (plan.bytes == 0) return;
  const int to_device = plan.to_device, from_device = plan.from_device;
  const int device = to_device >= 0 ? to_device : from_device;
  if (to_device != from_device) {
    refuse_capture(device, plan.name);
    if (from_device >= 0) refuse_capture(from_device, plan.name);
  }
  if (to_device >= 0 && from_device >= 0 && to_device != from_device) return between_devices(plan);
  STRIDED_CHECK(device >= 0, RuntimeError, plan.name, ": no device takes part");
  const OnDevice guard(device);
  const cudaStream_t stream = current_stream(device);
  const cudaMemcpyKind kind = to_device < 0     ? cudaMemcpyDeviceToHost
                              : from_device < 0 ? cudaMemcpyHostToDevice
                                                : cudaMemcpyDeviceToDevice;
  check(cudaMemcpyAsync(plan.to, plan.from, plan.bytes, kind, stream), plan.name);
  if (kind == cudaMemcpyDeviceToDevice) return;
  // From pageable memory the call itself waits until the bytes were read; page-locked memory may be read later.
  const void* host = to_device < 0 ? plan.to : plan.from;
  const bool in_background = is_pinned(host);
  if (in_background && plan.non_blocking) note_pinned_use(host, device, stream);
  else if (in_background || kind == cudaMemcpyDeviceToHost) synchronize_stream(device, stream);
}

cudaEvent_t make_event(int device, bool timed) {
  require_device(device);
  const OnDevice guard(device);
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, timed ? 0 : cudaEventDisableTiming), "Event");
  return event;
}
void destroy_event(cudaEvent_t event) { cudaEventDestroy(event); }
void record_event(cudaEvent_t event, int device, cudaStream_t stream) {
  const OnDevice guard(device);
  check(cudaEventRecord(event, stream), "Event.record");
}
void wait_event(cudaEvent_t event, int device, cudaStream_t stream) {
  const OnDevice guard(device);
  check(cudaStreamWaitEvent(stream, event, 0), "Stream.wait_event");
}
void synchronize_event(cudaEvent_t event, int device) {
  check_not_forked();
  refuse_capture(device, "Event.synchronize");
  check(cudaEventSynchronize(event), "Event.synchronize");
  raise_reported(device);
}
bool event_done(cudaEvent_t event) {
  const cudaError_t error = cudaEventQuery(event);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(error, "Event.query");
  return true;
}
double elapsed_milliseconds(cudaEvent_t begin, cudaEvent_t end) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "Event.elapsed_time");
  return static_cast<double>(ms);
}
bool stream_done(int device, cudaStream_t stream) {
  const OnDevice guard(device);
  const cudaError_t error = cudaStreamQuery(stream);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(error, "Stream.query");
  return true;
}

}  // namespace cuda
}  // namespace strided
