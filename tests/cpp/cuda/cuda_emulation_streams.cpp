#include "cuda_emulation_streams.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>

namespace cuda_emulation {
namespace {

bool late = [] {
  const char* asked = std::getenv("STRIDED_EMULATE_LATE");
  return asked && *asked == '1';
}();

struct All {
  std::recursive_mutex mutex;      // work is done under it, which may come from one that waits
  std::set<CUstream_st*> waiting;  // streams that have work
  CUstream_st first[16];           // the default ones
  All() {
    for (int i = 0; i < 16; ++i) first[i].device = i;
  }
};
All& all() {
  static All* a = new All;  // outlives every static object that may free device memory
  return *a;
}
CUstream_st* stream_of(cudaStream_t stream) {
  if (stream) return stream;
  int device = 0;
  cudaGetDevice(&device);
  return &all().first[device];
}

void do_one(CUstream_st* stream);
void reach(const Mark& mark) {
  while (!mark.reached && !mark.stream->work.empty()) do_one(mark.stream);
}
void do_one(CUstream_st* stream) {
  const Work work = std::move(stream->work.front());
  stream->work.pop_front();
  if (stream->work.empty()) all().waiting.erase(stream);
  if (work.after) reach(*work.after);
  if (work.run) work.run();
  if (!work.mark) return;
  work.mark->reached = true;
  work.mark->when = std::chrono::steady_clock::now();
}

}  // namespace

namespace {
std::atomic<bool> broken{false};
// Counts launches; true for the one that breaks the context.
bool is_faulty_launch() {
  static const long at = [] {
    const char* asked = std::getenv("STRIDED_EMULATE_FAULT");
    return asked ? std::atol(asked) : 0;
  }();
  static std::atomic<long> launches{0};
  return at > 0 && ++launches == at;
}
}  // namespace
bool is_broken() { return broken; }

namespace {
thread_local bool context_taken = false;
}
bool has_context() { return context_taken; }
void take_context() { context_taken = true; }

cudaStream_t default_stream(int device) { return &all().first[device]; }

void set_late(bool to) {
  finish_all();
  late = to;
}

namespace {
std::set<std::shared_ptr<Capture>> captures;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

cudaError_t capture_work(CUstream_st* stream, Work work) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  auto& behind = capture->behind[stream];
  if (work.after) {
    if (work.after->capture != capture) {
      capture->invalid = true;
      return cudaErrorStreamCaptureIsolation;
    }
    for (const auto& [other, n] : work.after->behind) behind[other] = std::max(behind[other], n);
  }
  if (work.run) {
    capture->work.push_back(std::move(work.run));
    behind[stream] = ++capture->got[stream];
  }
  if (work.mark) {
    work.mark->capture = capture;
    work.mark->behind = behind;
  }
  return cudaSuccess;
}
}  // namespace

bool refused_by_captures() {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
  bool refused = false;
  for (const auto& capture : captures) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    if (!own && (capture->mode != cudaStreamCaptureModeGlobal || thread_mode != cudaStreamCaptureModeGlobal)) continue;
    refused = capture->invalid = true;
  }
  return refused;
}
bool disturbs_capture(cudaStream_t stream) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  CUstream_st* s = stream_of(stream);
  if (s->capture) s->capture->invalid = true;
  return s->capture != nullptr;
}

cudaError_t queue(cudaStream_t to, Work work) {
  if (is_broken()) return cudaErrorLaunchFailure;
  take_context();
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  CUstream_st* stream = stream_of(to);
  if (work.mark) work.mark->stream = stream;
  if (work.after && work.after->capture && captures.count(work.after->capture) && !stream->capture)
    stream->capture = work.after->capture;  // it joins
  if (stream->capture) return capture_work(stream, std::move(work));
  if (work.after && work.after->capture) return cudaErrorStreamCaptureIsolation;
  stream->work.push_back(std::move(work));
  all().waiting.insert(stream);
  if (!late) finish(stream);
  return cudaSuccess;
}
void finish(cudaStream_t stream) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  for (CUstream_st* s = stream_of(stream); !s->work.empty();) do_one(s);
}
void finish(const Mark& mark) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  reach(mark);
}
void finish_device(int device) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  const std::set<CUstream_st*> waiting = all().waiting;
  for (CUstream_st* s : waiting)
    if (device < 0 || s->device == device)
      while (!s->work.empty()) do_one(s);
}
void finish_all() { finish_device(-1); }
void go_on(CUstream_st* stream) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  if (!stream->work.empty()) do_one(stream);
}
bool has_work(cudaStream_t stream) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  return !stream_of(stream)->work.empty();
}

void launch(cudaStream_t stream, dim3 grid, dim3 block, size_t dynamic_shared, bool asked,
            std::function<void()> thread) {
  int device = 0;
  cudaGetDevice(&device);
  if (stream && stream->device != device) throw Error("a launch into a stream of a device that is not the current one");
  if (is_broken()) return static_cast<void>(note(cudaErrorLaunchFailure));
  if (is_faulty_launch()) {
    broken = true;
    return;  // the launch itself is no error
  }
  if (queue(stream, {[=] { run(grid, block, dynamic_shared, asked, thread); }, nullptr, nullptr}) != cudaSuccess)
    throw Error("a launch into a stream whose capture has failed");
}

}  // namespace cuda_emulation

struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<std::function<void()>>> work;
};

namespace cuda_emulation {
namespace {
// The capture of a stream is over: its work, or why there is none.
cudaError_t end_capture(cudaStream_t stream, std::vector<std::function<void()>>* work) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  if (!stream || !stream->capture || stream->capture->origin != stream) return cudaErrorInvalidValue;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  captures.erase(capture);
  bool joined = true;
  for (const auto& [other, got] : capture->got) {
    joined = joined && capture->behind[stream][other] == got;
    other->capture = nullptr;
  }
  for (const auto& [other, behind] : capture->behind) other->capture = nullptr;
  stream->capture = nullptr;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *work = std::move(capture->work);
  return cudaSuccess;
}
}  // namespace
}  // namespace cuda_emulation

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  using namespace cuda_emulation;
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  if (!stream) return cudaErrorStreamCaptureUnsupported;  // the default one
  if (stream->capture) return cudaErrorInvalidValue;
  stream->capture = std::make_shared<Capture>(Capture{stream, mode, std::this_thread::get_id()});
  captures.insert(stream->capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  std::vector<std::function<void()>> work;
  *graph = nullptr;
  const cudaError_t error = cuda_emulation::end_capture(stream, &work);
  if (error == cudaSuccess) *graph = new CUgraph_st{std::move(work)};
  return error;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, cuda_emulation::thread_mode);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{std::make_shared<const std::vector<std::function<void()>>>(graph->work)};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const auto work = exec->work;
  const auto all_of_it = [work] {
    for (const auto& one : *work) one();
  };
  return cuda_emulation::queue(stream, {all_of_it, nullptr, nullptr});
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
