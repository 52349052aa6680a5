// What python/strided/cuda is made of: devices, streams, events and memory of the CUDA backend. Streams and events cross as
// integers.
#include "base/parallel.h"
#include "ops/backend.h"
#include "python/bind.h"

namespace strided::python {
namespace {

const Backend& cuda() { return backend(DeviceType::CUDA); }
void* handle(int64_t v) { return reinterpret_cast<void*>(static_cast<intptr_t>(v)); }
int64_t number(const void* p) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(p)); }
// -1 stands for the current device.
int device_of(int64_t device) {
  if (device < 0) return cuda().current_device();
  STRIDED_CHECK(device < cuda().device_count(), RuntimeError, "CUDA error: invalid device ordinal: ", device, ", there are ", cuda().device_count());
  return static_cast<int>(device);
}

void set_library(const std::string& path) { set_cuda_library(path); }
std::string why_none() {
  std::string why;
  return find_backend(DeviceType::CUDA, &why) ? "" : why;
}
bool is_open() { return backend_is_open(DeviceType::CUDA); }
int64_t count() {
  const Backend* b = find_backend(DeviceType::CUDA);
  return b ? b->device_count() : 0;
}
int64_t current() { return cuda().current_device(); }
void set_current(int64_t device) { cuda().set_device(device_of(device)); }
bool can_access(int64_t device, int64_t peer) { return cuda().can_access(device_of(device), device_of(peer)); }
void synchronize(int64_t device) {
  const int d = device_of(device);
  const Unlocked unlocked;
  cuda().synchronize(d);
}
PyObject* properties(int64_t device) {
  const DeviceProperties p = cuda().properties(device_of(device));
  return Py_BuildValue("{s:s,s:i,s:i,s:i,s:i,s:i,s:K,s:K,s:K}", "name", p.name, "major", p.major, "minor", p.minor, "multi_processor_count",
                       p.multiprocessors, "max_threads_per_multi_processor", p.max_threads_per_multiprocessor, "warp_size", p.warp_size, "total_memory",
                       static_cast<unsigned long long>(p.total_memory), "L2_cache_size", static_cast<unsigned long long>(p.l2_cache),
                       "shared_memory_per_block", static_cast<unsigned long long>(p.shared_memory_per_block));
}

int64_t current_stream(int64_t device) { return number(cuda().current_stream(device_of(device))); }
void set_stream(int64_t device, int64_t stream) { cuda().set_stream(device_of(device), handle(stream)); }
int64_t new_stream(int64_t device, int64_t priority) { return number(cuda().new_stream(device_of(device), static_cast<int>(priority))); }
void synchronize_stream(int64_t device, int64_t stream) {
  const int d = device_of(device);
  const Unlocked unlocked;
  cuda().synchronize_stream(d, handle(stream));
}
bool stream_is_done(int64_t device, int64_t stream) { return cuda().stream_is_done(device_of(device), handle(stream)); }
void record_stream(const Tensor& t, int64_t stream) {
  STRIDED_CHECK(t.device().is_cuda(), RuntimeError, "record_stream: the tensor is on device '", t.device(), "', not on a CUDA device");
  if (t.storage().nbytes() > 0) cuda().record_stream(t.storage().data(), t.device().index, handle(stream));
}

int64_t new_event(int64_t device, bool timing) { return number(cuda().new_event(device_of(device), timing)); }
void free_event(int64_t event) { cuda().free_event(handle(event)); }
void record_event(int64_t event, int64_t device, int64_t stream) { cuda().record_event(handle(event), device_of(device), handle(stream)); }
void wait_event(int64_t device, int64_t stream, int64_t event) { cuda().wait_event(device_of(device), handle(stream), handle(event)); }
void synchronize_event(int64_t event) {
  const Unlocked unlocked;
  cuda().synchronize_event(handle(event));
}
bool event_is_done(int64_t event) { return cuda().event_is_done(handle(event)); }
double elapsed(int64_t start, int64_t end) { return cuda().elapsed_ms(handle(start), handle(end)); }

