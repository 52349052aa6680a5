#include "cuda/runtime/api.h"

#include "cuda/runtime/device_problem.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/nvidia_library.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/recorded.h"
#include "cuda/runtime/transfer.h"

namespace strided {
namespace {

thread_local std::string last_text;
thread_local CudaFailure last_failure;

const CudaFailure* failed(CudaFailure::Kind kind, const char* text) {
  last_text = text;
  last_failure = {kind, last_text.c_str()};
  return &last_failure;
}

// F, which raises, as a function that gives back a failure.
template <auto F, class Type = decltype(F)>
struct Guard;
template <auto F, class... A>
struct Guard<F, void (*)(A...)> {
  static const CudaFailure* call(A... arguments) noexcept {
    try {
      F(arguments...);
      return nullptr;
    } catch (const IndexError& e) {
      return failed(CudaFailure::Index, e.what());
    } catch (const ValueError& e) {
      return failed(CudaFailure::Value, e.what());
    } catch (const NotImplementedError& e) {
      return failed(CudaFailure::NotImplemented, e.what());
    } catch (const LinAlgError& e) {
      return failed(CudaFailure::LinAlg, e.what());
    } catch (const OutOfMemoryError& e) {
      return failed(CudaFailure::OutOfMemory, e.what());
    } catch (const std::exception& e) {
      return failed(CudaFailure::Runtime, e.what());
    }
  }
};
template <auto F>
constexpr auto guard = Guard<F>::call;

cudaStream_t stream_of(CudaStream s) { return static_cast<cudaStream_t>(s); }
cudaEvent_t event_of(CudaEvent e) { return static_cast<cudaEvent_t>(e); }

void device_count(int* count) { *count = cuda::device_count(); }
void device_problem(const char** text) { *text = cuda::device_problem(); }
void current_device(int* device) { *device = cuda::current_device(); }
void device_info(int device, CudaDeviceInfo* info) {
  const cuda::DeviceInfo& d = cuda::device_info(device);
  static_assert(sizeof(d.name) == sizeof(info->name));
  std::memcpy(info->name, d.name, sizeof(d.name));
  info->major = d.major;
  info->minor = d.minor;
  info->multiprocessors = d.multiprocessors;
  info->max_threads_per_multiprocessor = d.max_threads_per_multiprocessor;
  info->warp_size = d.warp_size;
  info->total_memory = d.total_memory;
  info->l2_cache = d.l2_cache;
}
void device_of_pointer(const void* data, int* device) {
  *device = data ? cuda::device_of_pointer(data) : cuda::current_device();
}
void allocate(size_t bytes, int device, void** data) { *data = cuda::allocate(bytes, device); }
void record_stream(void* data, int device, CudaStream stream) { cuda::record_stream(data, device, stream_of(stream)); }
void empty_cache() {
  cuda::empty_cache();
  cuda::release_pinned();
}
void memory_stats(int device, CudaMemoryStats* stats) {
  const cuda::MemoryStats s = cuda::memory_stats(device);
  *stats = {s.allocated, s.reserved, s.max_allocated, s.max_reserved, s.retries};
}
void allocate_pinned(size_t bytes, void** data) { *data = cuda::allocate_pinned(bytes); }
void is_pinned(const void* data, bool* pinned) { *pinned = cuda::is_pinned(data); }
void current_stream(int device, CudaStream* stream) { *stream = cuda::current_stream(device); }
void set_current_stream(int device, CudaStream stream) { cuda::set_current_stream(device, stream_of(stream)); }
void pool_stream(int device, int priority, CudaStream* stream) {
  const cudaStream_t made = cuda::pool_stream(device, priority);
  cuda::know_stream(device, made);
  *stream = made;
}
void note_recorded(int device, CudaStream stream) { cuda::note_recorded(device, stream_of(stream)); }
void synchronize_stream(int device, CudaStream stream) { cuda::synchronize_stream(device, stream_of(stream)); }
void stream_done(int device, CudaStream stream, bool* done) { *done = cuda::stream_done(device, stream_of(stream)); }
void make_event(int device, bool timed, CudaEvent* event) { *event = cuda::make_event(device, timed); }
void destroy_event(CudaEvent event) { cuda::destroy_event(event_of(event)); }
void record_event(CudaEvent event, int device, CudaStream stream) {
  cuda::record_event(event_of(event), device, stream_of(stream));
}
void wait_event(CudaEvent event, int device, CudaStream stream) {
  cuda::wait_event(event_of(event), device, stream_of(stream));
}
void synchronize_event(CudaEvent event, int device) { cuda::synchronize_event(event_of(event), device); }
void event_done(CudaEvent event, bool* done) { *done = cuda::event_done(event_of(event)); }
void elapsed_milliseconds(CudaEvent begin, CudaEvent end, double* ms) {
  *ms = cuda::elapsed_milliseconds(event_of(begin), event_of(end));
}

void new_pool(int64_t* pool) { *pool = cuda::new_pool(); }
void capturing(int device, bool* is) { *is = cuda::capturing(device); }
void end_capture(int device, CudaGraph* graph) { *graph = cuda::end_capture(device); }
void launch_graph(CudaGraph graph, uint64_t seed, uint64_t position) {
  cuda::launch_graph(*static_cast<cuda::Graph*>(graph), seed, position);
}
void free_graph(CudaGraph graph) { cuda::free_graph(static_cast<cuda::Graph*>(graph)); }

// Those that need nothing done to their parameters.
using cuda::begin_capture;
using cuda::deallocate;
using cuda::deallocate_pinned;
using cuda::force_gemm_tile;
using cuda::give_up_pool;
using cuda::join_recorded;
using cuda::memory_info;
using cuda::reset_peak_stats;
using cuda::set_device;
using cuda::set_library_finder;
using cuda::synchronize;

constexpr CudaApi kApi = {
#define X(name, parameters) guard<cuda::name>,
    STRIDED_BACKEND_SLOTS(X)
#undef X
#define X(name, parameters) guard<name>,
        STRIDED_CUDA_RUNTIME(X)
#undef X
};

}  // namespace
}  // namespace strided

const strided::CudaApi* strided_cuda_api(uint32_t version) {
  return version == strided::CudaApi::kVersion ? &strided::kApi : nullptr;
}
