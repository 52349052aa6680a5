// csrc/cuda/linalg/solver_functions.h against NVIDIA's header: all of it is checked by the compiler, so this is only
// compiled.
#include "cuda/linalg/solver_functions.h"

#include <cusolverDn.h>

#include <type_traits>

namespace {

// Behind a void* of ours may be anything that is no integer: those are counted and written down with their size.
template <class Theirs, class Ours>
constexpr bool agrees() {
  if constexpr (std::is_same_v<Theirs, Ours>) {
    return true;
  } else if constexpr (std::is_pointer_v<Theirs> && std::is_pointer_v<Ours>) {
    using T = std::remove_pointer_t<Theirs>;
    using O = std::remove_pointer_t<Ours>;
    if constexpr (std::is_void_v<O>)
      return std::is_const_v<T> == std::is_const_v<O> && !std::is_integral_v<T> && !std::is_pointer_v<T>;
    else return std::is_pointer_v<O> && std::is_pointer_v<T> && agrees<T, O>();
  } else {
    return std::is_enum_v<Theirs> && std::is_same_v<Ours, int>;
  }
}
template <class Theirs, class Ours>
struct Functions : std::false_type {};
template <class R, class... Theirs, class... Ours>
struct Functions<R(Theirs...), int(Ours...)> {
  static constexpr bool same_number = sizeof...(Theirs) == sizeof...(Ours);
  static constexpr bool value = [] {
    if constexpr (same_number) return agrees<R, int>() && (agrees<Theirs, Ours>() && ...);
    else return false;
  }();
};

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
static_assert(kSolverTypes[0] == CUDA_R_32F && kSolverTypes[1] == CUDA_R_64F && kSolverTypes[2] == CUDA_C_32F &&
              kSolverTypes[3] == CUDA_C_64F);

}  // namespace
