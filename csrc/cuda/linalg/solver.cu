#include "cuda/linalg/solver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

#if defined(CUDART_VERSION)
constexpr int kCuda = CUDART_VERSION / 1000, kFoundFor = kCuda;
#else
constexpr int kCuda = 13, kFoundFor = 0;  // emulated devices are of CUDA 13, but nothing that pip installs is for them
#endif
constexpr int kVersion = kCuda - 1;  // its own major version: 11 for CUDA 12, 12 for CUDA 13
constexpr const char* kPackage = kCuda < 13 ? "nvidia-cusolver-cu12" : "'strided[cuda]'";

void (*find_library)(int cuda, char* path, size_t size) = nullptr;

std::string file_name() { return "libcusolver.so." + std::to_string(kVersion); }

std::string library_path() {
  if (const char* named = std::getenv("STRIDED_CUSOLVER_LIBRARY"); named && *named) return named;
  char path[4096] = "";
  if (find_library) find_library(kFoundFor, path, sizeof(path));
  if (*path) return path;
#if STRIDED_EMULATED
  Dl_info info;
  static const char here = 0;
  const std::string self = dladdr(&here, &info) && info.dli_fname ? info.dli_fname : "";
  return self.substr(0, self.rfind('/') + 1) + "libcusolver_emulated.so";
#else
  return file_name();
#endif
}

const Solver* open(const char* operation) {
#if defined(__HIPCC__)
  STRIDED_THROW(NotImplementedError, operation,
                " on device 'cuda': decompositions need cuSOLVER, which ROCm does not have");
#endif
  const std::string path = library_path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror();
    STRIDED_THROW(RuntimeError, operation, " on device 'cuda' needs cuSOLVER of CUDA ", kCuda, " (", file_name(),
                  "), which could not be opened: ", error ? error : path.c_str(), ". Install it by: pip install ",
                  kPackage, " (or name the file in STRIDED_CUSOLVER_LIBRARY)");
  }
#if STRIDED_EMULATED
  cuda_emulation::lend_devices(library);
#endif
  auto* s = new Solver;  // kept, as the library is
  auto load = [&](auto& function, bool needed) {
    void* symbol = dlsym(library, function.name);
    STRIDED_CHECK(symbol || !needed, RuntimeError, operation, ": ", path,
                  " is no cuSOLVER that can be used: it has no ", function.name);
    function.f = reinterpret_cast<decltype(function.f)>(symbol);
  };
#define X(name, parameters) load(s->name, true);
  STRIDED_CUSOLVER_FUNCTIONS(X)
#undef X
#define X(name, parameters) load(s->name, false);
  STRIDED_CUSOLVER_NEW_FUNCTIONS(X)
#undef X
#define X(name, complex_name, parameters) \
  for (auto& function : s->name) load(function, true);
  STRIDED_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X
  s->cusolverGetProperty(operation, kMajorVersion, &s->major);
  s->cusolverGetProperty(operation, kMinorVersion, &s->minor);
  STRIDED_CHECK(s->major == kVersion, RuntimeError, operation, ": ", path, " is cuSOLVER ", s->major, ".", s->minor,
                ", but this CUDA library was built with CUDA ", kCuda, " and needs ", kVersion, ".x");
  return s;
}

using Place = std::pair<int, cudaStream_t>;
struct Handles {
  std::mutex mutex;
  std::map<Place, std::vector<SolverHandle::Set>> free;
};
Handles& handles() {
  static auto* h = new Handles;
  return *h;
}

}  // namespace

void set_solver_finder(void (*find)(int cuda, char* path, size_t size)) { find_library = find; }

const Solver& solver(const char* operation) {
  static std::mutex mutex;
  static const Solver* opened = nullptr;
  // The finder may wait for the interpreter, whose holder may wait here: opening twice is better than waiting for ever.
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (opened) return *opened;
  }
  const Solver* s = open(operation);
  const std::lock_guard<std::mutex> lock(mutex);
  if (!opened) opened = s;
  return *opened;
}

void raise_solver_failure(const char* operation, const char* function, int status) {
  constexpr const char* names[] = {"SUCCESS",          "NOT_INITIALIZED", "ALLOC_FAILED",
                                   "INVALID_VALUE",    "ARCH_MISMATCH",   "MAPPING_ERROR",
                                   "EXECUTION_FAILED", "INTERNAL_ERROR",  "MATRIX_TYPE_NOT_SUPPORTED",
                                   "NOT_SUPPORTED"};
  const bool known = status > 0 && status < static_cast<int>(sizeof(names) / sizeof(names[0]));
  const std::string what = concat(operation, ": ", function, " of cuSOLVER returned ",
                                  known ? concat("CUSOLVER_STATUS_", names[status]) : std::to_string(status));
  if (status == kAllocFailed) throw OutOfMemoryError(what);
  throw RuntimeError(what);
}

SolverHandle::SolverHandle(const Solver& s, const char* operation, int device)
    : device_(device), stream_(current_stream(device)) {
  {
    const std::lock_guard<std::mutex> lock(handles().mutex);
    auto& free = handles().free[{device_, stream_}];
    if (!free.empty()) {
      set_ = free.back();
      free.pop_back();
      return;
    }
  }
  if (s.cusolverDnCreate.f(&set_.handle) != 0) {  // it wants memory of the driver, which our allocator may have
    empty_cache();
    s.cusolverDnCreate(operation, &set_.handle);
  }
  s.cusolverDnSetStream(operation, set_.handle, stream_);
  s.cusolverDnCreateParams(operation, &set_.params);
  s.cusolverDnCreateGesvdjInfo(operation, &set_.jacobi);
  s.cusolverDnXgesvdjSetMaxSweeps(operation, set_.jacobi, kJacobiSweeps);
}
SolverHandle::~SolverHandle() {
  const std::lock_guard<std::mutex> lock(handles().mutex);
  handles().free[{device_, stream_}].push_back(set_);
}

}  // namespace cuda
}  // namespace strided
