// Fourier transforms on the device.
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {

void fft(const FftPlan& plan) {
  STRIDED_THROW(NotImplementedError, plan.name, " on device 'cuda': its backend has no fft");
}

}  // namespace cuda
}  // namespace strided
