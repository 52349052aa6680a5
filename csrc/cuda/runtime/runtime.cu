#include "cuda/runtime/runtime.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/linalg_error.h"
#include "base/macros.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/device_problem.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {
namespace {

constexpr int kMaxDevices = 64;
constexpr int kPoolStreams = 32;  // of each priority

std::atomic<bool> used{false}, forked{false};

// Of a device, made at its first use.
struct DeviceState {
  std::once_flag described, pooled[2];
  DeviceInfo info;
  cudaStream_t pool[2][kPoolStreams] = {};
  std::atomic<unsigned> next{0};
  int* claimed = nullptr;
  Report* report = nullptr;
  std::once_flag reporting;
};
DeviceState& state(int device) {
  static DeviceState* states = new DeviceState[kMaxDevices];  // never destroyed: tensors may be freed after main
  return states[device];
}

thread_local cudaStream_t streams[kMaxDevices] = {};

// From here on a forked child cannot use the devices.
void note_use() {
  if (used.load(std::memory_order_relaxed)) return;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    used = true;
  });
}

std::string device_text(int device) { return "cuda:" + std::to_string(device); }

// What the driver says of the devices. A driver that is missing, or older than this library's run time, shows here.
struct Found {
  int devices = 0;
  std::string problem = "no device was found";
};
const Found& found() {
  static const Found* f = [] {
    auto* made = new Found;
    if (const cudaError_t error = cudaGetDeviceCount(&made->devices); error != cudaSuccess) {
      cudaGetLastError();
      made->devices = 0;
      made->problem += concat(" (", cudaGetErrorString(error), ")");
    }
    made->devices = std::min(made->devices, kMaxDevices);
    if (made->devices > 0) note_use();  // the question alone has started the driver
    return made;
  }();
  return *f;
}

void require_some_device() {
  STRIDED_CHECK(device_count() > 0, RuntimeError, "CUDA is not available: ", device_problem(), ". Use device='cpu'.");
}

}  // namespace

void check(cudaError_t error, const char* what) {
  if (STRIDED_LIKELY(error == cudaSuccess)) return;
  cudaGetLastError();  // it is reported now, not again by the next launch
  STRIDED_THROW(RuntimeError, what, ": CUDA error: ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
}

void check_launch(const char* operation) { check(cudaPeekAtLastError(), operation); }

void check_not_forked() {
  STRIDED_CHECK(!forked.load(std::memory_order_relaxed), RuntimeError,
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method");
}

int device_count() { return forked ? 0 : found().devices; }

const char* device_problem() { return device_count() > 0 ? "" : found().problem.c_str(); }

void require_device(int device) {
  check_not_forked();
  if (STRIDED_LIKELY(device >= 0 && device < device_count())) return;
  require_some_device();
  STRIDED_THROW(RuntimeError, "CUDA error: invalid device ordinal: there is no '", device_text(device), "', only ",
                device_count(), device_count() == 1 ? " device" : " devices");
}

int current_device() {
  check_not_forked();
  require_some_device();
  int device = 0;
  check(cudaGetDevice(&device), "current_device");
  return device;
}
void set_device(int device) {
  require_device(device);
  check(cudaSetDevice(device), "set_device");
}

const DeviceInfo& device_info(int device) {
  require_device(device);
  DeviceState& s = state(device);
  std::call_once(s.described, [&] {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, device), "get_device_properties");
    std::memcpy(s.info.name, p.name, sizeof(s.info.name));
    s.info.major = p.major;
    s.info.minor = p.minor;
    s.info.multiprocessors = p.multiProcessorCount;
    s.info.max_threads_per_multiprocessor = p.maxThreadsPerMultiProcessor;
    s.info.warp_size = p.warpSize;
    s.info.total_memory = p.totalGlobalMem;
    s.info.l2_cache = static_cast<size_t>(p.l2CacheSize);
    s.info.shared_per_block = p.sharedMemPerBlockOptin;
  });
  return s.info;
}

