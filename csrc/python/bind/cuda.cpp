// What python/strided/cuda is made of: devices, streams, events and memory of the CUDA backend. Streams and events
// cross as integers.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/engine.h"
#include "base/parallel.h"
#include "core/random.h"
#include "cuda/runtime/library.h"
#include "ops/linalg/matmul.h"
#include "python/bind/bind.h"
#include "tensor/graph_age.h"

namespace strided::python {
namespace {

void* handle(int64_t v) { return reinterpret_cast<void*>(static_cast<intptr_t>(v)); }
int64_t number(const void* p) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(p)); }

// A function of the library whose last parameter is a pointer to its result.
template <auto Member, class R, class... A>
R get(A... arguments) {
  R result{};
  check_cuda((cuda_api().*Member)(arguments..., &result));
  return result;
}
int current_index() { return get<&CudaApi::current_device, int>(); }
// -1 stands for the current device.
int device_of(int64_t device) {
  return resolve_device({DeviceType::CUDA, static_cast<int8_t>(device < 0 ? -1 : std::min<int64_t>(device, 127))})
      .index;
}

int64_t count() { return cuda_device_count(); }
int64_t current() { return current_index(); }
void set_current(int64_t device) { check_cuda(cuda_api().set_device(device_of(device))); }
void synchronize(int64_t device) {
  const int d = device_of(device);
  const CudaFailure* failure;
  {
    const GilRelease unlocked;
    failure = cuda_api().synchronize(d);
  }
  check_cuda(failure);
}
PyObject* properties(int64_t device) {
  const CudaDeviceInfo p = get<&CudaApi::device_info, CudaDeviceInfo>(device_of(device));
  return Py_BuildValue("{s:s,s:i,s:i,s:i,s:i,s:i,s:n,s:n}", "name", p.name, "major", p.major, "minor", p.minor,
                       "multi_processor_count", p.multiprocessors, "max_threads_per_multi_processor",
                       p.max_threads_per_multiprocessor, "warp_size", p.warp_size, "total_memory",
                       static_cast<Py_ssize_t>(p.total_memory), "L2_cache_size", static_cast<Py_ssize_t>(p.l2_cache));
}

int64_t current_stream(int64_t device) { return number(get<&CudaApi::current_stream, void*>(device_of(device))); }
// While a stream other than the default one is current, nodes may be recorded whose work is in it; backward passes want
// to know (cuda/runtime/recorded.h). Nodes of other threads count too, which only makes a pass wait.
thread_local std::unique_ptr<std::vector<uint64_t>>
    nodes_before;  // of each device; in a thread itself there is little room
std::atomic<bool> some_recorded{false};
void note_recorded(int device) {
  if (!nodes_before) nodes_before = std::make_unique<std::vector<uint64_t>>(128);
  const uint64_t now = next_node_number(), before = std::exchange((*nodes_before)[static_cast<size_t>(device)], now);
  void* const stream = get<&CudaApi::current_stream, void*>(device);
  if (!stream || now == before) return;
  check_cuda(cuda_api().note_recorded(device, stream));
  some_recorded = true;
}
void set_stream(int64_t device, int64_t stream) {
  const int d = device_of(device);
  note_recorded(d);
  check_cuda(cuda_api().set_current_stream(d, handle(stream)));
}
void join_recorded(Device device, bool begins) {
  if (device.type != DeviceType::CUDA) return;
  if (begins) note_recorded(device.index);
  if (some_recorded) check_cuda(cuda_api().join_recorded(device.index, begins));
}
int64_t new_stream(int64_t device, int64_t priority) {
  return number(get<&CudaApi::pool_stream, void*>(device_of(device), static_cast<int>(priority)));
}
void synchronize_stream(int64_t device, int64_t stream) {
  const int d = device_of(device);
  const CudaFailure* failure;
  {
    const GilRelease unlocked;
    failure = cuda_api().synchronize_stream(d, handle(stream));
  }
  check_cuda(failure);
}
bool stream_is_done(int64_t device, int64_t stream) {
  return get<&CudaApi::stream_done, bool>(device_of(device), handle(stream));
}
void record_stream(const Tensor& t, int64_t stream) {
  STRIDED_CHECK(t.device().is_cuda(), RuntimeError, "record_stream: the tensor is on device '", t.device(),
                "', not on a CUDA device");
  if (t.storage().nbytes() > 0)
    check_cuda(cuda_api().record_stream(t.storage().data(), t.device().index, handle(stream)));
}

