// Errors that only the device can see: an index out of range, a probability that is none, a singular matrix.
//
// Note [Errors from kernels]
// A kernel must not stop (an assertion would take the whole context with it), and the host must not wait for it. So a
// kernel that meets a bad index leaves that element out and writes down what it saw, in page-locked memory of the host;
// of several the first to claim the record writes. The next call that waits for the device raises it, and the device
// works on.
#pragma once

#include "cuda/runtime/portability.h"

namespace strided {
namespace cuda {

enum class Fault : int32_t { None, Index, Probability, Rate, Sorter, Linalg };
struct Report {
  Fault set;     // written last
  int32_t axis;  // of Linalg: which LinalgFailure
  int64_t value, position, size;
  const char* name;  // of the operation: text of the host
};

// What a kernel needs to report.
struct Reporter {
  int* claimed = nullptr;    // on the device
  Report* report = nullptr;  // on the host
  const char* name = "";
  int32_t axis = 0;

  __device__ void bad_index(int64_t value, int64_t position, int64_t size) const {
    tell(Fault::Index, value, position, size);
  }
  __device__ void tell(Fault fault, int64_t value, int64_t position, int64_t size) const {
    if (atomicExch(claimed, 1) != 0) return;
    report->axis = axis;
    report->value = value;
    report->position = position;
    report->size = size;
    report->name = name;
    __threadfence_system();
    *const_cast<volatile Fault*>(&report->set) = fault;
  }
};

Reporter reporter(int device, const char* name, int axis);
// IndexError, LinAlgError or RuntimeError if a kernel of the device has reported something. To be called when the
// device has been waited for.
void raise_reported(int device);

}  // namespace cuda
}  // namespace strided
