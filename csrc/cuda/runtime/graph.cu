#include "cuda/runtime/graph.h"

#include <memory>
#include <utility>

#include "cuda/runtime/allocator.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {

struct Graph {
  int device;
  cudaGraphExec_t exec = nullptr;
  cudaEvent_t launched = nullptr;    // behind the last launch; null before the first
  std::unique_ptr<Workspace> words;  // seed and position
};

namespace {

thread_local std::unique_ptr<Workspace> words_of_capture;

}  // namespace

void begin_capture(int device, int mode, int64_t pool, uint64_t seed, uint64_t position) {
  require_device(device);
  STRIDED_CHECK(!words_of_capture, RuntimeError, "capture_begin: this thread captures already");
  const cudaStream_t stream = current_stream(device);
  STRIDED_CHECK(stream, RuntimeError,
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)");
  const OnDevice guard(device);
  static_cast<void>(reporter(device, "graph", 0));  // its memory is made at its first use, which waits
  auto words = std::make_unique<Workspace>(2 * sizeof(uint64_t), device);
  constexpr cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                             cudaStreamCaptureModeRelaxed};
  check(cudaStreamBeginCapture(stream, modes[mode]), "capture_begin");
  Capture begun;
  begun.device = device;
  begun.stream = stream;
  begun.pool = pool;
  begun.random = {words->as<const uint64_t>(), seed, position};
  set_capture(begun);
  words_of_capture = std::move(words);
}

Graph* end_capture(int device) {
  STRIDED_CHECK(capturing(device), RuntimeError, "capture_end: this thread captures nothing on the device");
  const OnDevice guard(device);
  const Capture ended = end_of_capture();
  auto words = std::move(words_of_capture);
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(ended.stream, &graph);
  auto made = std::make_unique<Graph>();
  made->device = device;
  made->words = std::move(words);
  if (error == cudaSuccess && ended.failed) cudaGraphDestroy(graph);
  check(error, "capture_end");
  STRIDED_CHECK(!ended.failed, RuntimeError,
                "capture_end: CUDA error: operation failed due to a previous error during capture");
  const cudaError_t wrong = cudaGraphInstantiate(&made->exec, graph, 0);
  cudaGraphDestroy(graph);
  check(wrong, "capture_end");
  return made.release();
}

void launch_graph(Graph& graph, uint64_t seed, uint64_t position) {
  refuse_capture(graph.device, "replay");
  const OnDevice guard(graph.device);
  const cudaStream_t stream = current_stream(graph.device);
  const uint64_t words[2] = {seed, position};
  // (Ordinary memory of the host: the call returns when it has been read.)
  check(cudaMemcpyAsync(graph.words->data(), words, sizeof(words), cudaMemcpyHostToDevice, stream), "replay");
  check(cudaGraphLaunch(graph.exec, stream), "replay");
  if (!graph.launched) check(cudaEventCreateWithFlags(&graph.launched, cudaEventDisableTiming), "replay");
  check(cudaEventRecord(graph.launched, stream), "replay");
}

void free_graph(Graph* graph) {
  const std::unique_ptr<Graph> ended(graph);
  const OnDevice guard(ended->device);
  const OutsideCapture outside(ended->device);
  if (graph->launched) {  // nobody uses its memory then
    check(cudaEventSynchronize(graph->launched), "reset");
    check(cudaEventDestroy(graph->launched), "reset");
  }
  check(cudaGraphExecDestroy(ended->exec), "reset");
}

}  // namespace cuda
}  // namespace strided