int64_t new_event(int64_t device, bool timing) {
  return number(get<&CudaApi::make_event, void*>(device_of(device), timing));
}
void free_event(int64_t event) { check_cuda(cuda_api().destroy_event(handle(event))); }
void record_event(int64_t event, int64_t device, int64_t stream) {
  check_cuda(cuda_api().record_event(handle(event), device_of(device), handle(stream)));
}
void wait_event(int64_t device, int64_t stream, int64_t event) {
  check_cuda(cuda_api().wait_event(handle(event), device_of(device), handle(stream)));
}
void synchronize_event(int64_t event, int64_t device) {
  const int d = device_of(device);
  const CudaFailure* failure;
  {
    const GilRelease unlocked;
    failure = cuda_api().synchronize_event(handle(event), d);
  }
  check_cuda(failure);
}
bool event_is_done(int64_t event) { return get<&CudaApi::event_done, bool>(handle(event)); }
double elapsed(int64_t start, int64_t end) {
  return get<&CudaApi::elapsed_milliseconds, double>(handle(start), handle(end));
}

// ---- graphs. Of the default generator a capture uses numbers from `first` on, and each launch those of its own.
int64_t new_pool() { return get<&CudaApi::new_pool, int64_t>(); }
void give_up_pool(int64_t pool) { check_cuda(cuda_api().give_up_pool(pool)); }
bool is_capturing(int64_t device) { return get<&CudaApi::capturing, bool>(device_of(device)); }
Generator& generator_of(int device) { return default_generator({DeviceType::CUDA, static_cast<int8_t>(device)}); }
int64_t begin_capture(int64_t device, int64_t mode, int64_t pool) {
  const int d = device_of(device);
  Generator& generator = generator_of(d);
  const GeneratorLock lock(generator, 0);
  check_cuda(cuda_api().begin_capture(d, static_cast<int>(mode), pool, generator.initial_seed(), generator.position));
  return static_cast<int64_t>(generator.position);
}
PyObject* end_capture(int64_t device, int64_t first) {
  const int d = device_of(device);
  uint64_t used = 0;
  {
    Generator& generator = generator_of(d);
    const GeneratorLock lock(generator, 0);
    used = generator.position - static_cast<uint64_t>(first);
    generator.position = static_cast<uint64_t>(first);
  }
  const int64_t graph = number(get<&CudaApi::end_capture, void*>(d));
  return Py_BuildValue("(LL)", static_cast<long long>(graph), static_cast<long long>(used));
}
void launch_graph(int64_t graph, int64_t device, int64_t used) {
  Generator& generator = generator_of(device_of(device));
  const GeneratorLock lock(generator, 0);
  check_cuda(cuda_api().launch_graph(handle(graph), generator.initial_seed(), generator.position));
  generator.position += static_cast<uint64_t>(used);
}
void free_graph(int64_t graph) {
  const CudaFailure* failure;
  {
    const GilRelease unlocked;
    failure = cuda_api().free_graph(handle(graph));
  }
  check_cuda(failure);
}

