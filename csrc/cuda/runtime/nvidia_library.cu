#include "cuda/runtime/nvidia_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace strided {
namespace cuda {
namespace {

#if defined(CUDART_VERSION)
constexpr int kCuda = CUDART_VERSION / 1000, kFoundFor = kCuda;
#else
constexpr int kCuda = 13, kFoundFor = 0;  // emulated devices are of CUDA 13, but nothing that pip installs is for them
#endif
constexpr int kVersion = kCuda - 1;  // the libraries' own major version: 11 for CUDA 12, 12 for CUDA 13

void (*find_library)(const char* name, int cuda, char* path, size_t size) = nullptr;

std::string file_name(const NvidiaLibrary& library) { return concat("lib", library.file, ".so.", kVersion); }
std::string package(const NvidiaLibrary& library) {
  return kCuda < 13 ? concat("nvidia-", library.file, "-cu12") : "'strided[cuda]'";
}

std::string path_of(const NvidiaLibrary& library) {
  if (const char* named = std::getenv(library.variable); named && *named) return named;
  char path[4096] = "";
  if (find_library) find_library(library.file, kFoundFor, path, sizeof(path));
  if (*path) return path;
#if STRIDED_EMULATED
  Dl_info info;
  static const char here = 0;
  const std::string self = dladdr(&here, &info) && info.dli_fname ? info.dli_fname : "";
  return concat(self.substr(0, self.rfind('/') + 1), "lib", library.file, "_emulated.so");
#else
  return file_name(library);
#endif
}

}  // namespace

void set_library_finder(void (*find)(const char* name, int cuda, char* path, size_t size)) { find_library = find; }

OpenLibrary open_library(const NvidiaLibrary& library, const char* operation) {
#if defined(__HIPCC__)
  STRIDED_THROW(NotImplementedError, operation, " on device 'cuda': ", library.used_for, " need ", library.name,
                ", which ROCm does not have");
#endif
  OpenLibrary opened{library, operation, path_of(library)};
  opened.handle = dlopen(opened.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened.handle) {
    const char* error = dlerror();
    STRIDED_THROW(RuntimeError, operation, " on device 'cuda' needs ", library.name, " of CUDA ", kCuda, " (",
                  file_name(library), "), which could not be opened: ", error ? error : opened.path.c_str(),
                  ". Install it by: pip install ", package(library), " (or name the file in ", library.variable, ")");
  }
#if STRIDED_EMULATED
  cuda_emulation::lend_devices(opened.handle);
#endif
  return opened;
}

void* find_function(const OpenLibrary& opened, const char* name, bool needed) {
  void* symbol = dlsym(opened.handle, name);
  STRIDED_CHECK(symbol || !needed, RuntimeError, opened.operation, ": ", opened.path, " is no ", opened.library.name,
                " that can be used: it has no ", name);
  return symbol;
}

void check_version(const OpenLibrary& opened, int major, int minor) {
  STRIDED_CHECK(major == kVersion, RuntimeError, opened.operation, ": ", opened.path, " is ", opened.library.name, " ",
                major, ".", minor, ", but this CUDA library was built with CUDA ", kCuda, " and needs ", kVersion,
                ".x");
}

void raise_status(const NvidiaLibrary& library, const char* operation, const char* function, const std::string& status,
                  bool out_of_memory) {
  const std::string what = concat(operation, ": ", function, " of ", library.name, " returned ", status);
  if (out_of_memory) throw OutOfMemoryError(what);
  throw RuntimeError(what);
}

}  // namespace cuda
}  // namespace strided
