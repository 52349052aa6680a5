// The run-time library of the emulated devices: memory, streams, events.
#include <dlfcn.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "cuda_emulation_streams.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(data, size) static_cast<void>(0)
#endif

struct CUevent_st {
  int device;
  bool timed;
  std::shared_ptr<cuda_emulation::Mark> mark;  // of the last time it was recorded, or null
};

namespace {

constexpr int kMostDevices = 16;
// Of errors that no code of csrc/cuda names.
constexpr cudaError_t kInsufficientDriver = static_cast<cudaError_t>(35), kNoDevice = static_cast<cudaError_t>(100);

struct Block {
  size_t bytes;
  int device;  // -1: page-locked memory of the host
};

struct Memory {
  std::mutex mutex;
  std::map<const char*, Block> blocks;
  size_t used[kMostDevices] = {};
  int running = 0;  // kernels and copies that run
  std::set<cudaStream_t> streams;

  // The block that contains the address, or null.
  const std::pair<const char* const, Block>* find(const void* data) {
    auto next = blocks.upper_bound(static_cast<const char*>(data));
    if (next == blocks.begin()) return nullptr;
    --next;
    return static_cast<const char*>(data) < next->first + (next->second.bytes ? next->second.bytes : 1) ? &*next
                                                                                                        : nullptr;
  }
};
Memory& memory() {
  static Memory* m = new Memory;  // outlives every static object that may free device memory
  return *m;
}

size_t env(const char* name, size_t fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}
int device_count() {
  const size_t n = env("STRIDED_EMULATE_CUDA", 1);
  return static_cast<int>(n > kMostDevices ? kMostDevices : n);
}
size_t device_bytes() { return env("STRIDED_EMULATE_CUDA_MEMORY", size_t{1} << 30); }

bool events_held = false;
thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;
using cuda_emulation::is_broken;
using cuda_emulation::note;

bool known(int device) { return device >= 0 && device < device_count(); }

// Note [Closed device memory]
// A host cannot read the memory of a GPU. With STRIDED_EMULATE_CUDA_CLOSED=1 it cannot read that of an emulated device
// either, but while a kernel or a copy runs: code of the host that does is a crash here as it would be there.
constexpr size_t kPage = 4096;
bool is_closed() {
  static const bool closed = env("STRIDED_EMULATE_CUDA_CLOSED", 0) != 0;
  return closed;
}
size_t whole_pages(size_t bytes) { return is_closed() ? (bytes + kPage - 1) / kPage * kPage : bytes; }
void protect(const void* data, size_t bytes, int how) {
  if (is_closed() && mprotect(const_cast<void*>(data), whole_pages(bytes), how) != 0) std::abort();
}
void open(const void* data, size_t bytes) { protect(data, bytes, PROT_READ | PROT_WRITE); }
void close(const void* data, size_t bytes) { protect(data, bytes, PROT_NONE); }

cudaError_t allocate(void** data, size_t bytes, int device) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  *data = nullptr;
  if (device >= 0 && (bytes > device_bytes() || memory().used[device] > device_bytes() - bytes))
    return note(cudaErrorMemoryAllocation);
  void* fresh = ::operator new(whole_pages(bytes), std::align_val_t(kPage), std::nothrow);
  if (!fresh) return note(cudaErrorMemoryAllocation);
  std::memset(fresh, 0xff, bytes);  // a number read before it was written is NaN
  memory().blocks[static_cast<const char*>(fresh)] = {bytes, device};
  if (device >= 0) {
    memory().used[device] += bytes;
    if (memory().running == 0) close(fresh, bytes);
  }
  *data = fresh;
  return cudaSuccess;
}
cudaError_t release(void* data, bool on_device) {
  if (!data) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto block = memory().blocks.find(static_cast<const char*>(data));
  if (block == memory().blocks.end() || (block->second.device >= 0) != on_device) return note(cudaErrorInvalidValue);
  if (on_device) memory().used[block->second.device] -= block->second.bytes;
  if (on_device) open(data, block->second.bytes);
  ASAN_UNPOISON_MEMORY_REGION(data, block->second.bytes);
  memory().blocks.erase(block);
  ::operator delete(data, std::align_val_t(kPage));
  return cudaSuccess;
}
bool is_page_locked(const void* data) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto* block = memory().find(data);
  return block && block->second.device < 0;
}
// A whole range in one block of device memory, or none of it in any.
bool in_one_place(const void* data, size_t bytes, bool must_be_device) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto* block = memory().find(data);
  if (!block || block->second.device < 0) return !must_be_device;
  return static_cast<const char*>(data) + bytes <= block->first + block->second.bytes;
}

}  // namespace

