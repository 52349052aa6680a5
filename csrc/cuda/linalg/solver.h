// The way to cuSOLVER, NVIDIA's LAPACK for its devices (nvidia_library.h says how it is opened).
#pragma once

#include "cuda/linalg/solver_functions.h"
#include "cuda/runtime/nvidia_library.h"

namespace strided {
namespace cuda {

constexpr int kJacobiSweeps = 400;  // at most: well-conditioned matrices need about ten, and more is only time

[[noreturn]] void raise_solver_failure(const char* operation, const char* function, int status);

template <class F>
using SolverFunction = LibraryFunction<F, raise_solver_failure>;
struct Solver {
#define X(name, parameters) SolverFunction<int parameters> name{#name};
  STRIDED_CUSOLVER_FUNCTIONS(X)
  STRIDED_CUSOLVER_NEW_FUNCTIONS(X)
#undef X
#define X(name, complex_name, parameters) \
  SolverFunction<int parameters> name[4] = { \
      {"cusolverDnS" #name}, {"cusolverDnD" #name}, {"cusolverDnC" #complex_name}, {"cusolverDnZ" #complex_name}};
  STRIDED_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X
  int major = 0, minor = 0;
};

// Opened at the first call, in the name of an operation.
const Solver& solver(const char* operation);

// Handles of cuSOLVER.
// A handle has memory of its own that what it has queued still uses, so each stream has its own handles, as many as
// threads were at work on it at a time. They are lent for the time of a call and never destroyed: streams are not, and
// at the end of the process the driver may be gone before them.
class SolverHandle {
 public:
  SolverHandle(const Solver& solver, const char* operation, int device);  // for the current stream
  ~SolverHandle();
  SolverHandle(const SolverHandle&) = delete;
  SolverHandle& operator=(const SolverHandle&) = delete;
  void* get() const { return set_.handle; }
  void* params() const { return set_.params; }
  void* jacobi() const { return set_.jacobi; }

  struct Set {
    void *handle, *params, *jacobi;
  };

 private:
  int device_;
  cudaStream_t stream_;
  Set set_;
};

}  // namespace cuda
}  // namespace strided
