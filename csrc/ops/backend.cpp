#include "ops/backend.h"

#include <dlfcn.h>

#include <mutex>

namespace strided {
namespace {

std::mutex opening;
std::string library_path;
const Backend* cuda = nullptr;
std::string cuda_missing;
bool tried = false;

// Opens the library: why it cannot be used, or an empty string.
std::string open_cuda() {
  if (library_path.empty()) return "strided was built without CUDA support";
  void* library = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    return concat("the CUDA library could not be opened: ", error ? error : "no reason given");
  }
  const auto entry = reinterpret_cast<BackendEntry>(dlsym(library, "strided_backend"));
  if (entry == nullptr) return concat(library_path, " is not a CUDA library of strided");
  const Backend* found = entry();
  if (found->version != Backend::kVersion) return concat(library_path, " belongs to another version of strided");
  if (const char* why = found->why_none()) return why;
  cuda = found;
  KernelTable& table = kernel_table(DeviceType::CUDA);
  table.device = &found->kernels;
  register_device_memory(DeviceType::CUDA, found->memory);
  return "";
}

}  // namespace

void set_cuda_library(const std::string& path) {
  library_path = path;
  set_backend_loader(DeviceType::CUDA, [] {
    std::string why;
    find_backend(DeviceType::CUDA, &why);
    return why;
  });
}

const Backend* find_backend(DeviceType type, std::string* why) {
  if (type != DeviceType::CUDA) return nullptr;
  const std::lock_guard<std::mutex> lock(opening);
  if (!tried) {
    cuda_missing = open_cuda();
    tried = true;
  }
  if (why) *why = cuda_missing;
  return cuda;
}

const Backend& backend(DeviceType type) {
  std::string why;
  const Backend* found = find_backend(type, &why);
  STRIDED_CHECK(found, RuntimeError, why, ". Use device='cpu'.");
  return *found;
}

bool backend_is_open(DeviceType type) {
  const std::lock_guard<std::mutex> lock(opening);
  return type == DeviceType::CUDA && cuda != nullptr;
}

}  // namespace strided
