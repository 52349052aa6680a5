// csrc/cuda/fft/cufft_functions.h against NVIDIA's header; this is only compiled.
#include "cuda/fft/cufft_functions.h"

#include <cufftXt.h>

#include "nvidia_declarations.h"

namespace {

#define X(name, parameters) static_assert(Functions<decltype(name), int parameters>::value, #name);
STRIDED_CUFFT_FUNCTIONS(X)
#undef X

using namespace strided::cuda;
static_assert(kMajorVersion == MAJOR_VERSION && kMinorVersion == MINOR_VERSION);
static_assert(kForward == CUFFT_FORWARD && kInverse == CUFFT_INVERSE);
static_assert(kFftAllocFailed == CUFFT_ALLOC_FAILED && CUFFT_SUCCESS == 0 && CUFFT_UNALIGNED_DATA == 9);
static_assert(kDataTypes[0] == CUDA_R_32F && kDataTypes[1] == CUDA_R_64F && kDataTypes[2] == CUDA_C_32F &&
              kDataTypes[3] == CUDA_C_64F);

}  // namespace