OnDevice::OnDevice(int device) : before_(device), device_(device) {
  check_not_forked();
  note_use();
  check(cudaGetDevice(&before_), "device");
  if (before_ != device_) check(cudaSetDevice(device_), "device");
}
OnDevice::~OnDevice() {
  if (before_ != device_) cudaSetDevice(before_);
}

cudaStream_t current_stream(int device) { return streams[device]; }
void set_current_stream(int device, cudaStream_t stream) {
  require_device(device);
  streams[device] = stream;
}

cudaStream_t pool_stream(int device, int priority) {
  require_device(device);
  DeviceState& s = state(device);
  const int which = priority < 0;
  std::call_once(s.pooled[which], [&] {
    const OnDevice guard(device);
    for (cudaStream_t& stream : s.pool[which])
      check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority < 0 ? -1 : 0), "Stream");
  });
  return s.pool[which][s.next++ % kPoolStreams];
}

void synchronize(int device) {
  require_device(device);
  refuse_capture(device, "synchronize");
  const OnDevice guard(device);
  check(cudaDeviceSynchronize(), "synchronize");
  raise_reported(device);
}
void synchronize_stream(int device, cudaStream_t stream) {
  require_device(device);
  refuse_capture(device, "synchronize");
  const OnDevice guard(device);
  check(cudaStreamSynchronize(stream), "synchronize");
  raise_reported(device);
}

#if !STRIDED_EMULATED
// What a kernel may have belongs to the device, not to the thread that asked: it never becomes less, or the launch of a
// thread that asked for more before would fail. An error is the next launch's.
void allow_shared(const void* kernel, size_t bytes) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return;
  static std::mutex mutex;
  static auto* allowed = new std::map<std::pair<const void*, int>, size_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  size_t& most = (*allowed)[{kernel, device}];
  if (bytes <= most) return;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    most = bytes;
}
#endif

// ---- reports of kernels
Reporter reporter(int device, const char* name, int axis) {
  DeviceState& s = state(device);
  std::call_once(s.reporting, [&] {
    const OnDevice guard(device);
    void* host = nullptr;
    void* claimed = nullptr;
    check(cudaHostAlloc(&host, sizeof(Report), cudaHostAllocPortable), "index");
    std::memset(host, 0, sizeof(Report));
    check(cudaMalloc(&claimed, sizeof(int)), "index");
    check(cudaMemsetAsync(claimed, 0, sizeof(int), nullptr), "index");
    check(cudaStreamSynchronize(nullptr), "index");
    s.claimed = static_cast<int*>(claimed);
    s.report = static_cast<Report*>(host);
  });
  Reporter r;
  r.claimed = s.claimed;
  r.report = s.report;
  r.name = name;
  r.axis = axis;
  return r;
}

void raise_reported(int device) {
  DeviceState& s = state(device);
  if (STRIDED_LIKELY(s.report == nullptr || *const_cast<volatile Fault*>(&s.report->set) == Fault::None)) return;
  const Report r = *s.report;
  s.report->set = Fault::None;
  const OnDevice guard(device);
  check(cudaMemsetAsync(s.claimed, 0, sizeof(int), current_stream(device)), r.name);
  STRIDED_CHECK(r.set != Fault::Probability, RuntimeError, r.name,
                ": Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  STRIDED_CHECK(r.set != Fault::Rate, RuntimeError, r.name, ": invalid Poisson rate, expected rate to be non-negative");
  STRIDED_CHECK(r.set != Fault::Sorter, RuntimeError, r.name, ": sorter index out of range");
  if (r.set == Fault::Linalg)
    raise_linalg_failure(static_cast<LinalgFailure>(r.axis), r.name, r.size != 0, r.position, r.value);
  if (r.axis < 0)
    STRIDED_THROW(IndexError, r.name, ": index ", r.value, " at position ", r.position,
                  " is out of range of a tensor of ", r.size, " elements on '", device_text(device), "'");
  STRIDED_THROW(IndexError, r.name, ": index ", r.value, " at position ", r.position,
                " is out of bounds for dimension ", r.axis, " with size ", r.size, " on '", device_text(device), "'");
}

}  // namespace cuda
}  // namespace strided
