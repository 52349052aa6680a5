// The way from strided to libstrided_cuda.so. The library is looked for and opened when a CUDA device is first asked
// for, never before, so that importing strided costs nothing where there is none.
#pragma once

#include <string>

#include "base/error.h"
#include "cuda/runtime/api.h"

namespace strided {

// The installation has no library for CUDA. In Python an AssertionError, as of a PyTorch without CUDA.
struct NoCudaLibraryError : Error {
  using Error::Error;
};

// The library's functions. NoCudaLibraryError saying why there are none.
const CudaApi& cuda_api();
// Whether there is a library and a device; never raises.
bool cuda_is_available();
int cuda_device_count();      // 0 where it is not available
std::string cuda_why_none();  // in one sentence; empty where it is available
bool cuda_is_open();          // a device was asked for, and there is one

// Raises what a function of the library gave back: check_cuda(cuda_api().synchronize(0)).
void check_cuda(const CudaFailure* failure);

void* cuda_allocate(size_t bytes, int device);
void cuda_free(void* data, size_t bytes, int device);

// Fills the table of device type CUDA with slots that open the library when they are first called. find(name, cuda)
// gives the path of "cusolver" or "cufft" for that major version of CUDA, or an empty string; it is asked by the first
// operation that needs one, and must not raise.
void register_cuda_backend(std::string (*find)(const char* name, int cuda) = nullptr);

}  // namespace strided