PyObject* memory_stats(int64_t device) {
  const CudaMemoryStats s = get<&CudaApi::memory_stats, CudaMemoryStats>(device_of(device));
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n}", "allocated", static_cast<Py_ssize_t>(s.allocated), "reserved",
                       static_cast<Py_ssize_t>(s.reserved), "max_allocated", static_cast<Py_ssize_t>(s.max_allocated),
                       "max_reserved", static_cast<Py_ssize_t>(s.max_reserved), "retries",
                       static_cast<Py_ssize_t>(s.retries));
}
void reset_peak(int64_t device) { check_cuda(cuda_api().reset_peak_stats(device_of(device))); }
void empty_cache() {
  if (cuda_is_open()) check_cuda(cuda_api().empty_cache());
}
PyObject* memory_info(int64_t device) {
  size_t free = 0, total = 0;
  check_cuda(cuda_api().memory_info(device_of(device), &free, &total));
  return Py_BuildValue("(nn)", static_cast<Py_ssize_t>(free), static_cast<Py_ssize_t>(total));
}
bool is_pinned(const Tensor& t) {
  return t.device().is_cpu() && cuda_is_open() && t.storage().nbytes() > 0 &&
         get<&CudaApi::is_pinned, bool>(static_cast<const void*>(t.storage().data()));
}

// Device memory that `owner` holds, as a tensor.
Tensor borrow(PyObject* owner, int64_t pointer, const Dims& shape, const std::optional<Dims>& strides, DType dtype,
              bool read_only) {
  checked_numel("__cuda_array_interface__", shape);
  STRIDED_CHECK(!strides || strides->size() == shape.size(), ValueError, "__cuda_array_interface__: ", shape.size(),
                " sizes, but ", strides->size(), " strides");
  for (size_t i = 0; strides && i < strides->size(); ++i) {
    int64_t reach;
    STRIDED_CHECK(
        multiply(std::max<int64_t>(shape[i] - 1, 0), (*strides)[i], &reach) && std::abs(reach) < (int64_t(1) << 50),
        ValueError, "__cuda_array_interface__: sizes ", shape, " with strides ", *strides,
        " need more memory than there can be");
  }
  Layout layout(shape, strides ? *strides : Layout::contiguous_strides(shape), 0);
  int64_t first = 0, last = 0;
  const bool some = layout.extent(&first, &last);
  STRIDED_CHECK(!some || pointer != 0, ValueError, "__cuda_array_interface__: the memory is a null pointer");
  layout.offset = -first;
  const Device device = resolve_device({DeviceType::CUDA, static_cast<int8_t>(get<&CudaApi::device_of_pointer, int>(
                                                              static_cast<const void*>(handle(pointer))))});
  Py_INCREF(owner);  // after all that may raise
  const Ref<Storage> storage = make_ref<Storage>(
      reinterpret_cast<char*>(pointer) + first * size_of(dtype),
      some ? static_cast<size_t>((last - first + 1) * size_of(dtype)) : 0, device, owner,
      [](void* o) {
        if (!Py_IsInitialized()) return;
        const PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(static_cast<PyObject*>(o));
        PyGILState_Release(state);
      },
      read_only);
  return Tensor(make_ref<TensorImpl>(storage, std::move(layout), dtype));
}

void force_gemm_tile(int64_t index) { check_cuda(cuda_api().force_gemm_tile(static_cast<int>(index))); }

}  // namespace

Tensor pin_memory(const Tensor& t) {
  STRIDED_CHECK(t.device().is_cpu(), RuntimeError, "cannot pin '", t.device(),
                "' only dense CPU tensors can be pinned");
  device_of(-1);  // RuntimeError without a device
  if (is_pinned(t)) return t;
  const size_t nbytes = static_cast<size_t>(t.numel() * t.itemsize());
  void* data = get<&CudaApi::allocate_pinned, void*>(std::max<size_t>(nbytes, 1));
  const Ref<Storage> storage =
      make_ref<Storage>(data, nbytes, Device{}, data, [](void* p) { cuda_api().deallocate_pinned(p); }, false);
  return copy_(Tensor(make_ref<TensorImpl>(storage, Layout(t.shape()), t.dtype())), t);
}

