#include "cuda/runtime/library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/parallel.h"
#include "core/storage.h"

namespace strided {
namespace {

// The file beside the one this code is in; STRIDED_CUDA_LIBRARY names another. An emulated device is only ever there
// when STRIDED_EMULATE_CUDA asks for it.
std::string library_path() {
  if (const char* named = std::getenv("STRIDED_CUDA_LIBRARY"); named && *named) return named;
  Dl_info info;
  static const char here = 0;
  const std::string self = dladdr(&here, &info) && info.dli_fname ? info.dli_fname : "";
  const size_t slash = self.rfind('/');
  const char* emulate = std::getenv("STRIDED_EMULATE_CUDA");
  const bool emulated = emulate && std::atoi(emulate) > 0;
  return (slash == std::string::npos ? "" : self.substr(0, slash + 1)) +
         (emulated ? "libstrided_cuda_emulated.so" : "libstrided_cuda.so");
}

std::string (*find_library)(const char* name, int cuda) = nullptr;
void write_library_path(const char* name, int cuda, char* path, size_t size) {
  const std::string found = find_library ? find_library(name, cuda) : "";
  if (found.size() < size) std::memcpy(path, found.c_str(), found.size() + 1);
}

struct Library {
  const CudaApi* api = nullptr;
  std::string why_not;

  Library() {
    const std::string path = library_path();
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* error = dlerror();
      why_not = std::string("this installation has no CUDA library (") + (error ? error : path.c_str()) + ")";
      return;
    }
    using Entry = const CudaApi* (*)(uint32_t);
    const auto entry = reinterpret_cast<Entry>(dlsym(handle, "strided_cuda_api"));
    api = entry ? entry(CudaApi::kVersion) : nullptr;
    if (!api) why_not = path + " belongs to another version of strided";
    else api->set_library_finder(write_library_path);
  }
};
std::atomic<bool> opened{false};
const Library& library() {
  opened = true;
  static const Library* l = new Library;  // open until the process ends: tensors may be freed last
  return *l;
}

// A slot of Backend: opens the library, calls its function, raises.
template <auto Member, class Type>
struct Slot;
template <auto Member, class... A>
struct Slot<Member, const CudaFailure* (*)(A...)> {
  static void call(A... arguments) { check_cuda((cuda_api().*Member)(arguments...)); }
  // Decompositions wait for the device, so other threads get the interpreter's lock meanwhile.
  static void call_unlocked(A... arguments) {
    const auto function = cuda_api().*Member;
    const CudaFailure* failure;
    {
      const GilRelease unlocked;
      failure = function(arguments...);
    }
    check_cuda(failure);
  }
};

constexpr Backend kBackend = {
#define X(name, parameters) Slot<&CudaApi::name, decltype(CudaApi::name)>::call,
    STRIDED_KERNEL_SLOTS(X)
#undef X
#define X(name, parameters) Slot<&CudaApi::name, decltype(CudaApi::name)>::call_unlocked,
        STRIDED_DECOMPOSITION_SLOTS(X)
#undef X
};

}  // namespace

const CudaApi& cuda_api() {
  const Library& l = library();
  STRIDED_CHECK(l.api, NoCudaLibraryError, "Torch not compiled with CUDA enabled: ", l.why_not, ". Use device='cpu'.");
  return *l.api;
}

int cuda_device_count() {
  int count = 0;
  if (library().api == nullptr || library().api->device_count(&count) != nullptr) return 0;
  return count;
}
bool cuda_is_available() { return cuda_device_count() > 0; }
std::string cuda_why_none() {
  if (library().api == nullptr) return library().why_not;
  const char* problem = "";
  check_cuda(library().api->device_problem(&problem));
  return problem;
}
bool cuda_is_open() { return opened.load() && cuda_is_available(); }

void check_cuda(const CudaFailure* failure) {
  if (__builtin_expect(failure == nullptr, 1)) return;
  switch (failure->kind) {
    case CudaFailure::Index: throw IndexError(failure->text);
    case CudaFailure::Value: throw ValueError(failure->text);
    case CudaFailure::NotImplemented: throw NotImplementedError(failure->text);
    case CudaFailure::LinAlg: throw LinAlgError(failure->text);
    case CudaFailure::OutOfMemory: throw OutOfMemoryError(failure->text);
    default: throw RuntimeError(failure->text);
  }
}

void* cuda_allocate(size_t bytes, int device) {
  void* data = nullptr;
  check_cuda(cuda_api().allocate(bytes, device, &data));
  return data;
}
// A failure would be one in a destructor; the next call of the device raises it again.
void cuda_free(void* data, size_t, int device) { library().api->deallocate(data, device); }

namespace {

int current_device() {
  int device = 0;
  check_cuda(cuda_api().current_device(&device));
  return device;
}
void require_device(int device) {
  const CudaApi& api = cuda_api();
  int count = 0;
  check_cuda(api.device_count(&count));
  if (count == 0) current_device();  // raises, and says why there is none
  STRIDED_CHECK(device < count, RuntimeError, "CUDA error: invalid device ordinal: cuda:", device, ", there are ",
                count, " devices");
}
void copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes, bool non_blocking) {
  const GilRelease unlocked(bytes >= 65536);
  const int device = to_device.index >= 0 ? to_device.index : from_device.index;
  check_cuda(
      cuda_api().transfer({{"copy_", device}, to, to_device.index, from, from_device.index, bytes, non_blocking}));
}

}  // namespace

void register_cuda_backend(std::string (*find)(const char* name, int cuda)) {
  find_library = find;
  backend_table(DeviceType::CUDA) = kBackend;
  register_device_memory(DeviceType::CUDA, {cuda_allocate, cuda_free, current_device, require_device, copy});
}

}  // namespace strided
