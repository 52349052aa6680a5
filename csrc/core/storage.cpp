#include "core/storage.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/unlocked.h"
#include "core/allocator.h"

namespace strided {
namespace {

// Read for every block of memory: see `grad_mode` in tensor/graph.h.
__attribute__((tls_model("initial-exec"))) thread_local bool inference = false;

DeviceMemory memories[kNumDeviceTypes] = {
    {[](size_t n, int) { return cpu_allocate(n); }, [](void* p, size_t n, int) { cpu_free(p, n); }, nullptr, nullptr,
     [](void* to, Device, const void* from, Device, size_t n, bool) { std::memcpy(to, from, n); }, cpu_clear},
    {},
    {},
    // Meta: tensors without data.
    {[](size_t, int) -> void* { return nullptr; }, [](void*, size_t, int) {}, nullptr, nullptr,
     [](void*, Device, const void*, Device, size_t, bool) {}},
};

std::mutex left_mutex;
std::vector<Ref<Storage>>& left() {  // never destroyed: kernels may run while the process ends
  static auto* storages = new std::vector<Ref<Storage>>;
  return *storages;
}

// Frees what left its tensor, and what waited, unless a kernel runs that may use it.
void let_go(Ref<Storage> storage) {
  std::vector<Ref<Storage>> free;  // after the lock
  const std::lock_guard<std::mutex> lock(left_mutex);
  if (computing_unlocked()) left().push_back(std::move(storage));
  else free.swap(left());
}

}  // namespace

void (*drop_storage_object)(void* py_object) = nullptr;

bool inference_mode() { return inference; }
void set_inference_mode(bool on) { inference = on; }

void change_storage(Ref<Storage>& held, Ref<Storage> other) {
  std::swap(held, other);
  let_go(std::move(other));
}

void register_device_memory(DeviceType type, DeviceMemory memory) { memories[static_cast<int>(type)] = memory; }

const DeviceMemory& device_memory(Device device) {
  const DeviceMemory& memory = memories[static_cast<int>(device.type)];
  STRIDED_CHECK(memory.allocate != nullptr, RuntimeError, "strided has no backend for device '", device,
                "'. Use device='cpu'.");
  return memory;
}

Device resolve_device(Device device) {
  if (device.is_cpu()) return Device{};
  const DeviceMemory& memory = device_memory(device);
  if (memory.current == nullptr) return Device{device.type, -1};  // there is one
  if (device.index < 0) device.index = static_cast<int8_t>(memory.current());
  memory.require(device.index);
  return device;
}

Storage::Storage(size_t nbytes, Device device)
    : nbytes_(nbytes),
      capacity_(nbytes),
      device_(device.is_cpu() ? Device{} : resolve_device(device)),
      of_inference_(inference) {
  data_ = device_memory(device_).allocate(nbytes, device_.index);
}

Storage::Storage(void* data, size_t nbytes, Device device, void* owner, void (*release)(void*), bool read_only)
    : data_(data),
      nbytes_(nbytes),
      capacity_(nbytes),
      device_(device),
      read_only_(read_only),
      of_inference_(inference),
      owner_(owner),
      release_(release) {}

Storage::~Storage() {
  if (py_object != nullptr) drop_storage_object(py_object);
  if (release_ != nullptr) {
    release_(owner_);
  } else {
    device_memory(device_).free(data_, data_ ? capacity_ : 0, device_.index);
  }
}

void Storage::resize(size_t nbytes) {
  STRIDED_CHECK(resizable(), RuntimeError, "Trying to resize storage that is not resizable");
  const size_t reach = use_count() > 1 ? std::max(nbytes, capacity_) : nbytes;
  auto other = make_ref<Storage>(nbytes == 0 ? 0 : reach, device_);
  if (size_t common = std::min(nbytes, nbytes_))
    device_memory(device_).copy(other->data_, device_, data_, device_, common, true);
  std::swap(data_, other->data_);
  std::swap(capacity_, other->capacity_);
  capacity_ = reach;
  nbytes_ = nbytes;
  let_go(std::move(other));
}

}  // namespace strided