PyObject* memory_stats(int64_t device) {
  const DeviceMemoryStats s = cuda().memory_stats(device_of(device));
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "allocated", static_cast<unsigned long long>(s.allocated), "reserved",
                       static_cast<unsigned long long>(s.reserved), "max_allocated", static_cast<unsigned long long>(s.max_allocated), "max_reserved",
                       static_cast<unsigned long long>(s.max_reserved), "retries", static_cast<unsigned long long>(s.retries));
}
void reset_peak(int64_t device) { cuda().reset_peak_stats(device_of(device)); }
void empty_cache() {
  if (is_open()) cuda().empty_cache();
}
PyObject* memory_info(int64_t device) {
  uint64_t free = 0, total = 0;
  cuda().memory_info(device_of(device), &free, &total);
  return Py_BuildValue("(KK)", static_cast<unsigned long long>(free), static_cast<unsigned long long>(total));
}
bool is_pinned(const Tensor& t) {
  return t.device().is_cpu() && is_open() && t.storage().nbytes() > 0 && cuda().is_pinned(t.storage().data());
}
// A copy in page-locked memory.
Tensor pin_memory(const Tensor& t) {
  STRIDED_CHECK(t.device().is_cpu(), RuntimeError, "cannot pin '", t.device(), "' only dense CPU tensors can be pinned");
  if (is_pinned(t)) return t;
  const uint64_t nbytes = static_cast<uint64_t>(t.numel() * t.itemsize());
  void* data = cuda().allocate_pinned(std::max<uint64_t>(nbytes, 1));
  const Ref<Storage> storage = make_ref<Storage>(data, nbytes, Device{}, data, [](void* p) { cuda().free_pinned(p); }, false);
  const Tensor out(make_ref<TensorImpl>(storage, Layout(t.shape()), t.dtype()));
  return copy_(out, t);
}

}  // namespace

void bind_cuda() {
  def<&set_library>("_cuda_set_library(str path)", "Where the CUDA library lies.", kFunction);
  def<&why_none>("_cuda_why_none()", "Why no CUDA device can be used; empty if one can.", kFunction);
  def<&is_open>("_cuda_is_open()", "True once a CUDA device was asked for and found.", kFunction);
  def<&count>("_cuda_count()", "Number of devices.", kFunction);
  def<&current>("_cuda_current()", "Index of the current device.", kFunction);
  def<&set_current>("_cuda_set_device(int device)", "Makes a device the current one.", kFunction);
  def<&can_access>("_cuda_can_access(int device, int peer)", "True if a device reads another's memory directly.", kFunction);
  def<&synchronize>("_cuda_synchronize(int device)", "Waits for a device.", kFunction);
  def<&properties>("_cuda_properties(int device)", "What the driver says of a device, as a dict.", kFunction);
  def<&current_stream>("_cuda_current_stream(int device)", "The current stream.", kFunction);
  def<&set_stream>("_cuda_set_stream(int device, int stream)", "Makes a stream the current one of its device.", kFunction);
  def<&new_stream>("_cuda_new_stream(int device, int priority)", "A stream of the pool.", kFunction);
  def<&synchronize_stream>("_cuda_synchronize_stream(int device, int stream)", "Waits for a stream.", kFunction);
  def<&stream_is_done>("_cuda_stream_is_done(int device, int stream)", "True if a stream has no work left.", kFunction);
  def<&record_stream>("_cuda_record_stream(Tensor t, int stream)", "Keeps the tensor's memory until work queued on the stream is done.", kFunction);
  def<&new_event>("_cuda_new_event(int device, bool timing)", "A new event.", kFunction);
  def<&free_event>("_cuda_free_event(int event)", "Ends an event.", kFunction);
  def<&record_event>("_cuda_record_event(int event, int device, int stream)", "Puts an event into a stream.", kFunction);
  def<&wait_event>("_cuda_wait_event(int device, int stream, int event)", "Has a stream wait for an event.", kFunction);
  def<&synchronize_event>("_cuda_synchronize_event(int event)", "Waits for an event.", kFunction);
  def<&event_is_done>("_cuda_event_is_done(int event)", "True if an event has happened.", kFunction);
  def<&elapsed>("_cuda_elapsed(int start, int end)", "Milliseconds between two events.", kFunction);
  def<&memory_stats>("_cuda_memory_stats(int device)", "Bytes held by the allocator, as a dict.", kFunction);
  def<&reset_peak>("_cuda_reset_peak(int device)", "Starts the peaks anew.", kFunction);
  def<&empty_cache>("_cuda_empty_cache()", "Gives unused memory back to the driver.", kFunction);
  def<&memory_info>("_cuda_memory_info(int device)", "(free, total) bytes of a device.", kFunction);
  def<&is_pinned>("is_pinned(Tensor self)", "True if the tensor is in page-locked memory of the host.", kMethod);
  def<&pin_memory>("pin_memory(Tensor self)",
                   "A copy in page-locked memory of the host, from which a CUDA device copies in the background (the tensor itself if it is\n"
                   "there already). RuntimeError without CUDA.",
                   kMethod);
}

}  // namespace strided::python
