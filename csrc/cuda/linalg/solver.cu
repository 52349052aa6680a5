#include "cuda/linalg/solver.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/allocator.h"

namespace strided {
namespace cuda {
namespace {

constexpr NvidiaLibrary kLibrary{"cuSOLVER", "cusolver", "STRIDED_CUSOLVER_LIBRARY", "decompositions"};

const Solver* open(const char* operation) {
  const OpenLibrary opened = open_library(kLibrary, operation);
  auto* s = new Solver;
#define X(name, parameters) s->name.load(opened);
  STRIDED_CUSOLVER_FUNCTIONS(X)
#undef X
#define X(name, parameters) s->name.load(opened, false);
  STRIDED_CUSOLVER_NEW_FUNCTIONS(X)
#undef X
#define X(name, complex_name, parameters) \
  for (auto& function : s->name) function.load(opened);
  STRIDED_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X
  s->cusolverGetProperty(operation, kMajorVersion, &s->major);
  s->cusolverGetProperty(operation, kMinorVersion, &s->minor);
  check_version(opened, s->major, s->minor);
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

const Solver& solver(const char* operation) { return opened_once(operation, open); }

void raise_solver_failure(const char* operation, const char* function, int status) {
  constexpr const char* names[] = {"SUCCESS",          "NOT_INITIALIZED", "ALLOC_FAILED",
                                   "INVALID_VALUE",    "ARCH_MISMATCH",   "MAPPING_ERROR",
                                   "EXECUTION_FAILED", "INTERNAL_ERROR",  "MATRIX_TYPE_NOT_SUPPORTED",
                                   "NOT_SUPPORTED"};
  const bool known = status > 0 && status < static_cast<int>(sizeof(names) / sizeof(names[0]));
  raise_status(kLibrary, operation, function,
               known ? concat("CUSOLVER_STATUS_", names[status]) : std::to_string(status), status == kAllocFailed);
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
