// The way to cuSOLVER, NVIDIA's LAPACK for its devices.
//
// Opening cuSOLVER.
// It is opened by the first decomposition, from its file: the library is 180 to 300 MB, most programs need none of it,
// and the CUDA library is built where there is no copy of it, nor its header (solver_functions.h stands for that).
//
// Looked for are: the file that STRIDED_CUSOLVER_LIBRARY names; what the finder finds, which knows where pip installs
// it; libcusolver.so of this CUDA on the loader's own path. Copies for another CUDA are refused.
#pragma once

#include "cuda/linalg/solver_functions.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

constexpr int kJacobiSweeps = 400;  // at most: well-conditioned matrices need about ten, and more is only time

// RuntimeError (or OutOfMemoryError) in the name of an operation for a function that did not return 0.
[[noreturn]] void raise_solver_failure(const char* operation, const char* function, int status);

template <class F>
struct SolverFunction;
template <class... A>
struct SolverFunction<int(A...)> {
  const char* name = "";
  int (*f)(A...) = nullptr;

  void operator()(const char* operation, A... arguments) const {
    if (const int status = f(arguments...)) raise_solver_failure(operation, name, status);
  }
  explicit operator bool() const { return f; }
};
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

// Opened at the first call. RuntimeError in the name of an operation when there is none that fits this CUDA;
// NotImplementedError where ROCm is the CUDA.
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