void bind_cuda() {
  around_backward = join_recorded;
  def<&tf32>("_tf32()", "True if devices may round float32 factors of matrix products.", kFunction);
  def<&set_tf32>("_set_tf32(bool allowed)", "Says whether they may.", kFunction);
  def<&force_gemm_tile>("_cuda_force_gemm_tile(int index)",
                        "Matrix products use this row of the table of tiles; -1: the one that suits.", kFunction);
  def<&cuda_why_none>("_cuda_why_none()", "Why no CUDA device can be used; empty if one can.", kFunction);
  def<&cuda_is_open>("_cuda_is_open()", "True once a CUDA device was asked for and found.", kFunction);
  def<&count>("_cuda_count()", "Number of devices.", kFunction);
  def<&current>("_cuda_current()", "Index of the current device.", kFunction);
  def<&set_current>("_cuda_set_device(int device)", "Makes a device the current one.", kFunction);
  def<&synchronize>("_cuda_synchronize(int device)", "Waits for a device.", kFunction);
  def<&properties>("_cuda_properties(int device) -> dict", "What the driver says of a device, as a dict.", kFunction);
  def<&current_stream>("_cuda_current_stream(int device)", "The current stream.", kFunction);
  def<&set_stream>("_cuda_set_stream(int device, int stream)", "Makes a stream the current one of its device.",
                   kFunction);
  def<&new_stream>("_cuda_new_stream(int device, int priority)", "A stream of the pool.", kFunction);
  def<&synchronize_stream>("_cuda_synchronize_stream(int device, int stream)", "Waits for a stream.", kFunction);
  def<&stream_is_done>("_cuda_stream_is_done(int device, int stream)", "True if a stream has no work left.", kFunction);
  def<&record_stream>("_cuda_record_stream(Tensor t, int stream)",
                      "Keeps the tensor's memory until work queued on the stream is done.", kFunction);
  def<&new_event>("_cuda_new_event(int device, bool timing)", "A new event.", kFunction);
  def<&free_event>("_cuda_free_event(int event)", "Ends an event.", kFunction);
  def<&record_event>("_cuda_record_event(int event, int device, int stream)", "Puts an event into a stream.",
                     kFunction);
  def<&wait_event>("_cuda_wait_event(int device, int stream, int event)", "Has a stream wait for an event.", kFunction);
  def<&synchronize_event>("_cuda_synchronize_event(int event, int device)", "Waits for an event.", kFunction);
  def<&event_is_done>("_cuda_event_is_done(int event)", "True if an event has happened.", kFunction);
  def<&elapsed>("_cuda_elapsed(int start, int end)", "Milliseconds between two events.", kFunction);
  def<&new_pool>("_cuda_new_pool()", "A pool of memory for captures.", kFunction);
  def<&give_up_pool>("_cuda_give_up_pool(int pool)", "Its memory becomes like any other.", kFunction);
  def<&is_capturing>("_cuda_is_capturing(int device)", "True while this thread captures on the device.", kFunction);
  def<&begin_capture>("_cuda_begin_capture(int device, int mode, int pool)",
                      "Captures what comes into the current stream; the position of the generator.", kFunction);
  def<&end_capture>("_cuda_end_capture(int device, int first) -> Any", "(graph, random blocks that it uses).",
                    kFunction);
  def<&launch_graph>("_cuda_launch_graph(int graph, int device, int used)", "Does captured work again.", kFunction);
  def<&free_graph>("_cuda_free_graph(int graph)", "Ends a graph, when its work is done.", kFunction);
  def<&memory_stats>("_cuda_memory_stats(int device) -> dict", "Bytes held by the allocator, as a dict.", kFunction);
  def<&reset_peak>("_cuda_reset_peak(int device)", "Starts the peaks anew.", kFunction);
  def<&empty_cache>("_cuda_empty_cache()", "Gives unused memory back to the driver.", kFunction);
  def<&memory_info>("_cuda_memory_info(int device) -> Any", "(free, total) bytes of a device.", kFunction);
  def<&borrow>("_cuda_borrow(Any owner, int pointer, int[] shape, int[]? strides, dtype dtype, bool read_only)",
               "A tensor on another library's memory.", kFunction);
  def<&is_pinned>("is_pinned(Tensor self)", "True if the tensor is in page-locked memory of the host.", kMethod);
  def<&pin_memory>(
      "pin_memory(Tensor self)",
      "A copy in page-locked memory of the host, from which a CUDA device copies in the background (the tensor itself if it is\n"
      "there already). RuntimeError without CUDA.",
      kMethod);
}

}  // namespace strided::python
