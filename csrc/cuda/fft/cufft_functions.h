// What is used of cuFFT, declared in plain types: streams and memory are void*, its enumerations int.
// tests/cpp/cuda/cufft_declarations_test.cpp compares all of it with NVIDIA's header where there is one.
#pragma once

#include <cstddef>

#include "cuda/runtime/nvidia_types.h"

namespace strided {
namespace cuda {

// X(name, parameters). Sizes and steps are in elements; types are of kDataTypes.
#define STRIDED_CUFFT_FUNCTIONS(X) \
  X(cufftGetProperty, (int property, int* value)) \
  X(cufftCreate, (int* plan)) \
  X(cufftDestroy, (int plan)) \
  X(cufftSetStream, (int plan, void* stream)) \
  X(cufftSetAutoAllocation, (int plan, int automatic)) \
  X(cufftSetWorkArea, (int plan, void* work)) \
  X(cufftXtMakePlanMany, (int plan, int rank, long long* n, long long* in_shape, long long in_step, \
                          long long in_distance, int in_type, long long* out_shape, long long out_step, \
                          long long out_distance, int out_type, long long batch, size_t* bytes, int compute)) \
  X(cufftXtExec, (int plan, void* in, void* out, int direction))

// Values of its enumerations.
constexpr int kForward = -1, kInverse = 1;
constexpr int kFftAllocFailed = 2;  // cufftResult; 0: success

}  // namespace cuda
}  // namespace strided
