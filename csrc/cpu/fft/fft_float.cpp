// Fourier transforms in float, for one instruction set.
#include "cpu/fft/fft.inc"

namespace strided {
inline namespace STRIDED_ISA {

void fill_fft_float(KernelTable& kernels) { fill_fft<float>(kernels); }

}  // namespace STRIDED_ISA
}  // namespace strided