namespace cuda_emulation {

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

namespace {
// All blocks of all devices: a kernel may read another device's.
void for_device_blocks(void (*f)(const void*, size_t)) {
  for (const auto& [data, block] : memory().blocks)
    if (block.device >= 0) f(data, block.bytes);
}
}  // namespace
DeviceAccess::DeviceAccess() {
  if (!is_closed()) return;
  const std::lock_guard<std::mutex> lock(memory().mutex);
  if (memory().running++ == 0) for_device_blocks(open);
}
DeviceAccess::~DeviceAccess() {
  if (!is_closed()) return;
  const std::lock_guard<std::mutex> lock(memory().mutex);
  if (--memory().running == 0) for_device_blocks(close);
}

namespace {
thread_local DeviceAccess* access = nullptr;
const Devices devices = {
    [] { return current; },
    [](const void* data, size_t bytes, int device) {
      const std::lock_guard<std::mutex> lock(memory().mutex);
      const auto* block = memory().find(data);
      return block && block->second.device == device &&
             static_cast<const char*>(data) + bytes <= block->first + block->second.bytes;
    },
    [](cudaStream_t stream) {
      const std::lock_guard<std::mutex> lock(memory().mutex);
      return !stream ? current : memory().streams.count(stream) ? stream->device : -1;
    },
    [] {
      cuda_emulation::finish_all();  // what the library computes, it does at once
      access = new DeviceAccess;
    },
    [] { delete access; },
    [] { return refused_by_captures(); },
    [](cudaStream_t stream, std::function<void()> work) {
      const auto run = [work] {
        const DeviceAccess access;
        work();
      };
      return queue(stream, {run, nullptr, nullptr}) == cudaSuccess;
    },
};
}  // namespace
void lend_devices(void* library) {
  if (void* use = dlsym(library, "use_emulated_devices")) reinterpret_cast<void (*)(const Devices*)>(use)(&devices);
}

constexpr unsigned char kUnused = 0xa5;

namespace {
void make_usable(void* data, size_t usable, size_t whole) {
  const DeviceAccess access;
  ASAN_UNPOISON_MEMORY_REGION(data, whole);
  std::memset(data, 0xff, usable);
  std::memset(static_cast<char*>(data) + usable, kUnused, whole - usable);
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(data) + usable, whole - usable);
}
void see_unused(const void* data, size_t usable, size_t whole) {
  const DeviceAccess access;
  ASAN_UNPOISON_MEMORY_REGION(data, whole);
  for (size_t i = usable; i < whole; ++i)
    if (static_cast<const unsigned char*>(data)[i] != kUnused) {
      std::fprintf(stderr, "emulated device: byte %zu of a block of %zu was written to\n", i, usable);
      std::abort();
    }
}
// The default stream is that of the memory's device, whichever device is the current one.
cudaStream_t of_its_device(const void* data, cudaStream_t stream) {
  if (stream) return stream;
  const std::lock_guard<std::mutex> lock(memory().mutex);
  return default_stream(memory().find(data)->second.device);
}
}  // namespace
void set_usable(void* data, size_t usable, size_t whole, cudaStream_t stream) {
  queue(of_its_device(data, stream), {[=] { make_usable(data, usable, whole); }, nullptr, nullptr});
}
void check_unused(const void* data, size_t usable, size_t whole, cudaStream_t stream) {
  queue(of_its_device(data, stream), {[=] { see_unused(data, usable, whole); }, nullptr, nullptr});
}
void hold_events(bool held) { events_held = held; }

}  // namespace cuda_emulation

