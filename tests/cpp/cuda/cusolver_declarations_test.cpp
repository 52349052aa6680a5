// csrc/cuda/linalg/solver_functions.h against NVIDIA's header; this is only compiled.
#include "cuda/linalg/solver_functions.h"

#include <cusolverDn.h>

#include "nvidia_declarations.h"

namespace {

#define X(name, parameters) static_assert(Functions<decltype(name), int parameters>::value, #name);
STRIDED_CUSOLVER_FUNCTIONS(X)
#if CUSOLVER_VERSION >= 12400  // of which it is known to have all of them
STRIDED_CUSOLVER_NEW_FUNCTIONS(X)
#endif
#undef X
#define X(name, complex_name, parameters) \
  static_assert(Functions<decltype(cusolverDnS##name), int parameters>::value, "S" #name); \
  static_assert(Functions<decltype(cusolverDnD##name), int parameters>::value, "D" #name); \
  static_assert(Functions<decltype(cusolverDnC##complex_name), int parameters>::value, "C" #complex_name); \
  static_assert(Functions<decltype(cusolverDnZ##complex_name), int parameters>::value, "Z" #complex_name);
STRIDED_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X

using namespace strided::cuda;
static_assert(kMajorVersion == MAJOR_VERSION && kMinorVersion == MINOR_VERSION);
static_assert(kNoVectors == CUSOLVER_EIG_MODE_NOVECTOR && kVectors == CUSOLVER_EIG_MODE_VECTOR);
static_assert(kLower == CUBLAS_FILL_MODE_LOWER && kUpper == CUBLAS_FILL_MODE_UPPER);
static_assert(kLeft == CUBLAS_SIDE_LEFT && kRight == CUBLAS_SIDE_RIGHT);
static_assert(kAsItIs == CUBLAS_OP_N && kTransposed == CUBLAS_OP_T && kAdjoint == CUBLAS_OP_C);
static_assert(kAllocFailed == CUSOLVER_STATUS_ALLOC_FAILED && CUSOLVER_STATUS_SUCCESS == 0);
static_assert(kDataTypes[0] == CUDA_R_32F && kDataTypes[1] == CUDA_R_64F && kDataTypes[2] == CUDA_C_32F &&
              kDataTypes[3] == CUDA_C_64F);

}  // namespace
