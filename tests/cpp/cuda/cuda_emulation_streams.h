// Streams and events of the emulated devices.
//
// Late streams.
// Work is done when it is queued, unless STRIDED_EMULATE_LATE=1 (or set_late) asks for the opposite: then nothing is
// done before the host waits for it, or for work behind it, and of other streams only what events say must come
// before. No device is as slow, but one may be: what the host reads too early is then not there yet, memory that is
// given away too early is overwritten, and a stream that should have waited for another one has not. Numbers that the
// host copies from ordinary memory are taken at once, as the driver does; page-locked memory is read when its turn
// comes.
//
// Captures.
// What is put into a stream that is captured becomes part of the capture, in the order in which it comes, which is one
// that the graph's edges allow. Errors are those of the driver: calls that wait or allocate while a capture of mode
// Global goes on anywhere, or one of mode ThreadLocal in the same thread, unless the thread has said Relaxed; a stream
// that joined a capture by an event and did not come back; an event of a capture that a stream outside waits for, and
// the other way round.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "cuda_emulation.h"

namespace cuda_emulation {

struct Capture;

// A place in a stream, which an event marks.
struct Mark {
  CUstream_st* stream;
  bool reached = false;
  std::chrono::steady_clock::time_point when{};
  std::shared_ptr<Capture> capture{};       // in which it is, or null
  std::map<CUstream_st*, size_t> behind{};  // work of the capture's streams that comes before it
};
struct Work {
  std::function<void()> run;    // null: nothing
  std::shared_ptr<Mark> after;  // that must be reached before, or null
  std::shared_ptr<Mark> mark;   // that is reached then, or null
};

struct Capture {
  CUstream_st* origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  bool invalid = false;
  std::vector<std::function<void()>> work{};
  // Of each of its streams: how much work it got, and how much of each stream's comes before its next.
  std::map<CUstream_st*, size_t> got{};
  std::map<CUstream_st*, std::map<CUstream_st*, size_t>> behind{};
};

// Whether a launch has broken the context (STRIDED_EMULATE_FAULT).
bool is_broken();
// Whether this thread has made a call that gave it a device's context: cudaSetDevice, or one that needs a context.
bool has_context();
void take_context();
// What the thread's next cudaGetLastError gives, if it is an error; gives it back.
cudaError_t note(cudaError_t error);

// Whether a call that a capture does not have is refused now; then the captures that refuse it are invalid.
bool refused_by_captures();
// Whether the stream is captured, which makes the capture invalid: the call waits for the stream.
bool disturbs_capture(cudaStream_t stream);

cudaStream_t default_stream(int device);
// Puts work into a stream (null: the default one of the current device).
cudaError_t queue(cudaStream_t stream, Work work);
// Until a stream has done all its work, or some of it; or all streams of a device, or of all.
void finish(cudaStream_t stream);
void finish(const Mark& mark);
void finish_device(int device);
void finish_all();
// One piece of a stream's work, if it has some: who asks again and again sees it end.
void go_on(CUstream_st* stream);
bool has_work(cudaStream_t stream);

}  // namespace cuda_emulation

struct CUstream_st {
  int device;
  std::deque<cuda_emulation::Work> work{};
  std::shared_ptr<cuda_emulation::Capture> capture{};
};