const char* cudaGetErrorName(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case kInsufficientDriver: return "cudaErrorInsufficientDriver";
    case kNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorStreamCaptureIsolation: return "cudaErrorStreamCaptureIsolation";
    case cudaErrorStreamCaptureUnjoined: return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
  }
  return "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case kInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case kNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorStreamCaptureIsolation: return "dependency created on uncaptured work in another stream";
    case cudaErrorStreamCaptureUnjoined: return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
  }
  return "unknown error";
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = last;
  last = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = env("STRIDED_EMULATE_NO_DEVICE", 0) ? 0 : device_count();
  // As the run time has it: a driver that is older than it says so here, and no device is an error.
  if (env("STRIDED_EMULATE_OLD_DRIVER", 0)) {
    *count = 0;
    return note(kInsufficientDriver);
  }
  return *count == 0 ? note(kNoDevice) : cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!known(device)) return note(cudaErrorInvalidDevice);
  cuda_emulation::take_context();
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (!known(device)) return note(cudaErrorInvalidDevice);
  *p = {};
  std::snprintf(p->name, sizeof(p->name), "Emulated device (the host runs its kernels)");
  p->totalGlobalMem = device_bytes();
  const int capability = static_cast<int>(env("STRIDED_EMULATE_CUDA_CAPABILITY", 90));
  p->major = capability / 10;
  p->minor = capability % 10;
  p->multiProcessorCount = 4;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->l2CacheSize = 1 << 20;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = env("STRIDED_EMULATE_CUDA_SHARED", 48 << 10);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (cuda_emulation::refused_by_captures()) return note(cudaErrorStreamCaptureUnsupported);
  cuda_emulation::finish_device(current);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!known(device) || !known(peer)) return note(cudaErrorInvalidDevice);
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (cuda_emulation::refused_by_captures()) return note(cudaErrorStreamCaptureUnsupported);
  cuda_emulation::take_context();
  return allocate(data, bytes, current);
}
// (Both wait for everything.)
cudaError_t cudaFree(void* data) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (cuda_emulation::refused_by_captures()) return note(cudaErrorStreamCaptureUnsupported);
  cuda_emulation::finish_all();
  return release(data, true);
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (cuda_emulation::refused_by_captures()) return note(cudaErrorStreamCaptureUnsupported);
  return allocate(data, bytes, -1);
}
cudaError_t cudaFreeHost(void* data) {
  if (cuda_emulation::refused_by_captures()) return note(cudaErrorStreamCaptureUnsupported);
  cuda_emulation::finish_all();
  return release(data, false);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  *total = device_bytes();
  *free = *total - memory().used[current];
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* data) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto* block = memory().find(data);
  a->type = !block ? cudaMemoryTypeUnregistered : block->second.device < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  a->device = block && block->second.device >= 0 ? block->second.device : 0;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (bytes == 0) return cudaSuccess;
  if (!in_one_place(to, bytes, to_device) || !in_one_place(from, bytes, from_device))
    return note(cudaErrorInvalidValue);
  std::shared_ptr<std::vector<char>> staged;
  if (!from_device && !is_page_locked(from) && !(stream && stream->capture)) {  // (a graph reads it when launched)
    const char* bytes_of = static_cast<const char*>(from);
    staged = std::make_shared<std::vector<char>>(bytes_of, bytes_of + bytes);
  }
  const auto copy = [=] {
    const cuda_emulation::DeviceAccess access;
    std::memmove(to, staged ? staged->data() : from, bytes);
  };
  return note(cuda_emulation::queue(stream, {copy, nullptr, nullptr}));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  if (!known(to_device) || !known(from_device)) return note(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!in_one_place(to, bytes, true)) return note(cudaErrorInvalidValue);
  const auto set = [=] {
    const cuda_emulation::DeviceAccess access;
    std::memset(to, byte, bytes);
  };
  return note(cuda_emulation::queue(stream, {set, nullptr, nullptr}));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new CUstream_st{current};
  const std::lock_guard<std::mutex> lock(memory().mutex);
  memory().streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cuda_emulation::finish(stream);
  {
    const std::lock_guard<std::mutex> lock(memory().mutex);
    memory().streams.erase(stream);
  }
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (cuda_emulation::disturbs_capture(stream) || (!stream && cuda_emulation::refused_by_captures()))
    return note(cudaErrorStreamCaptureUnsupported);
  cuda_emulation::finish(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (cuda_emulation::disturbs_capture(stream)) return note(cudaErrorStreamCaptureUnsupported);
  if (!cuda_emulation::has_work(stream)) return cudaSuccess;
  cuda_emulation::finish(stream);  // for the next time
  return note(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return event->mark ? note(cuda_emulation::queue(stream, {nullptr, event->mark, nullptr})) : cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  *event = new CUevent_st{current, !(flags & cudaEventDisableTiming), nullptr};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if ((stream ? stream->device : current) != event->device) return note(cudaErrorInvalidResourceHandle);
  event->mark = std::make_shared<cuda_emulation::Mark>();
  return note(cuda_emulation::queue(stream, {nullptr, nullptr, event->mark}));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (event->mark && event->mark->capture) return note(cudaErrorStreamCaptureUnsupported);
  if (event->mark) cuda_emulation::finish(*event->mark);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (is_broken()) return note(cudaErrorLaunchFailure);
  if (events_held) return note(cudaErrorNotReady);
  if ((event->mark && event->mark->capture) || cuda_emulation::refused_by_captures())
    return note(cudaErrorStreamCaptureUnsupported);
  if (!event->mark || event->mark->reached) return cudaSuccess;
  cuda_emulation::go_on(event->mark->stream);
  return event->mark->reached ? cudaSuccess : note(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin->timed || !end->timed || !begin->mark || !end->mark) return note(cudaErrorInvalidResourceHandle);
  if (!begin->mark->reached || !end->mark->reached) return note(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(end->mark->when - begin->mark->when).count();
  return cudaSuccess;
}
